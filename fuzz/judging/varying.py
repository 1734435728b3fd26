"""Rows of one target under variants: against the truth, and against its own unwrapped call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import xxhash
from msgspec import Struct, structs

from fuzz.backends.base import Array
from fuzz.execution import Failure, Outcome, Ran
from fuzz.judging import region, rows
from fuzz.judging.adjudicate import measure
from fuzz.judging.assess import Assessor
from fuzz.judging.judge import Evidence, judge
from fuzz.judging.rounding import altered, misrounded
from fuzz.judging.second_look import NONDETERMINISTIC, Compare, changes, not_to_blame, strays, unsettled
from fuzz.judging.unchanged import differing
from fuzz.judging.variation import Opinion, Side, State, against_truth, opinion
from fuzz.measure import Measurement
from fuzz.targets import Target
from fuzz.thresholds import ACCEPT, FLAG
from fuzz.variants import variant as named
from fuzz.workbench import Bench
from results.columns import Row
from results.verdicts import VERDICTS
from strategies.contract import Criterion
from strategies.sampling import raw, stream

OWN = ("variant", "against", "verdict", "detail", "region", "seconds", "certified", "error")
"""Columns of a row that are not those of the unwrapped call, although all bits of the output are."""


class Unwrapped(Struct, frozen=True):
    """The call as it is: copies of its outputs, and its rows."""

    values: tuple[Array, ...]
    rows: Sequence[Row]


class Varying:
    """Makes the rows of one trial and target. `call` calls it under a variant, "" plainly."""

    def __init__(
        self,
        bench: Bench,
        context: rows.Context,
        assessor: Assessor,
        index: int,
        target: Target,
        call: Callable[[str], Outcome],
    ) -> None:
        self._bench, self._context, self._assessor, self._index = bench, context, assessor, index
        self._target, self._call = target, call
        self._rung = bench.rung(target.dtype)
        self._own = target.spelling(bench.problem.home)
        self._sides: dict[int, Side] = {}
        self._stray: dict[tuple[int, str], str] = {}

    def unwrapped(self, outcome: Ran, found: Sequence[Row]) -> Unwrapped:
        """What variants are compared with; a variant may call the kernel again."""
        return Unwrapped(tuple(values.copy() for values in outcome.values), found)

    def rows(self, name: str, outcome: Outcome, plain: Unwrapped, first: bool) -> Iterator[Row]:
        """Two rows an output; one where there is none. Why a variant does not apply is said in the `first` trial."""
        if isinstance(outcome, Failure):
            failure = _refused(name, outcome)
            if failure.verdict == "unsupported" and not first:
                return
            for output in range(len(plain.values)):
                yield self._row(name, output, "truth", outcome) | self._failed(name, failure)
            return
        outcome = structs.replace(outcome, values=tuple(values.copy() for values in outcome.values))
        for output, values in enumerate(outcome.values):
            if differing(values, plain.values[output]).size:
                yield from self._differing(name, output, outcome, plain)
            else:
                kept = {key: value for key, value in plain.rows[output].items() if key not in OWN}
                row = self._row(name, output, "truth", outcome) | kept
                yield row | self._as_unwrapped(plain.rows[output]) | {"seconds": outcome.seconds}
                yield self._row(name, output, self._own, outcome) | _equal(values, outcome.told)

    def _row(self, name: str, output: int, against: str, outcome: Outcome) -> Row:
        row = self._context.row(self._index, output, self._target, against, outcome.implementation)
        return row | {"variant": name}

    def _failed(self, name: str, failure: Failure) -> Row:
        row: Row = {"verdict": failure.verdict, "detail": failure.error, "error": failure.error}
        where = region.of_failure(self._bench, self._target.dtype, failure)
        return row | {"region": where and f"{where}, {named(name).family.name}"}

    @staticmethod
    def _as_unwrapped(plain: Row) -> Row:
        """Verdict of an output whose bits are those of the unwrapped one: a finding there is not the variant's."""
        verdict = str(plain["verdict"])
        if VERDICTS[verdict].finding:
            return {"verdict": None, "detail": f"bitwise that of the unwrapped call, which is {verdict}"}
        return {"verdict": verdict, "detail": plain["detail"]}

    def _differing(self, name: str, output: int, outcome: Ran, plain: Unwrapped) -> Iterator[Row]:
        values, rung = outcome.values[output], self._rung
        yardstick = rung.yardsticks[output]
        before = self._side_of_plain(output, plain.values[output])
        measured = measure(self._bench, rung, output, values)
        certified, measured = self._assessor.certified(rung, output, values, measured)
        side = self._side(output, values, measured)
        row = self._row(name, output, "truth", outcome)
        row |= rows.figures(measured) | rows.truth_figures(measured, None, rung.bound.known_by)
        digest = xxhash.xxh3_128_hexdigest(raw(np.ascontiguousarray(values)))
        row |= {"output_digest": digest, "certified": certified, "seconds": outcome.seconds}
        least = yardstick.precision.smallest_normal
        alone = against_truth(judge(Evidence(measured=measured, u=yardstick.u, smallest_normal=least)), side)
        if alone is None:
            yield row | {"detail": f"{side.why}: see the row against the unwrapped call"}
        else:
            yield row | rows.verdict(alone)
        pair = self._compare(output)(values, plain.values[output])
        found = opinion(pair, before, side, named(name).bitwise(self._bench.contract))
        verdict, told = found.verdict, found.detail
        if found.suspect:
            looked = self._second_look(name, output, values, plain.values[output], side)
            verdict = looked.verdict if looked else named(name).verdict
            told += f"; {looked.detail}" if looked else ""
        where = region.ANYWHERE if verdict is not None and VERDICTS[verdict].finding else None
        said = f"; {outcome.told}" if outcome.told else ""
        row = self._row(name, output, self._own, outcome) | rows.figures(pair)
        yield row | {"verdict": verdict, "detail": f"{told}{said}", "region": where}

    def _compare(self, output: int) -> Compare:
        pair, yardstick = self._bench.pair(output, self._rung.bound.wide), self._rung.yardsticks[output]
        return lambda one, other: pair.compare(one, other, yardstick)

    def _second_look(self, name: str, output: int, values: Array, plain: Array, side: Side) -> Opinion | None:
        """What else explains a difference beyond rounding; None where nothing does but the variant."""
        compare = self._compare(output)
        if named(name).verdict != NONDETERMINISTIC:
            for variant, known in (("", plain), (name, values)):
                if changed := changes(partial(self._call, variant), output, known, compare):
                    called = f"under {variant}" if variant else "unwrapped"
                    return not_to_blame(f"called {called} once more, it differs by {changed}")
        why = self._strays(output, name if side.state is State.RIGHT else "")
        return unsettled(why) if why else None

    def _strays(self, output: int, variant: str) -> str:
        """How the call that is right here is off for inputs nearby; empty where it is not. Of the plain call, once."""
        key = (output, variant)
        if key not in self._stray:
            random = stream(self._bench.problem.draw_id, self._context.seed, self._index, "nearby")
            self._stray[key] = strays(partial(self._call, variant), output, self._rung, self._judged, random)
        return self._stray[key]

    def _judged(self, output: int, values: Array) -> Side:
        """A side, of an output that nobody has measured yet."""
        return self._side(output, values, measure(self._bench, self._rung, output, values))

    def _side_of_plain(self, output: int, values: Array) -> Side:
        if output not in self._sides:
            self._sides[output] = self._judged(output, values)
        return self._sides[output]

    def _side(self, output: int, values: Array, m: Measurement) -> Side:
        """What the figures of `values`, those last measured, say."""
        rung, said = self._rung, f"has rho {m.rho.largest:.3g}"
        if m.nonfinite_mismatch:
            return Side(State.BAD, f"has {m.nonfinite_mismatch} elements that are NaN or infinite against the truth")
        criterion = self._bench.contract.criterion
        if m.size and criterion in (Criterion.CORRECTLY_ROUNDED, Criterion.EXACT):
            if criterion is Criterion.EXACT:
                unrounded = altered(rung, output, values)
            else:
                unrounded = misrounded(self._bench, rung, output, values)
            if unrounded is not None:
                what = "not the number selected" if unrounded.selects else "not the nearest number"
                return Side(State.BAD, f"has {unrounded.count} elements that are {what}")
        if m.rho.largest <= FLAG:
            return Side(State.OPEN, "has elements without a bound") if m.unbounded else Side(State.RIGHT, said)
        sequential = rung.sequential_rho(output, values, m) if self._bench.reduction_length > 1 else None
        if sequential is not None and sequential <= ACCEPT:
            return Side(State.ORDER, f"{said}, {sequential:.2g} of the bound of sequential addition")
        assert rung.truth is not None
        if rung.truth.void(output).reshape(-1)[rung.yardsticks[output].rho > FLAG].all():
            return Side(State.OPEN, f"{said} where first-order bounds are void")
        return Side(State.BAD, said)


def _refused(name: str, failure: Failure) -> Failure:
    """An exception is no defect where a kernel may say that it does not take such arrays."""
    if failure.verdict == "raised" and named(name).family.refusable:
        return structs.replace(failure, verdict="unsupported", error=f"refused: {failure.error}")
    return failure


def _equal(values: Array, told: str) -> Row:
    """Figures of an output against one with the same bits."""
    finite = np.isfinite(values)
    nan = int(np.isnan(values).sum())
    row = rows.figures(Measurement(size=values.size, equal=True, nan_count=nan, inf_count=int((~finite).sum()) - nan))
    return row | {"verdict": "exact", "detail": f"bitwise equal{f'; {told}' if told else ''}"}
