"""The verdict: one pure function of the figures, the precision ladder and the probes."""

from __future__ import annotations

import math

from msgspec import Struct

from fuzz.measure import Measurement
from fuzz.thresholds import (
    ACCEPT,
    COARSE_UNITS,
    DOWNCAST_RMS,
    FLAG,
    LOW_PRECISION_SHARE,
    ORDER,
    REPEATS,
    REPRESENTABLE_SHARE,
    WRONG_SLOPE,
    ill_conditioned_above,
)


class Downcast(Struct, frozen=True):
    """Three signs that a float64 result was computed in float32."""

    representable: float
    """Share of outputs that are float32 numbers."""
    unchanged: float
    """Share of outputs that stay bitwise equal when only the extra low bits of the inputs change."""
    rms_here: float
    """rms error in units of u32 E on this draw."""
    rms_normal: float
    """The same on a draw from N(0,1)."""
    repeats: float = 0.0
    """Correlation of the errors with those on inputs whose extra low bits differ: an error of the formula repeats."""

    def sign(self) -> str | None:
        """The sign that shows it, or None."""
        low, high = DOWNCAST_RMS
        if self.representable >= REPRESENTABLE_SHARE:
            return f"{self.representable:.0%} of its float64 outputs are float32 numbers"
        if self.unchanged >= REPRESENTABLE_SHARE:
            return f"{self.unchanged:.0%} of its float64 outputs ignore input bits that float32 cannot hold"
        if low <= self.rms_here <= high and low <= self.rms_normal <= high and self.repeats < REPEATS:
            return f"its float64 error is that of float32 arithmetic ({self.rms_here:.2g} of float32's bound)"
        return None


class Ladder(Struct, frozen=True):
    """What the other precision says. `low` is the float32 rung, `high` the float64 rung."""

    rung_dtype: str
    """The rung that was run beside the target's own dtype."""
    rung_rho: float
    low_rho: float
    high_rho: float
    slope: float | None
    """s, median over the flagged elements; None where no element has an error."""
    downcast: Downcast | None = None
    saturated: bool = False
    """All digits are lost on both rungs; `slope` is then that of N(0,1) inputs, None where those are healthy."""
    high_sequential: float | None = None
    """Largest rho at the float64 rung under the bound of sequential addition, where high_rho exceeds FLAG."""
    high_flushed: float | None = None
    """The same with subnormals read as zero, where only the float64 rung exceeds FLAG."""


class Probe(Struct, frozen=True):
    """Reductions shortened to two terms: an error that stays is not one of accumulation."""

    same_data_rho: float
    """Largest rho on the same kind of inputs."""
    benign_rho: float
    """Largest rho on N(0,1) inputs."""
    benign_share: float
    """Share of elements above FLAG there."""


class Misrounded(Struct, frozen=True):
    """Results that are not the number nearest to the exact value, where IEEE 754 requires that."""

    count: int
    """Elements that differ from the rounded truth (in float64 from NumPy's own result, confirmed on the largest)."""
    ulps: float
    """Largest error in ulp of the exact value; infinite where only one of both is finite."""
    index: int
    """Where, in C order."""


class Evidence(Struct, frozen=True):
    """Everything the verdict of one output may depend on."""

    measured: Measurement
    u: float
    ladder: Ladder | None = None
    no_ladder: str = ""
    """Why there is no ladder."""
    flush_rho: float | None = None
    """Largest rho with an allowance for flushed subnormals; None when not computed."""
    void: bool = False
    """First order is void at every flagged element."""
    benign_rho: float | None = None
    """Largest rho on N(0,1) of a flagged target that has no second precision."""
    reduces: bool = False
    probe: Probe | None = None
    misrounded: Misrounded | None = None
    """Set where the operation has to be correctly rounded, is not, and nothing else is suspicious."""


class Judgement(Struct, frozen=True):
    """A verdict name (see results.verdicts) and one sentence."""

    verdict: str
    detail: str


def suspicious(m: Measurement) -> bool:
    """Whether the figures alone ask for the ladder and the probes."""
    return m.rho.largest > FLAG or (m.rho_tree_max or 0.0) > ORDER or m.nonfinite_mismatch > 0


