"""`ulpfuzz plan`: figures, JSON, and one line for what cannot be planned."""

from __future__ import annotations

import json

import pytest

from fuzz.cli.app import invoke


def say(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert invoke(["plan", *arguments]) == 0
    out, err = capsys.readouterr()
    assert not err
    return " ".join(str(out).split())


def test_trials_to_tell_two_rates(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "--rate", "0.0076", "--against", "0.0152", "--power", "0.8")
    assert said.startswith(
        "3,062 trials in each of two campaigns tell a rate of 0.76 % from 1.5 % with probability 0.8."
    )
    assert "summed over all outcomes, is 0.809" in said
    assert "Assumes: independent trials" in said
    assert say(capsys, "--rate", "0.0152", "--against", "38/5000").startswith("2,021 own trials tell")
    assert say(capsys, "--rate", "0.0076", "--against", "0.0152", "--tests", "6").startswith("4,725 trials")


def test_trials_to_exclude_a_rate(capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "--below", "0.01").startswith("299 trials without a failure exclude rates of 1.0 % and more")


def test_both_questions_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    plain = json.loads(say(capsys, "--rate", "0.5", "--against", "0.55", "--below", "0.0001", "--json"))
    assert plain["told"]["trials"] == 1565
    assert plain["excluded"]["trials"] == 29956


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "nothing to plan: give --rate and --against, or --below"),
        (["--rate", "0.1"], "--rate without --against"),
        (["--against", "0.1"], "--against without --rate"),
        (["--rate", "2", "--against", "0.1"], "--rate 2.0 is no rate"),
        (["--rate", "nan", "--against", "0.1"], "--rate nan is no rate"),
        (["--rate", "0.1", "--against", "1.5"], "--against 1.5 is no rate"),
        (["--rate", "0.1", "--against", "often"], "--against 'often' is no rate"),
        (["--rate", "0.1", "--against", "5/0"], "write it as events/trials"),
        (["--rate", "0.1", "--against", "0.1"], "both rates are 0.1"),
        (["--rate", "0.1", "--against", "0.2", "--power", "1"], "the power is 1.0"),
        (["--rate", "0.1", "--against", "0.2", "--tests", "0"], "the number of tests is 0"),
        (["--rate", "0.1", "--against", "0.100000000001"], "too close to tell apart"),
        (["--below", "0"], "--below 0.0 is no rate"),
    ],
)
def test_what_cannot_be_planned(capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str) -> None:
    assert invoke(["plan", *arguments]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    assert reason in err
