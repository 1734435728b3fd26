"""The rates of one campaign against a published count, which is a sample, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from results.columns import rung_column
from results.contents.rates import natural
from results.errors import InvalidRate
from results.layout import count, percent
from results.manifest import published_counts
from results.permitted import require
from results.rates import RateTable, ended_by_decision, rate
from results.report_setting import trials_line
from results.setting import setting
from results.statistics.multiple import Method, false_discovery
from results.statistics.proportions import SIGNIFICANCE, Comparison, Interval, compare_with_published, rate_interval
from results.tallies import PAIRS

if TYPE_CHECKING:
    from results.reading import Results

RUNG = 1
EVENT = f"{rung_column(RUNG)} > 0"
METHOD: Method = "bh"
"""All lines meet the same published count, and targets the same inputs: the tests depend on each other positively."""

_WHOSE = ("operator", "dtype", "target")
_PROBLEM = ("dims", "attributes", "recipes", "problem_id")


class PublishedLine(Struct, frozen=True):
    """The rate of one operator, dtype and target, or pair of targets; of one problem where there are several."""

    name: str
    own: Interval
    comparison: Comparison
    adjusted: float
    """p, adjusted for all lines."""

    @property
    def differs(self) -> bool:
        return self.adjusted < SIGNIFICANCE

    @property
    def higher(self) -> bool:
        """Whether the own rate is above the published one, significantly or not."""
        return self.own.rate * self.comparison.n2 > self.comparison.k2


class AgainstPublished(Struct, frozen=True):
    """Every rate of a campaign against a published count."""

    directory: str
    ran: str
    """Trials, seed and plan; whether some are missing."""
    published: Interval
    of: str
    """What the own rates are rates of."""
    lines: tuple[PublishedLine, ...]

    @property
    def failed(self) -> bool:
        """Whether a rate is higher than the published one, after adjusting."""
        return any(line.differs and line.higher for line in self.lines)

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        k, n = self.published.k, self.published.n
        rate_text = f"the published {count(k)} of {count(n)} = {percent(self.published.rate)} %"
        higher = [line.name for line in self.lines if line.differs and line.higher]
        lower = [line.name for line in self.lines if line.differs and not line.higher]
        if not higher and not lower:
            fewest = min(line.own.n for line in self.lines)
            whose = "The rate is" if len(self.lines) == 1 else f"All {len(self.lines)} rates are"
            return f"{whose} {rate_text}, as far as {count(fewest)} trials can tell."
        told = [f"{word} for {_some(names)}" for word, names in (("Higher", higher), ("Lower", lower)) if names]
        same = len(self.lines) - len(higher) - len(lower)
        rest = f"; not told apart for {same} of {len(self.lines)}" if same else ""
        return f"{'; '.join(told)}, compared with {rate_text}{rest}."


def against_published(results: Results, text: str) -> AgainstPublished:
    """Compare the share of trials with a relative error above 1e-1 with a published "K/N": each operator, dtype and
    target against the truth, and each pair of targets that the campaign compared.

    Raises ResultsError for a text that is no count, InvalidRate for a campaign whose trials are no sample.
    """
    counts = published_counts({"published": text})
    assert counts is not None
    require("published rate", results.plan)
    if ended_by_decision(results):
        raise InvalidRate(
            "no rate of this campaign can be compared: it ended when its rate was decided, so its number of trials "
            "depends on what they showed; its report has the answer to --until, or run a fixed number of --trials"
        )
    by, of = _groups(results)
    found = list(_intervals(results, by))
    if not found:
        raise InvalidRate("no trial of this campaign has an output to measure: there is no rate to compare")
    try:
        compared = [compare_with_published(own.k, own.n, *counts) for _, own in found]
    except ValueError as error:
        raise InvalidRate(str(error)) from None
    adjusted = false_discovery([one.p for one in compared], METHOD)
    lines = tuple(
        PublishedLine(name, own, one, p if p is not None else 1.0)
        for (name, own), one, p in zip(found, compared, adjusted, strict=True)
    )
    return AgainstPublished(
        str(results.directories[0]), trials_line(results, setting(results)), rate_interval(*counts), of, lines
    )


def _groups(results: Results) -> tuple[tuple[str, ...], str]:
    """The columns to group by, and of what the counts are a rate: by problem where problems must not be pooled."""
    try:
        return _WHOSE, rate(results, EVENT, by=_WHOSE).of
    except InvalidRate:
        each = (*_WHOSE, *_PROBLEM)
        return each, rate(results, EVENT, by=each).of


def _intervals(results: Results, by: tuple[str, ...]) -> Iterator[tuple[str, Interval]]:
    """Name and rate of every target, then of every pair that was compared."""
    yield from _named(rate(results, EVENT, by=by), by)
    pairs = results.records(f"SELECT DISTINCT against FROM measurements WHERE {PAIRS} ORDER BY against")
    for pair in pairs:
        against = str(pair["against"])
        yield from _named(rate(results, EVENT, by=by, against=against), by, f" against {against}")


def _named(table: RateTable, by: tuple[str, ...], behind: str = "") -> Iterator[tuple[str, Interval]]:
    varying = [key for key in by[len(_WHOSE) : -1] if len({row.group[key] for row in table.rows}) > 1]
    for row in sorted(table.rows, key=lambda row: [natural(str(row.group[key])) for key in by]):
        group = row.group
        problem = " ".join(str(group[key]) for key in varying if group[key])
        name = f"{group['operator']} on {group['target']}{behind} in {group['dtype']}"
        yield (f"{name}, {problem}" if problem else name), row.interval


def _some(names: list[str]) -> str:
    return "; ".join(names[:3]) + (f"; and {len(names) - 3} more" if len(names) > 3 else "")
