"""A TVM schedule under way: the loop nests that moves work on, and what is known of each of their loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from fuzz.backends.base import Lazy

s_tir: Any = Lazy("tvm.s_tir")
tirx: Any = Lazy("tvm.tirx")

SPATIAL, REDUCTION, MIXED, NEITHER = "S", "R", "X", "-"
SERIAL, PARALLEL, VECTORIZED, UNROLLED = range(4)
"""TVM's ForKind."""
BFLOAT16 = "bfloat16"
DATA_PARALLEL, REDUCES = 0, 2
"""TVM's IterVar types; blocks with any other kind of iterator are left alone."""


class Loop(Struct):
    """A loop around one block."""

    handle: Any
    extent: int
    kind: str
    """What the block's iterators that it drives are: all spatial, all reductions, mixed or none."""
    key: tuple[int, ...]
    """Position in the program as it was: reduction loops in the order of their keys add up in the original order."""
    mark: int = SERIAL
    shared: bool = False
    """Another block lies in it, too."""


class Nest(Struct):
    """The loops of one block, outermost first; only its own where it has been moved into another nest."""

    block: Any
    loops: list[Loop]
    tree: int
    """The same number for nests that share loops."""
    touched: bool = False
    """Something has been changed. Reductions are factored, and blocks inlined or moved, before anything else."""
    closed: bool = False
    """Its loops hold several blocks: they are not transformed any more, marked only."""
    inner: bool = False
    """It lies within another nest."""
    reordered: bool = False
    """Reduction loops out of order have been fused into one."""

    @property
    def reduces(self) -> bool:
        return any(loop.kind in (REDUCTION, MIXED) for loop in self.loops)

    @property
    def keeps_order(self) -> bool:
        """Whether the terms of a reduction come in their original order."""
        keys = [loop.key for loop in self.loops if loop.kind != SPATIAL]
        return not self.reordered and keys == sorted(keys)

    def prefix(self) -> int:
        """Number of leading loops that another block can be moved into: spatial and serial."""
        count = 0
        while count < len(self.loops) and self.loops[count].kind == SPATIAL and self.loops[count].mark == SERIAL:
            count += 1
        return count


def vectorizable(function: Any) -> bool:
    """Whether vectors compile: in bfloat16 those of intermediate buffers do not."""
    return all(str(parameter.ty.dtype) != BFLOAT16 for parameter in function.params)


def realized(schedule: Any, block: Any) -> Any:
    """The SBlockRealize of a block of an s_tir.Schedule: the block with the values of its iterators."""
    wanted = schedule.get(block)
    parent = schedule.get_sref(block).parent.stmt
    for one in getattr(parent.body, "seq", [parent.body]):
        if isinstance(one, s_tir.SBlockRealize) and one.block.same_as(wanted):
            return one
    raise RuntimeError(f"block {wanted.name_hint} is not where its schedule says")


class Program:
    """A function with its schedule so far.

    `primitives` says what has been done, `reorders` that a reduction has been factored.
    """

    def __init__(self, function: Any, unsafe: bool = False) -> None:
        self.unsafe = unsafe
        self.vectors = vectorizable(function)
        # of the function itself, which is copied: Schedule(IRModule({"main": function.with_attr(...)})) changes the
        # statements that the module shares with `function` in place
        self.schedule = s_tir.Schedule(function, error_render_level="none")
        self.primitives: list[str] = []
        self.reorders = False
        self.caches = self.inlined = 0
        self.nests: list[Nest] = []
        try:
            blocks = list(self.schedule.get_child_blocks(self.schedule.get_sblock("root")))
        except (ValueError, RuntimeError):  # built without blocks (topi.cumsum): there is nothing to schedule
            blocks = []
        for block in blocks:
            self.add(block)

    @property
    def function(self) -> Any:
        return self.schedule.mod["main"]

    @property
    def keeps_bits(self) -> bool:
        """Whether every reduction adds up in the order of the function as it was."""
        return not self.reorders and all(nest.keeps_order for nest in self.nests)

    def name(self, block: Any) -> str:
        return str(self.schedule.get(block).name_hint)

    def loop_name(self, loop: Loop) -> str:
        return str(self.schedule.get(loop.handle).loop_var.name)

    def did(self, what: str, block: Any, *words: object) -> None:
        self.primitives.append(" ".join(map(str, (what, self.name(block), *words))))

    def add(self, block: Any) -> Nest | None:
        """Track the nest of a block, unless it is of a kind that is left alone."""
        loops = self.loops(block)
        if loops is None:
            return None
        nest = Nest(block, loops, tree=1 + max((nest.tree for nest in self.nests), default=0))
        self.nests.append(nest)
        return nest

    def loops(self, block: Any) -> list[Loop] | None:
        """All loops around `block` as they are now; None for a block with iterators of another kind."""
        kinds = self._iterators(block)
        if kinds is None:
            return None
        loops = []
        for number, handle in enumerate(self.schedule.get_loops(block)):
            loop = self.schedule.get(handle)
            drives = {kind for variables, kind in kinds if any(loop.loop_var.same_as(v) for v in variables)}
            if not isinstance(loop.extent, tirx.IntImm):
                return None
            alone = SPATIAL if int(loop.extent) == 1 else NEITHER
            kind = MIXED if len(drives) > 1 else next(iter(drives), alone)
            loops.append(Loop(handle, int(loop.extent), kind, (number,), int(loop.kind)))
        return loops

    def _iterators(self, block: Any) -> list[tuple[list[Any], str]] | None:
        """For each iterator of the block the loop variables that it is computed from, and its kind."""
        realize = realized(self.schedule, block)
        found = []
        for iterator, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            kind = {DATA_PARALLEL: SPATIAL, REDUCES: REDUCTION}.get(int(iterator.iter_type))
            if kind is None:
                return None
            found.append((list(tirx.analysis.undefined_vars(value)), kind))
        return found

    def outputs(self) -> set[str]:
        """Names of the blocks that write the results."""
        return {self.name(block) for block in self.schedule.get_output_blocks("root")}

    def is_output(self, nest: Nest) -> bool:
        return self.name(nest.block) in self.outputs()

    def results(self, nest: Nest) -> int:
        """Number of buffers that the block writes: argmax has two."""
        return len(self.schedule.get(nest.block).writes)

    def neighbours(self, blocks: Any) -> list[Nest]:
        """The nests of producers or consumers."""
        names = {self.name(block) for block in blocks}
        return [nest for nest in self.nests if self.name(nest.block) in names]

    def in_tree(self, nest: Nest) -> Iterator[Loop]:
        """Every loop of the nests that share loops with this one."""
        return (loop for other in self.nests if other.tree == nest.tree for loop in other.loops)

    def join(self, inner: Nest, outer: Nest, at: int) -> None:
        """`inner` has been moved into loop number `at` of `outer`: both are transformed no further."""
        inner.loops = (self.loops(inner.block) or [])[at + 1 :]
        inner.closed = outer.closed = inner.inner = inner.touched = outer.touched = True
        for loop in outer.loops[: at + 1]:
            loop.shared = True
        old = inner.tree
        for nest in self.nests:
            nest.tree = outer.tree if nest.tree == old else nest.tree
