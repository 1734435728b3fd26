"""The tolerances of a campaign: a pair for every operator, output, dtype and size, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from results.contents.rates import natural
from results.permitted import require
from results.rates import ended_by_decision, in_clusters
from results.statistics.proportions import one_sided_upper
from results.statistics.sequential import confidence_sequence
from results.tolerance.choice import Choice, Pair, choose, up
from results.tolerance.levels import Upper, level, trials_needed
from results.tolerance.needs import TRUTH, Excluded, Group, Needs, excluded, needs
from results.units import UNIT_ROUNDOFF

if TYPE_CHECKING:
    from results.reading import Results

_STOPPED = "the number of trials was decided by what they showed, which an extrapolation cannot allow for"


class Between(Struct, frozen=True):
    """What a test needs that compares two implementations with each other."""

    rtol: float
    atol: float
    measured: Pair | None
    """From rows that compare them; None where both are within the pair of the truth (the triangle inequality)."""


class Advice(Struct, frozen=True):
    """One line of the answer."""

    group: Group
    problems: int
    trials: int
    targets: tuple[str, ...]
    pair: Pair | None
    why: str
    """Why there is no pair, or why it does not keep the promise."""
    bound_eps: float | None = None
    """k of the test |got - want| <= k eps E with the oracle's bound E, at the same flake rate; None where unknown."""
    between: Between | None = None
    tighter: Pair | None = None
    """A smaller pair, which all trials passed, but which keeps no promise."""
    outputs: int = 1
    """Of the operator."""

    @property
    def kept(self) -> bool:
        """Whether a pair keeps the promised flake rate."""
        return self.pair is not None and self.pair.level.kept


class Tolerances(Struct, frozen=True):
    """All of them, what they hold for, and who is left out."""

    flake: float
    of: str
    """What P(pass) is about, in words."""
    advice: tuple[Advice, ...]
    excluded: tuple[Excluded, ...]
    trials_needed: int
    """Trials of a problem from which on nothing is extrapolated."""
    every: bool
    """Whether the campaign ran every input there is."""
    stopped: bool
    """Whether a decision on its rates ended it: bounds are those of a confidence sequence."""
    old: bool
    """Whether rows lack what each trial needs beside an rtol, so that only rtol = 0 could be looked at."""


def tolerances(results: Results, flake: float) -> Tolerances:
    """The tolerances that healthy results keep with probability 1 - `flake`.

    Raises NotPermitted for plans whose trials are no sample (explore, search, mixed), and for a survey that drew
    several trials of each problem; ValueError unless 0 < flake < 1.
    """
    if not 0 < flake < 1:
        raise ValueError(f"the flake rate is {flake!r}: give a probability between 0 and 1, e.g. 1e-6")
    fixed, every = results.plan == "fixed", results.plan == "exhaustive"
    pooled = 2 if results.plan == "survey" else 1  # problems; of other plans each is looked at by itself
    of = require("tolerance", results.plan, repeated=in_clusters(results), problems=pooled, cells=fixed)
    found = needs(results, by_size=fixed, by_problem=fixed or every)
    pairs = {} if every else needs(results, by_size=fixed, by_problem=fixed, pairs=True)
    stopped = ended_by_decision(results)
    asked = _Asked(flake, every, _sequential if stopped else one_sided_upper, _STOPPED if stopped else "")
    left_out = excluded(results)
    unhealthy = _without_healthy(results, found, fixed)
    names: dict[str, set[str]] = {}
    for group in (*found, *(group for group, _ in unhealthy)):
        names.setdefault(group.operator, set()).add(group.output)
    advice = [_advice(group, problems, pairs.get(group, ()), asked) for group, problems in found.items()]
    advice += [Advice(group, 0, 0, (), None, why) for group, why in unhealthy]
    old = any(len(one.multiples) == 1 for problems in found.values() for one in problems)
    return Tolerances(
        flake,
        of,
        tuple(replace(one, outputs=len(names[one.group.operator])) for one in sorted(advice, key=_order)),
        left_out,
        trials_needed(flake),
        every,
        stopped,
        old,
    )


