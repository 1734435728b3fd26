"""Findings: one line a defect, the same id everywhere, and a table on disk that is never older than the rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from finding_groups import group
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_rows import TARGETS, make_row

import results
from results.columns import FINDING_COLUMNS, Row
from results.findings import SIGNATURE, accusations, any_schedule, composed_findings, finding_id, findings
from results.findings_file import read_findings, write_findings
from results.statistics.proportions import rate_interval
from results.store import Store

NUMPY, TORCH, JAX, TVM = TARGETS
Write = Callable[..., Path]


def unstable(index: int = 0, target: str = NUMPY, **cells: Any) -> Row:
    faulty = {"verdict": "unstable", "rho_max": 10.0 + index, "flagged": 3, "region": "x < 0", "detail": f"at {index}"}
    return make_row(index, target, **faulty | cells)


def test_ids_never_change() -> None:
    """They are in known files and in other people's notes. A change needs a new name for the old ones."""
    assert group().id == "acd5d83e01"
    assert group(target="anything", trials=1, versions=(), environments=(), provenance="user").id == "acd5d83e01"
    assert group(verdict="crashed", region="SIGSEGV, in run", output="").id == "413c5e09ed"
    assert group(options="schedule=é,mcpu=host").id == "3dac7d867e"


@pytest.mark.parametrize("kind", ["schedule", "meta_schedule", "unsafe_schedule"])
def test_all_schedules_of_a_kind_are_one(kind: str, campaign: Write) -> None:
    rows = [unstable(i, f"tvm:llvm[{kind}={i + 3}]", options=f"fma=off,{kind}={i + 3}.2") for i in range(3)]
    (one,) = results.open(campaign(rows)).findings
    assert one.options == any_schedule(f"fma=off,{kind}=9") == f"fma=off,{kind}=any"
    assert one.trials == 3


@given(st.fixed_dictionaries({name: st.text(max_size=4) for name in SIGNATURE}), st.sampled_from(SIGNATURE), st.text())
def test_every_part_of_the_signature_counts(signature: dict[str, str], name: str, other: str) -> None:
    changed = signature | {name: other}
    assert (finding_id(changed) == finding_id(signature)) == (changed == signature)
    assert finding_id(dict(reversed(signature.items()))) == finding_id(signature)


@pytest.mark.parametrize(
    "cells",
    [
        {"operator": "gelu"},
        {"output": "z"},
        {"dtype": "float64"},
        {"verdict": "wrong"},
        {"region": "x > 0"},
        {"backend": "other"},
        {"device": "cuda"},
        {"options": "impl=b"},
    ],
)
def test_different_signatures_are_different_findings(campaign: Write, cells: dict[str, Any]) -> None:
    both = findings(results.open(campaign([unstable(0), unstable(1, **cells)])))
    assert len({one.id for one in both}) == len(both) == 2


def test_draws_problems_and_variants_are_not_part_of_it(campaign: Write) -> None:
    rows = [
        unstable(0),
        unstable(1),
        unstable(0, problem_id="q" * 16, dims="N=1", recipes="x=offset(10)", seed=8),
        unstable(2, variant="batch[8]"),
    ]
    (one,) = findings(results.open(campaign(rows)))
    assert (one.trials, one.variants) == (4, "batch[8]")


@pytest.mark.parametrize("verdict", ["raised", "crashed", "timed_out", "input_modified", "dtype_mismatch"])
def test_a_call_that_fails_is_one_finding_whatever_its_outputs(campaign: Write, verdict: str) -> None:
    rows = [make_row(0, verdict=verdict, output=name, rho_max=None) for name in ("y", "mean", "var")]
    (one,) = findings(results.open(campaign(rows)))
    assert (one.output, one.trials, one.of_trials) == ("", 1, 1)


def test_the_worst_trial_speaks_for_all(campaign: Write) -> None:
    rows = [unstable(i, rel_max=1.0 / (1 + i), ulp_max=float(i)) for i in range(9)]
    (one,) = findings(results.open(campaign(rows)))
    assert (one.trial, one.detail) == ("batch_norm-8", "at 8")
    assert (one.worst_rho, one.worst_relative, one.worst_ulp) == (18.0, 1.0, 8.0)


def test_of_equal_trials_the_first_is_named_every_time(campaign: Write) -> None:
    rows = [make_row(i, verdict="raised", rho_max=None, error=f"E: {i}", region="E") for i in range(50)]
    opened = results.open(campaign(rows[::-1]))
    assert {findings(opened)[0].trial, findings(results.open(*opened.directories))[0].trial} == {"batch_norm-0"}


def test_only_trials_that_ran_are_counted(campaign: Write) -> None:
    rows = [unstable(0), *(make_row(i) for i in range(1, 5))]
    rows += [make_row(i, verdict="unsupported", rho_max=None) for i in range(5, 8)]
    rows += [make_row(i, verdict="indeterminate", detail="not run: quarantined, ...") for i in range(8, 10)]
    rows += [make_row(10, verdict="indeterminate", detail="a divisor has no digits left")]
    rows += [make_row(11, dtype="float64"), make_row(12, TORCH)]
    rows += [make_row(i, against=TVM, verdict=None) for i in range(13)]
    (one,) = findings(results.open(campaign(rows)))
    assert (one.trials, one.of_trials, one.not_run) == (1, 6, 2)
    (coarse,) = accusations(results.open(campaign(rows)))
    assert (coarse.trials, coarse.of_trials) == (1, 7)


