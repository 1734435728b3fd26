"""Interpreter `bound`: value in a wide dtype and first-order error bound of every output, in preallocated buffers.

`bound(program, dtype)` returns a callable; a compiled interpreter can take its place behind the same call.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.oracle import opaque
from fuzz.oracle.constants import DEFAULT_PROFILE, PROFILES
from fuzz.oracle.frames import Charges, Constant, Frame, Operand, Real
from fuzz.oracle.models import Model
from fuzz.oracle.passes import largest, smallest
from fuzz.oracle.primitives import PRIMITIVES, call_arguments
from fuzz.oracle.products import copies_seeds
from fuzz.oracle.program import OPAQUE, Program, Ref
from fuzz.oracle.rules import RULES, part_keys
from fuzz.oracle.spread import arriving, skipped_padding, spread
from strategies.precision import DType, Precision, precision

VOID_SHARE = 0.1
"""First order is void where the error of a divisor or of a logarithm's argument exceeds this share of it: at 0.1 the
neglected second-order terms reach about a tenth of the first-order ones."""

_KINDS: dict[str, Callable[[Any, Precision], Any]] = {
    "nan": lambda x, p: np.isnan(x),
    "inf": lambda x, p: np.isinf(x),
    "huge": lambda x, p: np.abs(x) > math.sqrt(p.largest),
    "tiny": lambda x, p: (x != 0) & (np.abs(x) < math.sqrt(p.smallest_normal)),
}
"""What leaves a result open, by the name that `Contract.unspecified` has for it."""

OVERFLOW_SHARE = 0.99
"""An intermediate above this share of the largest number may overflow in an implementation that rounds differently."""

_ACCUMULATING = frozenset({"sum", "mean", "var", "prod", "cumsum", "matmul"})
"""Their finite operands may overflow on the way, which beside a given infinity makes NaN of it."""

_POLES: dict[str, Callable[[Any, Any], Any]] = {
    "tan": lambda x, z: np.minimum(1.0, 1.0 / np.abs(z)),
    "arctanh": lambda x, z: 1.0 - np.abs(x),
    "erfinv": lambda x, z: 1.0 - np.abs(x),
    "gammaln": lambda x, z: np.where(x < 0.5, x - np.round(x), x),
    "psi": lambda x, z: np.where(x < 0.5, x - np.round(x), x),
}
"""Distance of the argument x of z = f(x) from the nearest pole of f, to first order."""


class OutputTruth(Struct):
    """Value and error parts of one output; views of buffers that the next call overwrites."""

    value: Real
    parts: Mapping[int, Real]

    def excused(self, model: Model = Model.SQRT) -> Real:
        """E: the error that rounding and conditioning excuse, in units of u, same shape as the output. Read-only."""
        terms = [part if n == 0 else model.h(n) * part for n, part in self.parts.items()]
        total: Any = functools.reduce(np.add, terms) if terms else 0.0
        return np.broadcast_to(np.asarray(total, self.value.dtype), self.value.shape)


class Truth:
    """What the oracle knows about one draw. Valid until its interpreter runs again."""

    def __init__(self, owner: Bound) -> None:
        self._owner = owner
        self.outputs = tuple(OutputTruth(owner.frames[n].value, owner.frames[n].parts) for n in owner.program.outputs)
        self.known_by = owner.known_by

    def overflow(self, output: int) -> Any:
        """Elements of which an intermediate leaves the range of the working dtype, or is NaN by the formula itself.

        Also where padding meets an infinity: a kernel may leave padding out. And where the operator's policy leaves
        open what comes of a NaN or an infinity.
        What merely passes on an infinity or a NaN that the user gave does not count: a kernel has to pass it on, too.
        """
        found = self._overflow(output)
        if self._owner.contaminating and (met := self._contaminated(output)) is not None:
            return found | met
        return found

    def _overflow(self, output: int) -> Any:
        limit = OVERFLOW_SHARE * precision(self._owner.dtype).largest
        if not self._owner.program.opaque and all(_within(frame, limit) for frame in self._owner.frames):
            return self.unspecified(output)
        masks = []
        for number, frame in enumerate(self._owner.frames):
            if number < len(self._owner.program.inputs):
                masks.append(self._open(number))
                continue
            if frame.node.primitive == OPAQUE:
                masks.append(opaque.unsettled(frame))
                continue
            values = [np.asarray(operand.value) for operand in frame.operands]
            nan, reach = np.isnan(frame.value), frame.reach()
            given_nan = arriving(frame.node, [np.isnan(v) for v in values], values)
            given = arriving(frame.node, [~np.isfinite(v) for v in values], values)
            mask = (nan & ~given_nan) | (~nan & ~(reach <= limit) & ~given)
            if np.any(given) and frame.node.primitive in _ACCUMULATING:
                mask = mask | (given & (frame.reach(finite=True) > limit))
            masks.append(mask | skipped_padding(frame.node, self._owner.program, values))
        return spread(self._owner.program, masks, [f.value for f in self._owner.frames])[output]

    def unspecified(self, output: int) -> Any:
        """Elements that depend on a NaN or an infinity about which the operator's policy says nothing."""
        if self._owner.contaminating and (met := self._contaminated(output)) is not None:
            return met
        frames = self._owner.frames
        inputs = range(len(self._owner.program.inputs))
        masks = [self._open(n) if n in inputs else np.zeros(f.node.shape, bool) for n, f in enumerate(frames)]
        if not any(mask.any() for mask in masks):
            return masks[self._owner.program.outputs[output]]
        return spread(self._owner.program, masks, [f.value for f in frames])[output]

    def _open(self, number: int) -> Any:
        value = self._owner.frames[number].value
        name = self._owner.program.inputs[number]
        found = np.zeros(value.shape, bool)
        for which, kind in self._owner.unspecified:
            if which == name:
                found |= _KINDS[kind](value, precision(self._owner.dtype))
        return found

    def _contaminated(self, output: int) -> Any | None:
        """Elements that an open element of an input may reach in some formulation; None where nothing is open.

        In an elementwise operator the element itself, whichever side a selection takes; else every element: slices and
        terms that one formula leaves out are multiplied by 0 in another.
        """
        opened = [self._open(number) for number in range(len(self._owner.program.inputs))]
        shape = self.outputs[output].value.shape
        if not any(mask.any() for mask in opened):
            return None
        if self._owner.elementwise:
            return np.logical_or.reduce([np.broadcast_to(mask, shape) for mask in opened])
        return np.ones(shape, bool)

    def void(self, output: int) -> Any:
        """Elements where the first-order bound means nothing: a divisor or logarithm argument with no digits left."""
        masks = [np.zeros(frame.node.shape, bool) for frame in self._owner.frames]
        for number, frame in enumerate(self._owner.frames):
            delicate = self._delicate(frame)
            if delicate is not None:
                distance, error = delicate
                masks[number] = masks[number] | (frame.charges.u * error > VOID_SHARE * np.abs(distance))
        return spread(self._owner.program, masks, [f.value for f in self._owner.frames])[output]

    @staticmethod
    def _delicate(frame: Frame) -> tuple[Any, Any] | None:
        name = frame.node.primitive
        if name == "divide" and frame.operands[1].parts:
            return frame.operands[1].value, frame.operands[1].total()
        if name in _POLES and frame.operands[0].parts:
            with np.errstate(all="ignore"):
                return _POLES[name](frame.operands[0].value, frame.value), frame.operands[0].total()
        if name in ("log", "log2") and frame.operands[0].parts:
            return frame.operands[0].value, frame.operands[0].total()
        if name == "log1p":
            return 1.0 + frame.operands[0].value, frame.operands[0].total()
        return None


