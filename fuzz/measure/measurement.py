"""What is measured of one output: the records."""

from __future__ import annotations

from msgspec import Struct

from results.columns import ALLOWANCES, RUNGS


class Spot(Struct, frozen=True):
    """Where a maximum lies and what was there."""

    largest: float = 0.0
    index: int = -1
    value: float = 0.0
    truth: float = 0.0
    amplification: float = 0.0


class BoundFigures(Struct, frozen=True, kw_only=True):
    """Errors of one output in units of the bound, and what is not finite: all that the precision ladder looks at."""

    size: int
    rho: Spot = Spot()
    rho_ideal: float = 0.0
    rho_tree: float = 0.0
    rho_sequential: float = 0.0
    rho_tree_max: float | None = None
    rho_sequential_max: float | None = None
    flagged: int = 0
    unbounded: int = 0
    """Elements with an error but no finite bound."""
    nan_count: int = 0
    inf_count: int = 0
    nonfinite_mismatch: int = 0
    overflow_explained: int = 0
    first_mismatch: int = -1


class Measurement(BoundFigures, frozen=True, kw_only=True):
    """All figures of one output. Units: errors in output units, rho and relative errors without unit."""

    equal: bool
    """Every element equals the rounded truth (NaN where the truth is NaN)."""
    abs_max: float = 0.0
    abs_rms: float = 0.0
    abs_mean: float = 0.0
    rel: Spot = Spot()
    above: tuple[int, ...] = (0,) * len(RUNGS)
    truth_mean: float = 0.0
    """Mean of |truth| over the elements where it is finite."""
    atols: tuple[float, ...] = (0.0,) * len(ALLOWANCES)
    """Smallest atol that passes beside rtol = k u, for the k of ALLOWANCES."""
    ulp_max: float = 0.0
    ulp_index: int = -1
    rho_mean: float = 0.0
    rho_internal: float | None = None
    """Largest error in units of the two-level bound; None for formats that are not narrower than float32."""
