"""One output against the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.measure.accumulation import rho_by_model
from fuzz.measure.measurement import Measurement, Spot
from fuzz.measure.nonfinite import rounded_to_infinity, set_apart
from fuzz.measure.rungs import count_above
from fuzz.measure.ulp import largest_ulp
from fuzz.oracle.bound import OutputTruth
from fuzz.oracle.models import Model
from fuzz.thresholds import FLAG
from strategies.precision import DType, precision

Array = NDArray[Any]

_INSIDE = precision("float32")
"""What kernels for narrower formats compute in, if they do not round every intermediate to the format itself."""


def _huge(wide: np.dtype[Any]) -> Any:
    """Stands for infinity in reciprocals of zero, so that 0 * (1/0) is 0 and not NaN.

    No other reciprocal may reach it: 1/(u E) stays below 2^1075 in longdouble, 1/E below 2^1022 in float64.
    """
    return np.longdouble(2.0) ** 2000 if np.finfo(wide).maxexp > 2000 else 2.0**1023


class Yardstick:
    """Truth of one output prepared for measuring; refreshed once a trial. All arrays are flat."""

    def __init__(self, size: int, dtype: DType, wide: np.dtype[Any]) -> None:
        self.size, self.dtype, self.precision = size, dtype, precision(dtype)
        self.u = self.precision.unit_roundoff
        self._wide = wide
        self.value = self.bound = np.empty(0, wide)
        self._over_value, self._over_bound, self._error, self._work, self._wide_output = (
            np.empty(size, wide) for _ in range(5)
        )
        self._huge = _huge(wide)
        # where the truth has no wider range than the outputs, 1/(u E) would overflow: u is divided out last
        self._over_u = 1.0 / self.u if wide == np.dtype(dtype) else None
        self._mask = np.empty(size, bool)
        self._output: Array = np.empty(0)
        self.rho: Array = np.empty(0, wide)
        self.truth: OutputTruth | None = None
        self._overflow: Callable[[], Array] = lambda: np.zeros(size, bool)
        self._plain: Callable[[bool], Array] | None = None
        self._bounded = True
        self._two_levels = self.precision.digits < _INSIDE.digits

    @property
    def nbytes(self) -> int:
        """Of all buffers."""
        return 5 * self._error.nbytes + self._mask.nbytes

    def refresh(
        self, truth: OutputTruth, overflow: Callable[[], Array], plain: Callable[[bool], Array] | None = None
    ) -> None:
        """Take over the truth of a new draw.

        Called only if needed: `overflow` says where the formula leaves the dtype's range, `plain` what it gives then
        (True: with the sum of squares of a variance in this dtype).
        """
        self.truth, self._overflow = truth, overflow
        self._plain = plain
        self.value = truth.value.reshape(-1)
        self.bound = truth.excused(Model.SQRT).reshape(-1)
        with np.errstate(all="ignore"):
            np.abs(self.value, out=self._work)
            np.divide(1.0, self._work, out=self._over_value)
            np.multiply(self.bound, 1.0 if self._over_u else self.u, out=self._over_bound)
            np.divide(1.0, self._over_bound, out=self._over_bound)
            # a maximum (NaN if any element is) is cheap; np.minimum or np.maximum with a scalar takes ten times as long
            if self.size and not self._over_bound.max() <= self._huge:
                np.minimum(self._over_bound, self._huge, out=self._over_bound)
            self._normal = not self.size or bool(self._work.min() >= self.precision.smallest_normal)
            self.zero_free = not self.size or bool(np.isfinite(self._over_value.max()))
            self.regular = not self.size or bool(self._work.max() <= self.precision.largest)
            self._bounded = not self.size or bool(np.isfinite(self.bound.max()))
            if not (self._bounded and self.regular):  # counted apart: there is nothing to measure against
                self._over_bound[~(np.isfinite(self.bound) & np.isfinite(self.value))] = 0.0

    def rho_of(self, error: Array, out: Array) -> Array:
        """error / (u E), signed as `error`."""
        np.multiply(error, self._over_bound, out=out)
        if self._over_u:
            np.multiply(out, self._over_u, out=out)
        return out

    def measure(self, output: Array) -> Measurement:
        """All figures of `output` against the truth."""
        if not self.size:
            return Measurement(size=0, equal=True)
        self._output = output.reshape(-1)
        with np.errstate(all="ignore"):
            np.copyto(self._wide_output, self._output)
            np.subtract(self._wide_output, self.value, out=self._error)
            total = self._error.sum()
            measured = (
                self._figures(float(total), {}, None) if self.regular and np.isfinite(total) else self._with_nonfinite()
            )
            if measured.flagged and (overflowed := self._like_the_formula()).any():
                return self._with_nonfinite(overflowed)
            return measured

    def _like_the_formula(self) -> Array:
        """Flagged elements whose error is what the formula itself gives in this dtype because it overflows inside.

        Where that is no number, any other finite one is no worse.
        """
        off = (self.rho > FLAG) & self._overflow().reshape(-1)
        if self._plain is None:
            return np.zeros(self.size, bool)
        if off.any():
            formula, squares = (self._plain(squares).reshape(-1) for squares in (False, True))
            output, allowed = self._output.astype(self._wide), FLAG * self.u * self.bound
            alike = (np.abs(output - formula) <= allowed) | (np.abs(output - squares) <= allowed)
            off &= alike | ~np.isfinite(formula)
        return off

    def _with_nonfinite(self, overflowed: Array | None = None) -> Measurement:
        """Compare what is NaN or infinite first, then measure the elements finite on both sides."""
        if overflowed is not None:
            np.copyto(self._wide_output, self._output)
            np.subtract(self._wide_output, self.value, out=self._error)
        v = rounded_to_infinity(self.value, self.precision)
        found = set_apart(self._wide_output, v, self._overflow, self._plain, overflowed)
        self._error[found.apart] = 0.0
        return self._figures(float(self._error.sum()), found.counts(), found.apart)

    def _figures(self, total: float, counts: dict[str, Any], out: Array | None) -> Measurement:
        n, e, w = self.size, self._error, self._work
        self.rho_of(e, w)
        if out is not None:
            w[out] = 0.0  # 0 * (1/NaN)
        rho_mean = float(w.sum()) / n
        rms = float(np.sqrt(np.dot(e, e) / n))
        np.abs(w, out=w)
        self.rho = w
        worst = int(w.argmax())
        largest = float(w[worst])
        flagged = int(np.count_nonzero(w > FLAG)) if largest > FLAG else 0
        unbounded = 0
        if not self._bounded:
            unbounded = int(np.count_nonzero(~np.isfinite(self.bound) & (e != 0)))
        assert self.truth is not None
        models: dict[str, Any] = rho_by_model(self.truth, self.bound, w, worst)
        np.abs(e, out=e)
        abs_max = float(e.max())
        internal = self._internal(counts, out) if self._two_levels else None
        rel, rel_index = self._largest_relative(out)
        ulp, ulp_index = self._largest_ulp(rel, out)
        above = count_above(self._scratch, rel, self._mask)
        return Measurement(
            size=n,
            equal=ulp <= 0.5 and self._rounded(out),
            abs_max=abs_max,
            abs_rms=rms,
            abs_mean=total / n,
            rel=self._spot(rel, rel_index),
            above=above,
            ulp_max=ulp,
            ulp_index=ulp_index,
            rho=self._spot(largest, worst),
            rho_mean=rho_mean,
            rho_internal=internal,
            flagged=flagged,
            unbounded=unbounded,
            **models,
            **counts,
        )

    def _internal(self, counts: dict[str, Any], out: Array | None) -> float:
        """Largest error in units of u32 E + max(u |v|, s/2), s the smallest subnormal: float32 inside, rounded once.

        Infinite where the formula overflowed in this format: in float32 it would not have.
        """
        if counts.get("overflow_explained") and self.precision.maximum_exponent < _INSIDE.maximum_exponent:
            return math.inf
        allowed = self._wide_output
        np.abs(self.value, out=allowed)
        np.multiply(allowed, self.u, out=allowed)
        np.maximum(allowed, self.precision.smallest_subnormal / 2.0, out=allowed)
        np.add(allowed, _INSIDE.unit_roundoff * self.bound, out=allowed)
        np.divide(self._error, allowed, out=allowed)
        if out is not None:
            allowed[out] = 0.0
        return float(allowed.max())

    def _largest_ulp(self, relative: float, out: Array | None) -> tuple[float, int]:
        """Largest error in ulp, and where.

        |v|/ulp(v) lies in [2^(p-1), 2^p) for normal v: only elements with at least half of the largest relative error
        can have the largest one.
        """
        everywhere = out is not None or not self._normal
        near = np.arange(self.size) if everywhere else np.flatnonzero(self._scratch >= relative / 2.0)
        return largest_ulp(self._error, self.value, near, self.precision)

    def largest_ulp_at(self, near: Array) -> tuple[float, int]:
        """Largest error in ulp of the output measured last among the elements at the flat positions `near`, and where;
        (0, -1) for no elements."""
        return largest_ulp(self._error, self.value, near, self.precision) if near.size else (0.0, -1)

    def _relative(self, error: Array, out: Array) -> Array:
        """error / |v|; 0 where the error is 0, infinite where only v is."""
        if self.zero_free:
            return np.multiply(error, self._over_value, out=out)
        np.divide(error, np.abs(self.value), out=out)
        out[error == 0] = 0.0
        return out

    def _largest_relative(self, out: Array | None) -> tuple[float, int]:
        """Largest relative error over the elements not in `out`; all of them stay in scratch for the ladder."""
        self._scratch = self._relative(self._error, self._wide_output)
        if out is not None:
            self._scratch[out] = 0.0
        index = int(self._scratch.argmax())
        return float(self._scratch[index]), index

    def _rounded(self, out: Array | None) -> bool:
        """Whether the output is the truth rounded, to even in a tie; infinities and NaN included."""
        with np.errstate(all="ignore"):
            same = self._output == self.precision.round(self.value)
        if out is not None:
            same |= np.isnan(self._output) & np.isnan(self.value)
        return bool(same.all())

    def _spot(self, largest: float, index: int) -> Spot:
        v = float(self.value[index])
        e = float(self.bound[index])
        amplification = e / abs(v) if v else (np.inf if e else 0.0)
        return Spot(largest, index, float(self._output[index]), v, amplification)
