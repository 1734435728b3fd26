"""A survey: one independent problem a trial, numbered, written down before it runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from running import Cli, differing, elements_of, rows_of, wait_for

import results
from fuzz.campaigns.written import read_problems
from strategies import POPULATION

SURVEY = ("run", "tanh", "--plan", "survey", "--targets", "numpy,numpy[dtype=float64]", "--trials", 18)


def test_a_survey_is_reproducible_whatever_its_chunks(ulpfuzz: Cli, tmp_path: Path) -> None:
    ulpfuzz.ok(*SURVEY, "--shard-trials", 6, "--out", "a")
    ulpfuzz.ok(*SURVEY, "--shard-trials", 5, "--workers", 2, "--out", "b")
    rows = rows_of(tmp_path / "a")
    assert not differing(rows, rows_of(tmp_path / "b"))
    assert elements_of(tmp_path / "a") == elements_of(tmp_path / "b")
    assert sorted(row["index"] for row in rows.values()) == sorted(2 * list(range(18)))
    assert len({(row["index"], row["problem_id"]) for row in rows.values()}) == 18


def test_problems_are_written_before_they_run_and_resume_finishes_them(ulpfuzz: Cli, tmp_path: Path) -> None:
    ulpfuzz.ok(*SURVEY, "--shard-trials", 6, "--out", "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "parts" / "00000001.parquet").unlink()
    shutil.rmtree(tmp_path / "b" / "problems")
    ulpfuzz.ok("resume", "b")
    assert not differing(rows_of(tmp_path / "a"), rows_of(tmp_path / "b"))
    problems = [read_problems(tmp_path / "a", number) or () for number in range(3)]
    assert [len(chunk) for chunk in problems] == [6, 6, 6]
    assert read_problems(tmp_path / "b", 1) == problems[1]
    sizes = {index: dict(problem.dims) for index, problem in enumerate(p for chunk in problems for p in chunk)}
    for row in rows_of(tmp_path / "a").values():
        assert row["dims"] == ",".join(f"{name}={size}" for name, size in sorted(sizes[row["index"]].items()))


def test_problems_are_on_disk_when_a_worker_hangs_on_them(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\nfrom fuzz.extend import FunctionBackend, register\n"
        "s = FunctionBackend('slow')\ns.operator('tanh')(lambda x: time.sleep(99))\nregister(s)\n"
    )
    survey = ("run", "tanh", "--plan", "survey", "--targets", "slow", "--trials", 4, "--shard-trials", 2)
    ulpfuzz.start(*survey, "--extension", "slow.py", "--out", "a")
    wait_for((tmp_path / "a" / "problems" / "00000000.json.gz").exists)
    assert not list((tmp_path / "a").glob("parts/*"))


def test_trials_of_a_survey_are_reproduced(ulpfuzz: Cli, tmp_path: Path) -> None:
    ulpfuzz.ok(*SURVEY, "--shard-trials", 6, "--out", "a")
    names = {row["index"]: row["trial"] for row in rows_of(tmp_path / "a").values()}
    for name in (names[7], "17"):
        assert (
            "inputs equal the campaign's bit for bit; outputs equal bit for bit"
            in ulpfuzz.ok("repro", "a", name).stdout
        )


def test_a_survey_supports_a_rate_although_problems_come_up_twice(ulpfuzz: Cli) -> None:
    ulpfuzz.ok("run", "exp", "--plan", "survey", "--targets", "numpy", "--trials", 120, "--out", "c")
    campaign = results.open(ulpfuzz.folder / "c")
    assert campaign.records("select count(distinct problem_id) n from trials")[0]["n"] < 120
    assert results.rate(campaign, "flagged > 0", population=True).of == "the population of the survey"


@pytest.mark.long
def test_no_problems_of_another_population_are_added(ulpfuzz: Cli, tmp_path: Path) -> None:
    """`resume` with another version: what is written down runs, what would have to be drawn does not."""
    ulpfuzz.ok(*SURVEY, "--shard-trials", 6, "--out", "a")
    manifest = tmp_path / "a" / "campaign.json"
    assert POPULATION in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(POPULATION, "problems-0"))
    (tmp_path / "a" / "parts" / "00000001.parquet").unlink()
    ulpfuzz.ok("resume", "a")
    (tmp_path / "a" / "parts" / "00000001.parquet").unlink()
    (tmp_path / "a" / "problems" / "00000001.json.gz").unlink()
    refused = ulpfuzz("resume", "a")
    assert refused.returncode == 2
    assert "problems-0" in refused.stderr
    assert not (tmp_path / "a" / "parts" / "00000001.parquet").exists()
