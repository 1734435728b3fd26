"""Options that may not change a bit: the output is compared with that of the same target without them."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import Array
from fuzz.judging.judge import Judgement
from results.verdicts import VERDICTS

VARIANT = "schedule_variant"
ORDER_KEPT = "no sum is reordered by"
"""Why a schedule may not change a bit."""


def unchanged(
    values: Array, plain: Array, changes: str, judgement: Judgement, what: str = "schedule", why: str = ORDER_KEPT
) -> Judgement:
    """`judgement` of an output, or `schedule_variant` where bits differ from those of the `plain` target.

    NaN equals NaN whatever its payload, 0 does not equal -0. A finding keeps its verdict, which says more.
    `changes` names what the options did, `what` the options, and `why` says that they change no bit.
    """
    differ = differing(values, plain)
    if not differ.size:
        return judgement
    first = int(differ[0])
    what = (
        f"{differ.size} of {values.size} elements are not those of the default {what} bit for bit, the first at "
        f"{first}: {values.reshape(-1)[first]!s} for {plain.reshape(-1)[first]!s}, although {why} "
        f"{changes}"
    )
    if VERDICTS[judgement.verdict].finding:
        return Judgement(judgement.verdict, f"{judgement.detail}; {what}")
    return Judgement(VARIANT, f"{what}; otherwise {judgement.verdict}: {judgement.detail}")


def differing(one: Array, other: Array) -> Array:
    """Flat indices of elements that differ in a bit and are not both NaN."""
    a, b = (np.ascontiguousarray(values).reshape(-1) for values in (one, other))
    bits = np.dtype(f"u{a.dtype.itemsize}")
    alike = a.view(bits) == b.view(bits)
    with np.errstate(invalid="ignore"):
        alike |= (a != a) & (b != b)
    return np.flatnonzero(~alike)
