"""Operators that only select: one unit beside the number selected is a finding, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.backends.base import EVERY_FLOAT
from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.trial import Session
from strategies.contract import Criterion
from strategies.precision import precision

SELECTING = ("max", "max_pool2d", "relu", "sign", "clip")
DIMS = {"max": {"rows": 8, "n": 16}, "max_pool2d": {"N": 1, "C": 2, "H": 12, "W": 12}}


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def right(operator: str, x: Array, attributes: dict[str, Any]) -> Array:
    return np.asarray(OPERATORS[operator].reference(x.astype(np.float64), **attributes)).astype(x.dtype)


def next_below(x: Array, dtype: str) -> Array:
    """The neighbour nearer to 0 of the largest element."""
    y = x.reshape(-1).copy()
    at = int(np.argmax(np.abs(y.astype(np.float64))))
    bits = y.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[y.itemsize])
    bits[at] -= 1
    return y.reshape(x.shape)


def judged(lab: Lab, operator: str, dtype: str, off: bool, recipe: str = "normal(0,1)", **given: Any) -> Any:
    def kernel(x: Array, **attributes: Any) -> Array:
        y = right(operator, x, attributes)
        return next_below(y, dtype) if off else y

    lab.session = Session("test")  # no kernel is kept
    lab.backend.implementations.clear()
    lab.backend.operator(operator, name="kernel", dtypes=EVERY_FLOAT)(kernel)
    problem = lab.problem(operator, {"x": recipe}, DIMS.get(operator), dtype, given or None)
    return lab.trial(problem, Target("lab", "cpu", dtype)).rows[0]


def test_they_are_declared_exact() -> None:
    assert {name for name, o in OPERATORS.items() if o.contract.criterion is Criterion.EXACT} == set(SELECTING)


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
@pytest.mark.parametrize("operator", SELECTING)
def test_one_unit_off_is_a_finding(lab: Lab, operator: str, dtype: str) -> None:
    assert judged(lab, operator, dtype, off=False)["verdict"] == "exact"
    row = judged(lab, operator, dtype, off=True)
    if operator == "clip":  # the largest is a limit, which no rounding changes
        assert row["verdict"] in ("not_correctly_rounded", "wrong")
        return
    assert row["verdict"] == "not_correctly_rounded"
    assert "1 of " in row["detail"]
    assert "not the number selected" in row["detail"]


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
def test_a_limit_is_rounded_to_the_format(lab: Lab, dtype: str) -> None:
    row = judged(lab, "clip", dtype, off=False, low=0.1, high=0.3)
    assert row["verdict"] in ("exact", "rounding")
    assert judged(lab, "clip", dtype, off=True, low=0.1, high=0.3)["verdict"] in ("not_correctly_rounded", "wrong")


def test_the_sign_of_zero_is_not_selected(lab: Lab) -> None:
    lab.backend.operator("relu", name="kernel", dtypes=EVERY_FLOAT)(lambda x: np.where(x > 0, x, -0.0).astype(x.dtype))
    row = lab.trial(lab.problem("relu"), Target("lab", "cpu", "float32")).rows[0]
    assert row["verdict"] in ("exact", "rounding")


def test_flushed_subnormals_are_called_so(lab: Lab) -> None:
    least = precision("float32").smallest_normal

    def kernel(x: Array) -> Array:
        return np.where(x >= least, x, 0).astype(x.dtype)

    lab.backend.operator("relu", name="kernel", dtypes=EVERY_FLOAT)(kernel)
    row = lab.trial(lab.problem("relu", {"x": "subnormal()"}), Target("lab", "cpu", "float32")).rows[0]
    assert row["verdict"] == "subnormals_flushed"


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
def test_the_least_number_is_no_infinity(lab: Lab, dtype: str) -> None:
    """A maximum that begins with the least finite number gives that for minus infinity."""

    @lab.backend.operator("max_pool2d", name="kernel", dtypes=EVERY_FLOAT)
    def kernel(x: Array, *, kernel: int, stride: int) -> Array:
        return np.maximum(x, np.asarray(-precision(dtype).largest, x.dtype))

    problem = lab.problem("max_pool2d", {"x": "constant(-inf)"}, DIMS["max_pool2d"], dtype, {"kernel": 1, "stride": 1})
    row = lab.trial(problem, Target("lab", "cpu", dtype)).rows[0]
    assert row["verdict"] == "nonfinite_mismatch"
    assert row["nonfinite_mismatch"] == 2 * 12 * 12
