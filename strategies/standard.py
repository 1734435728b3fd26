"""The standard campaign: five kinds of inputs that between them show what random normal numbers hide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strategies.contract import Contract, Spec
from strategies.families import Family, recipes_of
from strategies.precision import DType, Precision, precision

RECIPE_SETS = ("standard",)
"""What --recipes names."""

TRIALS = 5
"""Trials of each problem unless said otherwise: enough to see what always happens, with a compilation a shape."""


def _kinds(p: Precision) -> tuple[str, ...]:
    """Moderate, positive, a mean far above the spread, all magnitudes, far tails; the simplest first."""
    least = max(1e-9, p.smallest_normal)
    return ("normal(0,1)", "uniform(0,1)", "offset(1000,1)", f"signed(loguniform({least!r},1000.0))", "normal(0,30)")


KINDS = len(_kinds(precision("float32")))


def standard_inputs(contract: Contract, home: DType) -> list[dict[str, str]]:
    """Recipe expressions by input, one dict a problem, without repetition.

    A kind that leaves an input's domain is made positive, or else the contract's own recipe takes its place; then the
    contract's own is one more problem, as it may reach where the others do not.
    """
    problems = [{spec.name: _fitted(spec, home, kind) for spec in contract.inputs} for kind in range(KINDS)]
    if any(expression != _kinds(precision(home))[0] for expression in problems[0].values()):
        problems.append({spec.name: spec.default for spec in contract.inputs})
    return [problem for number, problem in enumerate(problems) if problem not in problems[:number]]


def _fitted(spec: Spec, home: DType, kind: int) -> str:
    def expressions(_: Spec, p: Precision) -> Iterable[str]:
        return (_kinds(p)[kind],)

    fitting = recipes_of(Family("standard", "", expressions), spec, home)
    return fitting[0].expression() if fitting else spec.default


_IMAGE = {"N": 2, "H": 16, "W": 16, "KH": 3, "KW": 3}
_SIZES: tuple[Mapping[str, int], ...] = (
    {"n": 4096},
    {"rows": 16, "n": 4096},
    {"M": 32, "K": 256, "N": 32},
    {"B": 4, "M": 16, "K": 256, "N": 16},
    {"N": 2, "G": 4, "D": 8, "L": 64},
    {"N": 2, "C": 8, "O": 8, "L": 256, "KL": 3},
    {**_IMAGE, "C": 8, "O": 8},
    {**_IMAGE, "G": 2, "I": 4, "O": 4},
    {**_IMAGE, "C": 8, "M": 2},
    {"M": 32, "n": 256, "depth": 3},
    {**_IMAGE, "C": 8, "depth": 3},
)
"""Sizes by the names of the dims: the first row that has them all. Three layers with weights of 1,000 stay in range."""
_OTHERWISE = 16
"""Size of a dim in an operator with dims of other names."""


def standard_dims(contract: Contract) -> dict[str, int]:
    """Sensible sizes of an operator: 4,096 elements or terms, small images and matrices."""
    row = next((row for row in _SIZES if row.keys() >= set(contract.dim_names)), {})
    least = {dim.name: dim.minimum for dim in contract.dims}
    return {name: max(row.get(name, _OTHERWISE), least[name]) for name in contract.dim_names}
