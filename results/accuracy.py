"""The accuracy of functions of one number, over all numbers of a format: a line for each function, dtype and target."""

from __future__ import annotations

import json
import math
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.errors import ResultsError
from results.units import NUMBERS, digits
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

EXHAUSTIVE = "exhaustive"
"""The plan that runs all numbers of a format."""
_UP = Context(prec=4, rounding=ROUND_CEILING)
_NAMES = list(VERDICTS)


class Spot(Struct, frozen=True):
    """A largest error in ulp and the input where it occurs."""

    ulp: float
    x: float


class Line(Struct, frozen=True):
    """One function in one dtype on one target, in one environment. Counts are of inputs."""

    operator: str
    attributes: str
    """Canonical JSON."""
    dtype: str
    target: str
    backend: str
    options: str
    environment: str
    implementation: str
    provenance: str
    inputs: int
    """Numbers whose result was measured."""
    of_inputs: int
    """Numbers of the format at which inputs were drawn."""
    worst: Spot | None
    """None where nothing was measured."""
    worst_value: float | None
    worst_truth: float | None
    normal: Spot | None
    """The same where neither input nor truth is subnormal."""
    rounded: int | None
    """Correctly rounded results; None in float64."""
    undecided: int
    """Results of which it was not decided whether they are."""
    nonfinite: int
    """NaN or infinite on one side only."""
    nonfinite_input: float | None
    """The first of them."""
    flagged: int
    """rho above 2, beyond what reading subnormal numbers as zero explains."""
    verdict: str
    """The most severe of all trials."""

    @property
    def function(self) -> str:
        """Operator and attributes: elu(alpha=1)."""
        values = json.loads(self.attributes)
        return f"{self.operator}({', '.join(f'{k}={v:g}' for k, v in values.items())})" if values else self.operator

    @property
    def complete(self) -> bool:
        """Whether every number of the format was measured."""
        return self.inputs == self.of_inputs

    @property
    def composed(self) -> bool:
        """Whether the library does not offer the function itself."""
        return self.provenance == "composed"


def lines(results: Results) -> list[Line]:
    """The table by dtype, function and target. A draw that several directories hold counts once.

    Raises ResultsError where no campaign ran all numbers of a format.
    """
    rows = results.records("""
        SELECT operator, attributes, dtype, home, target, backend, options, environment,
               string_agg(DISTINCT implementation, ', ') AS implementation,
               string_agg(DISTINCT provenance, ', ') AS provenance,
               coalesce(sum(elements) FILTER (ulp_max IS NOT NULL), 0)::BIGINT AS inputs,
               max(ulp_max) AS ulp, arg_max(ulp_input, ulp_max) AS x,
               arg_max(ulp_value, ulp_max) AS worst_value, arg_max(ulp_truth, ulp_max) AS worst_truth,
               max(ulp_normal_max) AS ulp_normal, arg_max(ulp_normal_input, ulp_normal_max) AS x_normal,
               sum(correctly_rounded)::BIGINT AS rounded,
               coalesce(sum(rounding_undecided), 0)::BIGINT AS undecided,
               coalesce(sum(nonfinite_mismatch), 0)::BIGINT AS nonfinite,
               arg_min(nonfinite_input, "index") FILTER (nonfinite_mismatch > 0) AS nonfinite_input,
               coalesce(sum(flagged), 0)::BIGINT AS flagged, max(severity) AS severity
        FROM (SELECT DISTINCT ON (problem_id, "index", output, target, environment) * FROM trials
              WHERE recipes LIKE '%=bits(0)' ORDER BY problem_id, "index", output, target, environment, seed)
        LEFT JOIN verdicts ON verdict = name
        GROUP BY operator, attributes, dtype, home, target, backend, options, environment
        ORDER BY dtype, operator, attributes, target, environment
    """)
    if not rows:
        where = ", ".join(str(path) for path in results.directories)
        raise ResultsError(
            f"{where}: no campaign over all numbers of a format: start one with "
            "`ulpfuzz run exp --plan exhaustive --dtype float16`"
        )
    return [_line(row) for row in rows]


def decimal(x: float, dtype: str) -> str:
    """`x` with as many significant digits as tell the numbers of `dtype` apart, 1 + ceil(p log10 2) (Matula 1968)."""
    return f"{x:.{1 + math.ceil(digits(dtype) * math.log10(2))}g}"


def rounded_up(ulp: float) -> str:
    """Four digits, rounded up: 0.5001 is not correct rounding, and no error is above what is printed."""
    if not math.isfinite(ulp):
        return str(ulp)
    up = float(_UP.create_decimal(ulp))
    if 1e-3 <= up < 9999.5:
        return f"{up:#.4g}".rstrip(".")
    mantissa, _, exponent = f"{up:.3e}".partition("e")
    return f"{mantissa}e{int(exponent)}" if up else "0"


def hexadecimal(x: float) -> str:
    """`x` exactly, as C's %a without useless zeros: -0x1.8p+2."""
    if not math.isfinite(x):
        return str(x)
    mantissa, exponent = x.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}"


def _line(row: dict[str, Any]) -> Line:
    ulp, x, ulp_normal, x_normal = (row.pop(name) for name in ("ulp", "x", "ulp_normal", "x_normal"))
    severity, home = row.pop("severity"), row.pop("home")
    row["implementation"], row["provenance"] = row["implementation"] or "", row["provenance"] or ""
    return Line(
        **row,
        of_inputs=NUMBERS[home],
        worst=None if ulp is None else Spot(ulp, x),
        normal=None if ulp_normal is None else Spot(ulp_normal, x_normal),
        verdict="" if severity is None else _NAMES[severity],
    )
