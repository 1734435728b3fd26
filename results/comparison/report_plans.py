"""How many trials are needed, on a terminal: the number, how it was got, what it assumes."""

from __future__ import annotations

from rich.console import Console

from results.comparison.plans import Excluded, Planned, Told
from results.layout import count, percent, say, short


def print_planned(found: Planned, console: Console) -> None:
    """Print each answer as a headline and a paragraph."""
    if found.told is not None:
        _print_told(found.told, console)
    if found.told is not None and found.excluded is not None:
        console.print()
    if found.excluded is not None:
        _print_excluded(found.excluded, console)


def _print_told(told: Told, console: Console) -> None:
    one, other = f"{percent(told.rate)} %", f"{percent(told.against)} %"
    if told.published is not None:
        k, n = told.published
        other = f"the published {count(k)} of {count(n)} = {other}"
    if told.trials is None:
        say(
            console,
            f"No number of own trials tells a rate of {one} from {other} with probability {short(told.power)}: the "
            "published count is too uncertain itself. Run both sides.",
            style="bold",
            indent=0,
        )
        return
    side = "own trials tell" if told.published else "trials in each of two campaigns tell"
    say(
        console,
        f"{count(told.trials)} {side} a rate of {one} from {other} with probability {short(told.power)}.",
        style="bold",
        indent=0,
    )
    say(console, f"How: {_how(told)}")
    level = f"{short(told.significance)}, two-sided"
    if told.tests > 1:
        level += f": 0.05 shared by {count(told.tests)} tests, the family that `compare` adjusts for"
    fewer = "" if told.published else " Two campaigns of one seed are compared trial by trial and need fewer."
    samples = "a published count that is a sample of its own" if told.published else "two campaigns of different seeds"
    say(
        console,
        f"Assumes: independent trials, {samples}, a test at significance {level}, numbers fixed before they run."
        + fewer,
    )
    if told.tests == 1 and told.published is None:
        say(
            console,
            "`compare` makes about three tests for each operator, dtype and target and adjusts for them: plan for its "
            "headline with --tests N.",
        )


def _how(told: Told) -> str:
    power = short(told.power)
    if told.raised and told.exact_power is not None:
        return (
            f"a number at which the exact power of the test, summed over all outcomes, reaches {power}, and with one "
            f"trial less does not; there it is {told.exact_power:.3f}. The normal approximation (Fleiss, Levin and "
            "Paik) is content with fewer, but so few events are not normal."
        )
    return (
        "the smallest number at which the normal approximation to the power of the chi-square test (Fleiss, Levin and "
        f"Paik) reaches {power}; there it is {told.approximate_power:.3f}. {_exact(told)}"
    )


def _exact(told: Told) -> str:
    if told.exact_power is None:
        return "Its exact power was not computed: there are more than 200,000 outcomes to sum over."
    return f"Checked: the exact power of that test, summed over all outcomes, is {told.exact_power:.3f}."


def _print_excluded(found: Excluded, console: Console) -> None:
    say(
        console,
        f"{count(found.trials)} trials without a failure exclude rates of {percent(found.rate)} % and more with 95 % "
        "confidence.",
        style="bold",
        indent=0,
    )
    say(
        console,
        "How: the smallest n with (1 - rate)^n <= 0.05. Checked with the exact one-sided bound (Clopper and Pearson): "
        f"{count(found.trials)} trials exclude {found.upper:.6g} and more, {count(found.trials - 1)} only "
        f"{found.upper_before:.6g}.",
    )
    say(
        console,
        "Assumes: independent trials, their number fixed before they run. A single failure, and nothing is excluded: "
        "then `compare` or `report` gives the interval.",
    )
