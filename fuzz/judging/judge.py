"""The verdict: one pure function of the figures, the precision ladder and the probes."""

from __future__ import annotations

import math

from msgspec import Struct

from fuzz.measure import BoundFigures, Measurement
from fuzz.thresholds import (
    ACCEPT,
    COARSE_SPAN,
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
from results.verdicts import VERDICTS


class Downcast(Struct, frozen=True):
    """Three signs that a result of the ladder's higher format was computed in the lower one."""

    representable: float
    """Share of outputs that are numbers of the lower format."""
    unchanged: float
    """Share of outputs that stay bitwise equal when only the extra low bits of the inputs change."""
    rms_here: float
    """rms error in bounds of the lower format on this draw."""
    rms_normal: float
    """The same on a draw from N(0,1)."""
    repeats: float = 0.0
    """Correlation of the errors with those on inputs whose extra low bits differ: an error of the formula repeats."""

    def sign(self, narrow: str, wide: str, persists: bool) -> str | None:
        """The sign that shows it, or None. `narrow` and `wide` are the names of the two formats.

        `persists`: the error is known to come from the formula, so its size is no sign.
        """
        low, high = DOWNCAST_RMS
        if self.representable >= REPRESENTABLE_SHARE:
            return f"{self.representable:.0%} of its {wide} outputs are {narrow} numbers"
        if self.unchanged >= REPRESENTABLE_SHARE:
            return f"{self.unchanged:.0%} of its {wide} outputs ignore input bits that {narrow} cannot hold"
        if low <= self.rms_here <= high and low <= self.rms_normal <= high and not persists:
            return f"its {wide} error is that of {narrow} arithmetic ({self.rms_here:.2g} of {narrow}'s bound)"
        return None


class Ladder(Struct, frozen=True):
    """What the other precision says. `low` and `high` are the names of the two formats."""

    rung_dtype: str
    """The rung that was run beside the target's own dtype."""
    rung_rho: float
    low_rho: float
    high_rho: float
    slope: float | None
    """s, median over the flagged elements; None where no element has an error."""
    low: str = "float32"
    high: str = "float64"
    downcast: Downcast | None = None
    saturated: bool = False
    """All digits are lost on both rungs; `slope` is then that of N(0,1) inputs, None where those are healthy."""
    high_sequential: float | None = None
    """Largest rho at the float64 rung under the bound of sequential addition, where high_rho exceeds FLAG."""
    low_summed: bool = False
    """Whether what exceeds FLAG at the lower rung is within the bound of sequential addition."""
    high_index: int = -1
    """Element of the largest rho at the rung above the target's own dtype; -1 where that was not run."""
    high_flushed: float | None = None
    """high_rho with subnormals read as zero, where only the float64 rung exceeds FLAG."""
    above: Ladder | None = None
    """From float32 to float64, where an error does not shrink from a 16-bit format to float32: kernels that compute in
    float32 inside err alike on both of these rungs."""
    no_above: str = ""
    """Why there is none although it was wanted."""
    rung_abs: float = 0.0
    """Largest absolute error on the rung that was run."""

    @property
    def only_high(self) -> bool:
        """Whether rounding explains the lower rung and not the higher one."""
        return (self.low_rho <= FLAG or self.low_summed) and self.high_rho > FLAG

    def sign_of_downcast(self) -> str | None:
        """What shows that the higher format's result was computed in the lower one."""
        if self.downcast is None:
            return None
        if self.high == "float64":
            persists = self.downcast.repeats >= REPEATS
        else:  # the extra bits of a float32 input are large enough to change even the error of a wrong formula
            persists = self.above is None or self.above.stands_still()
        return self.downcast.sign(self.low, self.high, persists)

    def stands_still(self) -> bool:
        """Whether the higher rung is flagged and the error does not shrink from the lower one to it."""
        return self.high_rho > FLAG and self.slope is not None and self.slope > WRONG_SLOPE


class Probe(Struct, frozen=True):
    """The same problem with reductions of at most two terms: an error that stays is not one of accumulation.

    Where they cannot be shortened, or there are none (`shortened` False), it tells about coarser units only.
    """

    same_data_rho: float
    """Largest rho on the same kind of inputs."""
    benign_rho: float
    """Largest rho on N(0,1) inputs."""
    benign_share: float
    """Share of elements above FLAG there."""
    shortened: bool = True

    def clean(self) -> bool:
        """Whether two-term reductions stay within one bound: enough without a second precision."""
        return self.shortened and max(self.same_data_rho, self.benign_rho) <= ACCEPT


class Misrounded(Struct, frozen=True):
    """Results that are not the number nearest to the exact value, where IEEE 754 or the selection requires that."""

    count: int
    """Elements that differ from the rounded truth (in float64 from NumPy's own result, confirmed on the largest)."""
    ulps: float
    """Largest error in ulp of the exact value; infinite where only one of both is finite."""
    index: int
    """Where, in C order."""
    selects: bool = False
    """The operation only selects: a result is one of its inputs or limits, or it is wrong."""


class Outside(Struct, frozen=True):
    """Finite results outside the operator's range, the domain of the output in its contract."""

    count: int
    value: float
    """The furthest."""
    index: int
    """Where, in C order."""
    low: float
    high: float


class Mismatch(Struct, frozen=True):
    """The first element that is NaN or infinite on one side only."""

    value: float
    truth: float


class Evidence(Struct, frozen=True):
    """Everything the verdict of one output may depend on."""

    measured: Measurement
    u: float
    smallest_normal: float = 0.0
    """Of the target's dtype: below it a relative error says nothing about conditioning."""
    ladder: Ladder | None = None
    no_ladder: str = ""
    """Why there is no ladder."""
    flush_rho: float | None = None
    """Largest rho with an allowance for flushed subnormals; None when not computed."""
    like_flushed: bool = False
    """NaN and infinities are where the formula has them once its subnormal inputs are zeros."""
    void: bool = False
    """First order is void at every flagged element."""
    benign_rho: float | None = None
    """Largest rho on N(0,1) of a flagged target that has no second precision."""
    reduces: bool = False
    probe: Probe | None = None
    misrounded: Misrounded | None = None
    """Set where the operation has to be correctly rounded and is not: one rounding cannot be unstable."""
    outside: Outside | None = None
    mismatch: Mismatch | None = None
    """Set where NaN or an infinity is on one side only."""


class Judgement(Struct, frozen=True):
    """A verdict name (see results.verdicts) and one sentence."""

    verdict: str
    detail: str


def suspicious(m: BoundFigures) -> bool:
    """Whether the figures alone ask for the ladder and the probes."""
    return m.rho.largest > FLAG or (m.rho_tree_max or 0.0) > ORDER or m.nonfinite_mismatch > 0


def judge(e: Evidence) -> Judgement:
    """The verdict of one output against the truth. Whatever else is found says why a result is out of range."""
    found = _by_error(e)
    if e.outside is None or VERDICTS[found.verdict].finding:
        return found
    return Judgement("out_of_range", f"{_shown(e.outside)}; otherwise {found.verdict}: {found.detail}")


def _shown(o: Outside) -> str:
    low = "(-inf" if o.low == -math.inf else f"[{o.low:g}"
    high = "inf)" if o.high == math.inf else f"{o.high:g}]"
    return f"{o.count} elements lie outside {low}, {high}, the furthest, {o.value:.9g}, at {o.index}"


def _by_error(e: Evidence) -> Judgement:
    m = e.measured
    if m.nonfinite_mismatch and e.like_flushed and e.flush_rho is not None and e.flush_rho <= FLAG:
        return Judgement(
            "subnormals_flushed",
            f"{m.nonfinite_mismatch} of {m.size} elements are NaN or infinite as the formula is with subnormal inputs "
            f"read as zero; rho elsewhere {e.flush_rho:.2g}",
        )
    if m.nonfinite_mismatch:
        instead = f": {e.mismatch.value:.4g} instead of {e.mismatch.truth:.4g}" if e.mismatch else ""
        return Judgement(
            "nonfinite_mismatch",
            f"{m.nonfinite_mismatch} of {m.size} elements are NaN or infinite on one side only, "
            f"the first at {m.first_mismatch}{instead}",
        )
    if m.unbounded and not suspicious(m):
        return Judgement("indeterminate", f"the error bound overflows at {m.unbounded} elements")
    high = e.ladder.high_rho if e.ladder and not _excused(e, e.ladder) else 0.0
    if not suspicious(m) and high <= FLAG:
        if e.misrounded is not None:
            return _not_correctly_rounded(m, e.misrounded)
        return _accepted(m, e)
    order = e.reduces and m.rho_sequential_max is not None and m.rho_sequential_max <= ACCEPT
    flushed = m.rho.largest > FLAG and e.flush_rho is not None and e.flush_rho <= FLAG
    if flushed and not (order and e.probe is not None and e.probe.same_data_rho <= FLAG):
        return Judgement(
            "subnormals_flushed", f"rho {m.rho.largest:.3g}, with subnormals read as zero {e.flush_rho:.2g}"
        )
    if e.void and not (e.ladder and e.ladder.above and e.ladder.above.stands_still()):
        return Judgement(
            "indeterminate", "a divisor, root or logarithm inside has no digits left: first-order bounds are void"
        )
    if e.ladder is None and order and e.probe is not None and e.probe.clean():
        return _reduction(e, e.probe, f"rho {m.rho.largest:.3g}, without a second precision")
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
    what = "not the number selected" if found.selects else "not the nearest number"
    size = f"up to {found.ulps:.4g} ulp" if found.ulps < math.inf else "infinite or NaN on one side only"
    return Judgement(
        "not_correctly_rounded",
        f"{found.count} of {m.size} elements are {what}: {size}, the worst at {found.index}",
    )


def _excused(e: Evidence, ladder: Ladder) -> bool:
    """Whether what only the float64 rung shows is an order of addition or a flush to zero: no finding here."""
    if ladder.high_flushed is not None and ladder.high_flushed <= FLAG:
        return True
    return e.reduces and ladder.high_sequential is not None and ladder.high_sequential <= ACCEPT


def _accepted(m: Measurement, e: Evidence) -> Judgement:
    accepted = _within_rounding(m, e.u, e.smallest_normal)
    if not m.overflow_explained:
        return accepted
    return Judgement(accepted.verdict, f"{accepted.detail}; {m.overflow_explained} elements overflow in the formula")


def _within_rounding(m: Measurement, u: float, smallest_normal: float) -> Judgement:
    if m.equal:
        return Judgement("exact", "every element is the correctly rounded truth")
    if m.rho.largest > ACCEPT:
        return Judgement("borderline", f"rho {m.rho.largest:.3g}, between one and two bounds")
    if m.rel.largest > ill_conditioned_above(u):
        if abs(m.rel.truth) < smallest_normal:
            return Judgement("rounding", f"the result underflows: truth {m.rel.truth:.2g}; rho {m.rho.largest:.2g}")
        return Judgement(
            "ill_conditioned",
            f"relative error {m.rel.largest:.2g} where the result amplifies rounding {m.rel.amplification:.2g} times; "
            f"rho {m.rho.largest:.2g}",
        )
    return Judgement("rounding", f"rho {m.rho.largest:.2g}")


_ONLY_HIGH = " (only the wider precision shows it, and it is run on the first trial of a problem only)"


def _by_ladder(e: Evidence, ladder: Ladder) -> Judgement:
    m = e.measured
    if ladder.only_high and (sign := ladder.sign_of_downcast()):
        where = "" if suspicious(m) else _ONLY_HIGH
        return Judgement("silent_downcast", f"{ladder.high} rho {ladder.high_rho:.3g}: {sign}{where}")
    if ladder.stands_still() and not _summed(e, ladder):
        if ladder.no_above:
            return Judgement(
                "indeterminate",
                f"{_standstill(ladder)}: a wrong result, or float32 arithmetic inside both that loses digits; "
                f"no float64 to tell which: {ladder.no_above}",
            )
        if ladder.above is None or ladder.above.stands_still():
            where = "" if suspicious(m) else _ONLY_HIGH
            return Judgement("wrong", f"the error does not shrink with precision: {_standstill(ladder)}{where}")
    if ladder.high != "float64" and not suspicious(m):
        # what float32 loses beyond the last bit of a 16-bit result is a matter of the float32 kernel's own rows
        return _accepted(m, e)
    figures = f"rho {m.rho.largest:.3g} ({ladder.low} {ladder.low_rho:.3g}, {ladder.high} {ladder.high_rho:.3g})"
    if e.probe is not None and (unit := _coarse_unit(e, ladder, e.probe)):
        return Judgement("low_precision", f"{figures}; {unit}")
    if e.reduces and e.probe is not None and e.probe.shortened:
        return _reduction(e, e.probe, figures)
    if e.misrounded is not None:
        return _not_correctly_rounded(m, e.misrounded)
    if ladder.saturated:
        return Judgement("unstable", f"{figures}: no correct digit in either precision here, N(0,1) inputs fare better")
    if m.rho.largest <= FLAG:
        return Judgement("unstable", f"{figures}{_ONLY_HIGH}")
    if ladder.above is not None:
        return Judgement("unstable", f"{figures}: float32 arithmetic inside loses digits, float64 does not")
    where = " in either precision" if min(ladder.low_rho, ladder.high_rho) > FLAG else ""
    return Judgement("unstable", f"{figures}: loses more than rounding explains{where}")


def _summed(e: Evidence, ladder: Ladder) -> bool:
    """Whether n roundings explain the error at the highest rung: a wrong formula errs by more.

    A kernel that adds up in float64 for both formats (variances of torch) shows no error in float32, so that of float64
    does not seem to shrink.
    """
    top = ladder.above or ladder
    at_home = top.rung_dtype == top.low  # the higher rung is the target's own format
    sequential = e.measured.rho_sequential_max if at_home else top.high_sequential
    return e.reduces and sequential is not None and sequential <= ACCEPT


def _standstill(ladder: Ladder) -> str:
    rungs = f"rho {ladder.low_rho:.3g} in {ladder.low}, {ladder.high_rho:.3g} in {ladder.high}"
    if ladder.above is not None:
        rungs += f", {ladder.above.high_rho:.3g} in {ladder.above.high}"
    return f"{rungs}, s = {ladder.slope:.2f}"


def _coarse_unit(e: Evidence, ladder: Ladder, probe: Probe) -> str:
    """The coarser unit that explains the error on benign data, or nothing.

    Without shorter reductions a higher rung that is healthy has to say that the formula itself is.
    """
    if probe.benign_share < LOW_PRECISION_SHARE or not (probe.shortened or ladder.high_rho <= FLAG):
        return ""
    size = probe.benign_rho * e.u
    what = "two-term reductions err" if probe.shortened else "N(0,1) inputs err"
    return next(
        (
            f"{what} by up to {size:.2g}: unit {name}"
            for unit, name in COARSE_UNITS
            if COARSE_SPAN * unit < size <= unit
        ),
        "",
    )


def _reduction(e: Evidence, probe: Probe, figures: str) -> Judgement:
    m = e.measured
    sequential = m.rho_sequential_max if m.rho_sequential_max is not None else m.rho_sequential
    if probe.same_data_rho <= FLAG and sequential <= ACCEPT:
        return Judgement(
            "accumulation_order",
            f"{m.rho_tree_max or m.rho_tree:.3g} times the bound of pairwise addition, {sequential:.2g} of that of "
            f"sequential addition; with two terms rho {probe.same_data_rho:.2g}",
        )
    return Judgement("unstable", f"{figures}; two-term reductions: rho {probe.same_data_rho:.3g}")
