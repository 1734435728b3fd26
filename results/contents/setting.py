"""What ran, and where: problems, targets, environments, and what gave no output."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.certification import certification
from results.contents.table import Cell, Column, Table, word
from results.layout import count
from results.quiet import quiet, told
from results.report_setting import implementations, problem_lines, trials_line, unreached_lines
from results.setting import Missing, Setting, setting, targets_that_ran, undecided, without_output
from results.tallies import verdict_counts
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

_REASONS = 25
_TABLES = {"versions", "variables"}
"""Facts of an environment that are tables of facts."""


class Facts(Struct, frozen=True):
    """An environment: its hash, and names with values in the order written."""

    name: str
    values: tuple[tuple[str, str], ...]


def what_ran(results: Results) -> tuple[str, ...]:
    """Problems and inputs, trials, seed and plan, certification."""
    ran = setting(results)
    lines = [*problem_lines(ran), trials_line(results, ran), *unreached_lines(results, ran)]
    certified = certification(results, ran.environments)
    return (*lines, *([certified] if certified else []))


def targets(results: Results) -> Table:
    """Each target with what it ran and its verdicts: explained ones, and findings."""
    hidden = quiet(results)
    verdicts = verdict_counts(results)
    rows = []
    for ran in targets_that_ran(results):
        if ran.target in hidden:
            continue
        counts = verdicts.get(ran.target, {})
        explained = [f"{name} {count(n)}" for name, n in counts.items() if not VERDICTS[name].finding]
        found = [f"{name} {count(n)}" for name, n in counts.items() if VERDICTS[name].finding]
        rows.append(
            (
                word(ran.target),
                word(implementations(ran.implementations, ran.operators)),
                word(ran.provenance),
                word(", ".join(explained) or "none"),
                Cell(", ".join(found) or "none", ", ".join(found), red=bool(found) and ran.provenance != "composed"),
            )
        )
    columns = (
        Column("target"),
        Column("implementation"),
        Column("code", hint="library: the library offers it; composed: written from its primitives; user: yours"),
        Column("explained (trials)"),
        Column("findings (trials)"),
    )
    return Table(columns, tuple(rows), tuple(f"Besides, {text}." for text in told(len(hidden))))


def missing(results: Results) -> tuple[str, ...]:
    """What was skipped and what gave no output, with reasons."""
    notes = [f"skipped: {note}" for note in results.manifest.get("skipped") or ()]
    return (*notes, *_reasons(without_output(results), "no output: "))


def not_decided(results: Results) -> tuple[str, ...]:
    """What the oracle could not decide, with its reasons."""
    return _reasons(undecided(results), "")


def environments(results: Results) -> tuple[Facts, ...]:
    """Versions, CPU, threads and libraries of each environment that rows refer to."""
    ran: Setting = setting(results)
    return tuple(Facts(name, _facts(results.environments.get(name) or {})) for name in ran.environments)


def command(results: Results, verb: str) -> str:
    """`ulpfuzz VERB DIR`."""
    return f"ulpfuzz {verb} {place(results)}"


def place(results: Results) -> str:
    """The directory, quoted for a shell."""
    return shlex.quote(str(results.directories[0]))


def _reasons(items: list[Missing], before: str) -> tuple[str, ...]:
    lines = []
    for item in items[:_REASONS]:
        trials = f"{count(item.trials)} {'trial' if item.trials == 1 else 'trials'}"
        lines.append(f"{before}{item.target}, {item.operator}: {item.verdict} in {trials}: {item.reason}")
    if (more := len(items) - _REASONS) > 0:
        lines.append(f"and {count(more)} more reasons")
    return tuple(lines)


def _facts(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Nested tables and lists in their own words, one line a key."""
    found: list[tuple[str, str]] = []
    for key, value in record.items():
        if key in _TABLES and isinstance(value, Mapping):
            found.extend((str(name), _words(one)) for name, one in value.items())
        else:
            found.append((str(key).replace("_", " "), _words(value)))
    return tuple((name, text) for name, text in found if text)


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ("; " if any(_nested(item) for item in value) else " ").join(_words(item) for item in value)
    return "" if value is None else str(value)


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)
