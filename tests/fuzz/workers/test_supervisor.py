"""What the supervisor does about troubled workers, and what workers cost."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

import psutil
import pytest
from running import TINY, Cli, rows_of, wait_for, workers_of

from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.oracle.arithmetic import adjudicator
from fuzz.trial import Cell, Session, run_trial
from fuzz.workers.worker_process import LONGEST_STEP, Watch

TROUBLE = """
import multiprocessing
from fuzz.extend import FunctionBackend, register
import fuzz.trial
mine = FunctionBackend("mine")
mine.operator("sum")(lambda x, *, axis: x.sum(axis=axis))
register(mine)
if multiprocessing.parent_process() is not None:
    {what}
"""


def cell(operator_name: str = "sum", **dims: int) -> Cell:
    spec = CampaignSpec(problems=(ProblemSpec(operator_name, dims),), targets=("numpy",))
    return resolve(spec).cells[0]


def test_the_watch_stands_still_while_the_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("fuzz.workers.worker_process.time.monotonic", lambda: now)
    watch = Watch()
    now = 0.3
    assert watch.look() == pytest.approx(0.3)
    now = 1000.0
    assert watch.look() == pytest.approx(0.3 + LONGEST_STEP)


FAILING = """
right = fuzz.trial._Trial.run
    def failing(self):
        return 1 / 0 if {when} else right(self)
    fuzz.trial._Trial.run = failing
"""


def test_a_failure_of_the_engine_costs_its_trial_and_no_other(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TROUBLE.format(what=FAILING.format(when="self.index == 2").strip()))
    ran = ulpfuzz("run", *TINY, "--extension", "mine.py", "--trials", 5, "--out", "c")
    assert ran.returncode == 70
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("ulpfuzz: 1 trial has no verdict because ulpfuzz itself failed, at ")
    assert "-2 with ZeroDivisionError: division by zero (000_mine.py:" in last
    assert "); `ulpfuzz repro c " in last
    assert "Traceback" not in ran.stderr
    rows = sorted(rows_of(tmp_path / "c").values(), key=lambda row: row["index"])
    assert [row["verdict"] == "indeterminate" for row in rows] == [False, False, True, False, False]
    assert "ulpfuzz itself failed here: ZeroDivisionError" in ran.stdout
    assert "ZeroDivisionError" in ulpfuzz("repro", "c", str(rows[2]["trial"]), "--debug").stderr
    again = ulpfuzz("resume", "c")
    assert (again.returncode, again.stderr.splitlines()[-1]) == (70, last)


def test_a_campaign_ends_where_the_engine_fails_on_most_trials(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TROUBLE.format(what=FAILING.format(when="self.index > 4").strip()))
    ran = ulpfuzz("run", *TINY, "--extension", "mine.py", "--trials", 400, "--out", "c")
    assert ran.returncode == 70
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("ulpfuzz: the engine failed on ")
    assert last.endswith("with ZeroDivisionError: division by zero (000_mine.py:11); finished shards are kept")


def test_a_worker_that_cannot_start_ends_the_campaign_and_points_to_the_log(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TROUBLE.format(what="raise RuntimeError('broken here')"))
    ran = ulpfuzz("run", *TINY, "--extension", "mine.py", "--trials", 5, "--out", "c")
    assert ran.returncode == 70
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("ulpfuzz: a worker died 3 times outside any call (exit code 1)")
    assert last.endswith("finished shards are kept")
    assert "Traceback" not in ran.stderr
    logs = [path.read_text() for path in (tmp_path / "c" / "tmp").glob("worker-*.log")]
    assert any("broken here" in text for text in logs)


def test_a_log_does_not_fill_the_disk(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "import os\nfrom fuzz.extend import FunctionBackend, register\nb = FunctionBackend('loud')\n"
        "@b.operator('exp')\ndef exp(x):\n    os.write(1, b'x' * 1_000_000)\n    return x\nregister(b)\n"
    )
    options = ("--dims", "n=2", "--trials", 100_000, "--shard-trials", 1000, "--targets", "loud")
    process = ulpfuzz.start("run", "exp", *options, "--extension", "loud.py", "--out", "c")
    log = tmp_path / "c" / "tmp" / "worker-0.log"
    wait_for(lambda: log.exists() and log.stat().st_size)
    sizes: list[int] = []

    def cut() -> bool:
        sizes.append(log.stat().st_size if log.exists() else 0)
        return any(later < earlier for earlier, later in itertools.pairwise(sizes))

    wait_for(cut, 120, "the log is cut")
    assert process.poll() is None


@pytest.mark.long
def test_memory_of_a_worker_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    """1,000 trials rotating over 40 problem shapes, more than are kept: what is evicted is freed."""
    cells = [cell(rows=3 + k % 8, n=200 + k) for k in range(40)]
    session = Session("test")
    process = psutil.Process()
    after = []
    adjudicator()  # the library of the one trial in 1,000 that is certified is loaded once, whenever that comes
    for number in range(1000):
        run_trial(cells[number % 40], 0, number // 40, session, ladder=number < 40)
        if number in (200, 999):
            after.append(process.memory_info().rss)
    with capsys.disabled():
        print(f" RSS {after[0] / 1e6:.0f} MB after 200 trials, {after[1] / 1e6:.0f} MB after 1,000", end="")
    assert after[1] - after[0] < 60e6  # kept for ever, 800 more shapes would take two hundred MB


def test_an_idle_worker_that_is_killed_is_replaced(ulpfuzz: Cli) -> None:
    """Two workers, then the only shards left belong to one of them."""
    process = ulpfuzz.start("run", *TINY, "--trials", 1500, "--shard-trials", 750, "--workers", 2, "--out", "c")
    for worker in wait_for(lambda: len(workers_of(process.pid)) == 2 and workers_of(process.pid)):
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.kill()
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 0, messages
    assert len(rows_of(ulpfuzz.folder / "c")) == 1500
