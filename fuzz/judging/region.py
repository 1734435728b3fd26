"""Region: where a finding lies, in a few coarse classes, so that one defect is one finding and two defects are two.

A region is a function of its row alone, so that it is the same on every night and machine. What it looks at depends on
the verdict and the operator (docs/findings.md has the table, docs/decisions/010-regions.md the reasons).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuzz.execution import RUN, Failure
from fuzz.judging.judge import Judgement, Ladder, suspicious
from fuzz.measure import Measurement
from fuzz.workbench import Bench
from results.verdicts import NO_VALUE, VERDICTS
from strategies.contract import Contract, Spec
from strategies.precision import Precision, precision

Array: TypeAlias = NDArray[Any]

ANYWHERE = "any input"
EMPTY = "empty"

OF_THE_KERNEL = frozenset(
    {
        "subnormals_flushed",
        "not_correctly_rounded",
        "low_precision",
        "silent_downcast",
        "dtype_mismatch",
        "schedule_variant",
    }
)
"""Verdicts about how a kernel computes, not about a place: one region."""

NEIGHBOURS = 0.25
"""Landmarks closer than this share of the larger one (or of 1) are one: the two ends of the gradual underflow of exp,
the two overflows of sinh."""
OFFSET = 8.0
"""|mean| above so many standard deviations is an offset: a variance in one pass loses a factor of its square, 64."""

_DURING = re.compile(
    r"(?:in the other precision: )?[^:;]* during (?P<stage>compile|run)(?P<other> in the other precision)?"
)
_SLOW = re.compile(r"(?P<stage>compile|run)(?P<other> in the other precision)? took longer")
_DIED_BY = re.compile(r"(?:in the other precision: )?(?P<by>SIG[A-Z0-9]+|exit code -?\d+) during")
_RAISED = re.compile(r"(?P<error>[A-Za-z_]\w*): ")
"""The forms of the engine's own messages (fuzz.execution, fuzz.workers.supervisor); none of a library
is read."""


def of_output(
    bench: Bench, dtype: str, judgement: Judgement, measured: Measurement, ladder: Ladder | None
) -> str | None:
    """The region of a judged output at the target's dtype: the column `region`."""
    inputs = bench.rung(dtype).arena.arrays
    if judgement.verdict in NO_VALUE:
        return failure_region(judgement.verdict, judgement.detail, inputs.values())
    element = measured.rho.index
    if judgement.verdict == "nonfinite_mismatch":
        element = measured.first_mismatch
    elif ladder is not None and not suspicious(measured):  # only the wider precision shows it
        element = ladder.high_index
    return region(bench.contract, judgement.verdict, inputs, element, precision(dtype), bench.reduction_length)


def of_failure(bench: Bench, dtype: str, failure: Failure) -> str | None:
    """The region of a target without output."""
    return failure_region(failure.verdict, failure.error, bench.rung(dtype).inputs())


def region(
    contract: Contract,
    verdict: str,
    inputs: Mapping[str, Array],
    element: int,
    p: Precision,
    reduction_length: int,
) -> str | None:
    """The region of an output whose verdict is a finding; None for the other verdicts.

    `inputs` are those of the trial at the target's dtype, `element` the flat index of the worst element (-1: unknown).
    """
    if not VERDICTS[verdict].finding or verdict in NO_VALUE:
        return None
    if verdict in OF_THE_KERNEL:
        return ANYWHERE
    special = verdict == "nonfinite_mismatch"
    if reduction_length > 1 or not elementwise(contract):
        return _data_region(contract, inputs, special, p, reduction_length)
    if element < 0:
        return ANYWHERE
    values = {name: float(array.reshape(-1)[element]) for name, array in inputs.items()}
    names = {name: _special(value, p) for name, value in values.items()} if special else {}
    told = [f"{name} {what}" for name, what in names.items() if what]
    if told:
        return ", ".join(told)
    if len(values) == 1:
        ((name, value),) = values.items()
        return _cell_text(name, *cell(contract.input(name), value))
    return ANYWHERE


def failure_region(verdict: str, error: str, inputs: Iterable[Array]) -> str | None:
    """The region of a trial without output: what ended it and at which stage; None where it is no finding."""
    if not VERDICTS[verdict].finding:
        return None
    if verdict in OF_THE_KERNEL:
        return ANYWHERE
    return ", ".join(_failure(verdict, error, any(array.size == 0 for array in inputs)))


