"""A function that cannot be looked into, as one primitive: its value in float64, its conditioning measured.

Of a callable of PyTorch, JAX or TVM only results are seen. Its float64 result on the same inputs stands for the truth,
and a Monte-Carlo estimate for the bound: every input element is multiplied by 1 + s delta with random signs s, and the
root mean square d of the changes of an output element over `SAMPLES` draws, divided by delta, estimates how strongly it
amplifies relative errors of one unit in its inputs (stochastic arithmetic on the inputs alone: Parker 1997, "Monte
Carlo Arithmetic"; Frechtling and Leong 2015). A function is granted `OPERATIONS` roundings of the size of the result,
and as many in its inputs, that is OPERATIONS d; where an output element depends on n input elements, roundings add up
like the square root of n (Higham and Mary 2019), and so they do over the products of a chain: `SPREAD` sqrt(LAYERS n) d
and sqrt(n) roundings of the result are granted where that is more. This is an estimate and no proof; verdicts lean on
the precision ladder.

Where the inputs' own rounding decides whether a result exists (logarithm of a difference that may be negative), NaN and
infinities are excused. Where outputs are steps (floor, argmax, comparisons), what is rounded inside may fall on either
side of a jump: values that the function itself takes in the working precision nearby are excused, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xxhash
from msgspec import Struct

from fuzz.oracle.frames import Frame
from fuzz.oracle.program import OPAQUE, Node, Program, Ref
from strategies.contract import Shape
from strategies.precision import PRECISIONS
from strategies.sampling import stream

SAMPLES = 8
"""Draws of signs. d is the square root of chi-square with as many degrees of freedom, so error / d has Student's
distribution: a healthy sum of n terms, whose errors have up to 0.3 sqrt(n) times the size that roundings of the inputs
alone cause, exceeds twice the bound SPREAD sqrt(n) d where |t| > 13, with probability 1e-6 (8 draws; 2e-4 with 4)."""
SPREAD = 2.0
"""Units in which sqrt(n) is granted: the error of a sum is normal, and the bound has to hold its tail."""
LAYERS = 4
"""Roundings of a sum that are granted for each one that inputs and parameters show: ten layers of 256 err by 1.04 times
2 sqrt(256) d at worst in 65,000 elements, and half of that with four."""
DELTA = 2.0**-32
"""Relative change of the inputs: large against the roundings of float64, 2^-53, and small enough to be linear."""
OPERATIONS = 8
"""Roundings of the size of the result, and of the inputs, that a function is granted whatever it computes: elementary
and special functions of the libraries here are within that of their stable formulas (benchmarks/checks.py)."""
STEPS = 0.9
"""Share of output elements from which on that do not change at all when inputs do, the output is one of steps."""
NEARBY = 8
"""Draws of inputs nearby that show the values on the other side of a jump: one in two is on it."""
FINE = 2.0**-53
"""Unit roundoff of what stands for the truth."""


class Assessed(Struct, frozen=True):
    """What is known of one output: arrays of its shape."""

    value: Any
    """In float64."""
    change: Any
    """By a relative error of 1 in all inputs, to first order."""
    open: Any
    """Where changes of the inputs by their rounding decide whether the value is NaN or infinite."""
    jump: Any
    """Of an output of steps: how far the values nearby are. 0 elsewhere."""


class Opaque:
    """A callable on a tuple of NumPy arrays of one dtype, giving a tuple of them. Not called more often than needed."""

    def __init__(
        self,
        name: str,
        call: Callable[[Sequence[Any]], tuple[Any, ...]],
        independent: Sequence[Sequence[int]] = (),
        shaken: Callable[[Sequence[Any], int, float], tuple[Any, ...]] | None = None,
    ) -> None:
        """`independent`: per input, the axes along which an output depends on what lies at its own place alone.

        `shaken`: the outputs when the arrays that the function holds change, too, by a relative amount and with signs
        that a number names: a net is as sensitive to roundings in its later layers as to its parameters there.
        """
        self.name, self._call, self._shaken = name, call, shaken
        self.independent = tuple(tuple(axes) for axes in independent)
        self._seen = ""
        self._found: list[Assessed] = []

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The outputs in the dtype of the inputs."""
        return self._call(inputs)

    def terms(self, shapes: Sequence[Shape]) -> int:
        """Input elements that one output element may depend on, those of elementwise inputs aside; at least 1."""
        axes = self.independent or ((),) * len(shapes)
        rest = [_without(shape, own) for shape, own in zip(shapes, axes, strict=True)]
        return max(1, sum(math.prod(shape) for shape in rest if shape))

    def assessed(self, inputs: Sequence[Any], u: float) -> list[Assessed]:
        """Every output on `inputs`, for the format with unit roundoff `u`; none where the function raises."""
        arrays = [np.ascontiguousarray(array, dtype=np.float64).reshape(np.shape(array)) for array in inputs]
        digest = xxhash.xxh3_128(float(u).hex().encode())
        for array in arrays:
            digest.update(array.tobytes())
        if (key := digest.hexdigest()) != self._seen:
            with np.errstate(all="ignore"):
                self._found = self._assess(arrays, key, u)
            self._seen = key
        return self._found

    def _assess(self, arrays: list[Any], key: str, u: float) -> list[Assessed]:
        try:
            values = self._wide([array.copy() for array in arrays])
        except Exception:  # noqa: BLE001  # somebody's function: without a result there is nothing to say
            return []
        squares = [np.zeros(v.shape) for v in values]
        opened = [np.zeros(v.shape, bool) for v in values]
        for number in range(SAMPLES):
            random = stream(key, 0, number, "signs")
            try:
                found = self._moved([_moved(a, DELTA * _signs(random, a)) for a in arrays], number)
            except Exception:  # noqa: BLE001  # e.g. of a matrix that is singular now: the inputs' rounding decides
                found = [np.full(v.shape, np.nan) for v in values]
            for n, there in enumerate(found):
                moved_by = np.abs(there - values[n]) / DELTA
                squares[n] += np.where(np.isfinite(moved_by), moved_by, 0.0) ** 2
                opened[n] |= _kind(there) != _kind(values[n])
        changes = [np.sqrt(total / SAMPLES) for total in squares]
        jumps = [np.zeros(v.shape) for v in values]
        if any(v.size and np.mean(change == 0.0) >= STEPS for v, change in zip(values, changes, strict=True)):
            self._jumps(arrays, values, changes, jumps, key, u)
        return [Assessed(*found) for found in zip(values, changes, opened, jumps, strict=True)]

    def _jumps(
        self, arrays: list[Any], values: list[Any], changes: list[Any], jumps: list[Any], key: str, u: float
    ) -> None:
        """Fill `jumps` of the outputs of steps.

        An error u inside moves the place of a jump by sqrt(u) where the inner function is flat (floor of a cosine).
        """
        narrow = next((p.numpy for p in PRECISIONS.values() if p.unit_roundoff == u), np.dtype(np.float64))
        for number in range(NEARBY + 1):
            random = stream(key, 0, number, "nearby")
            reach = 2.0 * math.sqrt(u) if number else 0.0
            near = [a + reach * np.maximum(np.abs(a), 1.0) * random.uniform(-1.0, 1.0, a.shape) for a in arrays]
            for dtype in (narrow, np.dtype(np.float64)):
                try:
                    found = self._wide([np.asarray(a).astype(dtype) for a in near])
                except Exception:  # noqa: BLE001  # somebody's function, which need not take this dtype
                    continue
                for n, there in enumerate(found):
                    if values[n].size and np.mean(changes[n] == 0.0) >= STEPS:
                        gap = np.abs(there - values[n])
                        np.fmax(jumps[n], np.where(np.isfinite(gap), gap, 0.0), out=jumps[n])

    def _moved(self, arrays: list[Any], number: int) -> list[Any]:
        found = self(*arrays) if self._shaken is None else self._shaken(arrays, number, DELTA)
        return [np.asarray(value, dtype=np.float64) for value in found]

    def _wide(self, arrays: list[Any]) -> list[Any]:
        return [np.asarray(value, dtype=np.float64) for value in self(*arrays)]


