"""Every command on every odd campaign: an answer or one line, never a traceback, and never text that is obeyed."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import odd_campaigns
import pytest
from odd_campaigns import HOSTILE, ODD, UNREADABLE

from fuzz.backends import BACKENDS
from fuzz.cli.app import invoke
from results.known import TABLE

READING: dict[str, tuple[str, ...]] = {
    "report": ("DIR...",),
    "report-files": ("report", "DIR...", "--html", "page.html", "--markdown", "page.md"),
    "findings": ("DIR", "--junit", "junit.xml", "--github"),
    "findings-json": ("findings", "DIR", "--json"),
    "watch": ("DIR", "--once"),
    "sql": ("DIR...", "from trials"),
    "export": ("DIR...", "--to", "rows.csv", "--table", "measurements"),
    "compare": ("DIR", "HEALTHY"),
    "tolerance": ("DIR...",),
}
"""Commands that only read: add one, and it meets every odd campaign. The name, or the first word, is the command."""

FOUND = {
    "half_written", "first_shard_only", "nan_only", "nan_outputs", "all_crashed", "mixed_schema", "older",
    "old_and_new", "several_plans", "hostile",
}  # fmt: skip
"""Campaigns with findings: `report` and `findings` end with 1."""

REFUSED = {("several_plans", "tolerance"): "its campaigns have different plans"}
"""Questions that these campaigns do not answer, with the reason."""

NOT_COMPARED = {"no_rows", "all_unsupported", "hostile"}
"""Nothing of these ran where the healthy one did: `compare` prints what it knows, and ends with 2."""

NO_TOLERANCE = {"nan_only", "nan_outputs", "all_crashed", "all_unsupported"}
"""Every target has findings, or nothing to measure."""

FEW = {"no_rows", "nan_only", "all_crashed", "mixed_schema", "newer"}
SLOW = ("report-files", "findings-json")
"""Commands that take longer meet a few only."""

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe]")


def run(command: str, places: list[Path]) -> int:
    words = READING[command]
    words = words if words[0] == command.partition("-")[0] else (command, *words)
    named = {"DIR...": [str(path) for path in places], "DIR": [str(places[0])]}
    if "HEALTHY" in words:
        other = Path.cwd().parent / "other"
        other.mkdir()
        (other,) = ODD["healthy"](other)
        named["HEALTHY"] = [str(other)]
    return invoke([part for word in words for part in named.get(word, [word])])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    before = dict(BACKENDS)
    yield
    for name in set(BACKENDS) - set(before):  # those of the campaign's extension
        del BACKENDS[name]


@pytest.mark.parametrize(
    ("name", "command"),
    [(name, command) for name in ODD for command in READING if command not in SLOW or name in FEW],
)
def test_every_command_answers(name: str, command: str, tmp_path: Path, capsys: Any) -> None:
    code = run(command, ODD[name](tmp_path))
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    if name in UNREADABLE and not (command == "watch" and name == "nothing_finished"):
        expected, line = UNREADABLE[name]
        assert code == expected
        assert said.out == ""
        assert line in said.err
        assert said.err.startswith("ulpfuzz: ")
        assert said.err.count("\n") == 1
        assert list(Path().iterdir()) == []
        return
    if (name, command) in REFUSED:
        assert code == 2
        assert REFUSED[name, command] in said.err
        return
    if (name, command) == ("no_rows", "tolerance"):
        assert (code, said.out) == (2, "")
        assert "no trial was judged against the truth" in said.err
        return
    if name in NOT_COMPARED and command == "compare":
        assert code == 2
        assert "were not compared: " in said.err
        assert said.err.count("\n") == 1
    elif command == "tolerance":
        assert code == int(name in NO_TOLERANCE)
    else:
        judged = command.partition("-")[0] in ("report", "findings")
        assert code == int(judged and name in FOUND)
    assert not CONTROL.search(said.out)
    assert not CONTROL.search(said.err)
    if command != "export":
        assert said.out.strip()


def test_what_is_said_of_nothing(tmp_path: Path, capsys: Any) -> None:
    (empty,) = odd_campaigns.no_rows(tmp_path)
    assert run("report", [empty]) == 0
    assert " ".join(capsys.readouterr().out.split()) == f"Nothing was measured: {empty} holds no trial."
    assert run("watch", [empty]) == 0
    assert "In brackets" not in capsys.readouterr().out
    assert run("sql", [empty]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 rows"
    (single,) = odd_campaigns.single_row(tmp_path)
    assert run("report", [single]) == 0
    said = capsys.readouterr().out
    assert "1 trial, seed 0, plan fixed\n" in said
    assert "No event in 1 trial excludes" in said


def test_what_is_missing_is_said(tmp_path: Path, capsys: Any) -> None:
    (half,) = odd_campaigns.half_written(tmp_path)
    assert run("report", [half]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert f"3 trials, seed 0, plan fixed; INCOMPLETE: 4 were planned, run `ulpfuzz resume {half}`" in said
    assert run("watch", [half]) == 0
    assert f"`ulpfuzz resume {half}` goes on" in capsys.readouterr().out


class Page(HTMLParser):
    """The elements of a page and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_findings_too_old_for_a_region_are_the_same(tmp_path: Path, capsys: Any) -> None:
    (old,), (half,) = odd_campaigns.older(tmp_path), odd_campaigns.half_written(tmp_path)
    for places in ((old, half), (half, old)):
        assert invoke(["compare", *map(str, places), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["findings"]
        assert [(finding["fate"], finding["why"]) for finding in told] == [
            (
                "still there",
                "4 of 4 trials before, 3 of 3 after" if places[0] == old else "3 of 3 trials before, 4 of 4 after",
            )
        ]


def test_names_and_messages_are_text_in_a_page(tmp_path: Path) -> None:
    run("report-files", odd_campaigns.hostile(tmp_path))
    page = Page(Path("page.html").read_text("utf-8"))
    assert HOSTILE[0] in page.text
    assert "[bold red]x[/] \ufffd[31mred" in page.text
    assert not page.tags & {"i", "img", "iframe"}
    assert Path("page.html").read_text().count("<script") == 1
    text = Path("page.md").read_text("utf-8")
    assert not CONTROL.search(text)
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<script" not in outside.replace("\\<script", "")
    assert "@e" not in outside
    assert not any(line.startswith("::") for line in outside.splitlines())
    tables = [line for line in outside.splitlines() if line.startswith("|")]
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in tables]
    assert len(tables) > 20
    assert min(columns) > 2


def test_names_and_messages_are_text_in_other_forms(tmp_path: Path, capsys: Any) -> None:
    (place,) = odd_campaigns.hostile(tmp_path)
    assert run("findings", [place]) == 1
    said = capsys.readouterr()
    notes = said.err.splitlines()
    assert len(notes) == 4
    assert all(note.startswith("::error title=mine%3Acpu") for note in notes)
    assert not any(line.lstrip().startswith("::") for line in said.out.splitlines())
    cases = ElementTree.parse("junit.xml").getroot().findall(".//failure")
    assert any("<script>alert(1)</script> <b>&amp;" in str(case.get("message")) for case in cases)
    assert run("findings-json", [place]) == 1
    told = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["operator"] for finding in told} <= set(HOSTILE)
    assert invoke(["findings", str(place), "--write-known", "known.toml"]) == 1
    known = tomllib.loads(Path("known.toml").read_text("utf-8"))
    assert {entry["operator"] for entry in known[TABLE]} <= set(HOSTILE)
    Path("known.toml").write_text(
        Path("known.toml").read_text("utf-8").replace('reason = ""', 'reason = "so"'), "utf-8"
    )
    assert invoke(["findings", str(place), "--known", "known.toml"]) == 0


