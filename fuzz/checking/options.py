"""The options of `fuzz.check` as its user writes them: what does not fit is refused in one line, at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fuzz.errors import UserError


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number (one of NumPy, too) within its limits."""
    there = isinstance(value, int) or (type(value).__module__ == "numpy" and hasattr(value, "__index__"))
    if isinstance(value, bool) or not there or value < least or (most is not None and value > most):
        range_ = f"from {least} on" if most is None else f"from {least} to 2^{(most + 1).bit_length() - 1} - 1"
        raise UserError(f"{name} is {value!r}: use a whole number {range_}")
    return int(value)


def seconds(name: str, value: Any, *, positive: bool) -> float:
    """A number of seconds; inf is one."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    if not number or value < 0 or (positive and value == 0):
        raise UserError(f"{name} is {value!r}: use a number of seconds {'above 0' if positive else 'from 0 on'}")
    return float(value)


def variants(value: Any) -> tuple[str, ...]:
    """Variants named in one text, with commas between, or one by one; None is none."""
    if value is None:
        return ()
    named = value.split(",") if isinstance(value, str) else value
    if not isinstance(named, Sequence) or not all(isinstance(name, str) for name in named):
        raise UserError(f'variants is {value!r}: name them, variants="batch,layout" or variants=["batch[4]"]')
    return tuple(filter(None, map(str.strip, named)))


def names(value: Any) -> list[str] | None:
    """Names for the functions, one each."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise UserError(f'names is {value!r}: give a list of texts, one a function: names=["mine", "theirs"]')
    return list(value)
