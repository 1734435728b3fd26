"""docs/sql.md: its commands run, and answer."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import odd_campaigns
import pytest

from fuzz.cli.app import invoke

PAGE = (Path(__file__).parent.parent / "docs/sql.md").read_text("utf-8")


def commands() -> list[list[str]]:
    """The commands of the page, as a shell reads them."""
    found: list[list[str]] = []
    for block in re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE):
        for word in shlex.split(block):
            found.append([]) if word == "ulpfuzz" else found[-1].append(word)
    return found


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sums of several lengths on two targets."""
    rows, elements = odd_campaigns.golden_rows()
    lengths = [row | {"reduction_length": 16 << int(str(row["index"]))} for row in rows]
    return odd_campaigns.write(tmp_path_factory.mktemp("page") / "campaign", lengths, elements)


def test_the_page_asks_enough() -> None:
    assert sum(words[0] == "sql" for words in commands()) >= 6
    assert sum(words[0] == "export" for words in commands()) >= 3


@pytest.mark.parametrize("words", commands(), ids=lambda words: " ".join(words)[:60])
def test_every_command_answers(
    words: list[str], campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    other = odd_campaigns.golden(1, tmp_path)
    monkeypatch.chdir(tmp_path)
    places = iter((str(campaign), str(other)))
    assert invoke([next(places) if word == "DIR" else word for word in words]) == 0
    said = capsys.readouterr()
    if "--csv" in words or words[0] == "export":
        assert re.fullmatch(r"wrote \S+: [1-9]\d* rows\n", said.err)
    else:
        *_, last = said.out.splitlines()
        assert re.fullmatch(r"[1-9]\d* rows?(, .*)?", last)
        assert len(said.out.splitlines()[0].split()) > 1


def test_the_python_of_the_page_runs(campaign: Path, capsys: Any) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {"DIR": campaign}
    exec(code, names)
    assert names["table"].num_rows == 4
    assert sum(batch.num_rows for batch in names["batches"]) == names["everything"].count_rows() == 12
    assert capsys.readouterr().out.startswith("[('a00124432fffeaf1', 0, ")
    assert [group.verdict for group in names["groups"]] == ["wrong"]
