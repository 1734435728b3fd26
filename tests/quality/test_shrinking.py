"""How small planted faults become, what it costs, and that they stay the faults that were found.

The fast form of benchmarks/shrinking.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from planted_defects import NORMAL, Defect, batch_norm, sum_in_bfloat16
from planted_table import ALL, identify
from shrinking_setting import Result, of_elements, problem_of, shrunk

from fuzz.backends.base import Array
from fuzz.judging.probe import shortened
from fuzz.operators import OPERATORS
from fuzz.shrinking.search import Limits
from fuzz.workbench import Bench

IMAGE = {"N": 2, "C": 32, "H": 28, "W": 28}
LONG = {"rows": 1, "n": 1024}
EVERY = 25
"""The share of the planted faults that is looked at for slippage here."""


def wrong_eps(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    return batch_norm(x, mean, var, gamma, beta, eps=1e-3)


def of(result: Result | None) -> Result:
    assert result is not None
    return result


def numbers(result: Result) -> dict[str, list[float]]:
    return {name: values.reshape(-1).tolist() for name, values in result.specimen.arrays.items()}


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_eps_in_an_image_is_five_scalars(seed: int) -> None:
    """50,272 numbers at the start."""
    found = of(shrunk(Defect("batch_norm", "eps_1e3_image", wrong_eps, {}, ("wrong",), IMAGE), seed))
    assert found.elements == 5
    assert found.search.evaluations <= 1000
    assert found.seconds <= 10  # CPU
    for (value,) in numbers(found).values():
        assert len(str(np.float32(value))) <= 4
    assert not found.slipped()


def test_a_sum_in_bfloat16_needs_few_terms() -> None:
    found = of(shrunk(Defect("sum", "bfloat16_1024", sum_in_bfloat16, {"x": NORMAL}, ("low_precision",), LONG)))
    assert found.elements <= 32
    assert not found.slipped()


def test_what_no_term_shows_alone_needs_few_terms() -> None:
    """Whole numbers up to 256 are numbers of bfloat16: one alone is right, the sum of a few is not. On the numbers that
    were drawn: others are not looked for."""
    inputs = {"x": "integers(-100,100)"}
    defect = Defect("sum", "bfloat16_whole", sum_in_bfloat16, inputs, ("low_precision",), LONG)
    found = of(shrunk(defect, seed=1, how=of_elements))
    values = found.specimen.arrays["x"]
    assert 2 <= np.count_nonzero(values) <= 32
    assert (values == np.round(values)).all()
    assert found.elements <= 32
    assert not found.slipped()


def test_the_same_result_every_time() -> None:
    defect = next(d for d in ALL if identify(d) == "batch_norm-eps_1e3-float32")
    one, other = of(shrunk(defect)), of(shrunk(defect))
    assert numbers(one) == numbers(other)
    assert one.search.evaluations == other.search.evaluations


@pytest.mark.parametrize("defect", ALL[::EVERY], ids=identify)
def test_a_shrunk_fault_is_the_fault_that_was_found(defect: Defect) -> None:
    found = shrunk(defect, limits=Limits(seconds=20))
    if found is None:
        pytest.skip("a harmless variant, or only the other precision shows it")
    assert not found.slipped(), f"{found.campaign} became {found.again()}"
    problem, _ = problem_of(defect)
    start = sum(int(np.prod(s)) for s in OPERATORS[defect.operator].contract.shapes(dict(problem.dims)).values())
    by_share = found.campaign.verdict == "low_precision" and shortened(Bench(problem)) is None  # that takes 16 results
    assert found.elements < start / (4 if by_share else 8)
