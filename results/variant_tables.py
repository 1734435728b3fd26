"""What is counted of variants, as SQL over the rows: outcomes against the unwrapped call, and which give equal bits."""

from __future__ import annotations

from results.tallies import PLAIN, TRIAL_KEY

ANY = f"SELECT DISTINCT operator FROM measurements WHERE NOT ({PLAIN}) ORDER BY operator"
"""Operators that were called under variants."""

_KEPT = ("operator", "dtype", "target", "variant")
KEYS = (*_KEPT, "verdict", "reason", "composed")
SAME = ""
"""In the place of a verdict: beyond rounding whichever way the target is called. It lies below every finding."""
_ROWS = f"NOT ({PLAIN}) AND (against <> 'truth' OR error IS NOT NULL)"
"""A row against the unwrapped call for each output; where there is none, that against the truth says why."""

NONE_VARIED = f"""
    SELECT {", ".join(f"NULL::VARCHAR AS {name}" for name in KEYS[:-1])}, false AS composed, 0 AS n, 0 AS equal,
           0::DOUBLE AS abs, 0::DOUBLE AS rho WHERE false
"""
NONE_SPLIT = "SELECT ''::VARCHAR AS operator, '' AS dtype, '' AS target, '' AS classes, 0 AS n WHERE false"

VARIED = f"""
    SELECT {", ".join(KEYS)}, count(*) AS n, count(*) FILTER (equal) AS equal, max(abs) AS abs, max(rho) AS rho FROM (
        SELECT {", ".join(_KEPT)}, arg_max(coalesce(m.verdict, '{SAME}'), coalesce(v.severity, 5.5)) AS verdict,
               coalesce(any_value(detail) FILTER (m.verdict = 'unsupported'), '') AS reason,
               coalesce(bool_or(provenance = 'composed'), false) AS composed,
               coalesce(bool_and(m.verdict = 'exact'), false) AS equal, max(abs_max) AS abs, max(rho_max) AS rho
        FROM measurements AS m LEFT JOIN verdicts AS v ON m.verdict = v.name WHERE {_ROWS}
        GROUP BY {", ".join(_KEPT)}, {TRIAL_KEY})
    GROUP BY ALL
"""
"""Trials by operator, target and variant: the worst of their outputs against those of the unwrapped call."""

SPLITS = f"""
    WITH digests AS (
        SELECT operator, dtype, target, coalesce(variant, '') AS variant, {TRIAL_KEY}, output, output_digest
        FROM measurements WHERE against = 'truth' AND output_digest IS NOT NULL AND operator IN (OPERATORS)),
    led AS (
        SELECT *, min(variant) OVER (
            PARTITION BY operator, dtype, target, {TRIAL_KEY}, output, output_digest) AS leader FROM digests),
    split AS (
        SELECT operator, dtype, target,
               string_agg(variant || chr(9) || leader, chr(10) ORDER BY variant) AS classes
        FROM led GROUP BY operator, dtype, target, {TRIAL_KEY}, output HAVING count(*) > 1)
    SELECT operator, dtype, target, classes, count(*) AS n FROM split GROUP BY ALL
"""
"""How the calls of a target on one output split by equal bits, written as `results.partitions` does; the empty name is
the unwrapped call."""

MERGES = {
    "varied": f"SELECT {', '.join(KEYS)}, sum(n)::BIGINT AS n, sum(equal)::BIGINT AS equal, max(abs) AS abs, "
    "max(rho) AS rho FROM varied GROUP BY ALL",
    "splits": "SELECT operator, dtype, target, classes, sum(n)::BIGINT AS n FROM splits GROUP BY ALL",
}
"""SQL that adds the lines of tables put below each other."""
