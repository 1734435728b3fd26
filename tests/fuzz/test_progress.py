"""The display: right counts, spellings with brackets, and no leftovers at the width of a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from fuzz import progress
from fuzz.progress import LiveProgress, PlainProgress, Speed, Tally, duration
from results.columns import COLUMNS

WIDE = "numpy:cpu[dtype=float64]"


def row(
    target: str, against: str = "truth", tenth: int = 0, hundredth: int = 0, rho: float | None = 0.1
) -> list[object]:
    flagged = None if rho is None else int(rho > 2)
    values = {"target": target, "against": against, "above_1e01": tenth, "above_1e02": hundredth, "flagged": flagged}
    return [values.get(column.name) for column in COLUMNS]


def test_trials_are_counted_once_and_pairs_not_at_all() -> None:
    tally = Tally(["a"])
    tally.add([row("a", tenth=3, hundredth=9), row("a", hundredth=1, rho=2.5), row("a", "b", 1, 1, 9.0)])
    tally.add([row("c", rho=None)])
    assert tally.counts == {"a": [1, 2, 1], "c": [0, 0, 0]}


def test_speed_leaves_out_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("fuzz.progress.time.monotonic", lambda: now)
    speed = Speed()
    speed.start(1000, 100)
    assert speed.text() == "starting workers"
    now = 50.0
    speed.advance(100)
    assert speed.text() == "measuring speed"
    now = 60.0
    speed.advance(400)
    assert speed.text() == "40 trials/s, 10 s left"
    speed.advance(400)
    assert speed.text() == "done in 1 min 00 s"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (90061, "25 h 01 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_piped_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    shown = PlainProgress([WIDE])
    shown.start(10, 0)
    shown.advance(10, [row(WIDE, tenth=1)])
    shown.stop()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"10/10 trials, done in 0 s; {WIDE} 1>1e-1 0>1e-2 0 flagged"


@pytest.mark.parametrize("width", [80, 140])
def test_a_terminal_shows_whole_names_and_keeps_a_margin(width: int) -> None:
    shown = LiveProgress(["numpy:cpu", WIDE])
    shown._speed.start(200000, 0)
    shown._bar.update(shown._task, total=200000)
    shown.advance(1, [row(WIDE, tenth=1)])
    out = io.StringIO()
    shown._console.width = width
    Console(file=out, width=width, force_terminal=True, color_system=None).print(shown._render())
    lines = out.getvalue().splitlines()
    assert any(line.startswith(WIDE) for line in lines)
    assert lines[-1].startswith("1/200000 trials")
    assert max(map(len, lines)) <= width - 4
