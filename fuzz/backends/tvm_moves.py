"""The moves of a schedule: for each, the places where TVM allows it, and what it does there.

Which orders are safe was found by running them (docs/schedules.md): a reduction is factored before anything else
happens to its nest, over lanes that all have terms; no split leaves out its guard; loops around a reduction with two
results are not vectorized. A program that is `unsafe` drops these rules, nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from msgspec import structs

from fuzz.backends.tvm_nests import PARALLEL, REDUCTION, SERIAL, SPATIAL, UNROLLED, VECTORIZED, Loop, Nest, Program

Place: TypeAlias = tuple[Nest, int]
Value = TypeVar("Value")

FACTORS = (2, 3, 4, 5, 7, 8, 16, 32)
"""Of splits: divisors of usual sizes, non-divisors, and vector widths."""
MOST_LOOPS = 10
"""Of one nest."""
WIDEST_VECTOR = 64
"""Lanes; 1,000 compile 20 times as long, 4,096 500 times."""
MOST_UNROLLED = 256
"""Iterations of an unrolled loop and all within it: LLVM unrolls what is inside, too. One of 143 around a guarded 40
compiles for 230 s."""
MOST_CACHES, MOST_INLINED = 4, 6
SCOPES = ("global", "local")


def places_of_unroll(p: Program) -> list[Place]:
    return [
        (nest, i)
        for nest in p.nests
        for i, loop in _serial(nest)
        if not loop.shared
        and _few_copies([*nest.loops[:i], structs.replace(loop, mark=UNROLLED), *nest.loops[i + 1 :]])
    ]


def unroll(p: Program, place: Place, how: int) -> None:
    nest, loop = place[0], place[0].loops[place[1]]
    p.did("unroll", nest.block, p.loop_name(loop))
    p.schedule.unroll(loop.handle)
    _mark(nest, loop, UNROLLED)


def places_of_split(p: Program) -> list[Place]:
    return [
        (nest, i)
        for nest in p.nests
        if not nest.closed and len(nest.loops) < MOST_LOOPS
        for i, loop in _serial(nest)
        if loop.extent > 1
    ]


def split(p: Program, place: Place, how: int) -> None:
    factor = _pick(FACTORS, how)
    unguarded = p.unsafe and how // len(FACTORS) % 2 == 1
    p.did("split", place[0].block, p.loop_name(place[0].loops[place[1]]), "by", factor, *["unguarded"] * unguarded)
    _split(p, *place, factor, unguarded)


def _split(p: Program, nest: Nest, at: int, factor: int, unguarded: bool = False) -> None:
    loop = nest.loops[at]
    outer, inner = p.schedule.split(loop.handle, [None, factor], disable_predication=unguarded)
    nest.loops[at : at + 1] = [
        Loop(outer, -(-loop.extent // factor), loop.kind, (*loop.key, 0)),
        Loop(inner, factor, loop.kind, (*loop.key, 1)),
    ]
    nest.touched = True


def places_of_vectorize(p: Program) -> list[Place]:
    if not p.vectors:
        return []
    return [
        (nest, i)
        for nest in p.nests
        if all(loop.mark != VECTORIZED for loop in p.in_tree(nest)) and (p.unsafe or p.results(nest) == 1)
        for i, loop in _serial(nest)
        if loop.kind == SPATIAL and not loop.shared and 1 < loop.extent <= WIDEST_VECTOR
        if all(later.mark != PARALLEL for later in nest.loops[i:])
    ]


def vectorize(p: Program, place: Place, how: int) -> None:
    nest, loop = place[0], place[0].loops[place[1]]
    p.did("vectorize", nest.block, p.loop_name(loop))
    p.schedule.vectorize(loop.handle)
    _mark(nest, loop, VECTORIZED)


def places_of_parallel(p: Program) -> list[Place]:
    return [
        (nest, i)
        for nest in p.nests
        if not nest.inner and all(loop.mark != PARALLEL for loop in p.in_tree(nest))
        for i, loop in _serial(nest)
        if loop.kind == SPATIAL and (i == 0 or not loop.shared)
        if all(earlier.mark != VECTORIZED for earlier in nest.loops[:i])
    ]


def parallel(p: Program, place: Place, how: int) -> None:
    nest, loop = place[0], place[0].loops[place[1]]
    p.did("parallel", nest.block, p.loop_name(loop))
    p.schedule.parallel(loop.handle)
    _mark(nest, loop, PARALLEL)


def places_of_fuse(p: Program) -> list[Place]:
    return [
        (nest, i)
        for nest in p.nests
        if not nest.closed
        for i, (loop, inner) in enumerate(zip(nest.loops, nest.loops[1:], strict=False))
        if loop.kind == inner.kind and loop.kind in (SPATIAL, REDUCTION) and loop.mark == inner.mark == SERIAL
    ]


def fuse(p: Program, place: Place, how: int) -> None:
    nest, at = place
    outer, inner = nest.loops[at : at + 2]
    p.did("fuse", nest.block, p.loop_name(outer), p.loop_name(inner))
    nest.reordered |= not nest.keeps_order
    fused = p.schedule.fuse(outer.handle, inner.handle)
    nest.loops[at : at + 2] = [Loop(fused, outer.extent * inner.extent, outer.kind, outer.key)]
    nest.touched = True


def places_of_reorder(p: Program) -> list[Place]:
    return [(nest, i) for nest in p.nests if not nest.closed and len(nest.loops) > 1 for i, loop in _serial(nest)]


def reorder(p: Program, place: Place, how: int) -> None:
    nest, at = place
    others = [loop for i, loop in enumerate(nest.loops) if i != at]
    orders = [[*others[:to], nest.loops[at], *others[to:]] for to in range(len(nest.loops)) if to != at]
    orders = [order for order in orders if _few_copies(order)]
    if not orders:
        return
    order = _pick(orders, how)
    p.did("reorder", nest.block, *(p.loop_name(loop) for loop in order))
    p.schedule.reorder(*(loop.handle for loop in order))
    nest.loops = order
    nest.touched = True


def places_of_inline(p: Program) -> list[Place]:
    if p.inlined >= MOST_INLINED:
        return []
    return [(nest, 0) for nest in p.nests if not (nest.reduces or nest.touched or p.is_output(nest))]


def inline(p: Program, place: Place, how: int) -> None:
    nest = place[0]
    p.did("inline", nest.block)
    p.schedule.compute_inline(nest.block)
    p.nests.remove(nest)
    p.inlined += 1


def places_of_decompose(p: Program) -> list[Place]:
    return [
        (nest, 0)
        for nest in p.nests
        if nest.reduces and not nest.closed and all(loop.mark == SERIAL for loop in nest.loops)
    ]


def decompose(p: Program, place: Place, how: int) -> None:
    nest = place[0]
    at = _pick(range(nest.prefix() + 1), how)
    p.did("decompose_reduction", nest.block, "at", p.loop_name(nest.loops[at]))
    p.schedule.decompose_reduction(nest.block, nest.loops[at].handle)
    for loop in nest.loops[:at]:
        loop.shared = True
    nest.closed = nest.touched = True


def places_of_cache(p: Program) -> list[Place]:
    return [(nest, 0) for nest in p.nests if not nest.touched] if p.caches < MOST_CACHES else []


def cache_write(p: Program, place: Place, how: int) -> None:
    nest, scope = place[0], _pick(SCOPES, how)
    p.did("cache_write", nest.block, scope)
    p.add(p.schedule.cache_write(nest.block, 0, scope))
    nest.loops = p.loops(nest.block) or []
    p.caches += 1


def cache_read(p: Program, place: Place, how: int) -> None:
    nest, scope = place[0], _pick(SCOPES, how)
    buffers = p.schedule.get(nest.block).reads
    if not len(buffers):
        return
    number = how // len(SCOPES) % len(buffers)
    p.did("cache_read", nest.block, buffers[number].source.name, scope)
    p.add(p.schedule.cache_read(nest.block, number, scope))
    nest.loops = p.loops(nest.block) or []
    p.caches += 1


def places_of_compute_at(p: Program) -> list[Place]:
    found = []
    for nest in p.nests:
        if nest.touched or p.is_output(nest):
            continue
        consumers = p.neighbours(p.schedule.get_consumers(nest.block))
        if len(consumers) == 1 and not consumers[0].closed:
            found += [(nest, i) for i in range(consumers[0].prefix())]
    return found


def compute_at(p: Program, place: Place, how: int) -> None:
    nest, at = place
    (consumer,) = p.neighbours(p.schedule.get_consumers(nest.block))
    loop = consumer.loops[at]
    p.did("compute_at", nest.block, p.name(consumer.block), p.loop_name(loop))
    p.schedule.compute_at(nest.block, loop.handle)
    p.join(nest, consumer, at)


def places_of_reverse_compute_at(p: Program) -> list[Place]:
    found = []
    for nest in p.nests:
        if nest.touched or nest.reduces:
            continue
        producers = p.neighbours(p.schedule.get_producers(nest.block))
        if len(producers) == 1 and not producers[0].closed:
            found += [(nest, i) for i in range(producers[0].prefix())]
    return found


def reverse_compute_at(p: Program, place: Place, how: int) -> None:
    nest, at = place
    (producer,) = p.neighbours(p.schedule.get_producers(nest.block))
    loop = producer.loops[at]
    p.did("reverse_compute_at", nest.block, p.name(producer.block), p.loop_name(loop))
    p.schedule.reverse_compute_at(nest.block, loop.handle)
    p.join(nest, producer, at)


def places_of_rfactor(p: Program) -> list[Place]:
    return [
        (nest, i)
        for nest in p.nests
        if not nest.closed and (p.unsafe or not nest.touched) and len(nest.loops) < MOST_LOOPS
        for i, loop in _serial(nest)
        if loop.kind == REDUCTION and loop.extent > 1
    ]


def rfactor(p: Program, place: Place, how: int) -> None:
    """Partial sums of every factor-th term or of blocks of terms, then their sum."""
    nest, at = place
    factors = [factor for factor in FACTORS if p.unsafe or factor <= nest.loops[at].extent]
    factor, how = _pick(factors, how), how // len(factors)
    lane, how = at + how % 2, how // 2
    axis = how % (len(p.schedule.get(nest.block).writes[0].region) + 1)
    whole = p.loop_name(nest.loops[at])
    p.did("rfactor", nest.block, whole, "by", factor, "blocks" if lane == at else "lanes", "axis", axis)
    _split(p, nest, at, factor)
    p.reorders = True
    partial = p.schedule.rfactor(nest.loops[lane].handle, axis)
    nest.loops = p.loops(nest.block) or []
    added = p.add(partial)
    nest.touched = True
    if added is not None:
        added.touched = True


Places: TypeAlias = Callable[[Program], list[Place]]
Move: TypeAlias = Callable[[Program, Place, int], None]

TABLE: dict[str, tuple[Places, Move]] = {
    "unroll": (places_of_unroll, unroll),
    "split": (places_of_split, split),
    "vectorize": (places_of_vectorize, vectorize),
    "parallel": (places_of_parallel, parallel),
    "fuse": (places_of_fuse, fuse),
    "reorder": (places_of_reorder, reorder),
    "inline": (places_of_inline, inline),
    "decompose": (places_of_decompose, decompose),
    "cache_write": (places_of_cache, cache_write),
    "cache_read": (places_of_cache, cache_read),
    "compute_at": (places_of_compute_at, compute_at),
    "reverse_compute_at": (places_of_reverse_compute_at, reverse_compute_at),
    "rfactor": (places_of_rfactor, rfactor),
}
"""By the names in strategies.moves.MOVES."""


def _serial(nest: Nest) -> list[tuple[int, Loop]]:
    return [(i, loop) for i, loop in enumerate(nest.loops) if loop.mark == SERIAL]


def _few_copies(loops: Sequence[Loop]) -> bool:
    """Whether the outermost unrolled loop, and all within it, come to few enough copies of the body."""
    outermost = next((i for i, loop in enumerate(loops) if loop.mark == UNROLLED), len(loops))
    return math.prod(loop.extent for loop in loops[outermost:]) <= MOST_UNROLLED


def _mark(nest: Nest, loop: Loop, mark: int) -> None:
    loop.mark = mark
    nest.touched = True


def _pick(values: Sequence[Value], number: int) -> Value:
    return values[number % len(values)]
