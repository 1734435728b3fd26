"""`--fail-on`: when a campaign ends with exit code 1. Pure functions of the findings and the rates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from results.errors import FailOnError
from results.findings import FindingGroup
from results.rates import ended_by_decision, rate
from results.statistics.proportions import one_sided_lower
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

FORMS = "new, wrong, none, or rate>P with 0 <= P < 1, e.g. rate>0.01"
WRONG_FROM = "identity_broken"
"""`wrong` counts this verdict and all more severe ones: results without any sense of accuracy, and none at all."""
PLANS = ("fixed", "survey")
"""Plans whose counts are rates."""

_RATE = re.compile(r"rate\s*>\s*(?P<limit>\S+)")


class FailOn(Struct, frozen=True):
    """A rule. `limit` is the P of rate>P."""

    rule: str
    limit: float = 0.0

    def __str__(self) -> str:
        return f"rate>{self.limit:g}" if self.rule == "rate" else self.rule


class FlaggedRate(Struct, frozen=True):
    """Trials with an element of rho > 2, of those with an output."""

    what: str
    flagged: int
    trials: int
    lower: float
    """One-sided 95 % lower bound of the rate."""


class Decision(Struct, frozen=True):
    """Whether the campaign fails, and why, in one sentence."""

    failed: bool
    why: str


NEW = FailOn("new")


def parse_fail_on(text: str) -> FailOn:
    """The rule that `text` spells. FailOnError, one line, otherwise."""
    text = text.strip()
    if text in ("new", "wrong", "none"):
        return FailOn(text)
    if match := _RATE.fullmatch(text):
        try:
            limit = float(match["limit"])
        except ValueError:
            limit = -1.0
        if 0 <= limit < 1:
            return FailOn("rate", limit)
        raise FailOnError(f"--fail-on {text}: {match['limit']} is no rate: write a number from 0 to 1, e.g. rate>0.01")
    raise FailOnError(f"cannot read --fail-on {text!r}: write {FORMS}")


def failing_rate(text: str) -> float | None:
    """The P of rate>P; None for the other rules. FailOnError as for `parse_fail_on`."""
    fail_on = parse_fail_on(text)
    return fail_on.limit if fail_on.rule == "rate" else None


def require_plan(fail_on: FailOn, plan: str | None) -> None:
    """FailOnError where the rule asks for a rate and the plan has none: to be said before anything is run."""
    if fail_on.rule == "rate" and plan not in PLANS:
        raise FailOnError(
            f"--fail-on {fail_on}: a plan {plan!r} has no rates, its trials are no sample: use new or wrong, "
            f"or a plan {' or '.join(PLANS)}"
        )


def flagged_rates(results: Results) -> list[FlaggedRate]:
    """Flagged trials of every target: of each problem of a fixed plan, of each operator's population of a survey.

    InvalidRate where the plan supports no rate.
    """
    survey = results.plan == "survey"
    by = ("target", "operator", "home" if survey else "problem_id")
    found: list[FlaggedRate] = []
    table = rate(results, "flagged > 0", by=by)
    exact = not (table.clustered or ended_by_decision(results))
    for row in table.rows:
        target, operator, where = (str(row.group[name]) for name in by)
        what = f"{target} {operator} {f'in {where}' if survey else f'(problem {where[:8]})'}"
        k, n = row.interval.k, row.interval.n
        lower = one_sided_lower(k, n) if exact else row.interval.low
        found.append(FlaggedRate(what, k, n, lower))
    return found


def evaluate(fail_on: FailOn, new: Sequence[FindingGroup], rates: Sequence[FlaggedRate] = ()) -> Decision:
    """Apply the rule to the findings that are not known; `rates` matter to rate>P only."""
    if fail_on.rule == "none":
        return Decision(False, "--fail-on none: never fails")
    if fail_on.rule == "rate":
        above = [found for found in rates if found.lower > fail_on.limit]
        if not above:
            return Decision(False, f"no flagged rate is above {fail_on.limit:g} with 95 % confidence")
        worst = max(above, key=lambda found: found.lower)
        return Decision(
            True,
            f"{len(above)} of {len(rates)} flagged rates are above {fail_on.limit:g} with 95 % confidence each, the "
            f"highest {worst.what}: {worst.flagged:,} of {worst.trials:,} trials, at least {worst.lower:.3g}",
        )
    counted = [group for group in new if fail_on.rule == "new" or is_wrong(group.verdict)]
    kind = "new" if fail_on.rule == "new" else "new and wrong (identity_broken or worse)"
    number = f"{len(counted)} {'finding is' if len(counted) == 1 else 'findings are'}"
    return Decision(bool(counted), f"{number} {kind}" if counted else f"no finding is {kind}")


def is_wrong(verdict: str) -> bool:
    """Whether the rule `wrong` counts the verdict."""
    return VERDICTS[verdict].severity >= VERDICTS[WRONG_FROM].severity