class Bound:
    """A program bound to a working dtype: call it with the inputs, get the Truth."""

    def __init__(
        self,
        program: Program,
        dtype: DType,
        wide: np.dtype[Any],
        charges: Charges,
        unspecified: tuple[tuple[str, str], ...] = (),
        contaminating: bool = False,
    ) -> None:
        self.unspecified, self.contaminating = unspecified, contaminating
        kinds = {PRIMITIVES[node.primitive].kind for node in program.nodes[len(program.inputs) :]}
        self.elementwise = kinds <= {"elementwise"}
        self.program, self.dtype, self.wide, self.charges = program, dtype, wide, charges
        self.known_by = {"float64": "float64", "longdouble": f"longdouble ({np.finfo(np.longdouble).nmant} bits)"}[
            "longdouble" if wide == np.longdouble else "float64"
        ]
        for node in program.nodes:
            if node.primitive == OPAQUE:
                self.known_by = f"float64 of {dict(node.static)['call'].name}"
        self.frames: list[Frame] = []
        self._steps: list[tuple[Callable[[Frame], None], Frame]] = []
        working = precision(dtype).numpy
        for number, node in enumerate(program.nodes):
            operands: tuple[Operand, ...] = tuple(
                self.frames[a.node] if isinstance(a, Ref) else Constant(a, working, wide) for a in node.arguments
            )
            if number < len(program.inputs):
                self.frames.append(_input_frame(Frame(node, (), (0,), wide, charges)))
            elif PRIMITIVES[node.primitive].kind == "view":
                self.frames.append(_view_frame(Frame(node, operands, (), wide, charges)))
            else:
                keys = part_keys(node.primitive, dict(node.static), operands, charges.rounding > 0)
                frame = Frame(node, operands, keys, wide, charges)
                if node.primitive == "gather" and copies_seeds(frame):
                    frame.share_seed()
                self.frames.append(frame)
                self._steps.append((RULES[node.primitive], frame))
        self._truth = Truth(self)

    @property
    def nbytes(self) -> int:
        """Of all buffers, each counted once: views have none."""
        inputs = self.frames[: len(self.program.inputs)]
        return sum(frame.nbytes for frame in (*inputs, *(frame for _, frame in self._steps)))

    def __call__(self, inputs: Sequence[Any]) -> Truth:
        """Truth for `inputs` (arrays in the program's order). Buffers are reused by the next call."""
        with np.errstate(all="ignore"):
            self._run(inputs, careful=False)
            if not all(_all_finite(o.value) and all(map(_no_infinity, o.parts.values())) for o in self._truth.outputs):
                self._run(inputs, careful=True)
        return self._truth

    def _run(self, inputs: Sequence[Any], careful: bool) -> None:
        for frame in self.frames:
            frame.begin()
        for frame, values in zip(self.frames, inputs, strict=False):
            np.copyto(frame.value, values)
            frame.magnitude()
            if self.charges.flush:
                np.add(frame.magnitude(), self.charges.read_as_zero(frame.magnitude()), out=frame.parts[0])
            if careful:
                frame.parts[0][~np.isfinite(frame.parts[0])] = 0.0
        for rule, frame in self._steps:
            rule(frame)
            frame.finish(careful)


