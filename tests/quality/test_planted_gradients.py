"""Faults planted in gradients are flagged, and called what they are; other conventions are not."""

from __future__ import annotations

import numpy as np
import pytest
from planted_defects import Defect, run
from planted_gradients import FAULTS, HEALTHY, logsumexp, logsumexp_of_infinity
from planted_table import identify, score

from fuzz.operators import operator
from fuzz.oracle.bound import bound
from results.verdicts import VERDICTS

TRIALS = 4


@pytest.mark.parametrize("fault", FAULTS, ids=identify)
def test_a_planted_fault_is_found_and_named(fault: Defect) -> None:
    found = score(fault, TRIALS)
    assert found.passed, f"{dict(found.seen)}, {fault.verdicts} is due; {found.other}"


@pytest.mark.parametrize("kernel", HEALTHY, ids=identify)
def test_a_healthy_gradient_is_not_flagged(kernel: Defect) -> None:
    rows = run(kernel, 2 * TRIALS)
    assert not [row for row in rows if VERDICTS[str(row["verdict"])].finding]


def test_a_limit_at_infinity_is_due() -> None:
    """x = (1, inf): the slopes of logsumexp are 0 and 1; exp(x - y) has inf - inf."""
    found = operator("logsumexp.grad")
    program = found.program({"x": (2, 2), "d_y": (2,)}, {"axis": -1})
    x, g = np.array([[1.0, np.inf], [0.0, 0.0]], np.float32), np.array([3.0, 2.0], np.float32)
    contract = found.contract
    truth = bound(program, "float32", unspecified=contract.unspecified, contaminating=contract.contaminating)([x, g])
    np.testing.assert_array_equal(truth.outputs[0].value, [[0.0, 3.0], [1.0, 1.0]])
    assert not truth.overflow(0).any()
    with np.errstate(all="ignore"):
        assert np.isnan(logsumexp_of_infinity(x, g, axis=-1)).any()
    np.testing.assert_array_equal(logsumexp(x[1:], g[1:], axis=-1), [[1.0, 1.0]])
