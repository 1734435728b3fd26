"""`ulpfuzz compare`: exit codes, JSON, and one line for what cannot be compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fuzz.cli.app import invoke
from results.columns import Row
from results.store import Store


def write(name: str, trials: int, events: int = 0, shards: int = 1, **manifest: Any) -> Path:
    """A campaign of one target, written as the engine does, in the current folder."""
    seed = int(manifest.get("seed", 1))
    plain = {"format": "ulpfuzz campaign", "schema_version": 3, "plan": "fixed", "seed": seed, "trials": trials}
    directory = Path(name)
    directory.mkdir()
    (directory / "campaign.json").write_text(json.dumps(plain | manifest))
    store = Store(directory)
    for shard in range(shards):
        store.commit(shard, [_row(seed, index, events) for index in range(shard, trials, shards)])
    return directory


def _row(seed: int, index: int, events: int) -> Row:
    return {
        "problem_id": "p" * 16,
        "seed": seed,
        "index": index,
        "output": "y",
        "target": "numpy:cpu",
        "variant": "",
        "against": "truth",
        "operator": "sum",
        "backend": "numpy",
        "dtype": "float32",
        "verdict": "rounding",
        "above_1e01": int(index < events),
        "above_1e02": int(index < events),
        "flagged": 0,
        "rho_max": 0.5 + 1e-3 * ((7919 * index + seed) % 400),
        "input_digest": f"{seed}-{index}",
        "output_digest": f"{seed}-{index}-{index < events}",
    }


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def say(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert invoke([*arguments]) == code
    out, err = capsys.readouterr()
    assert not err
    return " ".join(str(out).split())


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    assert invoke([*arguments]) == code
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    return str(err)


def test_nothing_changed(capsys: pytest.CaptureFixture[str]) -> None:
    write("a", 50)
    write("b", 50)
    said = say(capsys, "compare", "a", "b")
    assert said.startswith("Bitwise identical: all 50 outputs of 50 shared trials of targets.")
    assert "Setting: the same" in said
    assert "A: a: 50 trials, seed 1, plan fixed" in said
    assert "Findings: none on either side" in said


def test_something_got_worse(capsys: pytest.CaptureFixture[str]) -> None:
    write("a", 200)
    write("b", 200, 20)
    said = say(capsys, "compare", "a", "b", code=1)
    assert said.startswith("sum on numpy:cpu in float32: above 1e-1 rose from 0 % to 10 % of the trials (adjusted p =")
    assert "pairs: the trials of one problem" in said
    assert "exact McNemar test" in said
    better = say(capsys, "compare", "b", "a")
    assert "above 1e-1 fell from 10 % to 0 %" in better


def test_two_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    write("a", 300, 4)
    write("b", 300, 6, seed=2)
    said = say(capsys, "compare", "a", "b")
    assert said.startswith("No difference seen in 3 tests. A rate above 1e-1 ")
    assert "adjusted: p after 3 tests, one family, by Benjamini and Hochberg" in said
    assert "seed 1 2" in said
    plain = json.loads(say(capsys, "compare", "a", "b", "--json"))
    assert plain["failed"] is False
    assert plain["tests"] == 3


def test_a_published_rate(capsys: pytest.CaptureFixture[str]) -> None:
    write("a", 500, 4)
    said = say(capsys, "compare", "a", "--rate", "38/5000")
    assert said.startswith("The rate is the published 38 of 5,000 = 0.76 %, as far as 500 trials can tell.")
    assert "the same rate as far as 500 trials can tell" in said
    assert say(capsys, "compare", "a", "--rate", "0/5000", code=1).startswith("Higher for sum on numpy:cpu")
    assert json.loads(say(capsys, "compare", "a", "--rate", "38/5000", "--json"))["lines"][0]["own"]["k"] == 4


def test_what_is_incomplete_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    write("a", 50)
    directory = write("b", 50, shards=2)
    next((directory / "parts").glob("00000001*")).unlink()
    said = say(capsys, "compare", "a", "b")
    assert "B: b: 25 trials, seed 1, plan fixed; INCOMPLETE: 50 were planned" in said
    assert "A has 25 more, which were not compared." in said
    assert "INCOMPLETE" in say(capsys, "compare", "b", "--rate", "1/50")


def test_what_cannot_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    write("a", 20)
    write("empty", 0, shards=0)
    shutil.copytree("a", "damaged")
    part = next(Path("damaged/parts").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-30])
    assert "name a second one, or a published count with --rate" in refused(capsys, "compare", "a")
    assert "--rate takes one campaign, got 2" in refused(capsys, "compare", "a", "empty", "--rate", "1/2")
    assert "compare takes two" in refused(capsys, "compare", "a", "empty", "b")
    assert "is named twice" in refused(capsys, "compare", "a", "./a")
    assert "holds no finished trials yet" in refused(capsys, "compare", "a", "empty")
    assert "there is no directory nowhere" in refused(capsys, "compare", "a", "nowhere")
    assert "damaged" in refused(capsys, "compare", "a", "damaged", code=3)
    assert "write it as events/trials" in refused(capsys, "compare", "a", "--rate", "many")
