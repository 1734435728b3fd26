"""Traces that TVM records of a schedule, as the Python statements it writes: run again, and said in words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fuzz.backends.base import Lazy

s_tir: Any = Lazy("tvm.s_tir")

_BOOKKEEPING = ("get_", "sample_", "enter_postproc", "unannotate")
"""Beginnings of statements that change no program."""
_UNROLL = "pragma_auto_unroll_max_step"
"""The one annotation that the code generator acts upon; the others are notes of meta_schedule to itself."""
_WORDS = {"factors": "by", "factor_axis": "axis"}
"""Put before the value of a keyword."""
_UNSAID = {"preserve_unit_iters", "preserve_unit_loops", "disable_predication", "index", "write_buffer_index"}
"""Keywords that are the same in every trace."""
_NO_LOOPS = {-1: "root", -2: "inline"}
"""Decisions of sample_compute_location that are no loop: a block stays outside of all loops, or is inlined."""


class Replay:
    """A schedule of `function` while statements on `sch` are run on it one after the other.

    `primitives` says in TVM's words which of them change the program: primitive, block, loops.
    """

    def __init__(self, function: Any) -> None:
        self.schedule = s_tir.Schedule(function, error_render_level="none")
        self.primitives: list[str] = []
        self._named: dict[str, Any] = {}
        """What the statements call b0, l1, v2: handles of blocks and loops, sampled numbers."""
        self._owners: dict[str, str] = {}
        """Names of the blocks that loops are around, by those of the loops."""
        self._no_loops: dict[str, str] = {}

    @property
    def function(self) -> Any:
        return self.schedule.mod["main"]

    def run(self, statements: Iterable[str]) -> Replay:
        """Run them; TVM's own exceptions where one cannot be."""
        for statement in statements:
            self._run(ast.parse(statement).body[0])
        return self

    def _run(self, statement: ast.stmt) -> None:
        assert isinstance(statement, ast.Assign | ast.Expr)
        call = statement.value
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Attribute)
        method, keywords = call.func.attr, {str(keyword.arg): keyword.value for keyword in call.keywords}
        if self._changes(method, call.args, keywords):
            words = [word for node in call.args for word in self._said(node)]
            words += [word for name, node in keywords.items() if name not in _UNSAID for word in self._said(node, name)]
            self.primitives.append(" ".join([method, *dict.fromkeys(words)]))
        arguments = [self._value(node) for node in call.args]
        made = getattr(self.schedule, method)(*arguments, **{key: self._value(node) for key, node in keywords.items()})
        if isinstance(statement, ast.Assign):
            names = self._bind(statement.targets[0], made)
            owner = self._owner([*call.args, *keywords.values()])
            self._owners |= dict.fromkeys(names, owner) if owner else {}
            if method == "sample_compute_location":
                self._no_loops |= dict.fromkeys(names, _NO_LOOPS.get(ast.literal_eval(keywords["decision"]), ""))

    def _changes(self, method: str, arguments: Sequence[ast.expr], keywords: Mapping[str, ast.expr]) -> bool:
        """Whether the statement changes the program."""
        if method == "annotate":
            return ast.literal_eval(keywords["ann_key"]) == _UNROLL and self._number(keywords["ann_val"]) > 0
        if method == "fuse":
            return len(arguments) > 1
        if method == "compute_at":
            loop = keywords["loop"]
            return not (isinstance(loop, ast.Name) and self._no_loops.get(loop.id) == "root")
        return not method.startswith(_BOOKKEEPING)

    def _bind(self, target: ast.expr, made: Any) -> list[str]:
        """Remember what a statement made; the names of it."""
        several = isinstance(target, ast.Tuple)
        nodes = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        self._named |= dict(zip(names, made if several else [made], strict=True))
        return names

    def _owner(self, nodes: Iterable[ast.expr]) -> str | None:
        """The block around which the loops are that a statement makes: its own, or that of its loops."""
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        return next((self._block(name) or self._owners.get(name) for name in names), None)

    def _block(self, name: str) -> str | None:
        found = self._named[name]
        return str(self.schedule.get(found).name_hint) if isinstance(found, s_tir.schedule.SBlockRV) else None

    def _value(self, node: ast.expr) -> Any:
        """What an argument stands for."""
        if isinstance(node, ast.Name):
            return self._named[node.id]
        if isinstance(node, ast.List):
            return [self._value(one) for one in node.elts]
        return ast.literal_eval(node)

    def _number(self, node: ast.expr) -> int:
        """An argument that is a number, perhaps a sampled one."""
        value = self._value(node)
        return int(value if isinstance(value, int) else self.schedule.get(value))

    def _said(self, node: ast.expr, keyword: str = "") -> Iterator[str]:
        """The words for an argument."""
        if keyword in _WORDS:
            yield _WORDS[keyword]
        if isinstance(node, ast.List):
            numbers = [self._number(one) for one in node.elts if self._value(one) is not None]  # None: what is left
            yield " x ".join(map(str, numbers))
        elif not isinstance(node, ast.Name):
            yield str(ast.literal_eval(node))
        elif (block := self._block(node.id)) is not None:
            yield block
        elif not isinstance(self._named[node.id], s_tir.schedule.LoopRV):
            yield str(self._number(node))
        elif self._no_loops.get(node.id):
            yield self._no_loops[node.id]
        else:
            if node.id in self._owners:
                yield self._owners[node.id]
            yield str(self.schedule.get(self._named[node.id]).loop_var.name)