def elementwise(contract: Contract) -> bool:
    """Whether every output element depends on the input elements at its own index alone."""
    shapes = {spec.dims for spec in (*contract.inputs, *contract.outputs)}
    return len(shapes) == 1 and not any(dim.reduced for dim in contract.dims)


def cell(spec: Spec, value: float) -> tuple[float, float]:
    """The interval around the landmark nearest to `value`, up to half way to the next landmarks.

    Zero counts as a landmark. Not the interval *between* landmarks: errors are largest at landmarks, on both sides.
    """
    points = _landmarks(spec)
    middles = [(low + high) / 2 for low, high in itertools.pairwise(points)]
    edges = [-math.inf, *middles, math.inf]
    number = int(np.searchsorted(middles, value, side="right"))
    return edges[number], edges[number + 1]


def _landmarks(spec: Spec) -> list[float]:
    """Landmarks in order, neighbours taken together: the first stands for them."""
    kept: list[float] = []
    for at in sorted({0.0, *(landmark.at for landmark in spec.landmarks if math.isfinite(landmark.at))}):
        if not kept or at - kept[-1] > NEIGHBOURS * max(1.0, abs(at), abs(kept[-1])):
            kept.append(at)
    return kept


def _cell_text(name: str, low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return f"any {name}"
    if math.isinf(low):
        return f"{name} < {high:.4g}"
    return f"{name} > {low:.4g}" if math.isinf(high) else f"{low:.4g} < {name} < {high:.4g}"


def _special(value: float, p: Precision) -> str:
    if math.isnan(value):
        return "is NaN"
    if math.isinf(value):
        return "is inf" if value > 0 else "is -inf"
    if value == 0:
        return "is zero"
    return "is subnormal" if abs(value) < p.smallest_normal else ""


def _data_region(
    contract: Contract, inputs: Mapping[str, Array], special: bool, p: Precision, reduction_length: int
) -> str:
    """What the inputs look like as a whole: the most unusual class of those that are reduced over."""
    reduced = {dim.name for dim in contract.dims if dim.reduced}
    summed = [spec.name for spec in contract.inputs if reduced & set(spec.dims)] or list(inputs)
    terms = max(reduction_length, 1)
    found = {what for name in summed for what in _classes(inputs[name], special, p, terms)}
    what = next((one for one in _DATA if one in found), _DATA[-1])
    return f"one summand, {what}" if reduction_length == 1 else what


_DATA = ("data with NaN", "data with infinities", "huge data", "tiny data", "data with an offset", "ordinary data")
"""Classes of input data, the most unusual first."""


def _classes(values: Array, special: bool, p: Precision, terms: int) -> Iterator[str]:
    flat = values.reshape(-1).astype(np.float64)
    if special and np.isnan(flat).any():
        yield _DATA[0]
    if special and np.isinf(flat).any():
        yield _DATA[1]
    finite = flat[np.isfinite(flat)]
    if not finite.size:
        return
    largest = float(np.abs(finite).max())
    if largest > math.sqrt(p.largest / terms):  # a sum of squares overflows
        yield _DATA[2]
    elif largest < math.sqrt(p.smallest_normal):  # every square underflows
        yield _DATA[3]
    elif finite.size > 1 and _has_offset(finite / largest):
        yield _DATA[4]


def _has_offset(scaled: Array) -> bool:
    """Whether the mean of numbers within [-1, 1] is far from 0 in units of their spread."""
    return abs(float(scaled.mean())) > OFFSET * float(scaled.std())


def _failure(verdict: str, error: str, empty: bool) -> Sequence[str]:
    words: list[str] = []
    stage = None
    if verdict == "raised":
        raised = _RAISED.match(error)
        words.append(raised["error"] if raised else "an output of another kind")
    else:
        stage, died = _DURING.match(error) or _SLOW.match(error), _DIED_BY.match(error)
        words += [died["by"]] if died else []
        words.append(f"in {stage['stage'] if stage else RUN}")
    if (stage and stage["other"]) or error.startswith("in the other precision"):
        words.append("other precision")
    if empty:
        words.append("empty input")
    return words
