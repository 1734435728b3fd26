"""Whether a TVM function adds up every reduction in the order of another one, read off the two programs.

A reduction that is given its indices in lexicographic order by its loops has a known order. Whatever is not shown to
have that order counts as changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from fuzz.backends.base import Lazy
from fuzz.backends.tvm_nests import DATA_PARALLEL, REDUCES, realized

s_tir: Any = Lazy("tvm.s_tir")
sym: Any = Lazy("tvm.sym")
tirx: Any = Lazy("tvm.tirx")

Order: TypeAlias = tuple[tuple[str, int], ...]
"""Iterators of a reduction with more than one value and their extents, the slowest first."""

_DECOMPOSED = "_update"
"""What the name of a reduction ends with when its initialisation has been put apart."""


def order_kept(before: Any, after: Any) -> bool:
    """Whether `after`, a schedule of `before`, is known to have the same reductions, each in the same order."""
    old, new = orders(before), orders(after)
    return old is not None and old == new


def orders(function: Any) -> dict[str, Order] | None:
    """The order of each reduction by the name of its block; None where one is not known."""
    schedule = s_tir.Schedule(function, error_render_level="none")
    found: dict[str, Order] = {}
    try:
        blocks = list(schedule.get_child_blocks(schedule.get_sblock("root")))
    except (ValueError, RuntimeError):  # built without blocks
        return None
    for block in blocks:
        realize = realized(schedule, block)
        kinds = {int(iterator.iter_type) for iterator in realize.block.iter_vars}
        if not kinds <= {DATA_PARALLEL, REDUCES} or schedule.get_child_blocks(block):
            return None
        if REDUCES not in kinds:
            continue
        name = str(realize.block.name_hint).removesuffix(_DECOMPOSED)
        order = _order(realize, [schedule.get(loop) for loop in schedule.get_loops(block)])
        if order is None or name in found:
            return None
        found[name] = order
    return found


def _order(realize: Any, loops: list[Any]) -> Order | None:
    """Of one reduction within its loops, outermost first.

    Known where each loop drives one iterator, those that drive the same one follow each other (but for loops over other
    elements), and each steps farther than all those within it together.
    """
    if not all(isinstance(loop.extent, tirx.IntImm) for loop in loops):
        return None
    loops = [loop for loop in loops if int(loop.extent) > 1]
    steps: list[tuple[str, int, int]] = []  # of each loop of the reduction: iterator, indices a step, iterations
    for loop in loops:
        driven = [(iterator, value) for iterator, value in _iterators(realize) if _within(loop.loop_var, value)]
        if all(int(iterator.iter_type) == DATA_PARALLEL for iterator, _ in driven):
            continue
        step = _step(loop.loop_var, driven[0][1], [other.loop_var for other in loops])
        if len(driven) > 1 or step is None:
            return None
        steps.append((str(driven[0][0].var.name), step, int(loop.extent)))
    names = [name for name, group in itertools.groupby(steps, key=lambda step: step[0]) if _increasing(list(group))]
    reduced = {str(iterator.var.name): iterator for iterator, _ in _iterators(realize)}
    if len(set(names)) != len(names) or set(names) != {name for name, _, _ in steps}:
        return None
    return tuple((name, int(reduced[name].dom.extent)) for name in names)


def _iterators(realize: Any) -> Iterator[tuple[Any, Any]]:
    """The iterators of a block with the values that its loops give them."""
    return zip(realize.block.iter_vars, realize.iter_values, strict=True)


def _within(variable: Any, value: Any) -> bool:
    return any(variable.same_as(other) for other in tirx.analysis.undefined_vars(value))


def _step(variable: Any, value: Any, variables: list[Any]) -> int | None:
    """By how much `value` grows with `variable`; None where it is no linear function of the loops."""
    used = [other for other in variables if _within(other, value)]
    coefficients = list(sym.detect_linear_equation(value, used))
    for other, coefficient in zip(used, coefficients, strict=False):  # none where it is not linear
        if other.same_as(variable):
            return int(coefficient) if isinstance(coefficient, tirx.IntImm) else None
    return None


def _increasing(steps: Sequence[tuple[str, int, int]]) -> bool:
    """Whether loops with such steps, the outermost first, visit their indices from the smallest to the largest."""
    reach = 0
    for _, step, iterations in reversed(steps):
        if step <= reach:
            return False
        reach += step * (iterations - 1)
    return True
