"""Results outside an operator's range: found where the error alone accuses nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trial_cases import Lab

from fuzz.judging.judge import Evidence, Outside, judge
from fuzz.judging.outside import outside
from fuzz.measure import Measurement, Spot
from fuzz.operators import OPERATORS
from fuzz.oracle.bound import bound
from fuzz.oracle.trace import trace
from results.verdicts import VERDICTS
from strategies.contract import Domain

SIGNED_UNIT = Domain(-1.0, 1.0)
BOUNDED = [
    (name, number)
    for name, operator in OPERATORS.items()
    for number, spec in enumerate(operator.contract.outputs)
    if spec.domain != Domain()
]


def tanh_above_one(x: Any) -> Any:
    """The number after 1 where tanh rounds to 1."""
    y = np.tanh(x)
    return np.where(y < 1, y, np.nextafter(x.dtype.type(1), x.dtype.type(2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_the_furthest_finite_element_is_named(dtype: type[np.floating[Any]]) -> None:
    values = np.array([[0.5, -1.5], [1.25, np.nan], [np.inf, -np.inf]], dtype)
    assert outside(SIGNED_UNIT, values) == Outside(2, -1.5, 1, -1.0, 1.0)
    assert outside(Domain(low=0.0), values) == Outside(1, -1.5, 1, 0.0, np.inf)


def test_ends_are_inside_and_nan_is_nowhere() -> None:
    values = np.array([1.0, -1.0, -0.0, np.nan, np.inf], np.float32)
    assert outside(SIGNED_UNIT, values) is None
    assert outside(Domain(low=0.0), np.array([-0.0], np.float32)) is None
    assert outside(SIGNED_UNIT, np.empty(0, np.float32)) is None
    assert outside(Domain(), np.array([1e30], np.float32)) is None


@pytest.mark.parametrize(("operator", "output"), BOUNDED)
def test_the_truth_is_within_its_range(operator: str, output: int) -> None:
    """A range that the operator leaves would accuse everybody."""
    contract = OPERATORS[operator].contract
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 30.0, 1e4):
        dims = {dim.name: max(dim.minimum, 6) for dim in contract.dims}
        arrays = [scale * rng.normal(size=spec.shape(dims)) for spec in contract.inputs]
        arrays = [
            np.clip(np.abs(a) if spec.domain.low >= 0 else a, spec.domain.low, spec.domain.high)
            for a, spec in zip(arrays, contract.inputs, strict=True)
        ]
        defaults = {name: spec.default for name, spec in contract.attributes}
        traced = trace(OPERATORS[operator].reference, contract.shapes(dims), defaults)
        for dtype in ("float32", "float64"):
            with np.errstate(over="ignore"):
                value = bound(traced, dtype)(arrays).outputs[output].value.astype(np.float64)
            assert outside(contract.outputs[output].domain, value) is None


@pytest.mark.parametrize(
    ("operator", "kernel", "due"),
    [
        ("tanh", np.tanh, "rounding"),
        ("tanh", tanh_above_one, "out_of_range"),
        ("tanh", lambda x: np.where(x > 12, x.dtype.type(1.01), np.tanh(x)), "wrong"),
    ],
)
def test_a_kernel_that_leaves_the_range(operator: str, kernel: Any, due: str) -> None:
    """One unit above 1 is far below the bound of tanh: only the range accuses it."""
    with Lab() as lab:
        row = lab.run(operator, kernel, {"x": "ramp(-25,25)"})
    assert row["verdict"] == due, row["detail"]
    if due == "out_of_range":
        assert row["flagged"] == 0
        assert "elements lie outside [-1, 1], the furthest, 1.00000012, at " in str(row["detail"])


@pytest.mark.parametrize("rho", [0.5, 1.5, 50.0], ids=["rounding", "borderline", "indeterminate"])
def test_whatever_accuses_nobody_is_out_of_range(rho: float) -> None:
    measured = Measurement(size=9, equal=False, rho=Spot(rho, 3, 1.0, 1.0, 2.0), rel=Spot(1e-7, 4, 1.0, 1.0, 9.0))
    evidence = Evidence(measured=measured, u=2.0**-24, outside=Outside(1, 1.5, 7, 0.0, np.inf))
    found = judge(evidence)
    assert found.verdict == "out_of_range"
    assert found.detail.startswith("1 elements lie outside [0, inf), the furthest, 1.5, at 7; otherwise ")
    assert VERDICTS[found.verdict].finding


def test_a_finding_keeps_its_verdict() -> None:
    measured = Measurement(size=9, equal=False, nonfinite_mismatch=1, first_mismatch=2)
    evidence = Evidence(measured=measured, u=2.0**-24, outside=Outside(1, 1.5, 7, -1.0, 1.0))
    assert judge(evidence).verdict == "nonfinite_mismatch"
