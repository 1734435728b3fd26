"""The plan `explore`: few shapes, many inputs of each, chosen by Hypothesis' engine; never a rate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from running import Cli, differing, elements_of, rows_of

import results
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.campaigns.drawing import EXPLORE, SURVEY, drawn
from fuzz.campaigns.written import read_problems, write_problems
from results.errors import InvalidRate

EXPLORATION = ("run", "sum", "softplus", "--plan", "explore", "--targets", "numpy", "--shard-trials", 8)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    Cli(folder).ok(*EXPLORATION, "--trials", 20, "--out", "a")
    return folder / "a"


@pytest.fixture
def explored(ulpfuzz: Cli, whole: Path) -> Path:
    """A copy of its own for each test."""
    return Path(shutil.copytree(whole, ulpfuzz.folder / "a"))


def test_an_exploration_is_the_same_with_other_workers_and_hash_seeds(ulpfuzz: Cli, explored: Path) -> None:
    ulpfuzz.ok(*EXPLORATION, "--trials", 20, "--workers", 2, "--out", "b", PYTHONHASHSEED="7")
    assert not differing(rows_of(explored), rows_of(ulpfuzz.folder / "b"))
    assert elements_of(explored) == elements_of(ulpfuzz.folder / "b")
    assert sorted(row["index"] for row in rows_of(explored).values()) == sorted(2 * list(range(20)))


def test_a_shard_has_one_shape_and_many_inputs(explored: Path) -> None:
    shapes = []
    for number in range(6):
        problems = read_problems(explored, number) or ()
        assert len({(problem.operator, problem.dims, problem.attributes) for problem in problems}) == 1
        assert len(set(problems)) > len(problems) / 2
        shapes.append((problems[0].operator, problems[0].dims, problems[0].attributes))
    assert len(set(shapes)) == 6
    assert shapes[0] == ("sum", (("n", 4096), ("rows", 16)), (("axis", -1),))  # the usual shape comes first


def test_the_ladder_runs_once_for_each_problem_of_a_shard(explored: Path) -> None:
    campaign = Campaign(CampaignDirectory(explored), CampaignDirectory(explored).read_manifest())
    for number in range(6):
        seen = set()
        for _, piece, index in campaign.agenda.shard(number).positions(0):
            assert (index == piece.first) == (piece.cell.problem not in seen)
            seen.add(piece.cell.problem)


def test_what_is_written_down_is_what_runs(ulpfuzz: Cli, explored: Path) -> None:
    """Another version of Hypothesis, or other families, would draw other problems for a shard that is half done."""
    place = CampaignDirectory(explored)
    swapped = tuple(reversed(read_problems(explored, 0) or ()))
    write_problems(place, 0, swapped)
    (explored / "parts" / "00000000.parquet").unlink()
    ulpfuzz.ok("resume", "a")
    rows = {row["index"]: row["problem_id"] for row in rows_of(explored).values() if row["operator"] == "sum"}
    assert [rows[index] for index in range(8)] == [problem.id for problem in swapped]


def test_a_damaged_list_of_problems_ends_in_one_line(ulpfuzz: Cli, explored: Path) -> None:
    (explored / "problems" / "00000000.json.gz").write_bytes(b"\x1f\x8bnothing")
    (explored / "parts" / "00000000.parquet").unlink()
    done = ulpfuzz("resume", "a")
    assert done.returncode == 3
    assert "00000000.json.gz" in done.stderr
    assert "remove it" in done.stderr


@pytest.mark.long
def test_trials_of_an_exploration_are_reproduced(ulpfuzz: Cli, explored: Path) -> None:
    names = sorted(row["trial"] for row in rows_of(explored).values() if row["index"] in (3, 17))
    for name in (names[0], names[-1]):
        assert "outputs equal bit for bit" in ulpfuzz.ok("repro", "a", name).stdout


def test_no_rate_is_read_off(ulpfuzz: Cli, explored: Path) -> None:
    with pytest.raises(InvalidRate, match="chosen to find failures"):
        results.rate(results.open(explored), "flagged > 0")
    assert "no rate can be read off" in " ".join(ulpfuzz("report", "a").stdout.split())
    for option, value in (("--published", "3/100"), ("--until", "decided"), ("--fail-on", "rate>0.1")):
        refused = ulpfuzz("run", "sum", "--plan", "explore", option, value, "--out", "x")
        assert refused.returncode == 2
        assert "explore" in refused.stderr
    refused = ulpfuzz("run", "sum", "--plan", "explore", "--dims", "n=3,rows=1", "--out", "x")
    assert refused.returncode == 2
    assert not (ulpfuzz.folder / "x").exists()


def test_the_effort_is_told_and_logged(ulpfuzz: Cli) -> None:
    done = ulpfuzz.ok(*EXPLORATION, "--trials", 16, "--out", "c")
    assert "32 trials (" in done.stderr
    assert "of processor time went into compilation" in done.stderr
    log = [json.loads(line) for line in (ulpfuzz.folder / "c" / "log.jsonl").read_text().splitlines()]
    (effort,) = [entry for entry in log if entry["event"] == "effort"]
    assert 0 < effort["compiling_seconds"] < effort["cpu_seconds"]
    assert 16 < effort["problems"] <= 32


def test_blocks_are_functions_of_their_number() -> None:
    """In any order; and no two blocks of an operator begin alike."""
    blocks = {number: drawn(EXPLORE, "max", "float32", 5, number, 12) for number in (2, 0, 1)}
    drawn.cache_clear()
    assert blocks == {number: drawn(EXPLORE, "max", "float32", 5, number, 12) for number in (0, 1, 2)}
    assert blocks[1] != blocks[2]
    assert drawn(EXPLORE, "max", "float32", 6, 1, 12) != blocks[1]
    assert drawn(SURVEY, "max", "float32", 5, 1, 6) == drawn(SURVEY, "max", "float32", 5, 0, 12)[6:]
