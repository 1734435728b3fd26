"""Metrics of one output against the truth, or of two outputs against each other, with preallocated buffers.

`Yardstick` prepares once a trial what all targets share (1/|v|, 1/(uE), 1/ulp); each target then costs one pass a
figure. Elements where a side is not finite are taken out first and counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fuzz.oracle.bound import OutputTruth
from fuzz.oracle.models import Model
from fuzz.thresholds import FLAG, ORDER
from results.columns import RUNGS
from strategies.precision import DType, precision

Array = NDArray[Any]

_INSIDE = precision("float32")
"""What kernels for narrower formats compute in, if they do not round every intermediate to the format itself."""
_ASCENDING = tuple((k, 10.0**-k) for k in reversed(RUNGS))
_SPARSE = 16
"""Picking elements out of an array pays where at most one in so many is kept; more often taken, it costs ten passes."""


def _huge(wide: np.dtype[Any]) -> Any:
    """Stands for infinity in reciprocals of zero, so that 0 * (1/0) is 0 and not NaN.

    No other reciprocal may reach it: 1/(u E) stays below 2^1075 in longdouble, 1/E below 2^1022 in float64.
    """
    return np.longdouble(2.0) ** 2000 if np.finfo(wide).maxexp > 2000 else 2.0**1023


class Spot(Struct, frozen=True):
    """Where a maximum lies and what was there."""

    largest: float = 0.0
    index: int = -1
    value: float = 0.0
    truth: float = 0.0
    amplification: float = 0.0


class Measurement(Struct, frozen=True, kw_only=True):
    """Figures of one output. Units: errors in output units, rho and relative errors without unit."""

    size: int
    equal: bool
    """Every element equals the rounded truth (NaN where the truth is NaN)."""
    abs_max: float = 0.0
    abs_rms: float = 0.0
    abs_mean: float = 0.0
    rel: Spot = Spot()
    above: tuple[int, ...] = (0,) * len(RUNGS)
    ulp_max: float = 0.0
    ulp_index: int = -1
    rho: Spot = Spot()
    rho_ideal: float = 0.0
    rho_tree: float = 0.0
    rho_sequential: float = 0.0
    rho_tree_max: float | None = None
    rho_sequential_max: float | None = None
    rho_mean: float = 0.0
    rho_internal: float | None = None
    """Largest error in units of the two-level bound; None for formats that are not narrower than float32."""
    flagged: int = 0
    unbounded: int = 0
    """Elements with an error but no finite bound."""
    nan_count: int = 0
    inf_count: int = 0
    nonfinite_mismatch: int = 0
    overflow_explained: int = 0
    first_mismatch: int = -1


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
        """Compare what is NaN or infinite first, then measure the elements finite on both sides.

        `overflowed` elements are explained and left out, too.
        """
        if overflowed is not None:
            np.copyto(self._wide_output, self._output)
            np.subtract(self._wide_output, self.value, out=self._error)
        y, p = self._wide_output, self.precision
        # halfway between the largest number and the next binade rounds to infinity (IEEE 754, 4.3.1)
        limit = np.ldexp(1 - self._wide.type(p.unit_roundoff / 2.0), p.maximum_exponent + 1)
        v = np.where(np.abs(self.value) >= limit, np.copysign(np.inf, self.value), self.value)
        nan_y, nan_v, inf_y, inf_v = np.isnan(y), np.isnan(v), np.isinf(y), np.isinf(v)
        mismatch = (nan_y != nan_v) | (inf_y != inf_v) | (inf_y & inf_v & (np.sign(y) != np.sign(v)))
        explained = mismatch & self._overflow().reshape(-1) if mismatch.any() else mismatch.copy()
        mismatch &= ~explained
        if self._plain is not None and mismatch.any():
            # the formula itself divides by a number that has underflowed to zero
            z = self._plain(False).reshape(-1)
            alike = np.isfinite(v) | (z == y) | (np.isnan(z) & nan_y)  # beside a given infinity: the very same
            formula = mismatch & ~np.isfinite(y) & ~np.isfinite(z) & alike
            explained |= formula
            mismatch &= ~formula
        out = nan_y | nan_v | inf_y | inf_v
        if overflowed is not None:
            explained |= overflowed
            out |= overflowed
        self._error[out] = 0.0
        counts: dict[str, Any] = {
            "nan_count": int(nan_y.sum()),
            "inf_count": int(inf_y.sum()),
            "nonfinite_mismatch": int(mismatch.sum()),
            "overflow_explained": int(explained.sum()),
            "first_mismatch": int(mismatch.argmax()) if mismatch.any() else -1,
        }
        return self._figures(float(self._error.sum()), counts, out)

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
        models = self._models(worst, largest)
        np.abs(e, out=e)
        abs_max = float(e.max())
        internal = self._internal(counts, out) if self._two_levels else None
        rel, rel_index = self._largest_relative(out)
        ulp, ulp_index = self._largest_ulp(rel, out)
        above = _ladder(self._scratch, rel, self._mask)
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
        """Largest error in ulp(v) = 2^(max(exponent(v), emin) - p + 1), and where.

        |v|/ulp(v) lies in [2^(p-1), 2^p) for normal v: only elements with at least half of the largest relative error
        can have the largest one.
        """
        everywhere = out is not None or not self._normal
        near = np.arange(self.size) if everywhere else np.flatnonzero(self._scratch >= relative / 2.0)
        error, value, p = self._error[near], self.value[near], self.precision
        _, exponent = np.frexp(value)
        exponent[value == 0] = p.minimum_exponent
        ulps = np.ldexp(error, p.digits - np.maximum(exponent, p.minimum_exponent + 1))
        worst = int(ulps.argmax())
        return float(ulps[worst]), int(near[worst])

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

    def _models(self, worst: int, largest: float) -> dict[str, Any]:
        """rho at the worst element under the other accumulation models, and their maxima where they can matter."""
        assert self.truth is not None
        lengths = [n for n in self.truth.parts if n > 1]
        if not lengths:
            return {"rho_ideal": largest, "rho_tree": largest, "rho_sequential": largest}
        figures: dict[str, Any] = {}
        bound_here = float(self.bound[worst])
        for model, name in ((Model.IDEAL, "rho_ideal"), (Model.TREE, "rho_tree"), (Model.SEQUENTIAL, "rho_sequential")):
            here = sum(
                float(part.reshape(-1)[worst]) * (model.h(n) if n else 1.0) for n, part in self.truth.parts.items()
            )
            figures[name] = largest * bound_here / here if here else 0.0
        looser = max(Model.SQRT.h(n) / Model.TREE.h(n) for n in lengths)
        if largest * looser > ORDER or largest > FLAG:
            for model, name in ((Model.TREE, "rho_tree_max"), (Model.SEQUENTIAL, "rho_sequential_max")):
                ratio = self.bound / self.truth.excused(model).reshape(-1)
                figures[name] = float(np.nanmax(self.rho * ratio))
        return figures


class PairYardstick:
    """Two outputs of one trial against each other: |a - b| / |b|, and rho against an allowance of one E each."""

    def __init__(self, size: int, wide: np.dtype[Any]) -> None:
        self.size = size
        self._a, self._b, self._c = (np.empty(size, wide) for _ in range(3))
        self._mask = np.empty(size, bool)

    def compare(self, a: Array, b: Array, yardstick: Yardstick) -> Measurement:
        """Figures of `a` against `b`; `yardstick` supplies the bound (of the coarser of the two dtypes)."""
        if not self.size:
            return Measurement(size=0, equal=True)
        flat_a, flat_b = a.reshape(-1), b.reshape(-1)
        with np.errstate(all="ignore"):
            np.copyto(self._a, flat_a)
            np.copyto(self._b, flat_b)
            np.subtract(self._a, self._b, out=self._a)
            counts: dict[str, Any] = {}
            total = self._a.sum()
            if not np.isfinite(total):
                same = (flat_a == flat_b) | (np.isnan(flat_a) & np.isnan(flat_b))
                both = np.isfinite(flat_a) & np.isfinite(flat_b)
                counts = {
                    "nonfinite_mismatch": int(np.count_nonzero(~both & ~same)),
                    "nan_count": int(np.isnan(flat_a).sum()),
                    "inf_count": int(np.isinf(flat_a).sum()),
                    "first_mismatch": int((~both & ~same).argmax()) if (~both & ~same).any() else -1,
                }
                self._a[~both] = 0.0
                total = self._a.sum()
            rms = float(np.sqrt(np.dot(self._a, self._a) / self.size))
            np.abs(self._a, out=self._a)
            abs_max = float(self._a.max())
            yardstick.rho_of(self._a, self._c)
            rho_index = int(self._c.argmax())
            rho = float(self._c[rho_index]) / 2.0
            np.abs(self._b, out=self._b)
            np.divide(self._a, self._b, out=self._c)
            index = int(self._c.argmax())  # of the first NaN, where there is one
            if not np.isfinite(self._c[index]):
                self._c[self._a == 0] = 0.0
                index = int(self._c.argmax())
            rel = float(self._c[index])
            above = _ladder(self._c, rel, self._mask)

        def spot(largest: float, at: int) -> Spot:
            against = float(flat_b[at])
            e = float(yardstick.bound[at])
            return Spot(largest, at, float(flat_a[at]), against, e / abs(against) if against else np.inf)

        return Measurement(
            size=self.size,
            equal=abs_max == 0 and not counts.get("nonfinite_mismatch"),
            abs_max=abs_max,
            abs_rms=rms,
            abs_mean=float(total) / self.size,
            rel=spot(rel, index),
            above=above,
            rho=spot(rho, rho_index),
            **counts,
        )


def _ladder(relative: Array, largest: float, mask: Array) -> tuple[int, ...]:
    """Elements above 1e-1 .. 1e-12; rungs above the maximum are 0 without looking.

    From the smallest rung up: once few elements are left, the larger rungs look at these only.
    """
    counts = dict.fromkeys(RUNGS, 0)
    left = relative
    for k, rung in _ASCENDING:
        if not largest > rung:
            break
        above = np.greater(left, rung, out=mask[: left.size])
        counts[k] = int(np.count_nonzero(above))
        if counts[k] * _SPARSE < left.size:
            left = left[above]
    return tuple(counts.values())
