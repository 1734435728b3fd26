"""A function that cannot be looked into, as one primitive: its value in float64, its conditioning measured.

Of a callable of PyTorch, JAX or TVM only results are seen. Its float64 result on the same inputs stands for the truth,
and a Monte-Carlo estimate for the bound: every input element is multiplied by 1 + s delta with random signs s, and the
largest change of an output element over `SAMPLES` draws, divided by delta, estimates how strongly it amplifies a
relative error of one unit in its inputs (stochastic arithmetic on the inputs alone: Parker 1997, "Monte Carlo
Arithmetic"; Frechtling and Leong 2015). Roundings inside are charged as OPERATIONS of the size of the result and, where
an output element depends on n input elements, sqrt(n) times as much: the usual statistical bound of a sum of n terms
(Higham and Mary 2019). That is an estimate and no proof; verdicts lean on the precision ladder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xxhash

from fuzz.oracle.frames import Frame
from fuzz.oracle.program import OPAQUE, Node, Program, Ref
from strategies.contract import Shape
from strategies.sampling import stream

SAMPLES = 4
"""Draws of signs: the largest of four |N(0,1)| exceeds 0.5 with probability 0.98, so half of the true standard
deviation is found nearly always."""
DELTA = 2.0**-32
"""Relative change of the inputs: large against the roundings of float64, 2^-53, and small enough to be linear."""
OPERATIONS = 8
"""Roundings of the size of the result that a function is granted whatever it computes: the elementary functions and
activations of the backends here are within 4 units of their stable formulas."""
FINE = 2.0**-53
"""Unit roundoff of what stands for the truth."""


class Opaque:
    """A callable on a tuple of NumPy arrays of one dtype, giving a tuple of them. Not called more often than needed."""

    def __init__(
        self,
        name: str,
        call: Callable[[Sequence[Any]], tuple[Any, ...]],
        independent: Sequence[Sequence[int]] = (),
    ) -> None:
        """`independent`: per input, the axes along which an output depends on what lies at its own place alone."""
        self.name, self._call = name, call
        self.independent = tuple(tuple(axes) for axes in independent)
        self._seen = ""
        self._found: list[tuple[Any, Any]] = []

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The outputs in the dtype of the inputs."""
        return self._call(inputs)

    def terms(self, shapes: Sequence[Shape]) -> int:
        """Input elements that one output element may depend on, those of elementwise inputs aside; at least 1."""
        axes = self.independent or ((),) * len(shapes)
        rest = [_without(shape, own) for shape, own in zip(shapes, axes, strict=True)]
        return max(1, sum(math.prod(shape) for shape in rest if shape))

    def assessed(self, inputs: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Per output: the value in float64, and how much a relative error of 1 in all inputs changes it."""
        arrays = [np.ascontiguousarray(array, dtype=np.float64).reshape(np.shape(array)) for array in inputs]
        digest = xxhash.xxh3_128()
        for array in arrays:
            digest.update(array.tobytes())
        if (key := digest.hexdigest()) != self._seen:
            self._found = self._assess(arrays, key)
            self._seen = key
        return self._found

    def _assess(self, arrays: list[Any], key: str) -> list[tuple[Any, Any]]:
        values = [np.asarray(v, dtype=np.float64) for v in self(*(array.copy() for array in arrays))]
        change = [np.zeros(v.shape) for v in values]
        with np.errstate(all="ignore"):
            for number in range(SAMPLES):
                random = stream(key, 0, number, "signs")
                moved = [a * (1.0 + DELTA * (2.0 * random.integers(0, 2, a.shape) - 1.0)) for a in arrays]
                for worst, there, value in zip(change, self(*moved), values, strict=True):
                    moved_by = np.abs(np.asarray(there, dtype=np.float64) - value) / DELTA
                    np.fmax(worst, np.where(np.isfinite(moved_by), moved_by, 0.0), out=worst)
        return list(zip(values, change, strict=True))


def _without(shape: Shape, axes: Sequence[int]) -> Shape:
    """The longer axes that an output depends on as a whole."""
    return tuple(size for axis, size in enumerate(shape) if axis not in axes and size > 1)


def rule(f: Frame) -> None:
    """Value and error of the primitive, in the manner of fuzz.oracle.rules.

    What stands for the truth of a float64 result has roundings of its own: the bound counts them, too.
    """
    call, output, terms = f.static["call"], f.static["output"], f.static["terms"]
    found, change = call.assessed([operand.value for operand in f.operands])[output]
    np.copyto(f.value, found)
    own = 1.0 + FINE / f.charges.u
    f.put(0, (math.sqrt(terms) * own) * change)
    f.local(units=OPERATIONS * own)


def program_of(call: Opaque, inputs: Mapping[str, Shape], outputs: Sequence[Shape]) -> Program:
    """The program that calls a function: one node for each output."""
    nodes = [Node("input", (), (), tuple(shape)) for shape in inputs.values()]
    count, terms = len(nodes), call.terms(list(inputs.values()))
    arguments = tuple(Ref(number) for number in range(count))
    for number, shape in enumerate(outputs):
        static = (("call", call), ("output", number), ("terms", terms))
        nodes.append(Node(OPAQUE, arguments, static, tuple(shape)))
    return Program(tuple(nodes), tuple(inputs), tuple(range(count, count + len(outputs))))