class _Asked(Struct, frozen=True):
    """What is asked for, and what the campaign allows."""

    flake: float
    every: bool
    upper: Upper
    no_tail: str

    def choose(self, problems: Sequence[Needs], dtype: str) -> Choice:
        if self.every and not all(one.complete for one in problems):
            return Choice(None, "not every input has run yet: `ulpfuzz resume` runs the rest")
        every, flake = self.every, self.flake
        return choose(problems, dtype, flake, upper=self.upper, no_tail=self.no_tail, complete=every)


def _advice(group: Group, problems: Sequence[Needs], pairs: Sequence[Needs], asked: _Asked) -> Advice:
    trials = sum(one.trials for one in problems)
    targets = tuple(sorted({name for one in problems for name in one.targets}))
    if group.dtype not in UNIT_ROUNDOFF:
        return Advice(group, len(problems), trials, targets, None, f"nothing is known about the dtype {group.dtype!r}")
    choice = asked.choose(problems, group.dtype)
    pair = choice.pair
    return Advice(
        group,
        len(problems),
        trials,
        targets,
        pair,
        choice.why,
        _bound_eps(problems, asked) if pair is not None else None,
        _between(pair, pairs, group, asked) if pair is not None and not asked.every else None,
        choice.tighter,
    )


def _between(pair: Pair, pairs: Sequence[Needs], group: Group, asked: _Asked) -> Between:
    """As measured, where that keeps what the pair keeps; else what two results within the pair of the truth need."""
    if pairs and (measured := asked.choose(pairs, group.dtype).pair) and measured.level.kept >= pair.level.kept:
        return Between(measured.rtol, measured.atol, measured)
    rtol, atol = within_both(pair.rtol, pair.atol)
    return Between(up(rtol), up(atol), None)


def within_both(rtol: float, atol: float) -> tuple[float, float]:
    """The pair with which two results pass against each other that both pass against the truth with (rtol, atol).

    With |g - v| <= a + r |v| and |w - v| <= a + r |v| for a truth v, |v| <= (|w| + a)/(1 - r), so that
    |g - w| <= 2 (a + r |v|) <= 2 (a + r |w|)/(1 - r).
    """
    return 2 * rtol / (1 - rtol), 2 * atol / (1 - rtol)


def _bound_eps(problems: Sequence[Needs], asked: _Asked) -> float | None:
    """rho is |error| / (u E): half of its level is the multiple of eps E."""
    if any(np.isnan(one.rho).any() for one in problems):
        return None
    if asked.every:
        return up(max(float(one.rho.max()) for one in problems) / 2)
    levels = [level(one.rho, asked.flake, asked.upper, asked.no_tail) for one in problems]
    return up(max(one.value for one in levels) / 2) if all(one.kept for one in levels) else None


def _without_healthy(results: Results, found: Mapping[Group, object], by_size: bool) -> list[tuple[Group, str]]:
    """Groups of which no healthy target has a result, and why."""
    size = "coalesce(dims, '')" if by_size else "''"
    rows = results.records(f"""
        SELECT coalesce(operator, '') AS operator, coalesce(output, '') AS output, coalesce(dtype, '') AS dtype,
               {size} AS size, count(DISTINCT target) AS targets,
               count(DISTINCT target) FILTER (finding) AS blamed
        FROM measurements LEFT JOIN verdicts ON verdict = name WHERE {TRUTH} GROUP BY ALL
    """)
    every = {Group(*(row[name] for name in Group.__struct_fields__)): row for row in rows}
    return [(group, _why_none(row["targets"], row["blamed"])) for group, row in every.items() if group not in found]


def _why_none(targets: int, blamed: int) -> str:
    if targets == blamed:
        return "every target has findings"
    return f"no target{' without findings' if blamed else ''} has a result to measure"


def _sequential(k: int, n: int) -> float:
    return confidence_sequence(k, n).high


def _order(advice: Advice) -> list[tuple[bool, int, str]]:
    """By operator, output, dtype; sizes as numbers."""
    return [part for name in Group.__struct_fields__ for part in natural(getattr(advice.group, name))]
