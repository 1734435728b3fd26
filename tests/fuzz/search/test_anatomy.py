"""What can be changed independently: found by asking the traced program."""

from __future__ import annotations

import numpy as np
import pytest
from search_cases import bench_of

from fuzz.oracle.plain import plain
from fuzz.search.anatomy import anatomy

CASES = [
    ("gelu", {"n": 5}, {}, (5, 1, 0, 1)),
    ("add", {"n": 5}, {}, (5, 1, 0, 2)),
    ("sum", {"rows": 3, "n": 4}, {}, (3, 1, 0, 4)),
    ("sum", {"rows": 3, "n": 4}, {"axis": 0}, (4, 1, 0, 3)),
    ("sum", {"rows": 4, "n": 4}, {"axis": 0}, (4, 1, 0, 4)),
    ("cumsum", {"rows": 3, "n": 4}, {"axis": 0}, (4, 1, 0, 3)),
    ("softmax", {"rows": 3, "n": 4}, {}, (3, 1, 0, 4)),
    ("batch_norm", {"N": 2, "C": 3, "H": 4, "W": 5}, {}, (3, 40, 4, 1)),
    ("batch_norm_training", {"N": 2, "C": 3, "H": 4, "W": 5}, {}, (3, 1, 0, 42)),
    ("layer_norm", {"rows": 3, "n": 4}, {}, (1, 3, 8, 4)),
    ("matmul", {"M": 5, "K": 3, "N": 2}, {}, (1, 5, 6, 3)),
    ("group_norm", {"N": 2, "G": 3, "D": 2, "L": 5}, {}, (3, 2, 4, 10)),
    ("max_pool2d", {"N": 2, "C": 3, "H": 5, "W": 5}, {}, (6, 1, 0, 25)),
    ("layer_norm", {"rows": 1, "n": 4}, {}, (1, 1, 0, 12)),
]


@pytest.mark.parametrize(("name", "dims", "attributes", "expected"), CASES)
def test_individuals_lanes_and_what_they_share(
    name: str, dims: dict[str, int], attributes: dict[str, int], expected: tuple[int, int, int, int]
) -> None:
    a = anatomy(bench_of(name, dims, attributes))
    assert (a.individuals, a.lanes, a.shared, a.each) == expected


@pytest.mark.parametrize(("name", "dims", "attributes", "expected"), CASES)
def test_an_individual_reaches_its_own_outputs_only(
    name: str, dims: dict[str, int], attributes: dict[str, int], expected: object
) -> None:
    bench = bench_of(name, dims, attributes)
    a, arrays = anatomy(bench), bench.rung("float32").arena.arrays
    for array in arrays.values():
        array[...] = np.random.default_rng(1).normal(1, 0.1, array.shape)
    genes = a.read(arrays)
    before = plain(bench.program, [array.copy() for array in arrays.values()], "float32")
    lanes = a.lane_of_genes()
    changed = genes.copy()
    changed[0, lanes == 0] += 2**22
    a.write(changed, arrays)
    assert np.array_equal(a.read(arrays), changed)
    after = plain(bench.program, list(arrays.values()), "float32")
    moved = np.zeros((a.individuals, a.lanes))
    for output, (old, new) in enumerate(zip(before, after, strict=True)):
        moved += a.by_lane(output, np.abs(new - old).reshape(-1).astype(np.float64))
    assert moved[0, 0] > 0
    assert np.count_nonzero(moved) == 1
