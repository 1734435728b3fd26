"""What a worker keeps between trials: programs, buffers, kernels, yardsticks, for a bounded number of shapes."""

from __future__ import annotations

import functools
import gc
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fuzz.allocator import return_freed_pages
from fuzz.backends import backend
from fuzz.backends.base import Array, Request, Unsupported, last_line
from fuzz.buffers import Arena
from fuzz.extensions import loaded_files
from fuzz.measure import BoundFigures, BoundYardstick, PairYardstick, Yardstick
from fuzz.operators import operator
from fuzz.oracle.bound import Bound, Truth, bound
from fuzz.oracle.models import Model
from fuzz.oracle.plain import plain, without_subnormals
from fuzz.oracle.program import Program
from fuzz.prepared import Prepared
from fuzz.targets import Target
from fuzz.thresholds import ACCEPT, FLAG
from fuzz.variants import variant
from fuzz.variants.axes import Batch, batch_of
from fuzz.variants.base import Around
from fuzz.variants.parts import Parts
from fuzz.variants.varied import Varied
from strategies.contract import Contract, Shape
from strategies.precision import DType, precision
from strategies.problem import Problem

CACHED_SHAPES = 32
"""Problem shapes kept by a worker."""
CACHED_BYTES = 160_000_000
"""Buffers and kernels of all shapes kept by a worker: libraries alone take more than half of the 1 GB that it may have
(benchmarks/memory.py). Never less than one shape is kept, whatever its size."""
KERNEL_BYTES = 1_500_000
"""Of a kernel, on average over all operators and backends, most of it in jax and TVM (benchmarks/memory.py)."""


class Rung:
    """One arithmetic of a problem shape: input buffers, truth interpreter, yardsticks. `purpose` keeps the precision
    ladder's inputs apart from the campaign's own."""

    def __init__(self, bench: Bench, dtype: DType, forensic: bool) -> None:
        self.dtype = dtype
        self.arena = Arena(bench.input_shapes, dtype, forensic)
        self._bench = bench
        self._flush: Bound | None = None
        contract = bench.contract
        self._interpreter = partial(
            bound, bench.program, dtype, unspecified=contract.unspecified, contaminating=contract.contaminating
        )
        self.bound: Bound = self._interpreter()
        self.yardsticks = tuple(
            Yardstick(int(np.prod(shape, dtype=np.int64)), dtype, self.bound.wide) for shape in bench.output_shapes
        )
        self.truth: Truth | None = None

    @property
    def nbytes(self) -> int:
        """Of all buffers but the kernels' own."""
        interpreters = [self.bound] if self._flush is None else [self.bound, self._flush]
        return sum(i.nbytes for i in interpreters) + sum(yardstick.nbytes for yardstick in self.yardsticks)

    def inputs(self) -> list[Array]:
        return list(self.arena.arrays.values())

    def refresh(self) -> Truth:
        """Compute the truth of the inputs now in the arena and prepare the yardsticks."""
        self.truth = truth = self.bound(self.inputs())
        for number, yardstick in enumerate(self.yardsticks):
            unjudged = functools.partial(self.unspecified, number)
            yardstick.refresh(truth.outputs[number], _overflow(truth, number), self._plain(number), unjudged)
        return truth

    def unspecified(self, output: int) -> Array:
        """Elements about which the operator's policy says nothing, flat."""
        assert self.truth is not None
        result: Array = np.broadcast_to(self.truth.unspecified(output), self._bench.output_shapes[output]).reshape(-1)
        return result

    def flush_rho(self, output: int, values: Array) -> float:
        """Largest rho of `values`, those last measured, with an allowance for subnormals treated as zero.

        Infinite where a flagged element is a subnormal number and none of the inputs: who flushes computes none.
        """
        yardstick = self.yardsticks[output]
        size = np.abs(values.reshape(-1).astype(yardstick.value.dtype))
        subnormal = np.flatnonzero((size > 0) & (size < yardstick.precision.smallest_normal))
        computed = size[subnormal[yardstick.rho[subnormal] > FLAG]] if subnormal.size else subnormal
        if computed.size and not np.isin(computed, self._given_sizes()).all():
            return math.inf
        if self._flush is None:
            self._flush = self._interpreter(flush=True)
        truth = self._flush(self.inputs())
        allowing = BoundYardstick(values.size, self.dtype, self._flush.wide)
        unjudged = functools.partial(self.unspecified, output)
        allowing.refresh(truth.outputs[output], _overflow(truth, output), self._plain(output), unjudged)
        return allowing.bound_figures(values).rho.largest

    def _given_sizes(self) -> Array:
        """Magnitudes of all inputs, flat: a kernel may pass a number on that it does not compute with."""
        found: Array = np.abs(np.concatenate([values.reshape(-1) for values in self.inputs()]))
        return found

    def sequential_rho(self, output: int, values: Array, measured: BoundFigures) -> float | None:
        """`rho_sequential_max`; above 1 and with a variance inside, under the bound of one updated term by term."""
        found = measured.rho_sequential_max
        program = self._bench.program
        if found is None or found <= ACCEPT or not any(node.primitive == "var" for node in program.nodes):
            return found
        truth = bound(program, self.dtype, updating=True)(self.inputs()).outputs[output]
        with np.errstate(all="ignore"):
            error = np.abs(values.reshape(-1) - truth.value.reshape(-1))
            rho = error / (self.yardsticks[output].u * truth.excused(Model.SEQUENTIAL).reshape(-1))
        return min(found, float(rho[np.isfinite(rho)].max(initial=0.0)))

    def like_flushed(self, output: int, values: Array) -> bool:
        """Whether all that is NaN or infinite in `values` is what the truth, the formula, or the formula on inputs
        with zeros for subnormals gives."""
        assert self.truth is not None
        seen = _nonfinite(values)
        with np.errstate(all="ignore"):
            alike = seen == _nonfinite(precision(self.dtype).round(self.yardsticks[output].value))
        alike |= self.truth.overflow(output).reshape(-1)
        for inputs in (self.inputs(), without_subnormals(self.inputs(), self.dtype)):
            alike |= seen == _nonfinite(plain(self._bench.program, inputs, self.dtype)[output])
        return bool(alike.all())

    def _plain(self, output: int) -> Callable[[bool], Array]:
        return lambda squares: plain(self._bench.program, self.inputs(), self.dtype, squares=squares)[output]


