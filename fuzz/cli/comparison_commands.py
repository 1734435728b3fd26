"""`ulpfuzz compare A B` and `ulpfuzz compare DIR --rate K/N`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.errors import FOUND, UserError

if TYPE_CHECKING:
    from results.comparison.campaigns import Campaigns


def compare(directories: Sequence[Path], rate: str | None, as_json: bool) -> int:
    """Print what changed between two campaigns, or how a campaign's rates relate to a published one.

    1 where something got worse (after adjusting for all tests) or a finding is new; with `rate`, where a rate is higher
    than the published one. UserError for any other number of campaigns, and, after what is known has been printed,
    where nothing could be compared.
    """
    if rate is not None:
        if len(directories) != 1:
            raise UserError(f"--rate takes one campaign, got {len(directories)}: `ulpfuzz compare DIR --rate 38/5000`")
        return _with_published(directories[0], rate, as_json)
    if len(directories) == 1:
        raise UserError("one campaign given: name a second one, or a published count with --rate, e.g. --rate 38/5000")
    if len(directories) != 2:
        raise UserError(f"{len(directories)} campaigns given: compare takes two; `ulpfuzz report` shows several")
    first, second = directories
    if first.resolve() == second.resolve():
        raise UserError(f"{second} is named twice: name two campaigns")
    return _campaigns(first, second, as_json)


def _campaigns(first: Path, second: Path, as_json: bool) -> int:
    from fuzz.terminal import console
    from results.comparison.campaigns import compare
    from results.comparison.plain import campaigns_json
    from results.comparison.report import print_campaigns
    from results.reading import open as open_results

    found = compare(open_results(first), open_results(second))
    if as_json:
        print(campaigns_json(found))
    else:
        print_campaigns(found, console())
    if not found.answered:
        raise UserError(
            f"{first} and {second} were not compared: {_why(found)}; run the same operators, dtypes and targets on both"
        )
    return FOUND if found.failed else 0


def _why(found: Campaigns) -> str:
    reasons = (change.why for line in found.lines for change in line.changes)
    return next((line.why for line in found.lines if line.why), "") or next(
        filter(None, reasons), "nothing ran on the same target, or backend, in the same dtype on both sides"
    )


def _with_published(directory: Path, rate: str, as_json: bool) -> int:
    from fuzz.terminal import console
    from results.comparison.plain import published_json
    from results.comparison.published import against_published
    from results.comparison.report_published import print_published
    from results.reading import open as open_results

    found = against_published(open_results(directory), rate)
    if as_json:
        print(published_json(found))
    else:
        print_published(found, console())
    return FOUND if found.failed else 0
