"""Whether a variant changed a result by more than rounding: one pure function (docs/decisions/021-variants.md)."""

from __future__ import annotations

import enum

from msgspec import Struct

from fuzz.judging.judge import Judgement
from fuzz.measure import Measurement
from fuzz.thresholds import FLAG


class State(enum.Enum):
    """What the figures of one side say of it, against the truth."""

    RIGHT = "within what rounding explains"
    ORDER = "explained by sequential addition"
    OPEN = "not decided by the oracle"
    BAD = "beyond what rounding explains"


class Side(Struct, frozen=True):
    """One of the two outputs, wrapped or unwrapped."""

    state: State
    why: str
    """Its figures in words."""


class Opinion(Struct, frozen=True):
    """Of the two outputs of one target; `verdict` None says nothing by itself (see the rows against the truth)."""

    verdict: str | None
    detail: str
    suspect: bool = False
    """Whether the variant is to blame, unless a second look says otherwise."""


def opinion(pair: Measurement, plain: Side, varied: Side, bitwise: bool) -> Opinion:
    """Of outputs whose bits differ. `pair` has the figures of the wrapped output against the unwrapped one.

    Two roundings are allowed one bound each. A variant is suspect where the two differ by more, and exactly one of
    them is beyond what rounding explains: an error that both have, or that rounding explains, is not the variant's.
    `bitwise`: the operator leaves no choice between results, so that one of two different ones is not right.
    """
    beyond = pair.nonfinite_mismatch > 0 or pair.rho.largest > FLAG or (bitwise and not pair.equal)
    if pair.equal:
        return Opinion("rounding", "zeros of another sign")
    states = {plain.state, varied.state}
    if not beyond or (bitwise and states <= {State.RIGHT}):  # next to a zero, too, where relative differences are large
        return Opinion(
            "rounding", f"relative difference {pair.rel.largest:.2g}, rho {pair.rho.largest:.2g} of two roundings"
        )
    size = f"differ by {pair.rho.largest:.3g} times what two roundings allow"
    if pair.nonfinite_mismatch:
        size = f"{pair.nonfinite_mismatch} of {pair.size} elements are NaN or infinite under one of the two only"
    told = f"{size}; this one {varied.why}, the unwrapped one {plain.why}"
    if states == {State.BAD}:
        return Opinion(None, f"{told}: an error of the target whichever way it is called")
    if State.OPEN in states:
        return Opinion("indeterminate", told)
    if State.BAD in states:
        return Opinion(None, told, suspect=True)
    if State.ORDER in states:
        return Opinion("accumulation_order", told)
    return Opinion("rounding", f"{told}: the formula itself overflows there")


def against_truth(judged: Judgement, side: Side) -> Judgement | None:
    """The verdict of a wrapped output by itself: never a finding, for that there is the row against the unwrapped one.

    `judged` is what its figures alone amount to. None where they are beyond what rounding explains.
    """
    if side.state is State.RIGHT:
        return judged
    if side.state is State.ORDER:
        return Judgement("accumulation_order", side.why)
    return Judgement("indeterminate", side.why) if side.state is State.OPEN else None