class Bench:
    """One problem shape (operator, attributes, dims): program, rungs, kernels. `problem` is the one of the trial."""

    def __init__(self, problem: Problem, forensic: bool = False) -> None:
        self.problem = problem
        self.operator = operator(problem.operator)
        self.contract: Contract = self.operator.contract
        self.input_shapes: dict[str, Shape] = self.contract.shapes(dict(problem.dims), dict(problem.attributes))
        self.program: Program = self.operator.program(self.input_shapes, dict(problem.attributes))
        self.output_shapes = self.program.output_shapes()
        self.reduction_length = max(self.program.reduction_lengths(), default=0)
        self.forensic = forensic
        self._rungs: dict[tuple[DType, str], Rung] = {}
        self._prepared: dict[tuple[Target, str], Prepared] = {}
        self._varied: dict[tuple[Target, str], Varied] = {}
        self._unfit: dict[tuple[Target, str], str] = {}
        self._parts: dict[Target, Parts] = {}
        self._pairs: dict[int, PairYardstick] = {}
        self.refusals: dict[tuple[Target, str], bool] = {}
        """By target and message: whether the exception refuses an attribute value (see `fuzz.refusal`)."""

    def rung(self, dtype: DType, purpose: str = "campaign") -> Rung:
        key = (dtype, purpose)
        if key not in self._rungs:
            self._rungs[key] = Rung(self, dtype, self.forensic)
        return self._rungs[key]

    def prepared(self, target: Target, purpose: str = "campaign") -> Prepared:
        """The kernel of `target` on the arena of its dtype; compiles on first use. Raises what the backend raises."""
        key = (target, purpose)
        if key not in self._prepared:
            request = _request(target, self, self.rung(target.dtype, purpose).arena)
            self._prepared[key] = Prepared(backend(target.backend), request, self.output_shapes, self.forensic)
        return self._prepared[key]

    def varied(self, target: Target, name: str) -> Varied:
        """The kernel of `target` under the variant called `name`, on the campaign's inputs; compiles on first use."""
        key = (target, name)
        if key in self._unfit:
            raise Unsupported(self._unfit[key])
        if key not in self._varied:
            try:
                self._varied[key] = Varied(variant(name), self._around(target), self.prepared(target))
            except Unsupported as reason:
                self._unfit[key] = str(reason)
                raise
        return self._varied[key]

    def _around(self, target: Target) -> Around:
        found, dims = backend(target.backend), dict(self.problem.dims)
        request = _request(target, self, self.rung(target.dtype).arena)
        parts = self._parts.setdefault(target, Parts(found, request, self.forensic))
        return Around(
            contract=self.contract,
            dims=dims,
            request=request,
            shapes=self.output_shapes,
            shapes_at=self._output_shapes_at,
            formula=self._formula,
            backend=found.name,
            target=target.spelling(""),
            declared=found.options,
            layouts=found.layouts,
            extensions=loaded_files,
            parts=parts.lent(),
            plain=self.prepared(target).call,
        )

    def batch(self, target: Target) -> Batch | None:
        """The batch dim of calls of `target`; None where there is none."""
        try:
            return batch_of(self._around(target))
        except Unsupported:
            return None

    def _output_shapes_at(self, dims: Mapping[str, int]) -> tuple[Shape, ...]:
        """Shapes of the outputs at other dims; Unsupported where the formula holds for those of the problem only."""
        try:
            program = self.operator.program(self.contract.shapes(dims), dict(self.problem.attributes))
        except Exception as error:
            raise Unsupported(f"the formula does not take other sizes: {last_line(error)}") from error
        return program.output_shapes()

    def _formula(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The program in float64, plainly, once: its buffers are dropped."""
        return tuple(plain(self.program, list(inputs), "float64"))

    @property
    def nbytes(self) -> int:
        """Of all buffers, measured, and kernels, estimated."""
        kernels = len(self._prepared) + sum(map(len, self._parts.values()))
        return sum(rung.nbytes for rung in self._rungs.values()) + KERNEL_BYTES * kernels

    def has_kernel(self, target: Target, purpose: str = "campaign") -> bool:
        return (target, purpose) in self._prepared

    def has_varied(self, target: Target, name: str) -> bool:
        """Whether it is known what `varied` gives."""
        return (target, name) in self._varied or (target, name) in self._unfit

    def explain(self, target: Target) -> tuple[str, ...]:
        """What the target's options amount to for this problem, a line each; Unsupported where it has no kernel."""
        return backend(target.backend).explain(_request(target, self, self.rung(target.dtype).arena))

    def source(self, target: Target) -> str:
        """The program that they lead to; empty where there is none to show."""
        return backend(target.backend).source(_request(target, self, self.rung(target.dtype).arena))

    def pair(self, output: int, wide: np.dtype[Any]) -> PairYardstick:
        if output not in self._pairs:
            self._pairs[output] = PairYardstick(int(np.prod(self.output_shapes[output], dtype=np.int64)), wide)
        return self._pairs[output]


class Workbench:
    """Benches by problem shape, least recently used first out."""

    def __init__(self, shapes: int = CACHED_SHAPES, nbytes: int = CACHED_BYTES, forensic: bool = False) -> None:
        self._benches: OrderedDict[tuple[Any, ...], Bench] = OrderedDict()
        self._shapes, self._nbytes, self._forensic = shapes, nbytes, forensic

    def bench(self, problem: Problem) -> Bench:
        key = (problem.operator, problem.attributes, problem.dims)
        if key in self._benches:
            self._benches.move_to_end(key)
            self._benches[key].problem = problem  # ladder and probe draw from its recipes: never from an earlier one's
        else:
            self._make_room()
            self._benches[key] = Bench(problem, self._forensic)
        return self._benches[key]

    def _make_room(self) -> None:
        """Beyond either limit, drop what was used longest ago until half of it is left, and the memory with it.

        By halves, because frames and rungs lie in cycles: only a full collection frees them, 0.2 s with all libraries
        loaded. The latest shape stays: a trial may be asking for a variant of its own.
        """
        sizes = [bench.nbytes for bench in self._benches.values()]
        if len(sizes) < self._shapes and sum(sizes) <= self._nbytes:
            return
        while len(sizes) > 1 and (2 * len(sizes) > self._shapes or 2 * sum(sizes) > self._nbytes):
            self._benches.popitem(last=False)
            del sizes[0]
        gc.collect()
        return_freed_pages()


def _request(target: Target, bench: Bench, arena: Arena) -> Request:
    """Of the kernel on an arena, without outputs."""
    return Request(
        implementation=target.implementation(bench.problem.operator),
        attributes=dict(bench.problem.attributes),
        device=target.device,
        dtype=target.dtype,
        options=target.all_options(),
        inputs=arena.views,
        outputs=(),
    )


def copy_inputs(source: Mapping[str, Array], destination: Mapping[str, Array]) -> None:
    """Cast every input into the arena of another dtype."""
    with np.errstate(all="ignore"):
        for name, values in source.items():
            np.copyto(destination[name], values, casting="same_kind")


def _overflow(truth: Truth, output: int) -> Callable[[], Array]:
    return lambda: truth.overflow(output)


def _nonfinite(values: Array) -> Array:
    """2 for NaN, the sign for an infinity, 0 for a number; flat."""
    flat = values.reshape(-1).astype(np.float64)
    return np.where(np.isnan(flat), 2, np.isinf(flat) * np.where(flat < 0, -1, 1))
