"""Two outputs of one trial against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.measure.allowance import smallest_atols
from fuzz.measure.measurement import Measurement, Spot
from fuzz.measure.rungs import count_above
from fuzz.measure.yardstick import Yardstick, mean_of_finite

Array = NDArray[Any]


class PairYardstick:
    """|a - b| / |b|, and rho against an allowance of one E each."""

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
            worst = int(self._a.argmax())
            abs_max = float(self._a[worst])
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
            above = count_above(self._c, rel, self._mask)
            mean = mean_of_finite(self._b)
            atols = smallest_atols(self._a, self._b, worst, index, yardstick.u, self._c, self._mask)

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
            truth_mean=mean,
            atols=atols,
            rho=spot(rho, rho_index),
            **counts,
        )
