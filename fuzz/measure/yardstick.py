"""One output against the truth: all figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.measure.against_bound import BoundYardstick
from fuzz.measure.allowance import smallest_atols
from fuzz.measure.measurement import Measurement
from fuzz.measure.rungs import SPARSE, count_above
from fuzz.measure.ulp import largest_ulp, over_ulp
from fuzz.oracle.bound import OutputTruth
from fuzz.oracle.passes import absolute, largest, smallest
from strategies.precision import DType, precision

Array = NDArray[Any]


def mean_of_finite(size: Array) -> float:
    """Mean of the finite elements; 0 where there is none."""
    total = float(size.sum())
    if np.isfinite(total):
        return total / size.size
    some = size[np.isfinite(size)]
    return float((some / some.size).sum()) if some.size else 0.0


_INSIDE = precision("float32")
"""What kernels for narrower formats compute in, if they do not round every intermediate to the format itself."""


class Yardstick(BoundYardstick):
    """Truth of one output prepared for all figures; what only some of them need is computed when first asked for."""

    def __init__(self, size: int, dtype: DType, wide: np.dtype[Any]) -> None:
        super().__init__(size, dtype, wide)
        self._size, self._over_value = np.empty(size, wide), np.empty(size, wide)
        self._mask = np.empty(size, bool)
        self._by_bits = wide == np.float64 != np.dtype(dtype)  # else 1/ulp may be no number of the wide dtype
        self._two_levels = self.precision.digits < _INSIDE.digits
        self._forget()

    @property
    def nbytes(self) -> int:
        """Of all buffers."""
        later = [array.nbytes for array in (self._over_ulp, self._rounded_truth) if array is not None]
        return super().nbytes + 2 * self._over_value.nbytes + self._mask.nbytes + sum(later)

    def refresh(
        self,
        truth: OutputTruth,
        overflow: Callable[[], Array],
        plain: Callable[[bool], Array] | None = None,
        unjudged: Callable[[], Array] | None = None,
    ) -> None:
        """Take over the truth of a new draw (see BoundYardstick)."""
        super().refresh(truth, overflow, plain, unjudged)
        self._forget()

    def _forget(self) -> None:
        self._prepared = False
        self._rounded_truth: Array | None = None
        self._over_ulp: Array | None = None

    def rounded(self) -> Array:
        """The truth rounded to the format of the outputs, flat; not to be written to."""
        if self._rounded_truth is None:
            self._rounded_truth = self.precision.round(self.value)
        return self._rounded_truth

    def measure(self, output: Array) -> Measurement:
        """All figures of `output` against the truth."""
        if self.size and not self._prepared:
            self._prepare()
        return self._measured(output, self._figures, Measurement(size=0, equal=True))

    def _prepare(self) -> None:
        with np.errstate(all="ignore"):
            size = absolute(self.value, out=self._size)
            self._mean = mean_of_finite(size)
            np.divide(1.0, size, out=self._over_value)
            self._normal = bool(smallest(size) >= self.precision.smallest_normal)
            self._zero_free = bool(np.isfinite(largest(self._over_value)))
        self._prepared = True

    def _figures(self, total: float, counts: dict[str, Any], out: Array | None) -> Measurement:
        n, e = self.size, self._error
        rho_mean = float(self._scale(out).sum()) / n
        rms = float(np.sqrt(np.dot(e, e) / n))
        in_bounds = self._largest_rho()
        absolute(e, out=e)
        worst = int(e.argmax())
        internal = self._internal(counts, out) if self._two_levels else None
        rel, rel_index = self._largest_relative(out)
        above = count_above(self._scratch, rel, self._mask)
        ulp, ulp_index = self._largest_ulp(rel, out)
        atols = smallest_atols(e, self._size, worst, rel_index, self.u, self._wide_output, self._mask)
        return Measurement(
            size=n,
            equal=ulp <= 0.5 and self._equal(out),
            abs_max=float(e[worst]),
            abs_rms=rms,
            abs_mean=total / n,
            rel=self._spot(rel, rel_index),
            above=above,
            truth_mean=self._mean,
            atols=atols,
            ulp_max=ulp,
            ulp_index=ulp_index,
            rho_mean=rho_mean,
            rho_internal=internal,
            **in_bounds,
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
        """Largest error in ulp, and where. Overwrites scratch.

        |v|/ulp(v) lies in [2^(p-1), 2^p) for normal v: only elements with at least half of the largest relative error
        can have the largest one.
        """
        if out is None and self._normal:
            near = np.flatnonzero(self._scratch >= relative / 2.0)
            if near.size * SPARSE <= self.size or not self._by_bits:
                return largest_ulp(self._error, self.value, near, self.precision)
        if not self._by_bits:
            return largest_ulp(self._error, self.value, np.arange(self.size), self.precision)
        ulps = self._in_ulps()
        worst = int(ulps.argmax())
        return float(ulps[worst]), worst

    def largest_ulp_at(self, near: Array) -> tuple[float, int]:
        """Largest error in ulp of the output measured last among the elements at the flat positions `near`, and where;
        (0, -1) for no elements."""
        if not near.size:
            return 0.0, -1
        if not self._by_bits:
            return largest_ulp(self._error, self.value, near, self.precision)
        ulps = self._in_ulps()[near]
        worst = int(ulps.argmax())
        return float(ulps[worst]), int(near[worst])

    def _in_ulps(self) -> Array:
        """The error of every element in ulp, in scratch: a product with a power of two, without rounding."""
        if self._over_ulp is None:
            self._over_ulp = over_ulp(self.value, self.precision)
        return np.multiply(self._error, self._over_ulp, out=self._wide_output)

    def _relative(self, error: Array, out: Array) -> Array:
        """error / |v|; 0 where the error is 0, infinite where only v is."""
        if self._zero_free:
            return np.multiply(error, self._over_value, out=out)
        np.divide(error, self._size, out=out)
        out[error == 0] = 0.0
        return out

    def _largest_relative(self, out: Array | None) -> tuple[float, int]:
        """Largest relative error over the elements not in `out`; all of them stay in scratch for the ladder."""
        self._scratch = self._relative(self._error, self._wide_output)
        if out is not None:
            self._scratch[out] = 0.0
        index = int(self._scratch.argmax())
        return float(self._scratch[index]), index

    def _equal(self, out: Array | None) -> bool:
        """Whether the output is the truth rounded, to even in a tie; infinities and NaN included."""
        with np.errstate(all="ignore"):
            same = self._output == self.rounded()
        if out is not None:
            same |= np.isnan(self._output) & np.isnan(self.value)
        return bool(same.all())
