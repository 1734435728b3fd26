"""Rows with one element that is not zero."""

from __future__ import annotations

import numpy as np

from strategies.modifiers import Modifier
from strategies.precision import DType
from strategies.recipe import Array, Support, register


@register("onehot", example="onehot(normal(0,1))")
class OneHot(Modifier, frozen=True):
    """In each row (last axis) the inner population at one place, each place equally likely; +0 elsewhere."""

    def support(self, home: DType) -> Support:
        low, high = self.recipe.support(home)
        return min(low, 0.0), max(high, 0.0)

    def change(self, stream: np.random.Generator, out: Array) -> None:
        if out.size == 0 or out.ndim == 0:
            return
        rows = out.reshape(-1, out.shape[-1])
        each = np.arange(rows.shape[0])
        hot = stream.integers(0, rows.shape[1], size=rows.shape[0], dtype=np.int64)
        kept = rows[each, hot]
        rows[...] = 0
        rows[each, hot] = kept
