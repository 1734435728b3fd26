"""What reports count, as SQL over the rows: outcomes of trials, kinds of trials, reasons for missing figures.

Each of these tables has a line for all trials that agree in what reports group by, with their number. A trial lies in
one part whole, so the tables of several parts are added by adding lines; `MERGES` says how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from results.columns import INTERNAL, RUNGS, rung_column
from results.quoting import quoted
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

LARGEST: tuple[str, ...] = ("relative", "ulp", "rho", "kept", "inside", "elements", "length")
"""Largest values. `kept`: rho without outputs that only read subnormals as zero; `inside`: from 1 on, in INTERNAL;
`length`: of reductions, which is one for all trials of a problem."""

SQUARES: dict[str, str] = {
    "ideal": "CASE WHEN isfinite(rho_ideal) AND rho_ideal < 1e150 THEN rho_ideal ** 2 END",
    "share": "CASE WHEN truth_mean > 0 AND abs_rms / truth_mean < 1e150 THEN (abs_rms / truth_mean) ** 2 END",
}
"""Squares whose sums over outputs are kept as `NAME_squares`, with the number of outputs as `NAME_outputs`: of
rho_ideal, and of the rms error as a share of the mean of |truth|, where they are finite."""

SUMMED: tuple[str, ...] = tuple(f"{name}_squares" for name in SQUARES)
SUMMED_OUTPUTS: tuple[str, ...] = tuple(f"{name}_outputs" for name in SQUARES)

WHO: tuple[str, ...] = ("operator", "target", "backend", "device", "options", "dtype")
"""Columns that say what ran where."""

REASONED: frozenset[str] = NO_VALUE | {"indeterminate"}
"""Verdicts whose reason is reported."""


def quoted_list(names: Iterable[str]) -> str:
    """Strings in SQL, for IN (...); in alphabetical order."""
    return ", ".join(map(quoted, sorted(names))) or "NULL"


FINDINGS = quoted_list(verdict.name for verdict in VERDICTS.values() if verdict.finding)
"""The verdicts that are findings, for IN (...)."""
_KEPT = "CASE WHEN verdict IS DISTINCT FROM 'subnormals_flushed' THEN rho_max END"
_INSIDE = f"list_position({list(INTERNAL)}, internal)"

SEVERAL = "SELECT operator FROM measurements GROUP BY operator HAVING min(output) <> max(output) ORDER BY operator"
"""Operators with several outputs."""


_MOST_NAMED = 1000


def among(problems: Sequence[Mapping[str, Any]]) -> str:
    """In SQL, whether a row is of one of these problems, given as `operator` and `problem_id`; "true" of too many.

    Parts are sorted or hold few problems: by these columns most row groups need not be read.
    """
    ids = {row["problem_id"] for row in problems}
    operators = {row["operator"] for row in problems}
    if None in ids or None in operators or len(ids) > _MOST_NAMED:
        return "true"
    return f"problem_id IN ({quoted_list(ids)}) AND operator IN ({quoted_list(operators)})"


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
        "length": "reduction_length",
        **{f"{name}_squares": square for name, square in SQUARES.items()},
        **{f"{name}_outputs": f"(({square}) IS NOT NULL)::BIGINT" for name, square in SQUARES.items()},
        "found": f"coalesce(verdict IN ({FINDINGS}), false)",
    }
    together = {
        **{name: f"max({column})" for name, column in alone.items()},
        "flagged": "sum(flagged)",
        "amplification": "arg_max(rel_amplification, rel_max)",
        "verdict": "arg_max(verdict, severity)",
        **{name: f"sum({alone[name]})" for name in (*SUMMED, *SUMMED_OUTPUTS)},
    }
    plain = f"SELECT {every}, {_named(alone)} FROM measurements"
    calls = plain
    if several:
        names = quoted_list(several)
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
        **{name: f"coalesce(sum({name}), 0)" for name in (*SUMMED, *SUMMED_OUTPUTS)},
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
          FROM (SELECT *, {PLAIN} AS p, verdict IN ({FINDINGS}) AS found FROM measurements) GROUP BY {TRIAL_KEY})
    GROUP BY ALL
"""
"""Trials over all their targets: what is in them, and at how many elements their truth was certified."""

REASONS = f"""
    SELECT target, operator, verdict, reason, count(*) AS trials FROM (
        SELECT DISTINCT target, operator, verdict, {TRIAL_KEY},
               coalesce(nullif(detail, ''), nullif(error, ''), 'no reason given') AS reason
        FROM measurements WHERE verdict IN ({quoted_list(REASONED)}) AND against = 'truth' AND {PLAIN})
    GROUP BY ALL
"""
"""Why trials gave no output, or the oracle could not decide."""


NOT_RUN = "(verdict = 'indeterminate' AND coalesce(detail, '') LIKE 'not run%')"
"""Rows of a target that had ended too many workers before."""
RAN = f"(verdict IS DISTINCT FROM 'unsupported' AND NOT coalesce({NOT_RUN}, false))"

ACCUSED = f"""
    SELECT operator, target, verdict, composed, count(*) AS trials, max(rho) AS rho FROM (
        SELECT operator, target, verdict, coalesce(provenance, '') = 'composed' AS composed, {TRIAL_KEY},
               max(rho_max) AS rho
        FROM measurements WHERE verdict IN ({FINDINGS}) GROUP BY ALL)
    GROUP BY ALL
"""
"""Trials with a finding, by whom it is about: in any output, dtype, region, under any variant, against anything."""

RAN_BY_TARGET = f"""
    SELECT {", ".join(WHO)}, count(*) FILTER (ran) AS trials, count(*) FILTER (not_run) AS not_run FROM (
        SELECT {", ".join(WHO)}, {TRIAL_KEY}, bool_or(against = 'truth' AND {RAN}) AS ran,
               bool_or({NOT_RUN} AND {PLAIN}) AS not_run
        FROM measurements GROUP BY ALL)
    GROUP BY ALL
"""
"""Trials that a target ran of an operator, under any variant, and those in which its plain call was not run."""


def _named(columns: dict[str, str]) -> str:
    return ", ".join(f"{expression} AS {name}" for name, expression in columns.items())


_ADDED = {
    **{name: f"sum({name})::BIGINT" for name in (*COUNTED, *SUMMED_OUTPUTS)},
    **{name: f"max({name})" for name in LARGEST},
    **{name: f"sum({name})" for name in SUMMED},
}
MERGES: dict[str, str] = {
    "outcomes": f"SELECT {', '.join(KEYS)}, found, bare, {_named(_ADDED)}, "
    "arg_max(amplification, relative) AS amplification FROM outcomes GROUP BY ALL",
    "trial_kinds": "SELECT plain, outlier, blamed, composed, undecided, ordered, certified, sum(n)::BIGINT AS n, "
    "sum(elements)::BIGINT AS elements, sum(skipped)::BIGINT AS skipped FROM trial_kinds GROUP BY ALL",
    "accused": "SELECT operator, target, verdict, composed, sum(trials)::BIGINT AS trials, max(rho) AS rho "
    "FROM accused GROUP BY ALL",
    "ran": f"SELECT {', '.join(WHO)}, sum(trials)::BIGINT AS trials, sum(not_run)::BIGINT AS not_run "
    "FROM ran GROUP BY ALL",
    "reasons": "SELECT target, operator, verdict, reason, sum(trials)::BIGINT AS trials FROM reasons GROUP BY ALL",
    "partitions": "SELECT classes, sum(n)::BIGINT AS n FROM partitions GROUP BY classes",
}
"""SQL that adds the lines of tables put below each other."""
