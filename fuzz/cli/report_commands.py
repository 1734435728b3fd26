"""`ulpfuzz report DIR... [--html FILE] [--markdown FILE]`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.cli.finding_commands import NEW, asked_for, checked, decide
from fuzz.errors import FOUND, StorageError, UserError
from fuzz.say import tell
from fuzz.terminal import console
from results.reading import Results
from results.reading import open as open_results

if TYPE_CHECKING:
    from results.contents.findings import Script
    from results.fail_on import Decision
    from results.known import Sorted


def report(directories: Sequence[Path], html: Path | None = None, markdown: Path | None = None) -> int:
    """Print the reports of campaigns, finished or not, or write them into files and print their headlines.

    1 where the rule for failing of one of them says so.
    """
    from results.findings import findings
    from results.report import print_answer
    from results.report import report as print_report

    _require(html, markdown)
    results = open_results(*directories)
    campaigns = [results] if len(directories) == 1 else [Results([path], verify=False) for path in directories]
    known = [_decided(one) for one in campaigns]
    out = console()
    if html is None and markdown is None:
        for position, (one, (found, _)) in enumerate(zip(campaigns, known, strict=True)):
            if position:
                out.rule(style="")
            print_report(one, out, found)
    else:
        for one in campaigns:
            groups = findings(one)
            print_answer(one, groups, out, soft_wrap=True)
        _write(results, campaigns, [found for found, _ in known], html, markdown)
    for one, (_, decision) in zip(campaigns, known, strict=True):
        _tell(one, decision, len(campaigns) > 1)
    return FOUND if any(decision.failed for _, decision in known) else 0


def _write(
    results: Results, campaigns: Sequence[Results], known: Sequence[Sorted], html: Path | None, markdown: Path | None
) -> None:
    """Both files, each whole or not at all."""
    from fuzz.reproduction.saving import save

    if html is not None:
        from results.html.page import page

        save(html, page(results, known, [_scripts(*pair) for pair in zip(campaigns, known, strict=True)]))
        tell(f"wrote {html}")
    if markdown is not None:
        from results.markdown.page import page as text

        save(markdown, text(results, known))
        tell(f"wrote {markdown}")


def _scripts(results: Results, known: Sorted) -> dict[str, Script]:
    from fuzz.reproduction.texts import script_texts
    from results.findings import composed_findings

    groups = [*known.new, *(group for group, _ in known.known), *composed_findings(results)]
    return script_texts(results.directories[0], groups)


def _decided(results: Results) -> tuple[Sorted, Decision]:
    rule, file = asked_for(results.directories[0])
    return decide(results, *checked(rule, file))


def _tell(results: Results, decision: Decision, several: bool) -> None:
    """Whether the campaign fails, where it was started with a rule of its own or a file of known findings."""
    rule, file = asked_for(results.directories[0])
    if file is None and rule == NEW:
        return
    where = f"{results.directories[0]}: " if several else ""
    tell(f"{where}{'fails' if decision.failed else 'passes'}: {decision.why}")


def _require(html: Path | None, markdown: Path | None) -> None:
    """Say at once what could not be written in the end."""
    if html is not None and html == markdown:
        raise UserError(f"--html and --markdown both name {html}: give each a file of its own")
    for path in (html, markdown):
        if path is not None and path.is_dir():
            raise StorageError(f"{path} cannot be written: it is a folder: name a file")
        if path is not None and not path.parent.is_dir():
            raise StorageError(f"{path} cannot be written: there is no folder {path.parent}: make it, or name another")
