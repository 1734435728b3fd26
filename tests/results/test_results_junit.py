"""JUnit XML and annotations: what other programs read, and what they would choke on."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from finding_groups import group, known_file
from hypothesis import given
from hypothesis import strategies as st

from results.annotations import annotation, workflow_lines
from results.junit import junit
from results.known import Sorted, read_known
from results.standard import Cell

CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}}
CASE = {"skipped", "error", "failure", "system-out"}
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}
ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"message"},
    "system-out": set(),
}
"""The part of junit-10.xsd (Jenkins xUnit plugin) that is used here."""


def ran(operator: str, target: str = "tvm:llvm", verdict: str = "rounding", dtype: str = "float32") -> Cell:
    return Cell(operator, target, dtype, 40, 0, verdict, 0.5, False)


def valid(text: str) -> ElementTree.Element:
    """The document, checked against the schema's rules."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    for node in root.iter():
        assert set(node.attrib) <= ALLOWED[node.tag]
        assert REQUIRED.get(node.tag, set()) <= set(node.attrib)
        assert {child.tag for child in node} <= CHILDREN.get(node.tag, CASE if node.tag == "testcase" else set())
    for suite in root:
        cases = list(suite)
        assert suite.attrib["tests"] == str(len(cases))
        assert suite.attrib["failures"] == str(sum(case.find("failure") is not None for case in cases))
        assert suite.attrib["skipped"] == str(sum(case.find("skipped") is not None for case in cases))
    for name in ("tests", "failures", "errors"):
        assert root.attrib[name] == str(sum(int(suite.attrib[name]) for suite in root))
    return root


def outcome(root: ElementTree.Element) -> dict[str, list[str]]:
    return {case.attrib["name"]: [child.tag for child in case] for case in root.iter("testcase")}


@pytest.fixture
def known(tmp_path: Path) -> Sorted:
    (entry,) = read_known(known_file(tmp_path, '[[known]]\noperator = "tanh"\nreason = "cancels, <near> 0"')).entries
    pairs = ((group(operator="tanh"), entry), (group(operator="gelu", verdict="subnormals_flushed"), entry))
    return Sorted("known.toml", (group(), group(operator="exp", verdict="crashed", worst_rho=None)), pairs, ("stale",))


def test_cases_pass_fail_err_or_are_skipped(known: Sorted) -> None:
    cells = [ran(name) for name in ("gelu", "tanh", "exp", "log")] + [ran("log", "scipy:cpu", "unsupported")]
    root = valid(junit(cells, known, "runs/night"))
    assert outcome(root) == {
        "exp tvm:llvm float32": ["error"],
        "gelu tvm:llvm float32": ["failure", "system-out"],
        "log scipy:cpu float32": ["skipped"],
        "log tvm:llvm float32": [],
        "tanh tvm:llvm float32": ["skipped"],
    }
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.attrib == {"type": "unstable", "message": group().title}
    assert "ulpfuzz repro runs/night beef551b-4" in (failure.text or "")
    assert (
        "cancels, <near> 0" in root.findall(".//testcase[@name='tanh tvm:llvm float32']/skipped")[0].attrib["message"]
    )


def test_dtypes_are_cases_of_their_own(known: Sorted) -> None:
    root = valid(junit([ran("gelu"), ran("gelu", dtype="float64")], known, "d"))
    assert outcome(root)["gelu tvm:llvm float64"] == []


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_gives_well_formed_xml(text: str) -> None:
    one = group(detail=text, trial=text, operator="gelu")
    valid(junit([ran("gelu")], Sorted("", (one,), (), ()), "d"))


def test_control_characters_are_replaced_and_markup_is_escaped() -> None:
    one = group(detail="a\x00b\x1b[1m ]]> <c> & \ud800 \ufffe")
    root = valid(junit([ran("gelu")], Sorted("", (one,), (), ()), "d"))
    text = next(root.iter("failure")).text or ""
    assert "a\ufffdb\ufffd[1m ]]> <c> & \ufffd \ufffd" in text


def runner(line: str) -> tuple[str, str, str]:
    """What the runner of GitHub makes of a line: level, title, message."""
    match = re.fullmatch(r"::(\w+) title=([^,:]*)::(.*)", line)
    assert match, line
    level, title, message = match.groups()
    for text, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
        title = title.replace(text, sign)
        message = message if text in ("%3A", "%2C") else message.replace(text, sign)
    return level, title.replace("%25", "%"), message.replace("%25", "%")


@given(st.text("a%:,\n\r0ADC25;=", max_size=12), st.text("a%:,\n\r0ADC25;=", max_size=12))
def test_annotations_arrive_as_they_were(title: str, message: str) -> None:
    line = annotation("error", title, message)
    assert "\n" not in line
    assert "\r" not in line
    if "%" not in title + message:
        assert runner(line) == ("error", title, message)
    assert annotation("error", "50 %", "a%0Ab") == "::error title=50 %25::a%250Ab"


def test_an_annotation_moves_no_terminal() -> None:
    assert annotation("error", "\x1b[31m\x9b2J", "a\u202eb") == r"::error title=\x1b[31m\x9b2J::a\u202eb"


@given(st.text())
def test_an_annotation_is_one_line(text: str) -> None:
    assert len(annotation("error", text, text).splitlines()) == 1


def test_levels(known: Sorted) -> None:
    lines = list(workflow_lines(known, "runs/night"))
    assert [runner(line)[:2] for line in lines] == [
        ("error", group().title),
        ("error", group(operator="exp", verdict="crashed").title),
        ("warning", f"known: {group(operator='tanh').title}"),
        ("warning", f"known: {group(verdict='subnormals_flushed').title}"),
        ("notice", "known findings"),
    ]
    assert "ulpfuzz repro runs/night beef551b-4" in runner(lines[0])[2]
    assert runner(lines[2])[2].startswith("cancels, <near> 0\n8 of 40 trials")
