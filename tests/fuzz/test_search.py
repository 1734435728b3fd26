"""The plan `search` as a campaign: islands are pure, champions are written down, a death is a row with its inputs."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from running import Cli, Row, differing, elements_of, in_session, rows_of, wait_for

import results
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.campaigns.drawing import FRESH
from fuzz.campaigns.request import CampaignSpec, ProblemSpec, Published
from fuzz.campaigns.spec import resolve
from fuzz.campaigns.written import read_problems, write_problems
from fuzz.errors import UserError
from results.errors import InvalidRate
from results.report_search import champions
from strategies.given import STORE, content_of

SEARCH = ("run", "softplus", "sum", "--plan", "search", "--targets", "numpy", "--trials", 2, "--evaluations", 40)
EACH = 1 + FRESH
KILLS = 2


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    Cli(folder).ok(*SEARCH, "--out", "a")
    return folder / "a"


def copied(directory: Path, to: Path) -> Path:
    return Path(shutil.copytree(directory, to))


def by_index(directory: Path, operator: str) -> dict[int, Row]:
    return {row["index"]: row for row in rows_of(directory).values() if row["operator"] == operator}


def test_islands_are_the_same_with_other_workers(ulpfuzz: Cli, searched: Path) -> None:
    ulpfuzz.ok(*SEARCH, "--workers", 2, "--out", "b", PYTHONHASHSEED="7")
    assert not differing(rows_of(searched), rows_of(ulpfuzz.folder / "b"))
    assert elements_of(searched) == elements_of(ulpfuzz.folder / "b")
    names = sorted(path.name for path in (searched / "given").iterdir())
    assert names == sorted(path.name for path in (ulpfuzz.folder / "b" / "given").iterdir())


def test_an_island_gives_its_champion_and_fresh_draws_of_its_population(searched: Path) -> None:
    rows = by_index(searched, "sum")
    assert sorted(rows) == list(range(2 * EACH))
    for island in range(2):
        champion, *fresh = (rows[island * EACH + place] for place in range(EACH))
        assert "given(@" in champion["recipes"]
        assert all("given" not in row["recipes"] for row in fresh)
        assert len({row["problem_id"] for row in fresh}) == 1
        assert len({row["input_digest"] for row in fresh}) in (1, FRESH)  # the same where the recipe is a constant
        assert {row["dims"] for row in fresh} == {champion["dims"]}
    best = max(rows[island * EACH]["rho_max"] for island in range(2))
    assert best > max(row["rho_max"] for index, row in rows.items() if index % EACH)


def test_the_population_of_a_number_is_its_binade(searched: Path) -> None:
    rows = by_index(searched, "softplus")
    problems = read_problems(searched, 0) or ()
    assert problems[0].operator == "softplus"
    assert rows[1]["recipes"].startswith("x=uniform(") or rows[1]["recipes"] == "x=constant(0)"


def test_champions_are_reproduced_bit_for_bit(ulpfuzz: Cli, searched: Path) -> None:
    copied(searched, ulpfuzz.folder / "a")
    name = by_index(searched, "sum")[EACH]["trial"]
    assert "outputs equal bit for bit" in ulpfuzz.ok("repro", "a", name).stdout


def test_no_rate_and_what_the_report_says(ulpfuzz: Cli, searched: Path) -> None:
    with pytest.raises(InvalidRate, match="steered"):
        results.rate(results.open(searched), "flagged > 0")
    found = champions(results.open(searched))
    assert {(one.operator, one.islands, one.fresh) for one in found} == {("sum", 2, FRESH), ("softplus", 2, FRESH)}
    rows = by_index(searched, "sum")
    best = max((rows[island * EACH] for island in range(2)), key=lambda row: row["rho_max"])
    (one,) = [one for one in found if one.operator == "sum"]
    assert (one.rho, one.trial, one.verdict) == (best["rho_max"], best["trial"], best["verdict"])
    text = " ".join(ulpfuzz("report", searched).stdout.split())
    assert f"0 of {FRESH}" in text
    assert "not how often" in text


def test_a_trial_that_no_island_has_given_yet_is_not_found(ulpfuzz: Cli, searched: Path) -> None:
    place = CampaignDirectory(copied(searched, ulpfuzz.folder / "a"))
    (place.path / "problems" / "00000001.json.gz").unlink()  # island 0 of sum
    campaign = Campaign(place, place.read_manifest())
    shard = campaign.agenda.shard(1)
    assert shard.hunt is not None
    assert campaign.agenda.shard(0).hunt is None
    for name in (by_index(searched, "sum")[0]["trial"], f"{shard.at(0)[0].cell.problem.id}-0"):
        with pytest.raises(UserError, match="no trial"):
            campaign.find(name)


def test_an_island_that_is_written_down_is_not_searched_again(ulpfuzz: Cli, searched: Path) -> None:
    place = CampaignDirectory(copied(searched, ulpfuzz.folder / "a"))
    swapped = tuple(reversed(read_problems(place.path, 1) or ()))
    write_problems(place, 1, swapped)
    (place.path / "parts" / "00000001.parquet").unlink()
    ulpfuzz.ok("resume", "a")
    rows = by_index(place.path, "sum")
    assert [rows[index]["problem_id"] for index in range(EACH)] == [problem.id for problem in swapped]


NARROW = """
import numpy as np
from fuzz.extend import FunctionBackend, register

backend = FunctionBackend("narrow")

@backend.operator("tanh")
def tanh(x):
    return np.tanh(x) * np.where((x > 0.7) & (x < 0.71), 1 + 1e-4, 1).astype(x.dtype)

