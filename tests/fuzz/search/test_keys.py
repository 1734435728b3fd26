"""Numbers as keys: the same order, one step a number."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.search.keys import key_of, keys_of, values_of
from strategies.precision import precision


@pytest.mark.parametrize("home", ["float16", "bfloat16"])
def test_keys_of_all_numbers_of_a_format(home: str) -> None:
    numbers = np.arange(2**16, dtype=np.uint16).view(precision(home).numpy)
    numbers = numbers[np.isfinite(numbers.astype(np.float32))]
    keys = keys_of(numbers)
    again = values_of(keys, home)
    assert again.dtype == numbers.dtype
    assert np.array_equal(again.astype(np.float64), numbers.astype(np.float64))
    order = np.argsort(keys, kind="stable")
    assert (np.diff(numbers[order].astype(np.float64)) >= 0).all()
    assert set(np.diff(np.unique(keys))) == {1}


@pytest.mark.parametrize("home", ["float32", "float64"])
def test_the_next_key_is_the_next_number(home: str) -> None:
    kind = precision(home).numpy.type
    for value in (0.0, 1.0, -1.0, 3e-40, -2.5e30):
        expected = np.nextafter(kind(value), kind(np.inf))
        assert values_of(np.array([key_of(value, home) + 1]), home)[0] == expected
    assert key_of(float("nan"), home) > key_of(float("inf"), home) > key_of(precision(home).largest, home)
    assert key_of(-0.0, home) == 0
