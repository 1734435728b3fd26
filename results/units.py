"""Unit roundoffs of the dtypes that rows name: half the distance from 1 to the next larger number."""

from __future__ import annotations

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