register(backend)
"""
SUM = (ProblemSpec("sum"),)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        (CampaignSpec((ProblemSpec("sum", {"n": 3, "rows": 1}),), plan="search"), "leave them out"),
        (CampaignSpec(SUM, plan="search", evaluations=0), "use a number >= 1"),
        (CampaignSpec(SUM, plan="search", published=Published("3/100")), "search has none"),
        (CampaignSpec(SUM, plan="survey", evaluations=5), "--plan search"),
    ],
)
def test_what_a_search_does_not_take(spec: CampaignSpec, what: str) -> None:
    with pytest.raises(UserError, match=what):
        resolve(spec)


def test_the_size_of_an_island_is_no_option(tmp_path: Path) -> None:
    resolved = resolve(CampaignSpec(SUM, plan="search", targets=("numpy", "numpy[dtype=float64]"), trials=2))
    assert resolved.ends.trials == 2 * 2 * EACH
    with pytest.raises(UserError, match="leave out --shard-trials"):
        Campaign.create(resolved, tmp_path / "x", [], shard_trials=5)
    assert not (tmp_path / "x").exists()


def test_a_new_campaign_knows_the_arrays_in_its_folder(tmp_path: Path) -> None:
    """Workers write them; what shrinks findings at the end of a run reads them."""
    resolved = resolve(CampaignSpec(SUM, plan="search", targets=("numpy",)))
    Campaign.create(resolved, tmp_path / "x", []).directory.unlock()
    array = np.arange(7, dtype=np.float32) + 0.125
    STORE.save(tmp_path / "x" / "given", content_of(array), array)
    assert np.array_equal(STORE.resolve(content_of(array)), array)


@pytest.mark.long
def test_killed_at_any_moment_it_goes_on_to_the_same_rows(ulpfuzz: Cli, searched: Path) -> None:
    moments = random.Random(3)
    arguments: tuple[object, ...] = (*SEARCH, "--out", "c")
    for _ in range(KILLS):
        process = ulpfuzz.start(*arguments)
        with contextlib.suppress(AssertionError):
            wait_for(lambda: list(ulpfuzz.folder.glob("c/tmp/*.inputs")), 60, "a hunt begins")
        time.sleep(moments.random())
        process.kill()
        process.communicate()
        wait_for(lambda pid=process.pid: not in_session(pid), 60, "workers end with the main process")
        arguments = ("resume", "c")
    ulpfuzz.ok("resume", "c")
    assert not differing(rows_of(searched), rows_of(ulpfuzz.folder / "c"))
    assert elements_of(searched) == elements_of(ulpfuzz.folder / "c")
    assert not list((ulpfuzz.folder / "c" / "tmp").iterdir())


def test_what_kills_a_worker_in_a_hunt_is_kept_and_is_a_row(ulpfuzz: Cli, planted: Path) -> None:
    """`segv` dies where the first element exceeds 1: of many inputs of a search, not of its first ones."""
    arguments = ("run", "sum", "--plan", "search", "--targets", "numpy,segv", "--trials", 1, "--evaluations", 60)
    done = ulpfuzz.ok(*arguments, "--extension", planted, "--out", "d")
    assert "replaced" in done.stderr
    rows = rows_of(ulpfuzz.folder / "d")
    (killer,) = [row for row in rows.values() if row["index"] == EACH and row["target"].startswith("segv")]
    assert killer["verdict"] == "crashed"
    assert "SIGSEGV" in killer["error"]
    assert "given(@" in killer["recipes"]
    (other,) = [row for row in rows.values() if row["index"] == 0 and row["target"].startswith("numpy")]
    assert "given(@" in other["recipes"]
    assert other["rho_max"] > 0
    worst, healthy = champions(results.open(ulpfuzz.folder / "d"))
    assert (worst.target, worst.verdict, worst.rho, worst.trial) == (
        killer["target"],
        "crashed",
        None,
        killer["trial"],
    )
    assert (healthy.rho, healthy.trial) == (other["rho_max"], other["trial"])


def test_a_defect_that_nobody_named_is_found_and_made_small(ulpfuzz: Cli) -> None:
    """A backend whose tanh errs between 0.7 and 0.71: one float32 number in 25,000."""
    (ulpfuzz.folder / "narrow.py").write_text(NARROW)
    arguments = ("run", "tanh", "--plan", "search", "--targets", "narrow", "--trials", 1, "--evaluations", 20)
    done = ulpfuzz.ok(*arguments, "--extension", "narrow.py", "--shrink", "20s", "--out", "g")
    assert done.returncode == 1
    champion = by_index(ulpfuzz.folder / "g", "tanh")[0]
    assert champion["verdict"] == "wrong"
    assert champion["rho_max"] > 100
    assert list((ulpfuzz.folder / "g").glob("shrunk/*"))


def test_a_hunt_that_has_to_stop_leaves_nothing(ulpfuzz: Cli) -> None:
    process = ulpfuzz.start(*SEARCH[:-1], 10**7, "--out", "f")
    wait_for(lambda: list(ulpfuzz.folder.glob("f/tmp/*.inputs")), 60, "a hunt begins")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "resume" in told
    assert not list(ulpfuzz.folder.glob("f/problems/*"))
    assert not list(ulpfuzz.folder.glob("f/parts/*"))


def test_a_dry_run_tells_what_an_island_takes(ulpfuzz: Cli) -> None:
    done = ulpfuzz.ok("run", "sum", "--plan", "search", "--targets", "numpy", "--evaluations", 20, "--dry-run")
    assert f"{4 * EACH} trials" in done.stdout
