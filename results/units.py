"""Unit roundoffs of the dtypes that rows name: half the distance from 1 to the next larger number."""

from __future__ import annotations

import math

UNIT_ROUNDOFF: dict[str, float] = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "bfloat16": 2.0**-8,
    "float16": 2.0**-11,
}
"""u = 2^-p for a precision of p bits (IEEE 754-2019 table 3.5; bfloat16 has p = 8)."""


def unit_sql(column: str) -> str:
    """SQL expression for the unit roundoff of the dtype that `column` names; null for others."""
    cases = " ".join(f"WHEN '{name}' THEN {unit!r}" for name, unit in UNIT_ROUNDOFF.items())
    return f"CASE {column} {cases} END"


SMALLEST_NORMAL: dict[str, float] = {
    "float64": 2.0**-1022,
    "float32": 2.0**-126,
    "bfloat16": 2.0**-126,
    "float16": 2.0**-14,
}
"""The same table: below these numbers a format has fewer than p bits."""


def smallest_normal_sql(column: str) -> str:
    """SQL expression for the smallest normal number of the dtype that `column` names; null for others."""
    cases = " ".join(f"WHEN '{name}' THEN {least!r}::DOUBLE" for name, least in SMALLEST_NORMAL.items())
    return f"CASE {column} {cases} END"


NUMBERS: dict[str, int] = {"float64": 2**64, "float32": 2**32, "bfloat16": 2**16, "float16": 2**16}
"""Bit patterns of a format."""


def digits(dtype: str) -> int:
    """Precision p in bits."""
    return round(-math.log2(UNIT_ROUNDOFF[dtype]))
