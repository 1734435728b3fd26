"""How campaigns end: by time, by decision, at their number of trials; and what they would cost."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from running import TINY, Cli, differing, rows_of

import results
from fuzz.campaigns.budget import MOST_UNDECIDED, Clock, Stop, ends
from fuzz.campaigns.request import CampaignSpec, Published
from fuzz.errors import UserError
from results.until import answers

OFTEN = """
import numpy as np
from fuzz.extend import FunctionBackend, register
mine = FunctionBackend("mine")
@mine.operator("sum")
def total(x, *, axis):
    y = x.sum(axis=axis)
    return y * (x.dtype.type(2) if int(x[0, 0] * 1e6) % 10 < {tenths} else x.dtype.type(1))
register(mine)
"""


def asked(**spec: object) -> CampaignSpec:
    return CampaignSpec(problems=(), **spec)  # type: ignore[arg-type]


def test_what_a_request_says_about_the_end() -> None:
    assert ends(asked()).trials == 1000
    assert ends(asked(recipes="standard")).trials == 5
    assert ends(asked(time="1h")) == ends(asked(time=3600))
    assert (ends(asked(time="1h")).trials, ends(asked(time="1h")).seconds) == (None, 3600)
    assert (ends(asked(time="1h", trials=7)).trials, ends(asked(time="1h", trials=7)).seconds) == (7, 3600)
    until = asked(until="decided", published=Published("38/5000"))
    assert (ends(until).trials, ends(until).threshold) == (MOST_UNDECIDED, 0.0076)
    assert ends(asked(until="decided", fail_on="rate>0.01", time=5)) == ends(
        asked(until="decided", fail_on="rate > 0.01", time=5)
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"trials": 0}, "trials is 0"),
        ({"time": "soon"}, "cannot read the time 'soon'"),
        ({"until": "decided"}, "needs a rate to decide against"),
        ({"until": "decided", "fail_on": "new"}, "needs a rate to decide against"),
        ({"until": "decided", "fail_on": "rate>0"}, "cannot decide against a rate of 0"),
        ({"until": "decided", "published": Published("9/9")}, "cannot decide against a rate of 1"),
        ({"until": "decided", "published": Published("3/9"), "fail_on": "rate>0.1"}, "two rates to decide against"),
        ({"until": "tomorrow", "fail_on": "rate>0.1"}, "cannot read until = 'tomorrow'"),
    ],
)
def test_ends_that_cannot_be(spec: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ends(asked(**spec))


def test_the_start_of_a_run_takes_none_of_its_time() -> None:
    clock = Clock(before=4.9)
    stop = Stop(clock, 5.0, lambda: False)
    time.sleep(0.15)
    assert not stop()
    clock.begin()
    time.sleep(0.15)
    clock.begin()
    assert stop()
    assert stop.reason == "5 s are over"
    assert Stop(Clock(before=6.0), 5.0, lambda: False)()


def test_time_ends_a_campaign_and_more_time_goes_on(ulpfuzz: Cli, tmp_path: Path) -> None:
    """Treating both problems alike, in trials that are those of a plan with an end."""
    sizes = tmp_path / "c.toml"
    sizes.write_text('targets = ["numpy"]\n[[problem]]\noperator = "sum"\ndims = { rows = 3, n = [7, 8] }\n')
    ran = ulpfuzz.ok("run", sizes, "--time", "1.5s", "--out", "c")
    assert "ended: 2 s are over; `ulpfuzz resume " in ran.stderr
    assert " --time 1h` goes on" in ran.stderr
    first = rows_of(tmp_path / "c")
    assert first
    again = ulpfuzz.ok("resume", "c")
    assert len(rows_of(tmp_path / "c")) == len(first), again.stderr
    ulpfuzz.ok("resume", "c", "--time", "1s")
    rows = rows_of(tmp_path / "c")
    assert len(rows) > len(first)
    assert not differing(first, {key: rows[key] for key in first})
    last = {row["problem_id"]: row["index"] for row in rows.values()}
    size = json.loads((tmp_path / "c" / "campaign.json").read_text())["shard_trials"]
    assert len(last) == 2
    assert abs(max(last.values()) - min(last.values())) <= 2 * size
    ulpfuzz.ok("run", sizes, "--trials", 20, "--out", "short")
    short = rows_of(tmp_path / "short")
    assert not differing(
        short, {key: rows[key] for key in short if key in rows} | {k: short[k] for k in short if k not in rows}
    )


@pytest.mark.parametrize(("tenths", "answer"), [(5, "above"), (0, "below")])
def test_a_decision_ends_a_campaign(ulpfuzz: Cli, tmp_path: Path, tenths: int, answer: str) -> None:
    (tmp_path / "mine.py").write_text(OFTEN.format(tenths=tenths))
    campaign = ("run", *TINY[:-1], "mine", "--extension", "mine.py", "--shard-trials", 20)
    ran = ulpfuzz.ok(*campaign, "--fail-on", "rate>0.1", "--until", "decided", "--workers", 2, "--out", "c")
    assert "ended: decided" in ran.stderr
    assert ran.returncode == (1 if answer == "above" else 0)
    found = answers(results.open(tmp_path / "c"))
    assert [one.decision for one in found.values()] == [answer]
    assert "Is the rate above or below 10 %? (flagged)" in ran.stdout
    assert "confidence sequence" in ran.stdout
    assert "Clopper" not in ran.stdout
    decided = {whose: (one.k, one.n) for whose, one in found.items()}
    ulpfuzz.ok("resume", "c", "--workers", 1)
    assert {whose: (one.k, one.n) for whose, one in answers(results.open(tmp_path / "c")).items()} == decided


def test_a_dry_run_writes_nothing_and_says_what_it_would_do(ulpfuzz: Cli, tmp_path: Path) -> None:
    ran = ulpfuzz.ok("run", *TINY, "--trials", 5000, "--dry-run", "--out", "c")
    assert not list(tmp_path.iterdir())
    assert "5,000 trials" in ran.stdout
    assert "on disk" in ran.stdout
    survey = ulpfuzz.ok("run", "tanh", "--plan", "survey", "--targets", "numpy", "--time", "8h", "--dry-run")
    assert "about 8 h 00 min with 1 worker" in survey.stdout


def test_the_file_that_init_writes_runs(ulpfuzz: Cli, tmp_path: Path) -> None:
    ulpfuzz.ok("init")
    ulpfuzz.ok("run", "campaign.toml", "--targets", "numpy", "--trials", 2, "--out", "c")
    assert len({row["problem_id"] for row in rows_of(tmp_path / "c").values()}) == 5
    before = (tmp_path / "campaign.toml").read_text()
    again = ulpfuzz("init")
    assert (again.returncode, again.stderr) == (2, "ulpfuzz: campaign.toml exists already: name another file\n")
    uncommented = [line.removeprefix("# ") for line in before.splitlines() if line.startswith("# ") and " = " in line]
    assert {line.split(" = ")[0] for line in uncommented} >= {"time", "until", "fail_on", "known", "targets", "pairs"}


@pytest.mark.long
def test_known_findings_do_not_fail_a_campaign(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OFTEN.format(tenths=5))
    campaign = ("run", *TINY[:-1], "mine", "--extension", "mine.py", "--trials", 30)
    assert ulpfuzz(*campaign, "--out", "a").returncode == 1
    assert ulpfuzz("findings", "a", "--write-known", "known.toml").returncode == 1
    text = (tmp_path / "known.toml").read_text()
    assert 'reason = ""' in text
    (tmp_path / "known.toml").write_text(text.replace('reason = ""', 'reason = "planted"'))
    ran = ulpfuzz(*campaign, "--known", "known.toml", "--junit", "junit.xml", "--github", "--out", "b")
    assert ran.returncode == 0, ran.stderr
    assert "planted" in (tmp_path / "junit.xml").read_text()
    assert "::notice" in ran.stderr or "::warning" in ran.stderr
    (tmp_path / "known.toml").unlink()
    assert ulpfuzz("findings", "b").returncode == 0  # the campaign has a copy
    assert ulpfuzz("findings", "b", "--fail-on", "none").returncode == 0
    assert ulpfuzz("findings", "a", "--fail-on", "rate>0.01").returncode == 1
    assert ulpfuzz("report", "b").returncode == 0
    missing = ulpfuzz(*campaign, "--known", "known.toml", "--out", "d")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
    assert not (tmp_path / "d").exists()