def judge(e: Evidence) -> Judgement:
    """The verdict of one output against the truth."""
    m = e.measured
    if m.nonfinite_mismatch:
        return Judgement(
            "nonfinite_mismatch",
            f"{m.nonfinite_mismatch} of {m.size} elements are NaN or infinite on one side only, "
            f"the first at {m.first_mismatch}",
        )
    if m.unbounded and not suspicious(m):
        return Judgement("indeterminate", f"the error bound overflows at {m.unbounded} elements")
    high = e.ladder.high_rho if e.ladder and not _excused(e, e.ladder) else 0.0
    if not suspicious(m) and high <= FLAG:
        if e.misrounded is not None:
            return _not_correctly_rounded(m, e.misrounded)
        accepted = _accepted(m, e.u)
        if not m.overflow_explained:
            return accepted
        return Judgement(
            accepted.verdict, f"{accepted.detail}; {m.overflow_explained} elements overflow in the formula"
        )
    if m.rho.largest > FLAG and e.flush_rho is not None and e.flush_rho <= FLAG:
        return Judgement(
            "subnormals_flushed", f"rho {m.rho.largest:.3g}, with subnormals read as zero {e.flush_rho:.2g}"
        )
    if e.void:
        return Judgement(
            "indeterminate", "a divisor, root or logarithm inside has no digits left: first-order bounds are void"
        )
    order = e.reduces and m.rho_sequential_max is not None and m.rho_sequential_max <= ACCEPT
    if e.ladder is None and not order and e.benign_rho is not None and e.benign_rho <= FLAG:
        return Judgement(
            "unstable",
            f"rho {m.rho.largest:.3g} here, {e.benign_rho:.2g} on N(0,1) inputs; there is no second precision",
        )
    if e.ladder is None:
        return Judgement(
            "indeterminate", f"rho {m.rho.largest:.3g}, but no second precision to tell why: {e.no_ladder}"
        )
    return _by_ladder(e, e.ladder)


def _not_correctly_rounded(m: Measurement, found: Misrounded) -> Judgement:
    size = f"up to {found.ulps:.4g} ulp" if found.ulps < math.inf else "infinite or NaN on one side only"
    return Judgement(
        "not_correctly_rounded",
        f"{found.count} of {m.size} elements are not the nearest number: {size}, the worst at {found.index}",
    )


def _excused(e: Evidence, ladder: Ladder) -> bool:
    """Whether what only the float64 rung shows is an order of addition or a flush to zero: no finding here."""
    if ladder.high_flushed is not None and ladder.high_flushed <= FLAG:
        return True
    return e.reduces and ladder.high_sequential is not None and ladder.high_sequential <= ACCEPT


def _accepted(m: Measurement, u: float) -> Judgement:
    if m.equal:
        return Judgement("exact", "every element is the correctly rounded truth")
    if m.rho.largest > ACCEPT:
        return Judgement("borderline", f"rho {m.rho.largest:.3g}, between one and two bounds")
    if m.rel.largest > ill_conditioned_above(u):
        return Judgement(
            "ill_conditioned",
            f"relative error {m.rel.largest:.2g} where the result amplifies rounding {m.rel.amplification:.2g} times; "
            f"rho {m.rho.largest:.2g}",
        )
    return Judgement("rounding", f"rho {m.rho.largest:.2g}")


def _by_ladder(e: Evidence, ladder: Ladder) -> Judgement:
    m = e.measured
    if ladder.high_rho > FLAG:
        if ladder.low_rho <= FLAG and ladder.downcast is not None and (sign := ladder.downcast.sign()):
            return Judgement("silent_downcast", f"float64 rho {ladder.high_rho:.3g}: {sign}")
        if ladder.slope is not None and ladder.slope > WRONG_SLOPE:
            return Judgement(
                "wrong",
                f"the error does not shrink with precision: rho {ladder.low_rho:.3g} in float32, "
                f"{ladder.high_rho:.3g} in float64, s = {ladder.slope:.2f}",
            )
    figures = f"rho {m.rho.largest:.3g} (float32 {ladder.low_rho:.3g}, float64 {ladder.high_rho:.3g})"
    if e.reduces and e.probe is not None:
        return _reduction(e, e.probe, figures)
    if ladder.saturated:
        return Judgement("unstable", f"{figures}: no correct digit in either precision here, N(0,1) inputs fare better")
    if m.rho.largest <= FLAG:
        return Judgement("unstable", f"only float64 shows it: {figures}")
    return Judgement("unstable", f"{figures}: loses more than rounding explains in either precision")


def _reduction(e: Evidence, probe: Probe, figures: str) -> Judgement:
    m = e.measured
    if probe.benign_share >= LOW_PRECISION_SHARE:
        for unit, name in COARSE_UNITS:
            if probe.benign_rho * e.u <= unit:
                return Judgement(
                    "low_precision",
                    f"{figures}; two-term reductions err by up to {probe.benign_rho * e.u:.2g}: unit {name}",
                )
    sequential = m.rho_sequential_max if m.rho_sequential_max is not None else m.rho_sequential
    if probe.same_data_rho <= FLAG and sequential <= ACCEPT:
        return Judgement(
            "accumulation_order",
            f"{m.rho_tree_max or m.rho_tree:.3g} times the bound of pairwise addition, {sequential:.2g} of that of "
            f"sequential addition; with two terms rho {probe.same_data_rho:.2g}",
        )
    return Judgement("unstable", f"{figures}; two-term reductions: rho {probe.same_data_rho:.3g}")
