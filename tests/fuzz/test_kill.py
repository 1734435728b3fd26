"""kill -9 of any process at any moment: after `ulpfuzz resume` the rows are those of an undisturbed run.

ULPFUZZ_KILLS=12 sets the number of kills of each kind (2 by default), ULPFUZZ_KILL_SEED the moments.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from running import Cli, differing, elements_of, fork_servers, in_session, rows_of, wait_for, workers_of

KILLS = int(os.environ.get("ULPFUZZ_KILLS", "2"))
SEED = int(os.environ.get("ULPFUZZ_KILL_SEED", "0"))
SURVEY = ("run", "softplus", "--plan", "survey", "--targets", "numpy", "--trials", 400, "--shard-trials", 5)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The campaign of these arguments, run once in peace."""
    done: dict[tuple[object, ...], Path] = {}

    def run(*arguments: object) -> Path:
        if arguments not in done:
            folder = tmp_path_factory.mktemp("peace")
            Cli(folder).ok(*arguments, "--out", "c")
            done[arguments] = folder / "c"
        return done[arguments]

    return run


def fixed(folder: Path, trials: int = 2000) -> tuple[object, ...]:
    """Two problems would need equal dims: a file with one is enough."""
    (folder / "c.toml").write_text(
        f"""
trials = {trials}
targets = ["numpy", "numpy[dtype=float64]"]
pairs = [["numpy", "numpy[dtype=float64]"]]
[[problem]]
operator = "sum"
dims = {{rows = 3, n = 8}}
[[problem]]
operator = "exp"
dims = {{n = 7}}
"""
    )
    return ("run", folder / "c.toml", "--shard-trials", 100, "--workers", 2)


def same(directory: Path, peace: Path) -> None:
    assert not differing(rows_of(directory), rows_of(peace))
    assert elements_of(directory) == elements_of(peace)
    assert not list((directory / "tmp").iterdir())
    assert not [path for path in directory.rglob("*") if path.suffix in (".tmp", ".part")]


def go_on(ulpfuzz: Cli, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """What a user types next: the campaign exists once it is described."""
    return ("resume", "c") if (ulpfuzz.folder / "c" / "campaign.json").exists() else (*arguments, "--out", "c")


def kill_main(process: subprocess.Popen[str]) -> None:
    process.kill()
    wait_for(lambda: not in_session(process.pid), 60, "workers end after the main process was killed")


def kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended by itself a moment ago
        os.killpg(process.pid, signal.SIGKILL)
    wait_for(lambda: not in_session(process.pid), 60, "the group is gone")


@pytest.mark.parametrize(
    ("plan", "kill"),
    [
        ("fixed", kill_main),
        pytest.param("survey", kill_group, marks=pytest.mark.long),
        pytest.param("fixed", kill_group, marks=pytest.mark.long),
        pytest.param("survey", kill_main, marks=pytest.mark.long),
    ],
)
def test_killed_campaigns_go_on(
    ulpfuzz: Cli, undisturbed: Callable[..., Path], kill: Callable[..., None], plan: str, tmp_path: Path
) -> None:
    moments = random.Random(f"{SEED} {kill.__name__} {plan}")
    arguments = fixed(tmp_path) if plan == "fixed" else SURVEY
    peace = undisturbed(*arguments)
    killed = 0
    while killed < KILLS:
        process = ulpfuzz.start(*go_on(ulpfuzz, arguments))
        try:
            process.wait(moments.uniform(0.3, 1.5))
        except subprocess.TimeoutExpired:
            kill(process)
            killed += 1
            process.communicate()
        else:
            process.communicate()
            break  # the campaign is complete
    assert killed, "the campaign is too short for this test"  # on a fast machine it is complete before KILLS
    ulpfuzz.ok(*go_on(ulpfuzz, arguments))
    same(ulpfuzz.folder / "c", peace)


@pytest.mark.parametrize("victims", [workers_of, pytest.param(fork_servers, marks=pytest.mark.long)])
def test_a_campaign_survives_the_loss_of_its_workers(
    ulpfuzz: Cli,
    undisturbed: Callable[..., Path],
    victims: Callable[[int], list[psutil.Process]],
    tmp_path: Path,
) -> None:
    moments = random.Random(f"{SEED} {victims.__name__}")
    arguments = fixed(tmp_path, 1000 * max(2, KILLS))
    peace = undisturbed(*arguments)
    process = ulpfuzz.start(*arguments, "--out", "c")
    killed, wanted = (
        0,
        KILLS if victims is workers_of else min(4, KILLS),
    )  # a fork server killed again and again never forks
    while killed < wanted and process.poll() is None:
        time.sleep(moments.uniform(0.1, 0.6))
        if not workers_of(process.pid):  # a fork server that never gets to fork is another story
            continue
        with contextlib.suppress(psutil.NoSuchProcess, IndexError):
            moments.choice(victims(process.pid)).kill()
            killed += 1
    _, messages = process.communicate(timeout=240)
    assert process.returncode == 0, messages
    assert killed
    same(ulpfuzz.folder / "c", peace)


def test_a_run_killed_before_it_was_described_can_be_repeated(ulpfuzz: Cli) -> None:
    """The folder with its lock exists, campaign.json does not."""
    left = ulpfuzz.folder / "c"
    (left / "extensions").mkdir(parents=True)
    (left / "lock").write_text("process 1 since 2000-01-01 00:00:00")
    (left / "campaign.part").write_text("{")
    (left / "extensions" / "000_old.py").write_text("raise SystemExit")
    ulpfuzz.ok("run", "exp", "--dims", "n=3", "--targets", "numpy", "--trials", 3, "--out", "c")
    assert len(rows_of(left)) == 3
    assert not (left / "campaign.part").exists()
    assert not list(left.glob("extensions/*"))