def _signs(random: Any, array: Any) -> Any:
    return 2.0 * random.integers(0, 2, array.shape) - 1.0


def _moved(array: Any, by: Any) -> Any:
    return array * (1.0 + by)


def _kind(values: Any) -> Any:
    """2 for NaN, the sign for an infinity, 0 for a number."""
    return np.where(np.isnan(values), 2.0, np.where(np.isinf(values), np.sign(values), 0.0))


def _without(shape: Shape, axes: Sequence[int]) -> Shape:
    """The longer axes that an output depends on as a whole."""
    return tuple(size for axis, size in enumerate(shape) if axis not in axes and size > 1)


def rule(f: Frame) -> None:
    """Value and error of the primitive, in the manner of fuzz.oracle.rules.

    What stands for the truth of a float64 result has roundings of its own: the bound counts them, too.
    """
    found = _of(f)
    if found is None:  # no truth, and a bound that says so
        np.copyto(f.value, 0.0)
        f.put(0, np.inf)
        return
    own = 1.0 + FINE / f.charges.u
    root = math.sqrt(f.static["terms"])
    chain = math.sqrt(LAYERS) if f.static["terms"] > 1 else 1.0
    granted = max(float(OPERATIONS), SPREAD * root * chain)
    np.copyto(f.value, found.value)
    f.put(0, np.maximum((own * granted) * found.change, found.jump / f.charges.u))
    # terms of one sign, added one after the other: partial sums k v / n, each rounded with standard deviation
    # u / sqrt 3, err by sqrt(n) |v| u / 3, which random signs of the inputs' errors do not show; three standard
    # deviations are granted
    f.local(units=max(float(OPERATIONS), root) * own)


