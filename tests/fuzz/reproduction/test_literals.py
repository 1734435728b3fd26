"""Values in scripts read as the same bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.reproduction import literals
from strategies.precision import PRECISIONS, precision


def evaluated(text: str) -> Any:
    return eval(text, {"np": np, "ml_dtypes": ml_dtypes})  # what a script would read


@given(st.sampled_from(list(PRECISIONS)), st.floats())
@settings(max_examples=300)
def test_a_number_round_trips(dtype: str, value: float) -> None:
    with np.errstate(all="ignore"):
        number = precision(dtype).numpy.type(value)
    again = precision(dtype).numpy.type(evaluated(literals.number(float(number), dtype)))
    assert again == number or (np.isnan(again) and np.isnan(number))
    assert np.signbit(again) == np.signbit(number) or np.isnan(number)


@pytest.mark.parametrize("dtype", list(PRECISIONS))
@pytest.mark.parametrize("shape", [(1,), (2, 3), (5, 7, 3), (0,), (9, 100)])
def test_an_array_round_trips(dtype: str, shape: tuple[int, ...]) -> None:
    kind = precision(dtype).numpy
    values = np.random.default_rng(0).standard_normal(shape).astype(kind)
    text = literals.array(values, dtype)
    assert text is not None
    again = evaluated(text)
    assert (again.dtype, again.shape) == (kind, shape)
    assert again.tobytes() == values.tobytes()
    assert again.flags.writeable


def test_short_decimals_where_they_are_exact() -> None:
    assert literals.number(-5.5, "float32") == "-5.5"
    assert literals.number(float(np.float32(0.1)), "float32") == "0.1"
    assert literals.number(1 / 3, "float64") == 'float.fromhex("0x1.5555555555555p-2")'
    assert literals.number(-0.0, "float32") == "-0.0"


def test_one_value_many_times() -> None:
    assert literals.array(np.full((2, 3), 1.5, np.float32), "float32") == "np.full((2, 3), 1.5, np.float32)"
    assert literals.array(np.array([0.0, -0.0], np.float32), "float32") == "np.array([0.0, -0.0], np.float32)"


def test_a_large_array_lies_beside_the_script() -> None:
    assert literals.array(np.random.default_rng(0).standard_normal(5000), "float64") is None
