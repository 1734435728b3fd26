"""Assess one output of one target: figures, certification, the precision ladder, the probes, the verdict."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from msgspec import Struct, structs

from fuzz.backends.base import Array
from fuzz.execution import Failure, Run
from fuzz.judging import accuracy
from fuzz.judging.adjudicate import measure
from fuzz.judging.certify import Certifier, due
from fuzz.judging.judge import Evidence, Judgement, Ladder, Mismatch, Probe, judge, suspicious
from fuzz.judging.ladder import Climb, benign_rho, climb
from fuzz.judging.outside import outside
from fuzz.judging.probe import probe, probe_benign, shortened
from fuzz.judging.rounding import altered, misrounded
from fuzz.measure import Measurement
from fuzz.oracle.arithmetic import Arithmetic
from fuzz.targets import Target
from fuzz.thresholds import FLAG
from fuzz.workbench import Bench, Rung, Workbench
from strategies.contract import Criterion


class Assessment(Struct, frozen=True):
    """What is known of one output of one target."""

    values: Array
    """The output; a copy where the kernel has run again since."""
    measured: Measurement
    judgement: Judgement
    ladder: Ladder | None
    certified: int | None
    """Elements certified; None where certification was not due."""


class Assessor:
    """Assesses the outputs of one trial.

    `run` runs further kernels, `arithmetic` gives what certifies (None where nothing is installed), `climbs` asks for
    the other precision even if nothing looks suspicious, `targets` is the number of targets of the trial.
    """

    def __init__(
        self,
        bench: Bench,
        workbench: Workbench,
        seed: int,
        index: int,
        *,
        run: Run,
        arithmetic: Callable[[], Arithmetic | None],
        climbs: bool,
        targets: int,
    ) -> None:
        self._bench, self._workbench, self._seed, self._index = bench, workbench, seed, index
        self._run, self._arithmetic, self._climbs, self._targets = run, arithmetic, climbs, targets
        every = accuracy.counts(bench.problem) and index == 0  # of a 16-bit format the only trial there is
        self._due = every or due(bench.problem.id, seed, index)
        self._certifier: Certifier | None = None

    def assess(self, target: Target, output: int, values: Array) -> Assessment:
        """Assess output number `output`, whose truth the rung of the target's dtype holds."""
        rung = self._bench.rung(target.dtype)
        measured = measure(self._bench, rung, output, values)
        certified: int | None = None
        if (self._due or measured.flagged) and (certifier := self._certifies()) is not None:
            certified, measured = certifier.certify(rung, output, values, measured)
        ladder: Ladder | None = None
        no_ladder, died, benign = "", None, None
        if suspicious(measured) or self._climbs:
            rho = rung.yardsticks[output].rho.copy() if measured.size else np.empty(0)
            values = values.copy()
            climbed = Climb(
                self._bench, target, output, measured, rho, self._seed, self._index, partial(self._check, self._bench)
            )
            answer = climb(climbed, self._run)
            if isinstance(answer, Ladder):
                ladder = answer
            else:
                no_ladder = answer.error
                died = answer if answer.verdict not in ("unsupported", "raised", "dtype_mismatch") else None
                if died is None and measured.rho.largest > FLAG:
                    benign = benign_rho(climbed, self._run)
        judgement = judge(self._evidence(target, output, values, measured, ladder, no_ladder, benign))
        if died is not None:
            judgement = Judgement(died.verdict, f"in the other precision: {died.error}")
        return Assessment(values, measured, judgement, ladder, certified)

    def certified(
        self, rung: Rung, output: int, values: Array, measured: Measurement
    ) -> tuple[int | None, Measurement]:
        """Elements of `values`, those last measured, that were certified, and the figures; None where none is due."""
        if not measured.flagged or (certifier := self._certifies()) is None:
            return None, measured
        return certifier.certify(rung, output, values, measured)

    def _check(self, bench: Bench, rung: Rung, output: int) -> None:
        """The truth of a rung or a probe that a finding may rest on."""
        if (arithmetic := self._arithmetic()) is not None:
            Certifier(bench, arithmetic, self._seed, self._index, self._targets).check(rung, output)

    def _certifies(self) -> Certifier | None:
        if self._certifier is None and (arithmetic := self._arithmetic()) is not None:
            self._certifier = Certifier(self._bench, arithmetic, self._seed, self._index, self._targets)
        return self._certifier

    def _evidence(
        self,
        target: Target,
        output: int,
        values: Array,
        m: Measurement,
        ladder: Ladder | None,
        no_ladder: str,
        benign: float | None,
    ) -> Evidence:
        rung = self._bench.rung(target.dtype)
        yardstick = rung.yardsticks[output]
        flush_rho, void, short = None, False, None
        if m.rho.largest > FLAG or m.nonfinite_mismatch:
            flush_rho = rung.flush_rho(output, values)
            m = structs.replace(m, rho_sequential_max=rung.sequential_rho(output, values, m))
        if m.rho.largest > FLAG:
            assert rung.truth is not None
            void = bool(rung.truth.void(output).reshape(-1)[yardstick.rho > FLAG].all())
        unrounded, criterion = None, self._bench.contract.criterion
        if m.size and not m.nonfinite_mismatch:
            if criterion is Criterion.CORRECTLY_ROUNDED:
                unrounded = misrounded(self._bench, rung, output, values)
            elif criterion is Criterion.EXACT:
                unrounded = altered(rung, output, values)
        reduces = self._bench.reduction_length > 1
        if suspicious(m) and not m.nonfinite_mismatch and (ladder is not None or reduces):
            short = self._probe(target, output, reduces, ladder)
        return Evidence(
            measured=m,
            u=yardstick.u,
            smallest_normal=yardstick.precision.smallest_normal,
            ladder=ladder,
            no_ladder=no_ladder,
            benign_rho=benign,
            flush_rho=flush_rho,
            like_flushed=bool(m.nonfinite_mismatch) and rung.like_flushed(output, values),
            void=void,
            reduces=reduces,
            probe=short,
            misrounded=unrounded,
            outside=outside(self._bench.contract.outputs[output].domain, values),
            mismatch=_mismatch(values, yardstick.value, m.first_mismatch),
        )

    def _probe(self, target: Target, output: int, reduces: bool, ladder: Ladder | None) -> Probe | None:
        problem = shortened(self._bench) if reduces else None
        answer: Probe | Failure
        if problem is not None:
            bench = self._workbench.bench(problem)
            answer = probe(self._bench, bench, target, output, self._seed, self._index, self._run, self._check)
        elif (
            ladder is not None and ladder.high_rho <= FLAG
        ):  # a narrower format inside: nothing else errs in the lower format alone
            answer = probe_benign(self._bench, target, output, self._seed, self._index, self._run, self._check)
        else:
            return None
        return answer if isinstance(answer, Probe) else None


def _mismatch(values: Array, truth: Array, first: int) -> Mismatch | None:
    return Mismatch(float(values.reshape(-1)[first]), float(truth[first])) if first >= 0 else None
