"""What doctor says of float64 in jax follows from what it measured, in words for both outcomes."""

from __future__ import annotations

import pytest

from fuzz.cli import doctor_x64
from fuzz.cli.doctor import x64_findings
from fuzz.cli.doctor_x64 import VARIABLE, Facts, _lines, x64_lines

LOST = Facts(
    plain="float32",
    warned=False,
    variable_late="float32",
    context="float64",
    context_over="float32",
    thread="float32",
    update="float64",
    update_before="float64",
    update_kept="float32",
)
KEPT = Facts(
    plain="float64",
    warned=False,
    variable_late="float64",
    context="float64",
    context_over="float64",
    thread="float64",
    update="float64",
    update_before="float64",
    update_kept="float64",
)


def test_each_way_is_said_as_it_was_measured() -> None:
    lines = _lines(LOST, "float64")
    assert [line.surprises for line in lines] == [True, False, True, True, False, True]
    told = [line.expect for line in lines]
    assert told[0] == "a float64 NumPy array becomes float32, without a warning"
    assert "it is ignored" in told[2]
    assert "arrays made before stay float32" in told[3]
    assert "does not reach it" in told[5]
    assert not any(line.surprises for line in _lines(KEPT, "float64"))
    assert [line.surprises for line in _lines(KEPT, "float32")] == [False, True, False, False, False, False]


def test_what_to_do_comes_last_and_a_variable_that_is_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    findings = x64_findings(_lines(LOST, "float64"))
    assert findings[-1].detail.startswith("what to do: ")
    assert [f.status for f in findings] == ["note", "ok", "note", "note", "ok", "note", "ok"]
    monkeypatch.setenv(VARIABLE, "0")
    assert x64_findings(_lines(LOST, "float64"))[-1].detail == f"{VARIABLE}=0 is set in this environment"


def test_where_jax_is_missing_or_broken_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_x64, "present", lambda module: False)
    assert x64_lines() is None
    (missing,) = x64_findings(None)
    assert missing.status == "missing"
    (broken,) = x64_findings("no answer within 1 s")
    assert (broken.status, broken.detail) == ("broken", "no answer within 1 s")


def test_a_process_that_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """jax is kept from being imported: the child ends with the error."""
    monkeypatch.setattr(doctor_x64, "present", lambda module: True)
    monkeypatch.setattr(doctor_x64.sys, "executable", "/bin/false")
    assert x64_lines() == "the process ended with code 1"
