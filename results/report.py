"""The terminal report of a campaign: the answer first, then the figures behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from results.accuracy import EXHAUSTIVE, lines
from results.findings import accusations, findings
from results.headline import headline
from results.layout import line_of, say
from results.outliers import blame
from results.reading import Results
from results.report_accuracy import print_accuracy
from results.report_closer import print_closer
from results.report_counts import print_pairs, print_targets, print_verdicts
from results.report_findings import print_findings, print_undecided
from results.report_growth import print_growth
from results.report_overview import print_operators, print_problems
from results.report_quantiles import print_quantiles
from results.report_search import SEARCH, print_champions
from results.report_setting import print_setting
from results.report_standard import print_closing, print_standard
from results.report_until import print_until
from results.report_variants import print_variants
from results.report_why import print_bitwise, print_outliers, print_published
from results.setting import setting, undecided
from results.tallies import AGAINST_TRUTH, against_truth
from results.until import question

if TYPE_CHECKING:
    from results.findings import FindingGroup
    from results.known import Sorted

FEW_PROBLEMS = 12
"""Up to so many problems each get their own line; more are shown by operator."""


def report(results: Results, console: Console, known: Sorted | None = None) -> None:
    """Print the report of each campaign in `results` to `console`, without escape codes where it is not a terminal.

    `known` holds the findings of the one campaign by what is known of them.
    """
    for number, directory in enumerate(results.directories):
        one = results if len(results.directories) == 1 else Results([directory], verify=False)
        if number:
            console.rule(style="")
        _campaign(one, console, known)


def print_answer(results: Results, groups: list[FindingGroup], console: Console, soft_wrap: bool = False) -> None:
    """The headline in colour, and below it what it did not have room for."""
    first, *rest = answer(results, groups).split("\n")
    console.print(Text(line_of(first), style="bold red" if groups else "bold green"), soft_wrap=soft_wrap)
    for line in rest:
        say(console, line)


def answer(results: Results, groups: list[FindingGroup]) -> str:
    """The headline of the report: one or two plain sentences, or one, and in lines below what it had no room for."""
    decided_not = sum(reason.trials for reason in undecided(results))
    measured = sum(tally.trials for tally in against_truth(results))
    (seen,) = results.tallied(f"""
        SELECT count(DISTINCT target) AS ran, coalesce(max(elements), 1) AS elements FROM outcomes
        WHERE verdict <> 'unsupported' AND {AGAINST_TRUTH}
    """)
    if not groups and not setting(results).trials:
        return empty(results)
    if not groups and seen["elements"] == 0:
        return "Nothing was measured: the outputs of these problems have no elements."
    return headline(accusations(results), blame(results), seen["ran"], decided_not, measured)


def empty(results: Results) -> str:
    """What to say of a campaign whose finished shards hold no row."""
    return f"Nothing was measured: {results.directories[0]} holds no trial."


def _campaign(results: Results, console: Console, known: Sorted | None) -> None:
    ran = setting(results)
    if not ran.trials:
        say(console, empty(results), indent=0)
        return
    groups = findings(results)
    print_answer(results, groups, console)
    print_setting(results, ran, console)
    if results.plan == EXHAUSTIVE:
        print_accuracy(lines(results), console)
        print_pairs(results, console)
        print_findings(results, groups, console, known if known and known.path else None)
        print_undecided(results, console)
        return
    if results.plan == SEARCH:
        print_champions(results, console)
    if results.manifest.get("recipes"):
        print_standard(results, console)
    elif ran.problems > FEW_PROBLEMS or len(ran.operators) > 1:
        print_operators(results, console)
    elif ran.problems > 1:
        print_problems(results, console)
    print_targets(results, console)
    print_quantiles(results, console)
    print_pairs(results, console)
    print_closer(results, console)
    print_verdicts(results, console)
    if question(results.manifest) is None:
        print_published(results, console)
    print_until(results, console)
    print_outliers(results, console)
    print_bitwise(results, console)
    print_variants(results, console)
    print_growth(results, console)
    print_findings(results, groups, console, known if known and known.path else None)
    print_undecided(results, console)
    if results.manifest.get("recipes"):
        print_closing(results, console)
