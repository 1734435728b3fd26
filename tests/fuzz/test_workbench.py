"""What a worker keeps between trials is bounded by number and by size."""

from __future__ import annotations

import weakref

from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.workbench import KERNEL_BYTES, Bench, Workbench
from strategies import make_problem, parse_recipe
from strategies.problem import Problem

GENEROUS = 10**12


def problem(n: int) -> Problem:
    recipe = parse_recipe("normal(0,1)", ("x",))
    return make_problem(OPERATORS["exp"].contract, dims={"n": n}, home="float32", recipes=[recipe])


def references(workbench: Workbench, problems: list[Problem]) -> list[weakref.ref[Bench]]:
    return [weakref.ref(workbench.bench(one)) for one in problems]


def test_a_shape_in_use_keeps_its_bench() -> None:
    workbench = Workbench()
    assert workbench.bench(problem(5)) is workbench.bench(problem(5))


def test_beyond_the_number_of_shapes_half_of_them_go_those_used_longest_ago() -> None:
    workbench = Workbench(shapes=4, nbytes=GENEROUS)
    first = references(workbench, [problem(n) for n in (1, 2, 3, 4)])
    assert all(reference() for reference in first)
    workbench.bench(problem(1))
    workbench.bench(problem(5))
    assert [reference() is not None for reference in first] == [True, False, False, True]


def test_beyond_the_size_the_oldest_go_and_their_memory_with_them() -> None:
    workbench = Workbench(nbytes=200_000)
    found = []
    for n in (1000, 1001, 1002, 1003):  # 105 kB each
        bench = workbench.bench(problem(n))
        bench.rung("float32")
        found.append(weakref.ref(bench))
    del bench
    assert [reference() is not None for reference in found] == [False, False, True, True]


def test_one_bench_stays_however_large() -> None:
    workbench = Workbench(nbytes=1)
    first = workbench.bench(problem(1000))
    first.rung("float32")
    workbench.bench(problem(2))
    assert workbench.bench(problem(1000)) is first


def test_the_size_counts_buffers_and_kernels() -> None:
    bench = Bench(problem(1000))
    assert bench.nbytes == 0
    rung = bench.rung("float32")
    buffers = bench.nbytes
    # input and exp: value, magnitude, scratch, one part; six of the yardstick and its mask
    assert buffers == (2 * 4 + 6) * 8000 + 1000
    rung.arena.arrays["x"][...] = 1e-40
    rung.refresh()
    rung.flush_rho(0, rung.yardsticks[0].value.astype("float32"))
    assert bench.nbytes == buffers + 2 * 4 * 8000
    bench.prepared(Target("numpy", "cpu", "float32"))
    assert bench.nbytes == buffers + 2 * 4 * 8000 + KERNEL_BYTES
