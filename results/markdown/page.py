"""The Markdown page: headline, setting, tables, findings with commands, environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from results.accuracy import EXHAUSTIVE
from results.contents import accuracy, closer, growth, operators, rates, setting, variants, why
from results.contents.findings import Item, found
from results.contents.rates import Rates
from results.contents.table import Table
from results.findings import findings
from results.markdown.escape import code, plain
from results.reading import Results
from results.report import answer
from results.report_search import SEARCH

if TYPE_CHECKING:
    from results.known import Sorted

ROWS = 60
"""Rows of a table. GitHub takes 65,536 characters of an issue."""
FINDINGS = 30


def page(results: Results, known: Sequence[Sorted | None] = ()) -> str:
    """The Markdown of the campaigns in `results`, one after the other; `known` in the order of the directories."""
    campaigns = []
    for position, directory in enumerate(results.directories):
        one = results if len(results.directories) == 1 else Results([directory], verify=False)
        campaigns.append(_campaign(one, known[position] if known else None))
    return "\n\n---\n\n".join(campaigns) + "\n"


def _campaign(results: Results, known: Sorted | None) -> str:
    title = str(results.manifest.get("title") or results.directories[0].name)
    lines = operators.lines(results)
    said, *more = answer(results, findings(results)).split("\n")
    head = [
        f"### {plain(title)}",
        f"**{plain(said, 2000)}**",
        _list(more),
        _list(setting.what_ran(results)),
    ]
    parts = [
        *_section("Operators with accuracy issues", _table(operators.issues(lines))),
        *_section("Accuracy at every number", _accuracy(results)),
        *_section("Champions", _optional(why.champions_table(results) if results.plan == SEARCH else None)),
        *_section("The decision that was asked for", _optional(why.decisions(results))),
        *_section("Operators and targets", _table(operators.everything(results, lines))),
        *_section("Targets against each other", _optional(why.pairs(results))),
        *_section(closer.TITLE, _closer(results)),
        *_section("Variants: the same target on the same data, called in another way", _variants(results)),
        *_section(growth.TITLE, _optional(growth.growth(results))),
        *_section("How often", _rates(rates.rates(results))),
        *_section("Against the published rate", _list(why.published_lines(results))),
        *_section("How outliers arise (relative error above 1e-1)", _list(why.outlier_lines(results))),
        *_section("Identical bits", _list(why.equal_bits(results))),
        *_section("Findings", _findings(results, known)),
        *_section("Not decided", _list(setting.not_decided(results))),
        *_section("What ran", "\n\n".join([_table(setting.targets(results)), _list(setting.missing(results))]).strip()),
        *_section("Environment", _environments(results)),
    ]
    return "\n\n".join([part for part in head if part] + parts)


def _section(title: str, body: str) -> list[str]:
    """Heading and body; nothing where there is nothing to say."""
    return [f"#### {title}", body] if body else []


def _closer(results: Results) -> str:
    content = closer.closer(results)
    if content is None:
        return ""
    return _table(content) if content.rows else _list(content.notes)


def _optional(content: Table | None) -> str:
    return "" if content is None else _table(content)


def _variants(results: Results) -> str:
    content = variants.variants(results, ROWS)
    if content is None:
        return ""
    said, *others = variants.sentences(results)
    return "\n\n".join(part for part in (plain(said, 2000), _table(content), _list(others)) if part)


def _table(content: Table) -> str:
    """A table with its notes; empty without rows."""
    if not content.rows:
        return ""
    heads = " | ".join(plain(column.name) for column in content.columns)
    marks = " | ".join("---:" if column.number else "---" for column in content.columns)
    rows = [
        f"| {' | '.join(f'**{plain(cell.text, 200)}**' if cell.red else plain(cell.text, 200) for cell in row)} |"
        for row in content.rows[:ROWS]
    ]
    more = len(content.rows) - ROWS
    notes = [*content.notes, *([f"And {more:,} more rows: `ulpfuzz report --html` shows them."] if more > 0 else [])]
    return "\n".join([f"| {heads} |", f"| {marks} |", *rows]) + "".join(f"\n\n{plain(note)}" for note in notes)


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"* {plain(line)}" for line in lines)


def _rates(content: Rates) -> str:
    if content.refused:
        return f"No rates: {plain(content.refused)}."
    rows = []
    for panel in content.panels:
        rows += [
            f"| {plain(panel.event)} | {plain(line.name, 200)} | {line.counted} | {plain(line.text)} |"
            for line in panel.lines[:ROWS]
        ]
    notes = "".join(f"\n\n{plain(note)}" for note in content.notes)
    return "\n".join(["| event | whose | trials | rate |", "| --- | --- | ---: | ---: |", *rows]) + notes


def _accuracy(results: Results) -> str:
    return _table(accuracy.accuracy(results)) if results.plan == EXHAUSTIVE else ""


def _findings(results: Results, known: Sorted | None) -> str:
    content = found(results, known)
    parts = [_finding(item) for item in content.new[:FINDINGS]] or ["None."]
    if content.known:
        known_lines = [f"{item.verdict}: {item.title}: {item.known}" for item in content.known[:FINDINGS]]
        parts += ["Known:", _list(known_lines)]
    if content.composed:
        composed = [f"{item.verdict}: {item.title}: {item.often}" for item in content.composed[:FINDINGS]]
        parts += ["Composed from primitives by ulpfuzz, not blamed on the library:", _list(composed)]
    if len(content.new) > FINDINGS or content.more:
        parts.append(f"All of them:\n\n{code(setting.command(results, 'findings'))}")
    return "\n\n".join(parts)


def _finding(item: Item) -> str:
    lines = [item.often, *([item.detail] if item.detail else []), *([item.shrunk] if item.shrunk else [])]
    commands = f"{item.repeat}  # finding {item.id}\n{item.write}"
    return f"**{plain(item.verdict)}**: {plain(item.title)}\n\n{_list(lines)}\n\n{code(commands)}"


def _environments(results: Results) -> str:
    parts = []
    for facts in setting.environments(results):
        rows = "\n".join(f"| {plain(name)} | {plain(value)} |" for name, value in facts.values)
        parts.append(f"{plain(facts.name)}\n\n| | |\n| --- | --- |\n{rows}" if rows else plain(facts.name))
    return "\n\n".join(parts)