def charges_for(
    dtype: DType,
    *,
    profile: str = DEFAULT_PROFILE,
    flush: bool = False,
    rounding: float = 1.0,
    updating: bool = False,
) -> Charges:
    """Charges of the working dtype; `flush` adds an allowance for subnormals treated as zero, `updating` one for
    variances whose mean is updated term by term."""
    p = precision(dtype)
    u = p.unit_roundoff
    return Charges(
        u=u,
        underflow=p.smallest_subnormal / (2.0 * u),  # half of float64's smallest subnormal would round to 0
        flush=p.smallest_normal / u if flush else 0.0,
        constants=PROFILES[profile],
        rounding=rounding,
        updating=updating,
    )


def wide_dtype(dtype: DType) -> np.dtype[Any]:
    """Arithmetic for the truth: float64 for narrower dtypes; for float64, longdouble where it has 63 bits and more,
    else float64 as a screen that `fuzz.judging.adjudicate` replaces."""
    wider = dtype == "float64" and np.finfo(np.longdouble).nmant >= 63
    return np.dtype(np.longdouble) if wider else np.dtype(np.float64)


def bound(
    program: Program,
    dtype: DType,
    *,
    profile: str = DEFAULT_PROFILE,
    flush: bool = False,
    rounding: float = 1.0,
    updating: bool = False,
    unspecified: tuple[tuple[str, str], ...] = (),
    contaminating: bool = False,
) -> Bound:
    """The bound interpreter of `program` for implementations that work in `dtype`.

    `unspecified`: inputs whose NaN or infinities leave results open, `contaminating`: also results that do not depend
    on them by this formula (see `Contract`).
    """
    charges = charges_for(dtype, profile=profile, flush=flush, rounding=rounding, updating=updating)
    return Bound(program, dtype, wide_dtype(dtype), charges, unspecified, contaminating)


def _within(frame: Frame, limit: float) -> bool:
    """Whether nothing that a node reads or gives is NaN, infinite or beyond `limit`, nor a partial sum on the way."""
    if not all(isinstance(operand, Frame) or np.isfinite(operand.value).all() for operand in frame.operands):
        return False
    value = frame.value  # not its magnitude: a careful run leaves zeros there
    if value.size and not (largest(value) <= limit and smallest(value) >= -limit):
        return False
    if not frame.operands or PRIMITIVES[frame.node.primitive].kind not in ("reduction", "scan", "matmul"):
        return True
    reach = frame.reach()
    return not reach.size or bool(largest(reach) <= limit)


def _all_finite(values: Real) -> bool:
    """One cheap pass: a sum is finite only if every term is (an overflowing sum merely costs the careful pass)."""
    return bool(np.isfinite(values.sum()))


def _no_infinity(part: Real) -> bool:
    """The same for parts, which are not negative: their maximum (NaN if any is NaN) costs half of a sum."""
    return not part.size or bool(np.isfinite(largest(part)))


def _input_frame(frame: Frame) -> Frame:
    """An input's seed is |x| (plus a flush allowance)."""
    if frame.charges.flush:
        frame.parts = {0: np.empty_like(frame.value)}
    else:
        frame.share_seed()
    return frame


def _view_frame(frame: Frame) -> Frame:
    """A view of its operand's buffers: costs nothing at run time."""
    source = frame.operands[0]
    assert isinstance(source, Frame)
    primitive, static = PRIMITIVES[frame.node.primitive], call_arguments(frame.static)

    def view(array: Real) -> Real:
        result: Real = primitive.function(array, **static)
        if not np.shares_memory(result, array) and array.size:
            raise TypeError(f"{frame.node.primitive} of this layout copies: the oracle needs a view")
        return result

    frame.value = view(source.value)
    frame._magnitude = magnitude = view(source._magnitude)
    frame.parts = {key: magnitude if part is source._magnitude else view(part) for key, part in source.parts.items()}

    def computed() -> Real:
        source.magnitude()
        return magnitude

    frame.magnitude = computed  # type: ignore[method-assign]
    return frame
