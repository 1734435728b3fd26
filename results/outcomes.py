"""What reports count, as SQL over the rows: outcomes of trials, kinds of trials, reasons for missing figures.

Each of these tables has a line for all trials that agree in what reports group by, with their number. A trial lies in
one part whole, so the tables of several parts are added by adding lines; `MERGES` says how.
"""

from __future__ import annotations

from results.columns import INTERNAL, RUNGS, rung_column
from results.tallies import PLAIN, TRIAL_KEY
from results.verdicts import NO_VALUE, VERDICTS

KEYS: tuple[str, ...] = (
    "problem_id",
    "seed",
    "operator",
    "home",
    "dtype",
    "target",
    "backend",
    "device",
    "options",
    "against",
    "variant",
    "attributes",
    "dims",
    "recipes",
    "implementation",
    "provenance",
    "environment",
    "verdict",
)
"""Columns of rows that an outcome keeps. Its verdict is the most severe one of the outputs."""

COUNTED: tuple[str, ...] = ("n", "measured", *(f"a{k}" for k in RUNGS), "judged", "flagged")
"""Trials; those with a relative error; with one above 1e-k; those with a rho; with a flagged element."""

LARGEST: tuple[str, ...] = ("relative", "ulp", "rho", "kept", "inside", "elements")
"""Largest values; `kept` is rho without outputs that only read subnormals as zero, `inside` counts from 1 in INTERNAL."""

REASONED: frozenset[str] = NO_VALUE | {"indeterminate"}
"""Verdicts whose reason is reported."""


def _quoted(names: frozenset[str] | list[str] | tuple[str, ...]) -> str:
    return ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(names)) or "NULL"


_FINDINGS = _quoted([verdict.name for verdict in VERDICTS.values() if verdict.finding])
_KEPT = "CASE WHEN verdict IS DISTINCT FROM 'subnormals_flushed' THEN rho_max END"
_INSIDE = f"list_position({list(INTERNAL)}, internal)"

SEVERAL = "SELECT operator FROM measurements GROUP BY operator HAVING min(output) <> max(output) ORDER BY operator"
"""Operators with several outputs."""


def outcomes(several: list[str]) -> str:
    """SQL of the outcomes: what a trial gave on one target, against one thing, under one variant.

    Rows of operators with one output are outcomes as they are; those of `several` outputs are put together first.
    """
    every = ", ".join(KEYS)
    alone = {
        **{f"a{k}": rung_column(k) for k in RUNGS},
        "flagged": "flagged",
        "relative": "rel_max",
        "amplification": "rel_amplification",
        "ulp": "ulp_max",
        "rho": "rho_max",
        "kept": _KEPT,
        "inside": _INSIDE,
        "elements": "elements",
        "found": f"coalesce(verdict IN ({_FINDINGS}), false)",
    }
    together = {
        **{name: f"max({column})" for name, column in alone.items()},
        "flagged": "sum(flagged)",
        "amplification": "arg_max(rel_amplification, rel_max)",
        "verdict": "arg_max(verdict, severity)",
    }
    plain = f"SELECT {every}, {_named(alone)} FROM measurements"
    calls = plain
    if several:
        names = _quoted(several)
        kept = ", ".join(key for key in KEYS if key != "verdict")
        calls = f"""
            {plain} WHERE operator IS NULL OR operator NOT IN ({names})
            UNION ALL BY NAME
            SELECT {kept}, {_named(together)} FROM measurements LEFT JOIN verdicts ON verdict = name
            WHERE operator IN ({names}) GROUP BY {kept}, "index"
        """
    counted = {
        "n": "count(*)",
        "measured": "count(a1)",
        **{f"a{k}": f"count(*) FILTER (a{k} > 0)" for k in RUNGS},
        "judged": "count(flagged)",
        "flagged": "count(*) FILTER (flagged > 0)",
        **{name: f"max({name})" for name in LARGEST},
        "amplification": "arg_max(amplification, relative)",
    }
    return f"SELECT {every}, found, amplification IS NULL AS bare, {_named(counted)} FROM ({calls}) GROUP BY ALL"


TRIAL_KINDS = f"""
    SELECT coalesce(plain, false) AS plain, coalesce(outlier, false) AS outlier, coalesce(blamed, false) AS blamed,
           coalesce(composed, false) AS composed, coalesce(undecided, false) AS undecided,
           coalesce(ordered, false) AS ordered, coalesce(elements > 0, false) AS certified, count(*) AS n,
           sum(elements)::BIGINT AS elements, sum(skipped)::BIGINT AS skipped
    FROM (SELECT {TRIAL_KEY}, bool_or(p) AS plain, bool_or(p AND above_1e01 > 0) AS outlier,
                 bool_or(p AND found AND coalesce(provenance, '') <> 'composed') AS blamed,
                 bool_or(p AND found AND coalesce(provenance, '') = 'composed') AS composed,
                 bool_or(p AND verdict = 'indeterminate') AS undecided,
                 bool_or(p AND verdict = 'accumulation_order') AS ordered,
                 sum(certified) FILTER (p AND against = 'truth') AS elements,
                 count(*) FILTER (p AND against = 'truth' AND certified = 0) AS skipped
          FROM (SELECT *, {PLAIN} AS p, verdict IN ({_FINDINGS}) AS found FROM measurements) GROUP BY {TRIAL_KEY})
    GROUP BY ALL
"""
"""Trials over all their targets: what is in them, and at how many elements their truth was certified."""

REASONS = f"""
    SELECT target, operator, verdict, reason, count(*) AS trials FROM (
        SELECT DISTINCT target, operator, verdict, {TRIAL_KEY},
               coalesce(nullif(detail, ''), nullif(error, ''), 'no reason given') AS reason
        FROM measurements WHERE verdict IN ({_quoted(REASONED)}) AND against = 'truth' AND {PLAIN})
    GROUP BY ALL
"""
"""Why trials gave no output, or the oracle could not decide."""


def _named(columns: dict[str, str]) -> str:
    return ", ".join(f"{expression} AS {name}" for name, expression in columns.items())


_ADDED = {**{name: f"sum({name})::BIGINT" for name in COUNTED}, **{name: f"max({name})" for name in LARGEST}}
MERGES: dict[str, str] = {
    "outcomes": f"SELECT {', '.join(KEYS)}, found, bare, {_named(_ADDED)}, "
    "arg_max(amplification, relative) AS amplification FROM outcomes GROUP BY ALL",
    "trial_kinds": "SELECT plain, outlier, blamed, composed, undecided, ordered, certified, sum(n)::BIGINT AS n, "
    "sum(elements)::BIGINT AS elements, sum(skipped)::BIGINT AS skipped FROM trial_kinds GROUP BY ALL",
    "reasons": "SELECT target, operator, verdict, reason, sum(trials)::BIGINT AS trials FROM reasons GROUP BY ALL",
    "partitions": "SELECT classes, sum(n)::BIGINT AS n FROM partitions GROUP BY classes",
}
"""SQL that adds the lines of tables put below each other."""
