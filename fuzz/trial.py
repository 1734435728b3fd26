"""One trial: draw, truth, run every target, measure, judge. The only place where oracle and backends meet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xxhash
from msgspec import Struct, field

from fuzz import region, rows
from fuzz.adjudicate import measure
from fuzz.backends.base import Array
from fuzz.certify import Certifier, due
from fuzz.execution import CAMPAIGN, Breadcrumb, Failure, NoBreadcrumb, Outcome, Ran, execute
from fuzz.judge import Evidence, Judgement, Ladder, Probe, judge, suspicious
from fuzz.ladder import Climb, benign_rho, climb
from fuzz.measure import Measurement
from fuzz.oracle.arithmetic import Arithmetic, DependencyArithmetic, adjudicator
from fuzz.oracle.element import evaluate
from fuzz.outside import outside
from fuzz.probe import probe, probe_benign, shortened
from fuzz.rounding import misrounded
from fuzz.targets import Target
from fuzz.thresholds import ACCEPT, FLAG, ill_conditioned_above
from fuzz.workbench import Bench, Workbench, copy_inputs
from results.columns import Row
from strategies.contract import Criterion
from strategies.problem import Problem
from strategies.sampling import draw, raw, stream

SAMPLED_FIRST, SAMPLED_EVERY = 16, 64
"""Elements are kept of the first 16 trials of a problem, of every 64th, and of each with an outlier or a flag."""
LONGEST_SLICE = 256
"""Reduction length up to which the leading inputs of a kept element are listed."""


FLUSHED = "subnormals_flushed"
"""The flush allowance explains every flagged element: they are not counted."""


class Cell(Struct, frozen=True):
    """A problem, the targets that run it, and pairs of targets (by position) compared with each other."""

    problem: Problem
    targets: tuple[Target, ...]
    pairs: tuple[tuple[int, int], ...] = ()


class Death(Struct, frozen=True):
    """A target that ended an earlier worker on this trial: its row, without running it again."""

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
        self.workbench = Workbench(forensic=forensic)

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
    target numbers to what killed an earlier worker there.
    """
    return _Trial(cell, seed, index, session, ladder, deaths or {}).run()


