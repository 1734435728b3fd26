"""How often: rates with intervals, the published one beside them; or the reason why the plan has none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.columns import rung_column
from results.errors import InvalidRate
from results.layout import count, percent
from results.manifest import published_counts
from results.quiet import quiet
from results.rates import ended_by_decision, group_interval, in_clusters, kind_of_interval, rate
from results.statistics import one_sided_upper, rate_interval
from results.tallies import Tally, against_truth, between_targets

if TYPE_CHECKING:
    from results.reading import Results
    from results.statistics import Interval

MOST_LINES = 120
"""Of one event. Problems of a large grid are in the tables."""
PUBLISHED, PAIR, TARGET = "published", "pair", "target"


class RateLine(Struct, frozen=True):
    """One interval: whose, and of what kind (published, pair or target)."""

    kind: str
    name: str
    interval: Interval
    target: str = ""

    @property
    def text(self) -> str:
        """The rate in per cent, with its interval in brackets."""
        own = self.interval
        return f"{percent(own.rate)} % [{percent(own.low)}, {percent(own.high)}]"

    @property
    def counted(self) -> str:
        return f"{count(self.interval.k)} of {count(self.interval.n)}"


class RatePanel(Struct, frozen=True):
    """All rates of one event."""

    event: str
    lines: tuple[RateLine, ...]
    more: int = 0
    """Lines left out."""


class Rates(Struct, frozen=True):
    """Rates by event; `refused` says why there are none, `notes` how to read them."""

    panels: tuple[RatePanel, ...] = ()
    refused: str = ""
    notes: tuple[str, ...] = ()


def rates(results: Results) -> Rates:
    """The rate of each target, and of each pair that was compared; of each problem where a fixed plan has several."""
    events = (
        ("relative error above 1e-1", f"{rung_column(1)} > 0", 1),
        ("relative error above 1e-2", f"{rung_column(2)} > 0", 2),
        ("flagged (rho above 2)", "flagged > 0", 0),
    )
    try:
        by, of = _groups(results)
        panels = [_panel(results, name, event, rung, by) for name, event, rung in events]
    except InvalidRate as error:
        return Rates(refused=str(error))
    shown = tuple(panel for panel in panels if any(line.kind != PUBLISHED for line in panel.lines))
    if not shown:
        return Rates(refused="no trial has an output to measure")
    return Rates(shown, notes=_notes(results, of))


def _groups(results: Results) -> tuple[tuple[str, ...], str]:
    """The columns to group by, and of what the counts are a rate. InvalidRate where nothing helps."""
    alone: tuple[str, ...] = ("target",)
    try:
        return alone, rate(results, "flagged > 0", by=alone).of
    except InvalidRate:
        if results.plan not in ("fixed", "survey"):
            raise
        each = ("operator", "dims", "attributes", "recipes", "home", "problem_id", "target")
        return each, rate(results, "flagged > 0", by=each).of


def _panel(results: Results, name: str, event: str, rung: int, by: tuple[str, ...]) -> RatePanel:
    hidden = quiet(results)
    found: list[RateLine] = []
    if rung:
        found += _published(results, rung)
        if len(by) == 1:
            found += [
                RateLine(PAIR, f"{tally.target} against {tally.against}", _between(results, event, tally, rung))
                for tally in between_targets(results)
                if tally.trials
            ]
    rows = sorted(rate(results, event, by=by).rows, key=lambda row: [natural(str(row.group[key])) for key in by])
    varying = [key for key in by if key != "problem_id" and len({row.group[key] for row in rows}) > 1]
    for row in rows:
        if row.group["target"] not in hidden:
            name_ = " ".join(str(row.group[key]) for key in varying if row.group[key]) or str(row.group["target"])
            found.append(RateLine(TARGET, name_, row.interval, str(row.group["target"])))
    return RatePanel(name, tuple(found[:MOST_LINES]), max(0, len(found) - MOST_LINES))


def _published(results: Results, rung: int) -> list[RateLine]:
    """The published rate as an interval, at the event that it counts. It is a sample, too."""
    counts = published_counts(results.manifest)
    event: dict[str, Any] = results.manifest.get("published_event") or {}
    if counts is None or int(event.get("above") or 1) != rung:
        return []
    return [RateLine(PUBLISHED, "published", rate_interval(*counts))]


def natural(name: str) -> list[tuple[bool, int, str]]:
    """Sorts n=8 before n=64."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"([0-9]+)", name)]


def _between(results: Results, event: str, tally: Tally, rung: int) -> Interval:
    k, n = _above(tally, rung), tally.trials
    return group_interval(results, event, {"target": tally.target}, k, n, tally.against)


def _above(tally: Tally, rung: int) -> int:
    return tally.above_1e01 if rung == 1 else tally.above_1e02


def _notes(results: Results, of: str) -> tuple[str, ...]:
    found = [f"In brackets: {kind_of_interval(results)}, in per cent. The rates are those of {of}."]
    fewest = min((tally.trials for tally in against_truth(results) if tally.trials), default=0)
    if fewest and not (ended_by_decision(results) or in_clusters(results)):
        excluded = percent(one_sided_upper(0, fewest))
        trials = f"{count(fewest)} {'trial' if fewest == 1 else 'trials'}"
        found.append(f"No event in {trials} excludes rates above {excluded} % (one-sided).")
    return tuple(found)
