"""Models of how a reduction of n terms accumulates rounding: h(n) in |error| <= u h(n) sum |x|."""

from __future__ import annotations

import enum
import math


class Model(enum.Enum):
    """How the roundings of one reduction add up."""

    IDEAL = "ideal"
    """One rounding at the end (a wide accumulator)."""
    TREE = "tree"
    """Pairwise summation: ceil(log2 n) + 1."""
    SQRT = "sqrt"
    """sqrt(n): independent roundings in any order (Higham and Mary 2019, constant at 4.5 standard deviations)."""
    SEQUENTIAL = "sequential"
    """n: the worst case of any order (Higham 2002, section 4.2)."""

    def h(self, n: int) -> float:
        """Growth factor for n summands; key 0 stands for what does not grow."""
        if n <= 1 or self is Model.IDEAL:
            return 1.0
        if self is Model.TREE:
            return math.ceil(math.log2(n)) + 1.0
        if self is Model.SQRT:
            return math.sqrt(n)
        return float(n)
