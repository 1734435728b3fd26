"""The file of known findings: what matches, until when, and what is wrong with it in one line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from finding_groups import group, known_file
from hypothesis import example, given, settings
from hypothesis import strategies as st
from synthetic_rows import make_row

import results
from results.errors import KnownError, ResultsError
from results.findings import FindingGroup
from results.known import Sorted, read_known, sort_findings, sort_out, starting_file

ENVIRONMENTS: dict[str, Any] = {
    "e" * 16: {"versions": {"apache-tvm": "0.27.0.post1", "torch": "2.13.0+cpu", "jax": "0.10.2"}},
    "f" * 16: {"versions": {"apache-tvm": "0.28.0"}},
    "d" * 16: {"versions": {"apache-tvm": "0.27.dev3"}},
}


def sort(folder: Path, text: str, groups: Sequence[FindingGroup], ran: Sequence[Mapping[str, str]] = ()) -> Sorted:
    seen = [{**one.signature, "target": one.target} for one in groups]
    return sort_out(read_known(known_file(folder, text)), groups, ENVIRONMENTS, [*seen, *ran])


def entry(*lines: str) -> str:
    return "\n".join(["[[known]]", 'reason = "1 + erf"', *lines, ""])


@pytest.mark.parametrize(
    "line",
    [
        'id = "acd5d83e01"',
        'target = "tvm:llvm"',
        'operator = "gelu"',
        'output = "y"',
        'backend = "tvm"',
        'device = "llvm"',
        'options = ""',
        'dtype = ["float64", "float32"]',
        'verdict = "unstable"',
        'against = "truth"',
        'region = "x < -2.75"',
    ],
)
def test_every_field_matches_alone_and_spoils_the_match(tmp_path: Path, line: str) -> None:
    found = sort(tmp_path, entry(line), [group()])
    assert [one.id for one, _ in found.known] == ["acd5d83e01"]
    assert (found.new, found.notes) == ((), ())
    name = line.split(" ")[0]
    assert sort(tmp_path, entry(f'{name} = "crashed"'), [group()]).new == (group(),)


def test_one_entry_may_cover_many_and_the_first_that_fits_wins(tmp_path: Path) -> None:
    text = entry('backend = "jax"', 'verdict = "subnormals_flushed"') + entry('verdict = "subnormals_flushed"')
    flushed = [group(operator=name, backend="jax", verdict="subnormals_flushed") for name in ("exp", "log")]
    found = sort(tmp_path, text, [*flushed, group()])
    assert [e.number for _, e in found.known] == [1, 1]
    assert [one.operator for one in found.new] == ["gelu"]


@pytest.mark.parametrize(
    ("versions", "environments", "why"),
    [
        ('"tvm<0.28"', "e", ""),
        ('"apache-tvm<0.28"', "e", ""),
        ('"tvm>=0.27,<0.28"', "e", ""),
        ('["tvm<0.28", "torch>=2"]', "e", ""),
        ('"torch==2.13.0"', "e", ""),
        ('"tvm<0.28"', "d", ""),
        ('"tvm<0.27"', "e", "it is for tvm<0.27, and 0.27.0.post1 ran"),
        ('["torch>=2", "tvm>=0.28"]', "e", "it is for tvm>=0.28, and 0.27.0.post1 ran"),
        ('"tvm<0.28"', "ef", "it is for tvm<0.28, and 0.28.0 ran"),
        ('"numpy>=2"', "e", "the campaign does not say which version of numpy ran"),
        ('"tvm<0.28"', "?", "the campaign does not say which version of tvm ran"),
        ('"tvm<0.28"', "", "the campaign does not say which version of tvm ran"),
    ],
)
def test_versions_end_an_entry(tmp_path: Path, versions: str, environments: str, why: str) -> None:
    one = group(environments=tuple(name * 16 for name in environments))
    found = sort(tmp_path, entry('operator = "gelu"', f"versions = {versions}"), [one])
    if not why:
        assert (len(found.known), found.new, found.notes) == (1, (), ())
        return
    assert found.new == (one,)
    (note,) = found.notes
    assert why in note
    assert note.startswith("entry 1: gelu: no longer applies, ")
    assert note.endswith("finding acd5d83e01 is new")


def test_an_ended_entry_is_silent_where_another_one_applies(tmp_path: Path) -> None:
    text = entry('operator = "gelu"', 'versions = "tvm<0.1"') + entry('operator = "gelu"')
    found = sort(tmp_path, text, [group()])
    assert ([e.number for _, e in found.known], found.notes) == ([2], ())


def test_an_entry_that_matches_nothing_is_stale_if_its_subject_ran(tmp_path: Path) -> None:
    text = entry('operator = "tanh"', 'backend = "tvm"') + entry('operator = "gelu"', 'verdict = "wrong"')
    ran = {
        "operator": "tanh",
        "backend": "torch",
        "output": "y",
        "target": "",
        "device": "",
        "options": "",
        "dtype": "",
    }
    assert [note[:8] for note in sort(tmp_path, text, [group()], [ran]).notes] == ["entry 2:"]
    both = sort(tmp_path, text, [group()], [ran | {"backend": "tvm"}])
    assert both.notes[0] == (
        "entry 1: tanh tvm: stale, it matches no finding of this campaign: remove it or correct its fields"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[known]", "is not valid TOML"),
        ("known = 3", "write [[known]] before each entry"),
        ("[known]\nid = 'x'", "write [[known]] before each entry"),
        ("[[knwon]]", "unknown key 'knwon': write [[known]] tables"),
        ("[[known]]\nreason = 'x'", "entry 1 would match every finding: name some of id, target, operator"),
        ("[[known]]\noperator = 'gelu'", "entry 1 has no reason: add reason ="),
        ("[[known]]\noperator = 'gelu'\nreason = ' '", "entry 1 has no reason"),
        (entry("id = 'a'") + "[[known]]\noperator = 'gelu'\nreason = 3", "entry 2 has no reason"),
        (entry("oprator = 'gelu'"), "entry 1: unknown key 'oprator': did you mean 'operator'?"),
        (entry("zzz = 'gelu'"), "entry 1: unknown key 'zzz': use id, target"),
        (entry("operator = 3"), "entry 1: operator is 3: write a string or a list of strings"),
        (entry("operator = []"), "entry 1: operator is []: write a string or a list of strings"),
        (entry("verdict = 'unstabel'"), "entry 1: unknown verdict 'unstabel': did you mean 'unstable'?"),
        (entry("verdict = 'zzz'"), "docs/verdicts.md lists them"),
        (entry("verdict = 'rounding'"), "verdict 'rounding' is no finding: remove the entry"),
        (entry("id = 'a'", "versions = '<0.28'"), "versions is '<0.28': write a name and a range"),
        (entry("id = 'a'", "versions = 'tvm'"), "versions is 'tvm': write a name and a range"),
        (entry("id = 'a'", "versions = 'tvm @ file:///x'"), "write a name and a range"),
        (entry("id = 'a'", "versions = 2"), "versions is 2: write a string"),
        (entry("id = 'a'", "link = 2"), "link is 2: write a string"),
    ],
)
def test_mistakes_are_one_line_with_file_entry_and_fix(tmp_path: Path, text: str, said: str) -> None:
    path = known_file(tmp_path, text)
    with pytest.raises(KnownError) as raised:
        read_known(path)
    assert said in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, ResultsError)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"--write-known .* writes one to start from"):
        read_known(tmp_path / "none.toml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(KnownError, match="cannot read"):
        read_known(tmp_path / "binary")
    with pytest.raises(KnownError, match="cannot read"):
        read_known(tmp_path)


def test_an_empty_file_knows_nothing(tmp_path: Path) -> None:
    assert sort(tmp_path, "", [group()]).new == (group(),)


TEXT = st.text(max_size=8)


@settings(deadline=None)
@example(operator="a\x7f\x00\n", options='\\"#', region="\u2028")
@given(operator=st.text(min_size=1, max_size=8), options=TEXT, region=TEXT)
def test_a_starting_file_knows_exactly_what_it_was_made_from(
    tmp_path_factory: pytest.TempPathFactory, operator: str, options: str, region: str
) -> None:
    one = group(operator=operator, options=options, region=region)
    others = [group(operator=operator + "x", options=options), group(operator=operator, options=options + "y")]
    text = starting_file([one, group(verdict="crashed")], "night\n1")
    assert len(tomllib.loads(text)["known"]) == 2
    folder = tmp_path_factory.mktemp("known")
    with pytest.raises(KnownError, match="entry 1 has no reason"):
        read_known(known_file(folder, text))
    found = sort(folder, text.replace('reason = ""', 'reason = "seen"'), [one, *others])
    assert ([known.id for known, _ in found.known], list(found.new)) == ([one.id], others)


def test_reasons_are_shown_with_versions_and_link(tmp_path: Path) -> None:
    text = entry("id = 'acd5d83e01'", "versions = 'tvm<0.28'", "link = 'https://x.org/1'")
    ((_, known),) = sort(tmp_path, text, [group()]).known
    assert known.said == "1 + erf [tvm<0.28] https://x.org/1"


def test_a_campaign_is_sorted(campaign: Callable[..., Path], tmp_path: Path) -> None:
    rows = [make_row(0, verdict="unstable", region="x < 0"), make_row(1, verdict="wrong"), make_row(2, operator="tanh")]
    opened = results.open(campaign(rows))
    text = (
        entry('operator = "batch_norm"', 'verdict = "wrong"') + entry('operator = "tanh"') + entry('operator = "exp"')
    )
    found = sort_findings(opened, read_known(known_file(tmp_path, text)))
    assert ([one.verdict for one in found.new], [one.verdict for one, _ in found.known]) == (["unstable"], ["wrong"])
    assert [note.partition(": stale")[0] for note in found.notes] == ["entry 2: tanh"]
    assert len(sort_findings(opened, None).new) == 2
