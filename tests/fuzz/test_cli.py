"""Signals, pipes and exit codes of the command."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from running import COMMAND, TINY, Cli, differing, in_session, rows_of, wait_for

from fuzz.cli.app import invoke

LONG = ("run", *TINY, "--trials", 200000, "--shard-trials", 100)


@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
@pytest.mark.parametrize("whom", ["process", "group"])
def test_an_interrupt_says_how_to_go_on(ulpfuzz: Cli, number: int, word: str, whom: str) -> None:
    """Ctrl-C in a terminal reaches the whole group, kill only the process."""
    process = ulpfuzz.start(*LONG, "--out", "c")
    wait_for(lambda: list((ulpfuzz.folder / "c" / "parts").glob("*.parquet")))
    (os.killpg if whom == "group" else os.kill)(process.pid, number)
    out, messages = process.communicate(timeout=120)
    assert process.returncode == 130, messages
    assert messages.splitlines()[-1] == f"ulpfuzz: {word}: `ulpfuzz resume c` goes on where it stopped"
    assert "Traceback" not in messages
    assert not out
    assert rows_of(ulpfuzz.folder / "c")
    assert not list((ulpfuzz.folder / "c" / "tmp").iterdir())
    wait_for(lambda: not in_session(process.pid))


SLOW = """
import time
from fuzz.extend import FunctionBackend, register
slow = FunctionBackend("slow")
@slow.operator("sum")
def total(x, *, axis):
    print("called", flush=True)
    time.sleep({seconds})
    return x.sum(axis=axis)
register(slow)
"""


def calls(directory: Path) -> int:
    """How often the slow kernel has been entered, by what it printed."""
    return sum(log.read_text().count("called") for log in (directory / "tmp").glob("*.log"))


def test_the_first_interrupt_keeps_the_trials_that_are_finished(ulpfuzz: Cli) -> None:
    """Though their shard is not, and the finished campaign is the same as without."""
    (ulpfuzz.folder / "slow.py").write_text(SLOW.format(seconds=0.05))
    campaign = ("run", *TINY[:-1], "slow", "--extension", "slow.py", "--trials", 60, "--shard-trials", 60)
    ulpfuzz.ok(*campaign, "--out", "peace")
    process = ulpfuzz.start(*campaign, "--out", "c")
    wait_for(lambda: calls(ulpfuzz.folder / "c") > 5)
    os.kill(process.pid, signal.SIGINT)
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 130, messages
    kept = rows_of(ulpfuzz.folder / "c")
    assert 0 < len(kept) < len(rows_of(ulpfuzz.folder / "peace"))
    ulpfuzz.ok("resume", "c")
    assert not differing(rows_of(ulpfuzz.folder / "c"), rows_of(ulpfuzz.folder / "peace"))


def test_the_second_interrupt_waits_for_nothing(ulpfuzz: Cli) -> None:
    (ulpfuzz.folder / "slow.py").write_text(SLOW.format(seconds=600))
    process = ulpfuzz.start(
        "run", *TINY[:-1], "slow", "--extension", "slow.py", "--trials", 60, "--shard-trials", 60, "--out", "c"
    )
    wait_for(lambda: calls(ulpfuzz.folder / "c"))
    os.kill(process.pid, signal.SIGINT)
    time.sleep(1.0)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 130, messages
    assert messages.splitlines()[-1] == "ulpfuzz: interrupted: `ulpfuzz resume c` goes on where it stopped"
    wait_for(lambda: not in_session(process.pid))


@pytest.mark.long
def test_interrupts_at_random_moments_lose_nothing(ulpfuzz: Cli) -> None:
    """Also while the command and its workers are starting."""
    moments = random.Random(0)
    campaign = ("run", *TINY, "--trials", 2000, "--shard-trials", 100)
    ulpfuzz.ok(*campaign, "--out", "peace")
    described = ulpfuzz.folder / "c" / "campaign.json"
    for _ in range(5):
        process = ulpfuzz.start(*(("resume", "c") if described.exists() else (*campaign, "--out", "c")))
        wait_for(lambda p=process: "numpy" in Path(f"/proc/{p.pid}/maps").read_text())  # Python itself is up
        time.sleep(moments.uniform(0.0, 1.0))
        os.killpg(process.pid, signal.SIGINT)
        _, messages = process.communicate(timeout=120)
        # -2: in the last moments of the interpreter, all done, where Python has given back its handler
        assert process.returncode in (0, 130, -signal.SIGINT), messages
        assert "Traceback" not in messages
    ulpfuzz.ok(*(("resume", "c") if described.exists() else (*campaign, "--out", "c")))
    assert not differing(rows_of(ulpfuzz.folder / "c"), rows_of(ulpfuzz.folder / "peace"))


def test_a_stopped_campaign_does_not_time_out(ulpfuzz: Cli) -> None:
    """Ctrl-Z stops the group; the seconds until fg do not count as a call's."""
    process = ulpfuzz.start("run", *TINY, "--trials", 3000, "--call-timeout", 1.5, "--out", "c")
    wait_for(lambda: (ulpfuzz.folder / "c" / "campaign.json").exists())
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(2.5)
    os.killpg(process.pid, signal.SIGCONT)
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 0, messages
    assert "ended and were replaced" not in messages


@pytest.mark.long
def test_a_closed_pipe_is_no_error(ulpfuzz: Cli) -> None:
    ulpfuzz.ok("run", *TINY, "--trials", 5, "--out", "c")
    for command in (["report", "c"], ["list", "targets"], ["repro", "c", "1"]):
        reader = subprocess.Popen(["head", "-c", "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        ran = subprocess.run(
            [*COMMAND, *command],
            cwd=ulpfuzz.folder,
            stdout=reader.stdin,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert reader.stdin is not None
        reader.stdin.close()
        reader.wait()
        assert ran.stderr == ""
        assert ran.returncode in (0, 1, 141)


def test_exit_code_1_says_that_a_finding_remains(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "off.py").write_text(
        "from fuzz.extend import FunctionBackend, register\nb = FunctionBackend('off')\n"
        "b.operator('exp', provenance='library')(lambda x: x + x.dtype.type(1))\nregister(b)\n"
    )
    run = ("run", "exp", "--dims", "n=5", "--trials", 5, "--extension", "off.py", "--targets")
    assert ulpfuzz(*run, "numpy", "--out", "a").returncode == 0
    assert ulpfuzz(*run, "off", "--out", "b").returncode == 1
    assert ulpfuzz("report", "b").returncode == 1
    assert ulpfuzz("repro", "b", "1").returncode == 1


def test_debug_shows_a_traceback(ulpfuzz: Cli) -> None:
    ran = ulpfuzz("run", "summ", "--debug")
    assert ran.returncode == 1
    assert "Traceback" in ran.stderr
    assert re.search(r"UserError: unknown operator 'summ'", ran.stderr)


def test_the_version_is_printed(ulpfuzz: Cli) -> None:
    from fuzz import __version__

    ran = ulpfuzz("--version")
    assert (ran.returncode, ran.stdout) == (0, f"ulpfuzz {__version__}\n")


def test_an_interrupt_of_any_command_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("fuzz.cli.listing.show", interrupted)
    assert invoke(["list", "operators"]) == 130
    assert capsys.readouterr().err == "ulpfuzz: interrupted\n"