def test_an_error_shows_a_hostile_path_as_text(tmp_path: Path, capsys: Any) -> None:
    for path in (tmp_path / "no\x1b[31m\n::error::x", tmp_path / "no\udcff[bold]"):
        assert invoke(["report", str(path)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert not CONTROL.search(said)
    assert "no\\udcff[bold]" in said


def test_a_query_on_a_hostile_path(tmp_path: Path, capsys: Any) -> None:
    (place,) = odd_campaigns.healthy(tmp_path)
    named = place.rename(tmp_path / "n\x1b[31m\n::error::x")
    assert run("sql", [named]) == 0
    assert "n\\x1b[31m\\n::error::x" in capsys.readouterr().out
    unreadable = named.rename(tmp_path / "n\udcff")
    assert run("sql", [unreadable]) == 2
    assert capsys.readouterr().err.endswith("n\\udcff is no UTF-8 text: rename the directory\n")


@pytest.mark.parametrize("name", ["half_written", "mixed_schema", "no_rows"])
def test_compact_keeps_every_row(name: str, tmp_path: Path, capsys: Any) -> None:
    import results

    (place, *_) = ODD[name](tmp_path)
    before = repr(results.open(place).rows().to_pylist())
    assert invoke(["compact", str(place)]) == 0
    assert capsys.readouterr().out == "nothing to merge\n"
    assert repr(results.open(place).rows().to_pylist()) == before


@pytest.mark.parametrize("name", ["older", "no_rows"])
def test_table_says_what_it_needs(name: str, tmp_path: Path, capsys: Any) -> None:
    places = ODD[name](tmp_path)
    assert invoke(["table", *map(str, places)]) == 2
    assert "no campaign over all numbers of a format: start one with" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["half_written", "older"])
def test_resume_computes_what_is_missing(name: str, tmp_path: Path, capsys: Any) -> None:
    import results

    (place,) = ODD[name](tmp_path)
    with contextlib.suppress(KeyError):
        assert invoke(["resume", str(place), "--no-shrink"]) == 1
    assert "4 trials, seed 0, plan fixed\n" in capsys.readouterr().out
    rows = results.open(place).rows()
    assert sorted(set(rows.column("index").to_pylist())) == [0, 1, 2, 3]
    assert rows.num_rows == 12


def test_why_there_is_no_tolerance(tmp_path: Path, capsys: Any) -> None:
    """One of two targets has findings; the figures of the other are NaN."""
    assert run("tolerance", odd_campaigns.nan_only(tmp_path)) == 1
    assert "no tolerance: no target without findings has a result to measure" in capsys.readouterr().out
    assert run("tolerance", odd_campaigns.all_crashed(tmp_path)) == 1
    assert "no tolerance: every target has findings" in capsys.readouterr().out
