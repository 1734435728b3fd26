"""One output against the truth in units of the error bound: what verdicts and the precision ladder rest on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fuzz.measure.accumulation import rho_by_model
from fuzz.measure.measurement import BoundFigures, Spot
from fuzz.measure.nonfinite import rounded_to_infinity, set_apart
from fuzz.oracle.bound import OutputTruth
from fuzz.oracle.models import Model
from fuzz.oracle.passes import absolute, largest, smallest
from fuzz.thresholds import FLAG, ORDER
from strategies.precision import DType, precision

Array = NDArray[Any]
Figures = TypeVar("Figures", bound=BoundFigures)


def _huge(wide: np.dtype[Any]) -> Any:
    """Stands for infinity in reciprocals of zero, so that 0 * (1/0) is 0 and not NaN.

    No other reciprocal may reach it: 1/(u E) stays below 2^1075 in longdouble, 1/E below 2^1022 in float64.
    """
    return np.longdouble(2.0) ** 2000 if np.finfo(wide).maxexp > 2000 else 2.0**1023


class BoundYardstick:
    """Truth and bound of one output prepared for measuring; refreshed once a trial. All arrays are flat."""

    def __init__(self, size: int, dtype: DType, wide: np.dtype[Any]) -> None:
        self.size, self.dtype, self.precision = size, dtype, precision(dtype)
        self.u = self.precision.unit_roundoff
        self._wide = wide
        self.value = self.bound = np.empty(0, wide)
        self._over_bound, self._error, self._work, self._wide_output = (np.empty(size, wide) for _ in range(4))
        self._huge = _huge(wide)
        # where the truth has no wider range than the outputs, 1/(u E) would overflow: u is divided out last
        self._over_u = 1.0 / self.u if wide == np.dtype(dtype) else None
        self._output: Array = np.empty(0)
        self.rho: Array = np.empty(0, wide)
        self.truth: OutputTruth | None = None
        self._overflow: Callable[[], Array] = lambda: np.zeros(size, bool)
        self._plain: Callable[[bool], Array] | None = None
        self._unjudged: Callable[[], Array] | None = None
        self._bounded = self._regular = True

    @property
    def nbytes(self) -> int:
        """Of all buffers."""
        return 4 * self._error.nbytes

    def refresh(
        self,
        truth: OutputTruth,
        overflow: Callable[[], Array],
        plain: Callable[[bool], Array] | None = None,
        unjudged: Callable[[], Array] | None = None,
    ) -> None:
        """Take over the truth of a new draw.

        Called only if needed: `overflow` says where the formula leaves the dtype's range, `plain` what it gives then
        (True: with the sum of squares of a variance in this dtype), `unjudged` (flat) which elements the operator's
        policy leaves open, whatever number is there.
        """
        self.truth, self._overflow, self._unjudged = truth, overflow, unjudged
        self._plain = plain
        self.value = truth.value.reshape(-1)
        self.bound = truth.excused(Model.SQRT).reshape(-1)
        if not self.size:
            return
        with np.errstate(all="ignore"):
            np.divide(1.0 if self._over_u else 1.0 / self.u, self.bound, out=self._over_bound)
            # a maximum (NaN if any element is) is cheap; np.minimum or np.maximum with a scalar takes ten times as long
            if not largest(self._over_bound) <= self._huge:
                np.minimum(self._over_bound, self._huge, out=self._over_bound)
            limit = self.precision.largest
            self._regular = bool(largest(self.value) <= limit and smallest(self.value) >= -limit)
            self._bounded = bool(np.isfinite(largest(self.bound)))
            if not (self._bounded and self._regular):  # counted apart: there is nothing to measure against
                self._over_bound[~(np.isfinite(self.bound) & np.isfinite(self.value))] = 0.0

    def rho_of(self, error: Array, out: Array) -> Array:
        """error / (u E), signed as `error`."""
        np.multiply(error, self._over_bound, out=out)
        if self._over_u:
            np.multiply(out, self._over_u, out=out)
        return out

    def bound_figures(self, output: Array) -> BoundFigures:
        """The figures in units of the bound, in half the passes of all figures; `rho` holds those of every element."""
        return self._measured(output, self._in_bounds, BoundFigures(size=0))

    def _in_bounds(self, total: float, counts: dict[str, Any], out: Array | None) -> BoundFigures:
        self._scale(out)
        return BoundFigures(size=self.size, **self._largest_rho(), **counts)

    def _measured(
        self, output: Array, figures: Callable[[float, dict[str, Any], Array | None], Figures], empty: Figures
    ) -> Figures:
        """`figures` (of the sum of errors, the counts of what is not finite, the elements left out) of `output`."""
        if not self.size:
            return empty
        self._output = output.reshape(-1)
        with np.errstate(all="ignore"):
            np.copyto(self._wide_output, self._output)
            np.subtract(self._wide_output, self.value, out=self._error)
            total = self._error.sum()
            whole = self._regular and np.isfinite(total)
            measured = figures(float(total), {}, None) if whole else self._with_nonfinite(figures)
            doubtful = measured.flagged or (measured.rho_tree_max or 0.0) > ORDER
            if doubtful and (overflowed := self._like_the_formula()).any():
                return self._with_nonfinite(figures, overflowed)
            return measured

    def _like_the_formula(self) -> Array:
        """Elements whose error is what the formula itself gives in this dtype because it overflows inside, or that the
        operator's policy leaves open.

        Where that is no number, any other finite one is no worse.
        """
        left: Array = np.zeros(self.size, bool) if self._unjudged is None else self._unjudged() & (self.rho > 0)
        off: Array = self._overflow().reshape(-1)
        if self._plain is None or not off.any():
            return left
        off = off & (self.rho > 0)
        if off.any():
            formula, squares = (self._plain(squares).reshape(-1) for squares in (False, True))
            output, allowed = self._output.astype(self._wide), FLAG * self.u * self.bound
            alike = (np.abs(output - formula) <= allowed) | (np.abs(output - squares) <= allowed)
            off &= alike | ~np.isfinite(formula)
        return off | left

    def _with_nonfinite(
        self,
        figures: Callable[[float, dict[str, Any], Array | None], Figures],
        overflowed: Array | None = None,
    ) -> Figures:
        """Compare what is NaN or infinite first, then measure the elements finite on both sides."""
        if overflowed is not None:
            np.copyto(self._wide_output, self._output)
            np.subtract(self._wide_output, self.value, out=self._error)
        v = rounded_to_infinity(self.value, self.precision)
        found = set_apart(self._wide_output, v, self._overflow, self._plain, overflowed)
        self._error[found.apart] = 0.0
        return figures(float(self._error.sum()), found.counts(), found.apart)

    def _scale(self, out: Array | None) -> Array:
        """Signed errors in units of the bound, 0 for the elements `out`."""
        self.rho_of(self._error, self._work)
        if out is not None:
            self._work[out] = 0.0  # 0 * (1/NaN)
        return self._work

    def _largest_rho(self) -> dict[str, Any]:
        """The figures in units of the bound, from the signed errors."""
        w = absolute(self._work, out=self._work)
        self.rho = w
        worst = int(w.argmax())
        rho = float(w[worst])
        unbounded = 0
        if not self._bounded:
            unbounded = int(np.count_nonzero(~np.isfinite(self.bound) & (self._error != 0)))
        assert self.truth is not None
        return {
            "rho": self._spot(rho, worst),
            "flagged": int(np.count_nonzero(w > FLAG)) if rho > FLAG else 0,
            "unbounded": unbounded,
            **rho_by_model(self.truth, self.bound, w, worst),
        }

    def _spot(self, largest: float, index: int) -> Spot:
        v = float(self.value[index])
        e = float(self.bound[index])
        amplification = e / abs(v) if v else (np.inf if e else 0.0)
        return Spot(largest, index, float(self._output[index]), v, amplification)
