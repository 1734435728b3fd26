"""Which of the two targets of each pair is closer to the truth: the sign test over the trials of a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from results.columns import COLUMNS
from results.errors import RefusedQuantity, ResultsError
from results.kept import kept
from results.permitted import require
from results.statistics.closer import Closer, closer_by_ratio
from results.statistics.multiple import false_discovery
from results.tallies import PAIRS

if TYPE_CHECKING:
    from results.reading import Results

_QUERY = f"""
    SELECT operator, problem_id, dtype, output, target AS first, against AS second, list(rms_ratio) AS ratios
    FROM measurements WHERE {PAIRS} AND rms_ratio IS NOT NULL AND NOT isnan(rms_ratio) GROUP BY ALL ORDER BY ALL
"""


SINCE = next(column.since for column in COLUMNS if column.name == "rms_ratio")
"""Schema version from which on rows tell which of two targets is closer."""


class CloserLine(Struct, frozen=True):
    """One output of one operator, and one pair of targets."""

    operator: str
    problem_id: str
    """Empty where the trials of all problems are one sample."""
    dtype: str
    """Of the first target."""
    output: str
    first: str
    second: str
    found: Closer
    adjusted: float | None = None
    """p after Benjamini and Hochberg over all lines of the campaign."""

    @property
    def closer(self) -> str:
        """The target that is closer to the truth; empty where neither is."""
        if self.adjusted is None or not self.found.differs or self.adjusted >= 0.05:
            return ""
        return self.first if self.found.first_closer > self.found.second_closer else self.second


class CloserLines(Struct, frozen=True):
    """All lines of a campaign, or why there is none."""

    lines: tuple[CloserLine, ...] = ()
    refused: str = ""


@kept(CloserLines)
def closer_lines(results: Results) -> CloserLines:
    """The comparison of every pair that the campaign names. Nothing where it names none."""
    table = results.table(_QUERY)
    if not table.num_rows:
        older = any(int(manifest.get("schema_version") or SINCE) < SINCE for manifest in results.manifests)
        named = older and results.records(f"SELECT 1 FROM measurements WHERE {PAIRS} LIMIT 1")
        return (
            CloserLines(refused=f"its rows are of a schema before {SINCE}, which does not tell")
            if named
            else CloserLines()
        )
    apart = results.plan == "fixed"  # its problems were chosen: each is a question of its own
    *keys, lists = (table.column(name) for name in table.column_names)
    ratios = [np.from_dlpack(one.values) for one in lists]  # to_numpy would import pandas, half a second
    problems = len(set(table.column("problem_id").to_pylist()))
    repeated = any(len(one) > 1 for one in ratios)
    try:
        require("paired", results.plan, problems=1 if apart else problems, repeated=repeated)
    except (RefusedQuantity, ResultsError) as refusal:
        return CloserLines(refused=str(refusal))
    groups: dict[tuple[str, str, str, str, str, str], list[npt.NDArray[np.float64]]] = {}
    for *key, found in zip(*(column.to_pylist() for column in keys), ratios, strict=True):
        operator, problem, *rest = map(str, key)
        dtype, output, first, second = rest
        groups.setdefault((operator, problem if apart else "", dtype, output, first, second), []).append(found)
    compared = [closer_by_ratio(np.concatenate(group)) for group in groups.values()]
    adjusted = false_discovery([one.p for one in compared])
    return CloserLines(tuple(CloserLine(*key, one, p) for key, one, p in zip(groups, compared, adjusted, strict=True)))
