"""How the errors of each target spread: outputs by size, so that an exact quantile needs a look at few of them.

A number x > 0 is counted in quarters of its binade, [2^b (1 + j/4), 2^b (1 + (j+1)/4)), as bucket 4 b + j. Both ends
are exact in binary, and so is the arithmetic that finds the bucket: no x is counted beside its own.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from results.tallies import AGAINST_TRUTH

FIGURES: dict[str, str] = {"relative": "rel_max", "rho": "rho_max"}
"""Columns whose spread is kept, by the name of the figure."""

PARTS = 4
"""Buckets of a binade."""
LEAST = -1000
"""Exponent below which numbers are one bucket."""
NONE, SMALL, INFINITE, NAN = -20_000, -19_999, 20_000, 20_001
"""Buckets of zeros, of numbers below 2^LEAST, of infinities and of NaN."""

KEYS = ("target", "figure", "bucket")

Interval: TypeAlias = tuple[float, float]


def _spread(figure: str, column: str) -> str:
    exponent = f"CASE WHEN x >= {2.0**LEAST!r} AND x < 'inf'::DOUBLE THEN floor(log2(x)) END"
    corrected = "e - (x < pow(2.0, e))::INT + (x >= pow(2.0, e + 1))::INT"  # log2 is rounded
    return f"""
        SELECT target, '{figure}' AS figure,
               CASE WHEN NOT x > 0 THEN {NONE} WHEN isnan(x) THEN {NAN} WHEN isinf(x) THEN {INFINITE}
                    WHEN b IS NULL THEN {SMALL} ELSE {PARTS} * b + floor({PARTS} * (x / pow(2.0, b) - 1)) END::BIGINT
                   AS bucket, count(*) AS n
        FROM (SELECT target, x, {corrected} AS b FROM (
            SELECT target, x, {exponent} AS e FROM (
                SELECT target, {column} AS x FROM measurements WHERE {AGAINST_TRUTH} AND {column} IS NOT NULL)))
        GROUP BY ALL
    """


SPREADS = " UNION ALL ".join(_spread(figure, column) for figure, column in FIGURES.items())
"""Outputs by target and bucket."""

MERGES = {"spreads": f"SELECT {', '.join(KEYS)}, sum(n)::BIGINT AS n FROM spreads GROUP BY ALL"}
"""SQL that adds the lines of tables put below each other."""


def interval(bucket: int) -> Interval:
    """The numbers of a bucket that holds several: the lower end belongs to it, the upper one does not."""
    if bucket == SMALL:
        return math.ulp(0.0), 2.0**LEAST  # zeros have a bucket of their own
    exponent, part = divmod(bucket, PARTS)
    low = 2.0**exponent * (1 + part / PARTS)
    return low, low + 2.0**exponent / PARTS


ALONE: dict[int, float] = {NONE: 0.0, INFINITE: float("inf"), NAN: float("nan")}
"""The number that a bucket stands for where it holds one only."""
