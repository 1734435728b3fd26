"""Summaries of parts count what the plain queries over all rows count, wherever the rows are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_rows import TARGETS, make_row, outlier

import results
from results.arrow import to_table
from results.bitwise import bitwise_classes
from results.certification import certification
from results.columns import COLUMNS, RUNGS, Row, rung_column
from results.compaction import compact_here
from results.findings import accusations, computed
from results.outliers import blame
from results.overview import operator_tallies
from results.parts import facts
from results.quantiles import LEVELS, quantiles
from results.rates import rate
from results.reading import Results
from results.setting import setting, undecided, without_output
from results.store import Store
from results.summary import RECIPE, packed, summarise, unpacked
from results.tallies import PLAIN, TRIAL_KEY, against_truth, between_targets, verdict_counts

VERDICTS = (
    "exact",
    "rounding",
    "ill_conditioned",
    "unstable",
    "subnormals_flushed",
    "indeterminate",
    "accumulation_order",
)


def rows_of_two_operators(trials: int, seed: int = 5) -> list[Row]:
    """Every kind of row: two outputs, pairs, variants, failures, findings, composed code, certified trials."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for index in range(trials):
        for operator, outputs in (("softmax", ("y",)), ("var_mean", ("var", "mean"))):
            common: dict[str, Any] = {"operator": operator, "problem_id": f"{operator}-{index % 3}"}
            for output in outputs:
                for target in TARGETS:
                    rows.append(_measured(rng, index, target, output=output, **common))
                rows.append(_measured(rng, index, TARGETS[1], output=output, against=TARGETS[3], **common))
                rows.append(_measured(rng, index, TARGETS[1], output=output, variant="batch[8]", **common))
            why = {"verdict": "unsupported", "detail": f"scipy has no {operator}", "error": "no"}
            if index % 2:
                why = {"verdict": "indeterminate", "detail": f"not run: died {index % 3} times"}
            empty = dict.fromkeys([rung_column(k) for k in RUNGS] + ["rel_max", "rho_max", "ulp_max", "flagged"])
            rows.append(make_row(index, "scipy:cpu", output_digest=None, **common, **why, **empty))
    return rows


def _measured(rng: np.random.Generator, index: int, target: str, **cells: Any) -> Row:
    verdict = str(rng.choice(VERDICTS))
    rho = float(rng.choice([0.0, 0.5, 1.5, 8.0, 1e6]))
    figures = outlier(
        float(10.0 ** rng.uniform(-9, 1)),
        verdict=verdict,
        rho_max=rho,
        flagged=int(rho > 2),
        rel_amplification=[None, 5.0][int(rng.integers(2))],
        provenance="composed" if target == TARGETS[0] else "library",
        detail=f"because {rng.integers(3)}",
        certified=[None, 0, 7][int(rng.integers(3))],
        output_digest=f"{index}-{rng.integers(3)}",
    )
    return make_row(index, target, **figures | cells)