@pytest.mark.parametrize(
    ("problems", "manifest", "allowed"),
    [
        (1, {"plan": "fixed"}, True),
        (2, {"plan": "fixed"}, False),
        (2, {"plan": "survey", "trials_per_problem": 1}, True),
        (2, {"plan": "survey", "trials_per_problem": 5}, False),
        (1, {"plan": "explore"}, False),
        (1, {"plan": "search"}, False),
    ],
)
def test_rates_only_where_the_plan_has_them(
    campaign: Write, problems: int, manifest: dict[str, Any], allowed: bool
) -> None:
    rows = [unstable(0), *(make_row(i, problem_id=f"{i % problems:016x}") for i in range(1, 30))]
    rows[0]["problem_id"] = f"{0:016x}"
    (one,) = findings(results.open(campaign(rows, **manifest)))
    assert one.rate == (rate_interval(1, 30) if allowed else None)


def test_environments_and_versions_in_order(campaign: Write) -> None:
    rows = [unstable(i, TVM, environment="late" if i > 5 else "a-first") for i in (9, 7, 3, 1)]
    directory = campaign(rows)
    records = {
        name: {"versions": {"apache-tvm": v, "numpy": "2"}} for name, v in (("late", "0.28"), ("a-first", "0.27"))
    }
    (directory / "environments.json").write_text(json.dumps(records))
    (one,) = findings(results.open(directory))
    assert one.environments == ("a-first", "late")
    assert one.versions == (("apache-tvm", ("0.27", "0.28")),)


def test_findings_of_a_campaign_in_one_environment_name_it(campaign: Write) -> None:
    directory = campaign([unstable(0, TVM, environment="here"), unstable(1, environment="here")])
    records = {"here": {"versions": {"apache-tvm": "0.27", "numpy": "2.4"}}}
    (directory / "environments.json").write_text(json.dumps(records))
    found = findings(results.open(directory))
    assert [one.environments for one in found] == [("here",), ("here",)]
    assert {one.versions for one in found} == {(("apache-tvm", ("0.27",)),), (("numpy", ("2.4",)),)}


def test_rows_of_older_campaigns_have_no_region(campaign: Write) -> None:
    (one,) = findings(results.open(campaign([unstable(0, region=None)])))
    assert one.region == ""
    assert one.title == "numpy:cpu batch_norm (y) in float32: unstable"


def test_titles_say_where_unless_anywhere() -> None:
    assert group().title == "tvm:llvm gelu (y) in float32: unstable, x < -2.75"
    assert group(region="any input", output="").title == "tvm:llvm gelu in float32: unstable"


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_every_row_with_a_finding_is_in_exactly_one_group(tmp_path_factory: Any, data: st.DataObject) -> None:
    from synthetic_rows import write_campaign

    choice = st.fixed_dictionaries(
        {
            "verdict": st.sampled_from(["rounding", "unstable", "crashed", "indeterminate", "unsupported"]),
            "region": st.sampled_from([None, "x < 0", "x > 0"]),
            "provenance": st.sampled_from(["library", "composed", None]),
            "operator": st.sampled_from(["gelu", "tanh"]),
        }
    )
    rows = [make_row(i, **cells) for i, cells in enumerate(data.draw(st.lists(choice, min_size=1, max_size=12)))]
    opened = results.open(write_campaign(tmp_path_factory.mktemp("c") / "c", rows, shards=1))
    bad = [row for row in rows if row["verdict"] in ("unstable", "crashed")]
    blamed = [row for row in bad if row["provenance"] != "composed"]
    assert sum(one.trials for one in findings(opened)) == len(blamed)
    assert sum(one.trials for one in composed_findings(opened)) == len(bad) - len(blamed)
    assert len({one.id for one in findings(opened)}) == len(findings(opened))
    assert sum(one.trials for one in accusations(opened)) == len(blamed)


@pytest.fixture
def found(campaign: Write) -> Path:
    rows = [unstable(i, TVM) for i in range(4)] + [make_row(i) for i in range(9)]
    rows += [make_row(i, JAX, verdict="crashed", rho_max=None, rel_max=None, ulp_max=None) for i in range(2)]
    return campaign([*rows, unstable(3, TORCH, provenance="composed", rel_max=float("inf"))])


def test_the_file_says_what_the_rows_say(found: Path) -> None:
    opened = results.open(found)
    path = write_findings(opened, found)
    assert read_findings(found) == [*findings(opened), *composed_findings(opened)]
    assert results.open(found).findings == tuple(findings(opened))
    table = pq.read_table(path)
    assert table.schema.names == [column.name for column in FINDING_COLUMNS]
    assert table["id"].to_pylist() == [one.id for one in (*findings(opened), *composed_findings(opened))]


def test_a_file_older_than_the_rows_is_not_read(found: Path) -> None:
    write_findings(results.open(found), found)
    Store(found).commit(2, [unstable(0, NUMPY, problem_id="z" * 16)])
    assert read_findings(found) is None
    assert len(results.open(found).findings) == 3
    write_findings(results.open(found), found)
    assert len(read_findings(found) or []) == 4
    Store(found).commit(3, [unstable(1, NUMPY, problem_id="z" * 16)], done=1)
    assert read_findings(found) is None


@pytest.mark.parametrize("at", [0, 100, -20])
def test_a_damaged_file_is_not_read(found: Path, at: int) -> None:
    path = write_findings(results.open(found), found)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    assert read_findings(found) is None
    assert len(results.open(found).findings) == 2


def test_the_file_may_be_deleted_and_comes_back_the_same(found: Path) -> None:
    path = write_findings(results.open(found), found)
    before = path.read_bytes()
    path.unlink()
    assert read_findings(found) is None
    assert write_findings(results.open(found), found).read_bytes() == before
    assert [entry.name for entry in found.glob("findings*")] == ["findings.parquet"]
