"""Where the errors of a function are: the inputs of elements, in words."""

from __future__ import annotations

import json
from typing import Any

from fuzz.thresholds import FLAG
from results.quoting import quoted
from results.reading import Results


def where_largest(results: Results, name: str, operator: str) -> str:
    """ "x = -2.70" at the largest absolute error."""
    rows = results.sql(
        f"""SELECT inputs FROM elements WHERE kind = 'absolute' AND {_of(name, operator)}
            ORDER BY abs(value - truth) DESC LIMIT 1"""
    ).to_pylist()
    return _place(rows[0]["inputs"]) if rows else ""


def where_flagged(results: Results, name: str, operator: str) -> str:
    """ "x = -16.7 gives 0 instead of 5.58e-08" at the largest rho: rarely where the absolute error is largest."""
    rows = results.sql(
        f"""SELECT inputs, value, truth FROM elements WHERE kind = 'worst' AND {_of(name, operator)}
            AND rho > {FLAG} AND isfinite(rho) ORDER BY rho DESC LIMIT 1"""
    ).to_pylist()
    if not rows:
        return ""
    place, (value, truth) = _place(rows[0]["inputs"]), told_apart(rows[0]["value"], rows[0]["truth"])
    return f"{place} gives {value} instead of {truth}" if place else f"{value} instead of {truth}"


def _of(name: str, operator: str) -> str:
    """In SQL, whether an element is of this function."""
    return f"split_part(target, ':', 1) = {quoted(name)} AND operator = {quoted(operator)}"


def _place(inputs: str) -> str:
    """The inputs of an element, where it depends on few; else empty."""
    given: list[Any] = json.loads(inputs)
    if not given or len(given) > 3:
        return ""
    return ", ".join(f"{item[0]} = {float(item[2]):.3g}" for item in given)


def told_apart(one: float, other: float) -> tuple[str, str]:
    """Two different numbers with three digits, or as many more as show that they differ."""
    for digits in range(3, 17):
        if f"{one:.{digits}g}" != f"{other:.{digits}g}":
            return f"{one:.{digits}g}", f"{other:.{digits}g}"
    return repr(one), repr(other)
