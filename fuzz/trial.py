"""One trial: draw, truth, run every target, measure, judge. The only place where oracle and backends meet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import xxhash
from msgspec import Struct, field

from fuzz.backends.base import Array
from fuzz.execution import CAMPAIGN, COMPILE, Breadcrumb, Failure, NoBreadcrumb, Outcome, Ran, execute
from fuzz.judging import accuracy, region, rows
from fuzz.judging.assess import Assessor
from fuzz.judging.elements import kept_elements
from fuzz.judging.judge import Judgement
from fuzz.judging.nearest import Nearest, nearest
from fuzz.judging.pairs import pair_rows, with_ratios
from fuzz.judging.unchanged import unchanged
from fuzz.judging.varying import Varying
from fuzz.measure import Measurement
from fuzz.oracle.arithmetic import Arithmetic, adjudicator
from fuzz.targets import Target
from fuzz.workbench import Bench, Workbench, copy_inputs
from results.columns import Row
from strategies.problem import Problem
from strategies.sampling import draw, raw

FLUSHED = "subnormals_flushed"
"""The flush allowance explains every flagged element: they are not counted."""


class Cell(Struct, frozen=True):
    """A problem, the targets that run it, and pairs of targets (by position) compared with each other."""

    problem: Problem
    targets: tuple[Target, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    variants: tuple[str, ...] = ()
    """Ways of calling each target, besides the plain one (canonical ids of fuzz.variants)."""

    def call(self, number: int) -> tuple[Target, str]:
        """The target and the variant of a call of a trial. Calls are counted through all targets plain, then through
        all under the first variant, and so on."""
        variant, target = divmod(number, len(self.targets))
        return self.targets[target], self.variants[variant - 1] if variant else ""

    def number(self, target: int, variant: str) -> int:
        """Inverse of `call`, for a target by its position."""
        return target + len(self.targets) * (self.variants.index(variant) + 1 if variant else 0)

    def spelled(self, number: int) -> str:
        """A call of a trial for messages: the target, and the variant where there is one."""
        target, variant = self.call(number)
        return target.spelling(self.problem.home) + (f" under {variant}" if variant else "")


class Death(Struct, frozen=True):
    """A call that ended an earlier worker on this trial: its row, without running it again."""

    verdict: str
    error: str


class TrialRows(Struct):
    """What one trial adds to the campaign."""

    rows: list[Row] = field(default_factory=list)
    elements: list[Row] = field(default_factory=list)


class Session:
    """What outlives a trial in one process: kernels and buffers, breadcrumb, environment."""

    def __init__(self, environment: str, breadcrumb: Breadcrumb | None = None, forensic: bool = False) -> None:
        self.environment = environment
        self.breadcrumb: Breadcrumb = breadcrumb or NoBreadcrumb()
        self._forensic = forensic
        self.workbench = Workbench(forensic=forensic)
        self.compiling = 0.0
        """Processor time of all compilations so far, in seconds."""
        self._compiling_since: float | None = None

    def renew(self) -> None:
        """Drop what trials before may have left half made."""
        self.enter("")
        self.workbench = Workbench(forensic=self._forensic)

    def enter(self, stage: str) -> None:
        """A foreign call begins (COMPILE, RUN) or is over (anything else): the time of compilations is kept apart."""
        if self._compiling_since is not None:
            self.compiling += time.process_time() - self._compiling_since
        self._compiling_since = time.process_time() if stage == COMPILE else None

    def run(self, bench: Bench, target: Target, purpose: str, index: int, number: int, variant: str = "") -> Outcome:
        """Run call number `number` of trial `index` under the breadcrumb."""

        def mark(stage: str) -> None:
            self.enter(stage)
            self.breadcrumb.mark(index, number, stage, purpose)

        def clear() -> None:
            self.enter("")
            self.breadcrumb.clear()

        return execute(bench, target, purpose, mark, clear, variant)

    @cached_property
    def arithmetic(self) -> Arithmetic | None:
        """What certifies, imported when first needed; None where neither Arb nor mpmath is installed."""
        return adjudicator()


def run_trial(
    cell: Cell,
    seed: int,
    index: int,
    session: Session,
    *,
    ladder: bool = False,
    deaths: Mapping[int, Death] | None = None,
) -> TrialRows:
    """All rows of trial `index`.

    `ladder` runs the other precision even if nothing looks suspicious (the first trial of a problem); `deaths` maps
    numbers of calls (Cell.call) to what killed an earlier worker there.
    """
    return _Trial(cell, seed, index, session, ladder, deaths or {}).run()


class _Trial:
    """State of one trial while it runs."""

    def __init__(
        self, cell: Cell, seed: int, index: int, session: Session, ladder: bool, deaths: Mapping[int, Death]
    ) -> None:
        self.cell, self.seed, self.index, self.session, self.deaths = cell, seed, index, session, deaths
        self.problem = cell.problem
        self.bench: Bench = session.workbench.bench(cell.problem)
        self.result = TrialRows()
        contract = self.bench.contract
        self.context = rows.Context(
            problem=self.problem,
            seed=seed,
            environment=session.environment,
            elements=tuple(int(np.prod(shape, dtype=np.int64)) for shape in self.bench.output_shapes),
            output_names=tuple(spec.name for spec in contract.outputs),
            reduction_length=self.bench.reduction_length,
        )
        self._number, self._first = 0, ladder
        self._nearest: dict[tuple[str, int], Nearest] = {}
        self._plain: dict[Target, tuple[Array, ...]] = {}
        """Outputs of targets that have none of the options which may not change a bit."""
        self._assessor = Assessor(
            self.bench,
            session.workbench,
            seed,
            index,
            run=self._run,
            arithmetic=lambda: session.arithmetic,
            climbs=ladder,
            targets=len(cell.targets),
        )

    def run(self) -> TrialRows:
        home = self.bench.rung(self.problem.home)
        self.digest = draw(self.problem, self.bench.contract, self.seed, self.index, home.arena.arrays)
        dtypes = sorted({target.dtype for target in self.cell.targets})
        for dtype in dtypes:
            rung = self.bench.rung(dtype)
            if rung is not home:
                copy_inputs(home.arena.arrays, rung.arena.arrays)
            rung.refresh()
        targets = self.cell.targets
        unsafe = [number for number, target in enumerate(targets) if target.endangers()]
        safe = [number for number in range(len(targets)) if number not in unsafe]
        outcomes: dict[int, Outcome] = {}
        for numbers in filter(None, (safe, unsafe)):  # judged, ladder and all, before anything unsafe runs
            outcomes |= {number: self._outcome(number) for number in numbers}
            self._keep_plain(outcomes)
            for number in numbers:
                self._number = number
                plain = self._target_rows(number, outcomes[number])
                self.result.rows += self._variant_rows(number, outcomes[number], plain)
        if unsafe:
            place = {target.spelling(self.problem.home): number for number, target in enumerate(targets)}
            self.result.rows.sort(key=lambda row: place[str(row["target"])])
            self.result.elements.sort(key=lambda row: place[str(row["target"])])
        for first, second in self.cell.pairs:
            one, other = (targets[first], outcomes[first]), (targets[second], outcomes[second])
            found = pair_rows(self.bench, self.context, self.index, *one, *other)
            with_ratios(found, self.result.rows)
            self.result.rows += [row | {"input_digest": self.digest} for row in found]
        return self.result

    def _outcome(self, number: int) -> Outcome:
        if number in self.deaths:
            target = self.cell.targets[number]
            death = self.deaths[number]
            return Failure(death.verdict, death.error, target.implementation(self.problem.operator))
        self._number = number
        return self._run(self.bench, self.cell.targets[number], CAMPAIGN)

    def _keep_plain(self, outcomes: Mapping[int, Outcome]) -> None:
        """Copy the outputs that those of other targets may not differ from; run targets that are none of this trial."""
        for number, outcome in outcomes.items():
            target = self.cell.targets[number]
            if not (target.options and isinstance(outcome, Ran)):
                continue
            if not (same := self.bench.prepared(target).same_bits):
                continue
            plain = target.without(same)
            if plain in self._plain:
                continue
            self._number = number
            there = plain in self.cell.targets
            found = outcomes[self.cell.targets.index(plain)] if there else self._run(self.bench, plain, CAMPAIGN)
            if isinstance(found, Ran):
                self._plain[plain] = tuple(values.copy() for values in found.values)

    def _run(self, bench: Bench, target: Target, purpose: str) -> Outcome:
        return self.session.run(bench, target, purpose, self.index, self._number)

    def _variant_rows(self, number: int, outcome: Outcome, plain: Sequence[Row]) -> Iterator[Row]:
        """The same target under the variants of the cell; `outcome` and `plain` are of the call as it is."""
        if not (self.cell.variants and isinstance(outcome, Ran)):
            return
        target = self.cell.targets[number]

        def call(variant: str) -> Outcome:
            return self.session.run(
                self.bench, target, CAMPAIGN, self.index, self.cell.number(number, variant), variant
            )

        varying = Varying(self.bench, self.context, self._assessor, self.index, target, call)
        unwrapped = varying.unwrapped(outcome, plain)
        for variant in self.cell.variants:
            death = self.deaths.get(self.cell.number(number, variant))
            found = call(variant) if death is None else Failure(death.verdict, death.error, outcome.implementation)
            for row in varying.rows(variant, found, unwrapped, self._first):
                yield row | {"input_digest": self.digest}

    def _target_rows(self, number: int, outcome: Outcome) -> list[Row]:
        target = self.cell.targets[number]
        found: list[Row] = []
        for output in range(len(self.bench.output_shapes)):
            row = self.context.row(self.index, output, target, "truth", outcome.implementation)
            row["input_digest"] = self.digest
            if isinstance(outcome, Failure):
                row |= {"verdict": outcome.verdict, "detail": outcome.error, "error": outcome.error}
                row["region"] = region.of_failure(self.bench, target.dtype, outcome)
            else:
                row |= self._judged(target, output, outcome)
            found.append(row)
        self.result.rows += found
        return found

    def _judged(self, target: Target, output: int, outcome: Ran) -> Row:
        found = self._assessor.assess(target, output, outcome.values[output])
        values, measured, judgement = found.values, found.measured, found.judgement
        if self._plain:
            judgement = self._unchanged(target, output, values, judgement)
        self.result.elements += kept_elements(self.bench, self.context, self.index, target, output, values, measured)
        digest = xxhash.xxh3_128_hexdigest(raw(np.ascontiguousarray(values))) if values.size else "empty"
        return {
            **rows.figures(measured),
            **rows.truth_figures(measured, found.ladder, self.bench.rung(target.dtype).bound.known_by),
            **rows.verdict(judgement),
            **self._accuracy(target, output, values, measured),
            **({"flagged": 0} if judgement.verdict == FLUSHED else {}),
            "region": region.of_output(self.bench, target.dtype, judgement, measured, found.ladder),
            "certified": found.certified,
            "output_digest": digest,
            "seconds": outcome.seconds,
        }

    def _accuracy(self, target: Target, output: int, values: Array, measured: Measurement) -> Row:
        """Columns of the accuracy table, where the inputs are those of one."""
        if not accuracy.counts(self.problem):
            return {}
        rung, key = self.bench.rung(target.dtype), (target.dtype, output)
        if key not in self._nearest and target.dtype != "float64":
            self._nearest[key] = nearest(self.bench, rung, output, self.session.arithmetic)
        return accuracy.figures(self.bench, rung, output, values, measured, self._nearest.get(key))

    def _unchanged(self, target: Target, output: int, values: Array, judgement: Judgement) -> Judgement:
        """The judgement, where options that may not change a bit have changed none."""
        prepared = self.bench.prepared(target)
        plain = self._plain.get(target.without(prepared.same_bits)) if prepared.same_bits else None
        if plain is None:
            return judgement
        facts = prepared.kernel.facts
        if "schedule" in facts:
            return unchanged(values, plain[output], facts["schedule"], judgement)
        changed = ", ".join(f"{name}={value}" for name, value in target.options if name in prepared.same_bits)
        return unchanged(values, plain[output], changed, judgement, "options", "no result depends on")
