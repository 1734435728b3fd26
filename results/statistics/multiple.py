"""Which of many differences are real, when a table of them is looked at and every twentieth is one by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

Method: TypeAlias = Literal["bh", "by"]


def false_discovery(p: Sequence[float | None], method: Method = "bh") -> tuple[float | None, ...]:
    """Adjusted p-values, in the order given: calling those below q a difference, at most q of the calls are wrong.

    On average over campaigns, that is. "bh": Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995) 289-300, for
    independent or positively dependent tests, such as several backends on the same inputs. "by": Benjamini and
    Yekutieli, Ann. Stat. 29 (2001) 1165-1188, for any dependence, at the price of power. The values of
    scipy.stats.false_discovery_control, whose import takes a second.

    A test that could not be made (None or NaN) stays None and does not count among the tests. ValueError for a p
    outside [0, 1] or another method.
    """
    if method not in ("bh", "by"):
        raise ValueError(f"method is {method!r}: write 'bh' (independent or alike tests) or 'by' (any dependence)")
    made = [at for at, value in enumerate(p) if value is not None and not math.isnan(value)]
    values = [float(p[at] or 0.0) for at in made]
    wrong = [value for value in values if not 0 <= value <= 1]
    if wrong:
        raise ValueError(f"a p-value is {wrong[0]!r}: needs numbers from 0 to 1, or None for a test that was not made")
    adjusted: list[float | None] = [None] * len(p)
    if made:
        import numpy as np

        n = len(made)
        order = np.argsort(values)[::-1]
        ranks = np.arange(n, 0, -1)
        tests = n * (np.sum(1.0 / ranks) if method == "by" else 1.0)
        steps = np.minimum.accumulate(np.asarray(values)[order] * tests / ranks)
        for at, value in zip(order, np.minimum(steps, 1.0), strict=True):
            adjusted[made[at]] = float(value)
    return tuple(adjusted)