@pytest.fixture(params=["summaries", "rows", "merged"])
def opened(request: pytest.FixtureRequest, campaign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Results:
    """The same campaign with summaries in its parts, without, and merged; large enough to be scanned."""
    monkeypatch.setattr("results.reading._IN_MEMORY", 0)
    for module in ("store", "summary"):
        monkeypatch.setattr(f"results.{module}.LEAST_ROWS", 10**9 if request.param == "rows" else 1024)
    monkeypatch.setattr("results.summary.SHARE", 0)
    rows = rows_of_two_operators(330)
    directory = campaign(rows, shards=1)
    store = Store(directory)
    for number in range(4):
        store.commit(number, [row for row in rows if int(row["index"] or 0) % 4 == number])
    if request.param == "merged":
        monkeypatch.setattr("results.compaction.FEW", 2)
        assert compact_here(directory, final=True).merged == 4
    kept = [bool(part.summary) for part in store.part_facts()]
    assert kept == [request.param != "rows"] * len(kept)
    return results.open(directory)


def test_tallies_are_those_of_the_rows(opened: Results) -> None:
    for tallies, where in ((against_truth, "against = 'truth'"), (between_targets, "against <> 'truth'")):
        plain = opened.records(f"""
            SELECT target, count(*) AS run, count(a) AS trials, count(*) FILTER (a > 0) AS above_1e01,
                   count(*) FILTER (b > 0) AS above_1e02, count(*) FILTER (flagged > 0) AS flagged,
                   max(relative) AS worst_relative, max(ulp) AS worst_ulp, max(rho) AS worst_rho
            FROM (SELECT target, against, {TRIAL_KEY}, max(above_1e01) AS a, max(above_1e02) AS b,
                         sum(flagged) AS flagged, max(rel_max) AS relative, max(ulp_max) AS ulp, max(rho_max) AS rho
                  FROM measurements WHERE {where} AND {PLAIN} GROUP BY ALL)
            GROUP BY target, against ORDER BY target, against
        """)
        found = [{name: getattr(one, name) for name in plain[0]} for one in tallies(opened)]
        assert found == plain


def test_verdicts_count_once_a_trial(opened: Results) -> None:
    plain = opened.records(f"""
        SELECT target, name, count(*) AS n FROM (
            SELECT target, {TRIAL_KEY}, max(severity) AS severity
            FROM trials JOIN verdicts ON verdict = name GROUP BY ALL)
        JOIN verdicts USING (severity) GROUP BY ALL
    """)
    found = verdict_counts(opened)
    assert {(row["target"], row["name"]): row["n"] for row in plain} == {
        (target, name): n for target, counts in found.items() for name, n in counts.items()
    }


def test_operators_trials_and_certification(opened: Results) -> None:
    plain = opened.records(f"""
        SELECT operator, target, count(DISTINCT problem_id) AS problems, count(flagged) AS trials,
               count(DISTINCT problem_id) FILTER (flagged > 0) AS problems_flagged,
               count(*) FILTER (flagged > 0) AS flagged, max(rho) AS worst_rho
        FROM (SELECT operator, target, {TRIAL_KEY}, sum(flagged) AS flagged, max(rho_max) AS rho
              FROM trials GROUP BY ALL) GROUP BY ALL ORDER BY operator, target
    """)
    found = sorted(operator_tallies(opened), key=lambda one: (one.operator, one.target))
    assert [{name: getattr(one, name) for name in plain[0]} for one in found] == plain
    ran = setting(opened)
    assert (ran.trials, ran.problems, ran.operators) == (660, 6, ("softmax", "var_mean"))
    (whole,) = opened.records(f"""
        SELECT sum(certified) AS elements, count(DISTINCT ({TRIAL_KEY})) FILTER (certified > 0) AS trials FROM trials
    """)
    opened.environments["e"] = {"certifier": "Arb"}
    said = certification(opened, ["e"])
    assert f"at {whole['elements']:,} elements of {whole['trials']} trials" in said


def test_blame_and_accusations(opened: Results) -> None:
    (plain,) = opened.records(f"""
        SELECT count(*) FILTER (outlier) AS outliers, count(*) FILTER (outlier AND blamed) AS blamed,
               count(*) FILTER (outlier AND NOT blamed AND composed) AS composed FROM (
            SELECT bool_or(above_1e01 > 0) AS outlier, bool_or(finding AND provenance <> 'composed') AS blamed,
                   bool_or(finding AND provenance = 'composed') AS composed
            FROM measurements LEFT JOIN verdicts ON verdict = name WHERE {PLAIN} GROUP BY {TRIAL_KEY})
    """)
    found = blame(opened)
    assert (found.trials, found.outliers, found.blamed, found.composed) == (660, *plain.values())
    rows = opened.records(f"""
        SELECT operator, target, verdict, count(DISTINCT ({TRIAL_KEY})) AS n FROM measurements
        JOIN verdicts ON verdict = name WHERE finding AND provenance <> 'composed' GROUP BY ALL
    """)
    assert {(row["operator"], row["target"], row["verdict"]): row["n"] for row in rows} == {
        (one.operator, one.target, one.verdict): one.trials for one in accusations(opened)
    }
    assert all(one.of_trials == 330 for one in accusations(opened))


def test_reasons_and_findings(opened: Results) -> None:
    for found, names in ((undecided(opened), ["indeterminate"]), (without_output(opened), ["unsupported"])):
        plain = opened.records(f"""
            SELECT target, operator, verdict, detail AS reason, count(DISTINCT ({TRIAL_KEY})) AS trials FROM trials
            WHERE verdict IN ({str(names)[1:-1]}) GROUP BY ALL
        """)
        assert Counter(map(repr, plain)) == Counter(
            repr({name: getattr(one, name) for name in plain[0]}) for one in found
        )
    groups = computed(opened)
    assert {one.provenance for one in groups} == {"composed", "library"}
    for one in groups:
        (row,) = opened.records(f"""
            SELECT count(DISTINCT ({TRIAL_KEY})) AS n, max(rho_max) AS rho FROM measurements
            WHERE operator = '{one.operator}' AND output = '{one.output}' AND target = '{one.target}'
              AND verdict = '{one.verdict}' AND (against = 'truth') = ('{one.against}' = 'truth')
        """)
        assert (one.trials, one.worst_rho, one.of_trials) == (row["n"], row["rho"], 330)


def test_equal_bits(opened: Results) -> None:
    rows = opened.records("SELECT * FROM trials WHERE output_digest IS NOT NULL")
    of: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        of.setdefault((row["problem_id"], row["index"], row["output"]), {})[row["target"]] = row["output_digest"]
    expected: Counter[Any] = Counter()
    for digests in of.values():
        groups: dict[str, list[str]] = {}
        for target in sorted(digests):
            groups.setdefault(digests[target], []).append(target)
        expected[tuple(sorted(map(tuple, groups.values()), key=lambda one: (-len(one), one)))] += 1
    found = bitwise_classes(opened)
    assert dict(found.partitions) == dict(expected)
    assert found.outputs == len(of) == 990


def test_rates_and_quantiles(opened: Results) -> None:
    opened.manifests[0]["plan"] = "survey"
    opened.manifests[0]["trials_per_problem"] = 1
    for event, by in (("above_1e05 > 0", ("operator", "target")), ("flagged > 0", ("target",))):
        tallied = rate(opened, event, by=by)
        plain = rate(opened, event.replace("> 0", ">= 1"), by=by)
        assert [(row.group, row.interval) for row in tallied.rows] == [(row.group, row.interval) for row in plain.rows]
    for one in quantiles(opened):
        values = (
            opened.sql(f"SELECT rel_max FROM trials WHERE target = '{one.target}' ORDER BY 1").column(0).to_pylist()
        )
        assert one.relative == tuple(values[max(0, int(np.ceil(len(values) * level - 1e-9)) - 1)] for level in LEVELS)


def test_a_summary_of_another_recipe_is_computed_anew(campaign: Callable[..., Path]) -> None:
    table = to_table(rows_of_two_operators(200), COLUMNS)
    text = packed(summarise(table), 10**6)
    assert unpacked(text) is not None
    assert unpacked("0" * len(RECIPE) + text[len(RECIPE) :]) is None
    assert unpacked("") is None


def test_small_parts_and_parts_of_many_problems_keep_none(
    campaign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("store", "summary"):
        monkeypatch.setattr(f"results.{module}.LEAST_ROWS", 1024)
    many = [make_row(0, problem_id=f"p{number}") for number in range(1024)]
    few = [make_row(number) for number in range(1024)]
    directory = campaign(many, shards=1)
    store = Store(directory)
    store.commit(1, few)
    store.commit(2, few[1:])
    assert [bool(facts(store.parts / f"{number:08d}.parquet").summary) for number in range(3)] == [False, True, False]
