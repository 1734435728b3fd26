"""How errors grow: with the length of the reduction, and with each dim that varies while the others stay as they are.

Two measures, because absolute errors grow with the result, whatever the algorithm:
* against the length of a reduction, errors in units of u E where each reduction is rounded once, `rho_ideal`: of a sum
  of terms of one sign that is u times the sum. Sums in blocks and in trees stay about constant in these units, running
  sums with independent roundings grow like the square root of the length.
* against any other dim, such as the depth of a network, the root mean square of the error divided by the mean of
  |truth|: E grows with the dim itself, so it is no unit there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.errors import NotPermitted
from results.layout import count, short
from results.permitted import require
from results.quiet import quiet
from results.statistics.growth import LEAST_SIZES, LEAST_TRIALS, Growth, fitted_law
from results.tallies import AGAINST_TRUTH

if TYPE_CHECKING:
    from results.reading import Results

LENGTH = "n"
"""What the reduction length is called."""
LEAST_SHOWN = 2
"""Sizes: with fewer nothing grows."""


class Series(Struct, frozen=True):
    """One target on one kind of input: root mean square of the error by size."""

    target: str
    points: tuple[tuple[int, float, int], ...]
    """Size, error in the unit of the panel, outputs."""

    @property
    def law(self) -> Growth | None:
        """How its error grows; None where sizes or trials are too few for an interval."""
        enough = [point for point in self.points if point[2] >= LEAST_TRIALS]
        if len(enough) < LEAST_SIZES:
            return None
        sizes, errors, outputs = zip(*enough, strict=True)
        return fitted_law(sizes, errors, sum(outputs))


class Panel(Struct, frozen=True):
    """One operator with one choice of attributes, inputs and other dims in one dtype."""

    operator: str
    attributes: str
    recipes: str
    dtype: str
    dim: str
    """The dim that varies; empty for the length of the reduction."""
    fixed: str
    """The other dims, where one varies."""
    series: tuple[Series, ...]

    @property
    def axis(self) -> str:
        """What the size is called."""
        return self.dim or LENGTH

    @property
    def sizes(self) -> int:
        """Of the series that has the most."""
        return max(len(series.points) for series in self.series)

    @property
    def title(self) -> str:
        """Operator, dtype and what stays the same."""
        return ", ".join(filter(None, (f"{self.operator} in {self.dtype}", self.fixed, self.recipes)))


def growths(results: Results, least: int = LEAST_SHOWN) -> list[Panel]:
    """What has at least `least` sizes, those with the most first; nothing where the plan supports no growth law."""
    try:
        require("growth", results.plan)
    except NotPermitted:
        return []
    if not _varies(results):
        return []
    hidden = quiet(results)
    rows = [row for row in _rows(results) if row["target"] not in hidden]
    groups: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["operator"], row["attributes"], row["recipes"], row["dtype"]), []).append(row)
    found = [
        Panel(operator, attributes, recipes, dtype, dim, fixed, _by_target(points))
        for (operator, attributes, recipes, dtype), group in groups.items()
        for dim, fixed, points in (("", "", _lengths(group)), *_dims(group))
    ]
    shown = [panel for panel in found if panel.series and panel.sizes >= least]
    return sorted(shown, key=lambda panel: -panel.sizes)


def tell(series: Series, panel: Panel) -> str:
    """The exponent of a target, its interval and what that is called; or the figures, and what is missing."""
    law = series.law
    if law is not None:
        sizes = "lengths" if not panel.dim else "sizes"
        return (
            f"{series.target}: error grows like {panel.axis}^{law.slope:z.2f} [{law.low:z.2f}, {law.high:z.2f}] over "
            f"{law.sizes} {sizes}: {law.law}"
        )
    (small, first, _), (large, last, _) = series.points[0], series.points[-1]
    return (
        f"{series.target}: {short(first)} at {panel.axis} = {count(small)}, {short(last)} at {count(large)}; a slope "
        f"with an interval needs {LEAST_SIZES} sizes of {LEAST_TRIALS} trials"
    )


def _varies(results: Results) -> bool:
    """Whether problems of one operator differ in a dim, as far as the manifest says: a look at it costs nothing."""
    dims: dict[str, set[str]] = {}
    for cell in results.manifest.get("cells") or ():
        problem = cell["problem"]
        dims.setdefault(str(problem["operator"]), set()).add(str(problem["dims"]))
    return not dims or any(len(sizes) > 1 for sizes in dims.values())


def _rows(results: Results) -> list[dict[str, Any]]:
    """Errors by operator, attributes, inputs, dtype, target and dims."""
    return results.tallied(f"""
        SELECT operator, coalesce(attributes, '') AS attributes, coalesce(recipes, '') AS recipes, dtype, target,
               coalesce(dims, '') AS dims, coalesce(length, 0) AS length,
               sum(ideal_squares) / nullif(sum(ideal_outputs), 0) AS ideal, sum(ideal_outputs)::BIGINT AS trials,
               sqrt(sum(share_squares) / nullif(sum(share_outputs), 0)) AS error, sum(share_outputs)::BIGINT AS outputs
        FROM outcomes WHERE {AGAINST_TRUTH} GROUP BY ALL
        ORDER BY operator, attributes, recipes, dtype, target, length, dims
    """)


Points = list[tuple[str, int, float, int]]
"""Target, size, error, outputs."""


def _lengths(group: Sequence[dict[str, Any]]) -> Points:
    """By the length of the reduction, whatever the dims."""
    sums: dict[tuple[str, int], tuple[float, int]] = {}
    for row in group:
        if row["length"] > 0 and row["trials"]:
            total, trials = sums.get((row["target"], row["length"]), (0.0, 0))
            sums[row["target"], row["length"]] = total + row["ideal"] * row["trials"], trials + row["trials"]
    return [(target, n, (total / trials) ** 0.5, trials) for (target, n), (total, trials) in sums.items() if total > 0]


def _dims(group: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, Points]]:
    """Name, the others as text, and points of each dim that varies alone and leaves the length of reductions alone."""
    cells = [(row, _parsed(row["dims"])) for row in group if row["outputs"] and row["error"] > 0]
    for dim in dict.fromkeys(name for _, dims in cells for name in dims):
        alike: dict[tuple[str, int], Points] = {}
        for row, dims in cells:
            others = ",".join(f"{name}={size}" for name, size in dims.items() if name != dim)
            point = (row["target"], dims.get(dim, 0), row["error"], row["outputs"])
            alike.setdefault((others, row["length"]), []).append(point)
        for (others, _), points in alike.items():
            if len({size for _, size, _, _ in points}) >= LEAST_SHOWN:
                yield dim, others, points


def _parsed(dims: str) -> dict[str, int]:
    """The sizes of a text such as C=32,N=2."""
    pairs = (part.partition("=") for part in dims.split(",") if part)
    return {name: int(size) for name, _, size in pairs if size.isdecimal()}


def _by_target(points: Points) -> tuple[Series, ...]:
    """A series a target; those with one size are left out."""
    found: dict[str, list[tuple[int, float, int]]] = {}
    for target, size, error, outputs in points:
        found.setdefault(target, []).append((size, error, outputs))
    series = (Series(target, tuple(sorted(own))) for target, own in sorted(found.items()))
    return tuple(one for one in series if len(one.points) >= LEAST_SHOWN)
