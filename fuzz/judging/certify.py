"""Check the oracle itself: a few elements of some trials once more, in arithmetic that encloses every error.

Every trial with a flagged element is among them, and so are the rungs of the ladder that its verdict rests on.

The truth claims an error of at most u_ref/u = 2^-11 of the bound it judges by (notes to `wide_dtype`). If Arb says
otherwise, the oracle is wrong and so may be every verdict: the campaign stops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xxhash
from msgspec import Struct

from fuzz.backends.base import Array
from fuzz.errors import InternalError
from fuzz.judging.adjudicate import UNDEFINED, is_screen, replaced
from fuzz.measure import Measurement
from fuzz.oracle.arithmetic import Arithmetic
from fuzz.oracle.element import evaluate
from fuzz.oracle.slices import slice_size
from fuzz.workbench import Bench, Rung
from strategies.sampling import stream

ONE_IN = 1000
"""One trial in so many is certified although nothing was flagged in it."""
WORST, RANDOM = 4, 4
"""Elements of each output: the largest rho of the target, and some at random, the same for all targets."""
TOLERATED = 0.01
"""Share of u E by which truth and Arb may differ: twenty times what the truth claims."""
WORK = 12_500
"""Scalar operations a trial may cost, at 2-5 us each: about 50 ms."""


def due(problem_id: str, seed: int, index: int) -> bool:
    """Whether a trial is certified although nothing was flagged: a hash of its name, so any worker says the same."""
    return xxhash.xxh3_64_intdigest(f"{problem_id} {seed} {index}".encode()) % ONE_IN == 0


class Exact(Struct, frozen=True):
    """One element in the arithmetic that certifies: its value there, and a bound of that value's own error."""

    value: Any
    radius: float


class Certifier:
    """Certifies the outputs of one trial. What several targets have in common is evaluated once."""

    def __init__(self, bench: Bench, arithmetic: Arithmetic, seed: int, index: int, targets: int) -> None:
        self._bench, self._arithmetic, self._targets = bench, arithmetic, targets
        self._draw = (bench.problem.draw_id, seed, index)
        self._drawn: dict[int, list[int]] = {}
        self._exact: dict[tuple[str, int, int], Exact | None] = {}

    def certify(self, rung: Rung, output: int, values: Array, measured: Measurement) -> tuple[int, Measurement]:
        """How many elements of `values` were checked, and the figures: a mere screen is replaced by what was found.

        0 where one element alone is too much work. Raises InternalError where truth and arithmetic contradict.
        """
        chosen = self._chosen(output, rung.yardsticks[output].rho) if measured.size else []
        if is_screen(rung):
            return replaced(self._bench, rung, output, values, measured, chosen, self._arithmetic)
        return sum(self._agrees(rung, output, at, self._evaluated(rung, output, at)) for at in chosen), measured

    def check(self, rung: Rung, output: int) -> int:
        """How many elements of a rung of the ladder were checked: the largest rho and one at random.

        Its inputs change from draw to draw: nothing is kept. Raises InternalError as `certify` does.
        """
        rho = rung.yardsticks[output].rho
        if not rho.size or is_screen(rung) or slice_size(self._bench.program, output) > WORK:
            return 0
        random = int(stream(*self._draw, f"certified rung {output}").integers(rho.size))
        chosen = dict.fromkeys((int(rho.argmax()), random))
        return sum(self._agrees(rung, output, at, self._evaluate(rung, output, at)) for at in chosen)

    def _chosen(self, output: int, rho: Any) -> list[int]:
        """Positions, the worst first; fewer where the elements are long reductions."""
        cost = slice_size(self._bench.program, output)
        if cost > WORK:
            return []
        if output not in self._drawn:
            random = stream(*self._draw, f"certified {output}")
            self._drawn[output] = [int(i) for i in random.integers(rho.size, size=RANDOM)]
        first, *others = _largest(rho, WORST)
        chosen = list(dict.fromkeys([first, *self._drawn[output], *others]))
        share = WORK // (cost * self._targets * len(self._bench.output_shapes))
        return chosen[:share] if share else self._drawn[output][:1]

    def _agrees(self, rung: Rung, output: int, position: int, exact: Exact | None) -> bool:
        """Whether the truth is confirmed at an element; False where one of both is not finite or not known."""
        yardstick, a = rung.yardsticks[output], self._arithmetic
        value, bound = yardstick.value[position], float(yardstick.bound[position])
        if exact is None or not (np.isfinite(value) and math.isfinite(bound)):
            return False
        allowed = a.apply("multiply", a.number(TOLERATED * bound), a.number(yardstick.u))
        if a.less(allowed, a.number(exact.radius)):
            return False
        truth = _number(a, value)
        gap = a.apply("absolute", a.apply("subtract", truth, exact.value))
        if not a.less(allowed, gap) or self._undefined(rung, output, position):
            return True
        raise InternalError(
            f"element {position} of output {self._bench.contract.outputs[output].name} of "
            f"{self._bench.problem.operator} in {rung.dtype}: the oracle's truth is {a.text(truth, 20)} "
            f"({rung.bound.known_by}), {a.name} gives {a.text(exact.value, 20)}; they may differ by "
            f"{a.text(allowed, 3)} (1 % of u E): the oracle is wrong, please report it with this trial"
        )

    def _undefined(self, rung: Rung, output: int, position: int) -> bool:
        """Whether the formula overflows on the way: such elements are explained, whatever their value."""
        assert rung.truth is not None
        return bool(rung.truth.overflow(output).reshape(-1)[position])

    def _evaluated(self, rung: Rung, output: int, position: int) -> Exact | None:
        key = (rung.dtype, output, position)
        if key not in self._exact:
            self._exact[key] = self._evaluate(rung, output, position)
        return self._exact[key]

    def _evaluate(self, rung: Rung, output: int, position: int) -> Exact | None:
        at = tuple(int(i) for i in np.unravel_index(position, self._bench.output_shapes[output]))
        try:
            value = evaluate(self._bench.program, output, at, rung.inputs(), self._arithmetic).value
            rounded, radius = self._arithmetic.rounded(value), self._arithmetic.radius(value)
        except UNDEFINED:
            return None
        return Exact(value, radius) if math.isfinite(rounded) and math.isfinite(radius) else None


def _largest(values: Array, count: int) -> list[int]:
    """Positions of the largest values, the largest first: a pass each is cheaper than sorting."""
    left = values.copy()
    found: list[int] = []
    for _ in range(min(count, values.size)):
        found.append(int(left.argmax()))
        left[found[-1]] = -1.0
    return found


def _number(a: Arithmetic, value: Any) -> Any:
    """A float64 or longdouble number exactly: mantissa in two parts, as the lower one of a small number underflows."""
    mantissa, exponent = np.frexp(value)
    high = float(mantissa)
    number = a.apply("add", a.number(high), a.number(float(mantissa - type(mantissa)(high))))
    for power in (int(exponent) // 2, int(exponent) - int(exponent) // 2):
        number = a.apply("multiply", number, a.number(math.ldexp(1.0, power)))
    return number
