"""Campaigns with variants: command line, TOML, resume, reports, reproducing, deaths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Cli, Row, differing, rows_of

import results
from fuzz.cli.app import invoke
from fuzz.reproduction.running import run_file

PLANTED = Path(__file__).parent / "planted_variants.py"
CHOSEN = "batch[1],batch[8],layout[strided],repeat[3]"


def _toml(folder: Path, variants: str) -> Path:
    path = folder / "campaign.toml"
    path.write_text(f"""
trials = 4
targets = ["planted[impl=half]", "planted[impl=contiguous]", "planted[impl=crashes]", "planted[impl=healthy]"]
extensions = ["{PLANTED}"]
{variants}

[[problem]]
operator = "matmul"
dims = {{ M = 40, K = 64, N = 6 }}
""")
    return path


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four kernels under four variants."""
    folder = tmp_path_factory.mktemp("variants")
    names = ", ".join(f'"{name}"' for name in CHOSEN.split(","))
    ran = Cli(folder)("run", _toml(folder, f"variants = [{names}]"), "--out", "made", "--no-shrink")
    assert ran.returncode == 1, ran.stderr
    return folder / "made"


def _found(directory: Path) -> set[tuple[str, str, str]]:
    groups = results.open(directory).findings
    return {(group.target.partition("=")[2].rstrip("]"), group.verdict, group.variants) for group in groups}


def test_each_planted_fault_has_its_verdict(campaign: Path) -> None:
    found = _found(campaign)
    assert {one for one in found if one[2]} == {
        ("half", "batch_variant", "batch[1], batch[8]"),
        ("contiguous", "layout_variant", "layout[strided]"),
        ("crashes", "crashed", "batch[1]"),
    }
    assert not [one for one in found if one[0] == "healthy"]


def test_a_death_under_a_variant_costs_that_call_only(campaign: Path) -> None:
    rows = results.open(campaign).rows().to_pylist()
    crashed = [row for row in rows if row["verdict"] == "crashed"]
    assert {(row["variant"], row["region"]) for row in crashed} == {("batch[1]", "SIGABRT, in run, batch")}
    assert len(crashed) == 4
    others = [row for row in rows if "crashes" in row["target"] and row["variant"] == "batch[8]"]
    assert len(others) == 8


@pytest.mark.long
def test_rates_are_those_of_a_campaign_without_variants(campaign: Path, ulpfuzz: Cli) -> None:
    ulpfuzz.ok("run", _toml(ulpfuzz.folder, ""), "--out", "plain", "--no-shrink")
    ours, plain = (results.open(path) for path in (campaign, ulpfuzz.folder / "plain"))
    varied = {key: row for key, row in rows_of(campaign).items() if not row["variant"]}
    assert not [key for key in differing(varied, rows_of(ulpfuzz.folder / "plain")) if "environment" not in key]
    for event in ("flagged > 0", "above_1e02 > 0"):
        assert results.rate(ours, event, by=("target",)) == results.rate(plain, event, by=("target",))
    counted = "SELECT target, count(*) AS n FROM trials GROUP BY target ORDER BY target"
    assert ours.sql(counted).to_pylist() == plain.sql(counted).to_pylist()


def test_reports_say_what_changed_and_which_calls_agree(campaign: Path, ulpfuzz: Cli) -> None:
    told = ulpfuzz.ok("report", campaign).stdout
    section = told[told.index("Variants:") : told.index("\nFindings")]
    flat = " ".join(section.split())
    assert "matmul batch_variant under batch[1], batch[8]" in flat
    assert "matmul layout_variant under layout[strided]" in flat
    assert "Identical bits, planted:cpu[impl=healthy]: {unwrapped, " in flat
    ulpfuzz.ok("report", campaign, "--html", "page.html", "--markdown", "page.md")
    for name, heading in (("page.html", "Variants: called in another way"), ("page.md", "#### Variants")):
        page = (ulpfuzz.folder / name).read_text().replace("\\", "")
        assert heading in page
        assert "batch_variant" in page


def test_a_trial_is_shown_with_its_variants_and_a_finding_has_a_script(campaign: Path, ulpfuzz: Cli) -> None:
    group = next(g for g in results.open(campaign).findings if g.verdict == "batch_variant")
    shown = ulpfuzz("repro", campaign, group.id)
    flat = " ".join(shown.stdout.split())
    assert "Called in other ways, against the unwrapped call" in flat
    assert "batch_variant" in flat
    ulpfuzz.ok("repro", campaign, group.id, "--script", "it.py", "--json", "case.json")
    assert run_file(ulpfuzz.folder / "it.py").failed
    assert "from fuzz" not in (ulpfuzz.folder / "it.py").read_text()
    assert json.loads((ulpfuzz.folder / "case.json").read_text())["variant"].startswith("batch[")


@pytest.mark.long
def test_findings_under_variants_are_replayed(campaign: Path, ulpfuzz: Cli) -> None:
    told = ulpfuzz.ok("replay", campaign).stdout.splitlines()
    found = results.open(campaign).findings
    assert told[-1] == f"{len(found)} still there"
    assert all(line.startswith("still there") for line in told[:-1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--variants", "btach"], "did you mean"),
        (["--variants", ","], "--variants names none"),
        (["--variants", "batch", "--plan", "exhaustive"], "variants go with --plan fixed, survey, explore"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", "exp", *arguments, "--out", "none"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert said in told


@pytest.mark.long
@pytest.mark.parametrize("plan", ["fixed", "survey", "explore"])
def test_rows_do_not_depend_on_interruptions(ulpfuzz: Cli, plan: str) -> None:
    fixed = ("--dims", "rows=9,n=33") if plan == "fixed" else ()
    request = ("run", "sum", *fixed, "--plan", plan, "--trials", "6", "--targets", "numpy,torch", "--no-shrink")
    request = (*request, "--shard-trials", "2", "--variants", "repeat,batch[1],batch[n-1],layout[strided],permuted")
    ulpfuzz.ok(*request, "--out", "whole", timeout=600)
    process = ulpfuzz.start(*request, "--out", "cut")
    _interrupt_after_a_part(process, ulpfuzz.folder / "cut")
    ulpfuzz.ok("resume", "cut", "--no-shrink", timeout=600)
    whole, cut = (_without_environment(rows_of(ulpfuzz.folder / name)) for name in ("whole", "cut"))
    assert not differing(whole, cut)
    assert {key[5] for key in whole} > {"", "repeat[8]", "batch[1]"}


def _interrupt_after_a_part(process: object, directory: Path) -> None:
    import os
    import signal
    import subprocess

    from running import wait_for

    assert isinstance(process, subprocess.Popen)
    wait_for(lambda: list(directory.glob("parts/*.parquet")) or process.poll() is not None)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _without_environment(rows: dict[tuple[object, ...], Row]) -> dict[tuple[object, ...], Row]:
    return {key: {name: value for name, value in row.items() if name != "environment"} for key, row in rows.items()}