def unsettled(f: Frame) -> Any:
    """Elements where an implementation may give NaN or an infinity, or where it need not.

    The inputs' rounding decides, or a finite value leaves the range of the working format. NaN and infinities of the
    function itself excuse nothing: of an operator's formula it is known that they are due, of somebody's function not.
    """
    with np.errstate(all="ignore"):
        limit = float(np.ldexp(1.0, _exponent(f.charges.u) + 1)) * (1.0 - f.charges.u)
        beyond: Any = np.isfinite(f.value) & (np.abs(f.value) > 0.99 * limit)
    found = _of(f)
    return beyond if found is None else beyond | found.open


def _exponent(u: float) -> int:
    return next((p.maximum_exponent for p in PRECISIONS.values() if p.unit_roundoff == u), 1022)


def _of(f: Frame) -> Assessed | None:
    """What is known of the node's output; None where the function has no result on these inputs."""
    call: Opaque = f.static["call"]
    found = call.assessed([operand.value for operand in f.operands], f.charges.u)
    return found[f.static["output"]] if found else None


def program_of(call: Opaque, inputs: Mapping[str, Shape], outputs: Sequence[Shape]) -> Program:
    """The program that calls a function: one node for each output."""
    nodes = [Node("input", (), (), tuple(shape)) for shape in inputs.values()]
    count, terms = len(nodes), call.terms(list(inputs.values()))
    arguments = tuple(Ref(number) for number in range(count))
    for number, shape in enumerate(outputs):
        static = (("call", call), ("output", number), ("terms", terms))
        nodes.append(Node(OPAQUE, arguments, static, tuple(shape)))
    return Program(tuple(nodes), tuple(inputs), tuple(range(count, count + len(outputs))))
