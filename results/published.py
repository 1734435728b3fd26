"""The published rate that a campaign was started to check, compared with its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.columns import rung_column
from results.errors import InvalidRate, ResultsError
from results.manifest import published_counts
from results.permitted import require
from results.rates import in_clusters, rate
from results.statistics.proportions import Comparison, compare_with_published

if TYPE_CHECKING:
    from results.reading import Results


class PublishedRow(Struct, frozen=True):
    """One comparison: whose rate, and how it relates to the published one."""

    what: str
    comparison: Comparison


class PublishedReport(Struct, frozen=True):
    """Own rates against a published one; `refused` says why there are none."""

    published: str
    threshold: str
    rows: tuple[PublishedRow, ...]
    refused: str = ""


def compare_published(results: Results) -> PublishedReport | None:
    """Compare the event that the manifest names with the manifest's published rate; None where it has none."""
    counts = published_counts(results.manifest)
    if counts is None:
        return None
    event: dict[str, Any] = results.manifest.get("published_event") or {}
    rung = int(event.get("above") or 1)
    text = str(results.manifest["published"])
    threshold = f"1e-{rung}"
    try:
        rows = _rows(results, event.get("pair"), f"{rung_column(rung)} > 0", counts)
    except InvalidRate as error:
        return PublishedReport(text, threshold, (), str(error))
    refused = "" if rows else "no trial measured what was published: the targets or the pair did not run"
    return PublishedReport(text, threshold, tuple(rows), refused)


def _rows(results: Results, pair: Any, event: str, counts: tuple[int, int]) -> list[PublishedRow]:
    if in_clusters(results):
        require("published rate", results.plan, problems=2, repeated=True)
    if pair is None:
        found = [(row.group["target"], row.interval) for row in rate(results, event, by=("target",)).rows]
    elif isinstance(pair, list | tuple) and len(pair) == 2:
        one, other = str(pair[0]), str(pair[1])
        found = _pair(results, event, one, other) or _pair(results, event, other, one)
    else:
        raise ResultsError(f"published_event.pair in the manifest is {pair!r}: it must be null or two targets")
    return [PublishedRow(what, compare_with_published(own.k, own.n, *counts)) for what, own in found]


def _pair(results: Results, event: str, target: str, against: str) -> list[tuple[str, Any]]:
    table = rate(results, event, by=("target",), against=against)
    return [(f"{target} against {against}", row.interval) for row in table.rows if row.group["target"] == target]
