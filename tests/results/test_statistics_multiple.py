"""False discovery rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from results.statistics.multiple import Method, false_discovery

BENJAMINI_HOCHBERG = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0,
]  # fmt: skip
"""The p-values of the example in Benjamini and Hochberg (1995), section 4: four are rejected at 0.05."""


def by_hand(p: list[float], factor: float = 1.0) -> list[float]:
    """q_(i) = min over j >= i of p_(j) m factor/j."""
    order = np.argsort(p)
    scaled = np.array(p)[order] * len(p) * factor / np.arange(1, len(p) + 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted.tolist()


def test_the_example_of_the_paper() -> None:
    adjusted = false_discovery(BENJAMINI_HOCHBERG)
    assert adjusted == pytest.approx(by_hand(BENJAMINI_HOCHBERG))
    assert sum(q is not None and q < 0.05 for q in adjusted) == 4


def test_any_dependence_costs_the_harmonic_number() -> None:
    harmonic = sum(1 / i for i in range(1, 16))
    assert false_discovery(BENJAMINI_HOCHBERG, "by") == pytest.approx(by_hand(BENJAMINI_HOCHBERG, harmonic))


@pytest.mark.parametrize("method", ["bh", "by"])
def test_tests_that_were_not_made_do_not_count(method: Method) -> None:
    p = [0.04, None, 0.001, math.nan, 0.2]
    made = false_discovery([0.04, 0.001, 0.2], method)
    assert false_discovery(p, method) == (made[0], None, made[1], None, made[2])


@pytest.mark.parametrize("method", ["bh", "by"])
def test_the_values_are_those_of_scipy(method: Method) -> None:
    p = np.random.default_rng(3).beta(0.5, 2, size=200).round(2)  # with ties, zeros and ones
    assert false_discovery(p.tolist(), method) == pytest.approx(false_discovery_control(p, method=method), rel=1e-12)


def test_order_is_kept_and_nothing_is_lost() -> None:
    assert false_discovery([0.03]) == (0.03,)
    assert false_discovery([]) == ()
    assert false_discovery([None]) == (None,)
    assert false_discovery([0.0, 0.5]) == (0.0, 0.5)


def test_numbers_that_are_no_p_values() -> None:
    with pytest.raises(ValueError, match=r"a p-value is 1\.2"):
        false_discovery([0.1, 1.2])
    with pytest.raises(ValueError, match="write 'bh'"):
        false_discovery([0.1], "holm")  # type: ignore[arg-type]
