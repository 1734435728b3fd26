"""An exception at an unusual attribute value is a refusal; at a usual one, or everywhere, it is a defect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.targets import Target


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def verdict(lab: Lab, raises_at: Any, alpha: float) -> tuple[str, str]:
    def kernel(x: Array, *, alpha: float) -> Array:
        if raises_at(alpha):
            raise ValueError(f"alpha must not be {alpha}")
        return np.where(x > 0, x, alpha * np.expm1(x)).astype(x.dtype)

    row = lab.run("elu", kernel, attributes={"alpha": alpha})
    return row["verdict"], row.get("error") or ""


@pytest.mark.parametrize(
    ("refused", "alpha", "expected"),
    [
        (lambda a: a == 0.0, 0.0, "unsupported"),
        (lambda a: a > 50, 100.0, "unsupported"),
        (lambda a: a == 0.5, 0.5, "raised"),  # a usual value
        (lambda a: a == 1.0, 1.0, "raised"),  # the default
        (lambda a: True, 0.0, "raised"),  # whatever the value
        (lambda a: a == 0.0, 100.0, "rounding"),
    ],
)
def test_who_refuses_and_who_fails(lab: Lab, refused: Any, alpha: float, expected: str) -> None:
    found, message = verdict(lab, refused, alpha)
    assert found == expected
    assert expected == "rounding" or f"alpha must not be {alpha}" in message


def test_torch_refuses_eps_0_in_training(lab: Lab) -> None:
    pytest.importorskip("torch")
    dims = {"N": 2, "C": 2, "H": 2, "W": 2}
    for eps, expected in ((0.0, {"unsupported"}), (1e-5, {"rounding", "exact"})):
        problem = lab.problem("batch_norm_training", None, dims, attributes={"eps": eps})
        rows = lab.trial(problem, Target("torch", "cpu", "float32")).rows
        assert {row["verdict"] for row in rows} <= expected
        assert eps or "eps must be positive" in rows[0]["error"]