class _Trial:
    """State of one trial while it runs."""

    def __init__(
        self, cell: Cell, seed: int, index: int, session: Session, ladder: bool, deaths: Mapping[int, Death]
    ) -> None:
        self.cell, self.seed, self.index, self.session, self.deaths = cell, seed, index, session, deaths
        self.ladder = ladder
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
        self._number = 0
        self._due = due(self.problem.id, seed, index)
        self._certifier: Certifier | None = None

    def run(self) -> TrialRows:
        home = self.bench.rung(self.problem.home)
        self.digest = draw(self.problem, self.bench.contract, self.seed, self.index, home.arena.arrays)
        dtypes = sorted({target.dtype for target in self.cell.targets})
        for dtype in dtypes:
            rung = self.bench.rung(dtype)
            if rung is not home:
                copy_inputs(home.arena.arrays, rung.arena.arrays)
            rung.refresh()
        outcomes = [self._outcome(number) for number in range(len(self.cell.targets))]
        for number, outcome in enumerate(outcomes):
            self._number = number
            self._target_rows(number, outcome)
        for first, second in self.cell.pairs:
            self._pair_rows(first, second, outcomes[first], outcomes[second])
        return self.result

    def _outcome(self, number: int) -> Outcome:
        if number in self.deaths:
            target = self.cell.targets[number]
            death = self.deaths[number]
            return Failure(death.verdict, death.error, target.implementation(self.problem.operator))
        self._number = number
        return self._run(self.bench, self.cell.targets[number], CAMPAIGN)

    def _run(self, bench: Bench, target: Target, purpose: str) -> Outcome:
        crumb = self.session.breadcrumb

        def mark(stage: str) -> None:
            crumb.mark(self.index, self._number, stage, purpose)

        return execute(bench, target, purpose, mark, crumb.clear)

    def _target_rows(self, number: int, outcome: Outcome) -> None:
        target = self.cell.targets[number]
        for output in range(len(self.bench.output_shapes)):
            row = self.context.row(self.index, output, target, "truth", outcome.implementation)
            row["input_digest"] = self.digest
            if isinstance(outcome, Failure):
                row |= {"verdict": outcome.verdict, "detail": outcome.error, "error": outcome.error}
                row["region"] = region.of_failure(self.bench, target.dtype, outcome)
            else:
                row |= self._judged(number, target, output, outcome)
            self.result.rows.append(row)

    def _judged(self, number: int, target: Target, output: int, outcome: Ran) -> Row:
        rung = self.bench.rung(target.dtype)
        values = outcome.values[output]
        measured = measure(self.bench, rung, output, values)
        certified: int | None = None
        if (self._due or measured.flagged) and (certifier := self._certifies()) is not None:
            certified, measured = certifier.certify(rung, output, values, measured)
        asked = suspicious(measured)
        ladder: Ladder | None = None
        no_ladder, died, benign = "", None, None
        if asked or self.ladder:
            rho = rung.yardsticks[output].rho.copy() if measured.size else np.empty(0)
            values = values.copy()
            climbed = Climb(self.bench, target, output, measured, rho, self.seed, self.index)
            answer = climb(climbed, self._run)
            if isinstance(answer, Ladder):
                ladder = answer
            else:
                no_ladder = answer.error
                died = answer if answer.verdict not in ("unsupported", "raised", "dtype_mismatch") else None
                if died is None and measured.rho.largest > FLAG:
                    benign = benign_rho(climbed, self._run)
        judgement = self._judge(target, output, values, measured, ladder, no_ladder, benign)
        if died is not None:
            judgement = Judgement(died.verdict, f"in the other precision: {died.error}")
        self._keep_elements(number, target, output, values, measured)
        digest = xxhash.xxh3_128_hexdigest(raw(np.ascontiguousarray(values))) if values.size else "empty"
        return {
            **rows.figures(measured),
            **rows.truth_figures(measured, ladder, rung.bound.known_by),
            **rows.verdict(judgement),
            **({"flagged": 0} if judgement.verdict == FLUSHED else {}),
            "region": region.of_output(self.bench, target.dtype, judgement, measured, ladder),
            "certified": certified,
            "output_digest": digest,
            "seconds": outcome.seconds,
        }

    def _certifies(self) -> Certifier | None:
        if self._certifier is None and (arithmetic := self.session.arithmetic) is not None:
            targets = len(self.cell.targets)
            self._certifier = Certifier(self.bench, arithmetic, self.seed, self.index, targets)
        return self._certifier

    def _judge(
        self,
        target: Target,
        output: int,
        values: Array,
        m: Measurement,
        ladder: Ladder | None,
        no_ladder: str,
        benign: float | None,
    ) -> Judgement:
        rung = self.bench.rung(target.dtype)
        flush_rho, void, short = None, False, None
        if m.rho.largest > FLAG or m.nonfinite_mismatch:
            flush_rho = rung.flush_rho(output, values)
        if m.rho.largest > FLAG:
            assert rung.truth is not None
            flagged = rung.yardsticks[output].rho > FLAG
            void = bool(rung.truth.void(output).reshape(-1)[flagged].all())
        unrounded = None
        if self.bench.contract.criterion is Criterion.CORRECTLY_ROUNDED and m.size and not m.nonfinite_mismatch:
            unrounded = misrounded(self.bench, rung, output, values)
        reduces = self.bench.reduction_length > 1
        if suspicious(m) and ladder is not None and not m.nonfinite_mismatch:
            short = self._probe(target, output, reduces, ladder)
        return judge(
            Evidence(
                measured=m,
                u=rung.yardsticks[output].u,
                smallest_normal=rung.yardsticks[output].precision.smallest_normal,
                ladder=ladder,
                no_ladder=no_ladder,
                benign_rho=benign,
                flush_rho=flush_rho,
                like_flushed=bool(m.nonfinite_mismatch) and rung.like_flushed(output, values),
                void=void,
                reduces=reduces,
                probe=short,
                misrounded=unrounded,
                outside=outside(self.bench.contract.outputs[output].domain, values),
            )
        )

    def _probe(self, target: Target, output: int, reduces: bool, ladder: Ladder) -> Probe | None:
        problem = shortened(self.bench) if reduces else None
        if problem is not None:
            bench = self.session.workbench.bench(problem)
            answer = probe(self.bench, bench, target, output, self.seed, self.index, self._run)
        elif ladder.high_rho <= FLAG:  # a narrower format inside: nothing else errs in the lower format alone
            answer = probe_benign(self.bench, target, output, self.seed, self.index, self._run)
        else:
            return None
        return answer if isinstance(answer, Probe) else None

    def _pair_rows(self, first: int, second: int, a: Outcome, b: Outcome) -> None:
        one, other = self.cell.targets[first], self.cell.targets[second]
        coarser = max((one.dtype, other.dtype), key=lambda dtype: self.bench.rung(dtype).yardsticks[0].u)
        for output in range(len(self.bench.output_shapes)):
            row = self.context.row(self.index, output, one, other.spelling(self.problem.home), a.implementation)
            row["input_digest"] = self.digest
            if isinstance(a, Failure) or isinstance(b, Failure):
                row["detail"] = "one side has no output"
            else:
                yardstick = self.bench.rung(coarser).yardsticks[output]
                wide = np.result_type(*(self.bench.rung(t.dtype).bound.wide for t in (one, other)))
                pair = self.bench.pair(output, wide)
                measured = pair.compare(a.values[output], b.values[output], yardstick)
                row |= rows.figures(measured) | _pair_verdict(measured, yardstick.u)
            self.result.rows.append(row)

    def _keep_elements(self, number: int, target: Target, output: int, values: Array, m: Measurement) -> None:
        sampled = self.index < SAMPLED_FIRST or self.index % SAMPLED_EVERY == 0
        if not (m.size and (sampled or m.flagged or m.above[0])):
            return
        yardstick = self.bench.rung(target.dtype).yardsticks[output]
        random = stream(self.problem.draw_id, self.seed, self.index, "elements").integers(m.size, size=2)
        chosen = [("worst", m.rho.index), ("relative", m.rel.index), *(("random", int(i)) for i in random)]
        flat = values.reshape(-1)
        for kind, position in chosen:
            truth, bound = float(yardstick.value[position]), float(yardstick.bound[position])
            self.result.elements.append(
                {
                    "problem_id": self.problem.id,
                    "seed": self.seed,
                    "index": self.index,
                    "output": self.context.output_names[output],
                    "target": target.spelling(self.problem.home),
                    "variant": "",
                    "against": "truth",
                    "trial": rows.trial_name(self.problem.id, self.index),
                    "operator": self.problem.operator,
                    "dtype": target.dtype,
                    "kind": kind,
                    "element": position,
                    "value": float(flat[position]),
                    "truth": truth,
                    "bound": bound,
                    "amplification": bound / abs(truth) if truth else float("inf"),
                    "rho": float(yardstick.rho[position]),
                    "inputs": self._leading_inputs(output, position, target),
                }
            )

    def _leading_inputs(self, output: int, position: int, target: Target) -> str:
        if self.bench.reduction_length > LONGEST_SLICE:
            return "[]"
        at: Any = tuple(int(i) for i in np.unravel_index(position, self.bench.output_shapes[output]))
        arrays = self.bench.rung(target.dtype).inputs()
        return rows.inputs_text(evaluate(self.bench.program, output, at, arrays, DependencyArithmetic()).inputs)


def _pair_verdict(m: Measurement, u: float) -> Row:
    """Two roundings are allowed one bound each. Beyond that the truth rows say whose error it is, not the pair."""
    if m.equal:
        return {"verdict": "exact", "detail": "bitwise equal"}
    if m.nonfinite_mismatch or m.rho.largest > FLAG:
        return {
            "detail": f"differ by {m.rho.largest:.3g} times what two roundings allow: see either side against the truth"
        }
    if m.rho.largest > ACCEPT:
        return {"verdict": "borderline", "detail": f"rho {m.rho.largest:.3g} of two roundings"}
    detail = f"relative difference {m.rel.largest:.2g}, rho {m.rho.largest:.2g} of two roundings"
    return {"verdict": "ill_conditioned" if m.rel.largest > ill_conditioned_above(u) else "rounding", "detail": detail}
