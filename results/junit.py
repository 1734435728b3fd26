"""Findings as JUnit XML, the form that Jenkins, GitLab and others show as tests.

One test suite an operator, one test case an operator, target and dtype. A new finding is a failure (an error where
there was no result); a case with known findings only is skipped, with the reasons, and so is what a backend does not
offer. Valid against junit-10.xsd of the Jenkins xUnit plugin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from results.findings import FindingGroup
from results.known import Entry, Sorted
from results.report_findings import command, often, worst
from results.standard import Cell
from results.verdicts import NO_VALUE, VERDICTS

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2) cannot hold, escaped or not."""


def junit(ran: Sequence[Cell], found: Sorted, directory: str) -> str:
    """The XML of what ran and what was found; `directory` is for the commands in it."""
    new = _by_case([(group, None) for group in found.new])
    known = _by_case(found.known)
    root = ElementTree.Element("testsuites", name="ulpfuzz")
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for operator in dict.fromkeys(cell.operator for cell in sorted(ran, key=lambda cell: cell.operator)):
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(operator))
        for cell in sorted((c for c in ran if c.operator == operator), key=lambda c: (c.target, c.dtype)):
            key = (cell.operator, cell.target, cell.dtype)
            _case(suite, cell, new.get(key, []), known.get(key, []), directory)
        counts = {
            "tests": len(suite),
            "failures": sum(case.find("failure") is not None for case in suite),
            "errors": sum(case.find("error") is not None and case.find("failure") is None for case in suite),
            "skipped": sum(case.find("skipped") is not None for case in suite),
        }
        for name, value in counts.items():
            suite.set(name, str(value))
            totals[name] += value
    for name in ("tests", "failures", "errors"):
        root.set(name, str(totals[name]))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(
    suite: ElementTree.Element,
    cell: Cell,
    new: Sequence[tuple[FindingGroup, Entry | None]],
    known: Sequence[tuple[FindingGroup, Entry | None]],
    directory: str,
) -> None:
    name = _clean(f"{cell.operator} {cell.target} {cell.dtype}")
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=_clean(f"ulpfuzz.{cell.operator}"))
    told = "\n".join(f"known, {group.title}: {entry.said}" for group, entry in known if entry)
    for group, _ in new:
        kind = "error" if group.verdict in NO_VALUE else "failure"
        node = ElementTree.SubElement(case, kind, type=_clean(group.verdict), message=_clean(group.title))
        node.text = _clean(
            f"The result {VERDICTS[group.verdict].sentence}.\n{often(group, interval=True)}{worst(group)}\n"
            f"{group.detail}\n{command(group, directory)}"
        )
    if new:
        if told:
            ElementTree.SubElement(case, "system-out").text = _clean(told)
    elif told:
        ElementTree.SubElement(case, "skipped", message=_clean(told.replace("\n", "; ")))
    elif cell.absent:
        ElementTree.SubElement(case, "skipped", message="the backend does not offer it")


def _by_case(
    groups: Sequence[tuple[FindingGroup, Entry | None]] | Sequence[tuple[FindingGroup, Entry]],
) -> Mapping[tuple[str, str, str], list[tuple[FindingGroup, Entry | None]]]:
    cases: dict[tuple[str, str, str], list[tuple[FindingGroup, Entry | None]]] = {}
    for group, entry in groups:
        cases.setdefault((group.operator, group.target, group.dtype), []).append((group, entry))
    return cases


def _clean(text: str) -> str:
    """`text` with U+FFFD in place of characters that XML cannot hold; ElementTree escapes the others."""
    return _FORBIDDEN.sub("\ufffd", text)
