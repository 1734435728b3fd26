"""`ulpfuzz findings`, and the other forms that findings take: JUnit XML, annotations, a file of known findings."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.errors import FOUND, StorageError, UserError
from fuzz.say import tell

if TYPE_CHECKING:
    from results.fail_on import Decision, FailOn
    from results.known import KnownFile, Sorted
    from results.reading import Results

NEW = "new"


def findings(
    directory: Path,
    *,
    known: Path | None = None,
    junit: Path | None = None,
    github: bool = False,
    fail_on: str = NEW,
    as_json: bool = False,
    write_known: Path | None = None,
) -> int:
    """Print the findings of the campaign in `directory`, new ones first; 1 where the rule `fail_on` says so.

    `known` is a file of known findings, `junit` an XML file to write, `github` adds the annotations of a workflow,
    `write_known` writes a file of known findings to start from.
    """
    from fuzz.terminal import console
    from results.reading import open as open_results
    from results.report_known import findings_json, print_list

    rule, file = checked(fail_on, known)
    results = open_results(directory)
    found, decision = decide(results, rule, file)
    if write_known is not None:
        _write_known(found, write_known, directory)
    publish(results, found, junit, github)
    if as_json:
        print(findings_json(results, found, decision))
    else:
        print_list(results, found, decision, console())
    return FOUND if decision.failed else 0


def checked(fail_on: str, known: Path | None, plan: str | None = None) -> tuple[FailOn, KnownFile | None]:
    """Both options, read. KnownError and FailOnError, one line each, for what cannot be read.

    With `plan` a rule about rates is refused where that plan has none.
    """
    from results.fail_on import parse_fail_on, require_plan
    from results.known import read_known

    rule = parse_fail_on(fail_on)
    if plan is not None:
        require_plan(rule, plan)
    return rule, None if known is None else read_known(known)


def decide(results: Results, rule: FailOn, known: KnownFile | None) -> tuple[Sorted, Decision]:
    """The findings sorted into new and known, and whether the rule fails the campaign."""
    from results.fail_on import evaluate, flagged_rates, require_plan
    from results.known import sort_findings

    require_plan(rule, results.plan)
    found = sort_findings(results, known)
    rates = flagged_rates(results) if rule.rule == "rate" else ()
    return found, evaluate(rule, found.new, rates)


def asked_for(directory: Path) -> tuple[str, Path | None]:
    """What the campaign was started with: the rule for failing and its file of known findings."""
    from results.manifest import KNOWN, read_manifest

    known = directory / KNOWN
    return read_manifest(directory).get("fail_on") or NEW, known if known.exists() else None


def publish(results: Results, found: Sorted, junit: Path | None = None, github: bool = False) -> None:
    """Write the JUnit file and print the annotations, where asked for. StorageError for a file that cannot be written.

    Annotations go to the standard error stream, which a workflow reads, too: JSON on standard output stays JSON.
    """
    directory = shlex.quote(str(results.directories[0]))
    if junit is not None:
        from results.junit import junit as xml
        from results.standard import cells

        _write(junit, xml(cells(results), found, directory))
    if github:
        from results.annotations import workflow_lines

        for line in workflow_lines(found, directory):
            print(line, file=sys.stderr)


def _write_known(found: Sorted, path: Path, directory: Path) -> None:
    from results.known import starting_file

    if path.exists():
        raise UserError(f"{path} exists: name a new file for --write-known, and merge the entries by hand")
    groups = [*found.new, *(group for group, _ in found.known)]
    _write(path, starting_file(groups, directory.name))
    tell(f"{path}: {len(groups)} {'entry' if len(groups) == 1 else 'entries'}; give each a reason")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}: name another file") from None
