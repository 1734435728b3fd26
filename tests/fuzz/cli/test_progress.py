"""The displays: right counts, spellings with brackets, patience when piped, and no leftovers on a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from recorder_rows import row
from rich.console import Console

from fuzz.campaigns.recorder import Recorder
from fuzz.cli import progress
from fuzz.cli.progress import LiveDisplay, PlainDisplay, display

WIDE = "numpy:cpu[dtype=float64]"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def recorder() -> Recorder:
    return Recorder(title="sum", directory=Path(), plan="fixed", targets=["numpy:cpu", WIDE], one_rate=True)


def test_piped_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    recording = recorder()
    shown = display(recording)
    recording.start(10, 0)
    shown.start()
    recording.advance(10, [row(0, WIDE, above_1e01=1)])
    shown.refresh()
    shown.stop()
    counts = f"numpy:cpu 0>1e-1 0>1e-2 0 flagged; {WIDE} 1>1e-1 0>1e-2 0 flagged"
    assert capsys.readouterr().err.splitlines() == [f"10/10 trials, done in 0 s; {counts}"] * 2


def test_piped_lines_become_rare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    shown = PlainDisplay(recorder())
    shown.start()
    counts = []
    for _ in range(4):
        for _ in range(300):
            clock.now += 1
            shown.refresh()
        counts.append(len(capsys.readouterr().err.splitlines()))
    assert counts == [60, 60, 5, 5]
    shown.stop()
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("terminal", ["dumb", "unknown", ""])
def test_terminals_that_cannot_move_get_lines(terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", terminal)
    assert isinstance(display(recorder()), PlainDisplay)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(display(recorder()), LiveDisplay)


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("colour", [False, True])
def test_a_terminal_shows_whole_names_and_keeps_a_margin(
    width: int, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    written = io.StringIO()
    console = Console(file=written, width=width, height=24, force_terminal=True, color_system="standard")
    recording = recorder()
    shown = LiveDisplay(recording, console)
    recording.start(200_000, 0)
    recording.advance(1, [row(0, WIDE, above_1e01=1, flagged=1, verdict="unstable")])
    console.print(shown.render())
    lines = written.getvalue().splitlines()
    assert any(line.startswith(WIDE) for line in lines)
    assert any(line.startswith("1 of 200,000 trials") for line in lines)
    plain = io.StringIO()
    Console(file=plain, width=width, height=24, color_system=None).print(shown.render())
    assert max(map(len, plain.getvalue().splitlines())) <= width - 4
    assert ("\x1b[31m" in written.getvalue()) == colour  # findings in red
