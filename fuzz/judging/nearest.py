"""The numbers of a 16-bit format or float32 nearest to the truth, decided with Arb where float64 is too close to call.

The truth v is known to some units in the last place of float64. It decides which number of the narrower format is
nearest unless v lies that close to the middle between two of them (the table maker's dilemma). There the element is
evaluated in ball arithmetic, which decides if the ball lies on one side; an exact tie goes to the even number.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from fuzz.backends.base import Array
from fuzz.judging.adjudicate import UNDEFINED
from fuzz.oracle.arithmetic import Arithmetic
from fuzz.oracle.element import evaluate
from fuzz.workbench import Bench, Rung
from strategies.precision import Precision

MARGINS = (2.0**14, 2.0**24)
"""Distance from a middle, in ulp of float64, within which float64 is not believed. The truth of functions of one number
errs by 2 ulp at most (at 400 numbers in each of 24 blocks of every unary operator). Elements within the margin, and
some others, are compared with their exact values: where one is further than a quarter of the margin, the next margin is
taken, and after the last one nothing but exact values counts. In float32 (one ulp is 2^29 ulp of float64) the first
margin sends one element in 2^14 to Arb."""
BELIEVED = 0.25
SAMPLED = 8
"""Elements evaluated exactly although they are far from a middle."""
MOST = 2**16
"""Elements evaluated exactly a trial, at some 30 us each; others near a middle stay undecided. gelu(x), near x/2, has a
middle at every other subnormal number: half of a block of an exhaustive plan."""


class Nearest(Struct, frozen=True):
    """What a correctly rounded implementation would return for one output of a draw."""

    values: Array
    """Flat, of the dtype of the target; NaN where the truth is."""
    undecided: list[int]
    """Flat positions where neither float64 nor ball arithmetic tells."""

    def rounded(self, output: Array) -> int:
        """How many elements of `output` are the nearest number. Zeros of either sign are one value, undecided elements
        do not count."""
        flat = output.reshape(-1)
        same = (flat == self.values) | (np.isnan(flat) & np.isnan(self.values))
        same[self.undecided] = False
        return int(np.count_nonzero(same))


def nearest(bench: Bench, rung: Rung, output: int, arithmetic: Arithmetic | None) -> Nearest:
    """The nearest numbers of the rung's dtype, whose truth is in float64. Without `arithmetic` all elements close to a
    middle are undecided."""
    p, v = rung.yardsticks[output].precision, rung.yardsticks[output].value
    values, grid = rung.yardsticks[output].rounded().copy(), _Grid(v, p)
    if arithmetic is None:
        return Nearest(values, grid.near(MARGINS[0]))
    furthest = max((_decide(bench, rung, output, i, grid, arithmetic)[1] for i in grid.sample()), default=0.0)
    undecided: list[int] = []
    seen: set[int] = set()
    for margin in MARGINS:
        new = [i for i in grid.near(margin) if i not in seen]
        seen.update(new)
        undecided += new[MOST:]
        for position in new[:MOST]:
            number, distance = _decide(bench, rung, output, position, grid, arithmetic)
            furthest = max(furthest, distance)
            if number is None:
                undecided.append(position)
            else:
                with np.errstate(over="ignore"):
                    values[position] = number
        if furthest <= BELIEVED * margin:
            return Nearest(values, sorted(undecided))
    decided = seen.difference(undecided)
    return Nearest(values, [i for i in range(len(values)) if i not in decided])


class _Grid:
    """Where float64 values lie between the numbers of a narrower format: |v| in units in its last place there, split
    into whole and fraction. All exact: a scaling by powers of two."""

    def __init__(self, v: Array, p: Precision) -> None:
        self.v, self.p = v, p

    def near(self, margin: float) -> list[int]:
        """Positions of the elements closer than `margin` ulp of float64 to a middle between two numbers."""
        candidates = np.flatnonzero(self._perhaps_near(int(margin)))
        with np.errstate(invalid="ignore"):  # infinities
            _, place = self._places(self.v[candidates])
            distance = np.abs(place - np.floor(place) - 0.5)
            found: list[int] = candidates[distance <= place * (margin * 2.0**-52)].tolist()
        return found

    def _perhaps_near(self, margin: int) -> Array:
        """Marks all elements near a middle, and some others: one pass over the bits where splitting takes a dozen.

        The bits of a float64 number beyond the digits of the format, read as an integer, are its distance from the
        number below; a margin is twice as many ulp at most as |v| has in its binade. Where the format has fewer digits,
        below its smallest normal number, they say nothing.
        """
        cut = 53 - self.p.digits
        bits = self.v.view(np.int64) & (2**cut - 1)
        bits -= 2 ** (cut - 1)
        marked: Array = np.abs(bits, out=bits) <= 2 * margin
        with np.errstate(invalid="ignore"):
            size = np.abs(self.v)
            if not size.min(initial=np.inf) >= self.p.smallest_normal:
                marked |= size < self.p.smallest_normal
        return marked

    def _places(self, v: Array) -> tuple[Array, Array]:
        """Exponents e of the ulp 2^e, and |v| in ulp."""
        _, exponent = np.frexp(v)
        exponent = np.maximum(exponent, self.p.minimum_exponent + 1) - self.p.digits
        return exponent, np.ldexp(np.abs(v), -exponent)

    def whole(self, position: int) -> float:
        """|v| rounded down to a whole number of ulp, in ulp."""
        return float(np.floor(self._places(self.v[position : position + 1])[1][0]))

    def sample(self) -> list[int]:
        """A few positions spread over the array, those of finite numbers that are not 0."""
        spread = np.linspace(0, max(0, self.v.size - 1), SAMPLED).astype(np.intp)[: self.v.size]
        found: list[int] = spread[np.isfinite(self.v[spread]) & (self.v[spread] != 0)].tolist()
        return found

    def number(self, position: int, halves: int) -> float:
        """|v| rounded down to a whole number of ulp, and so many half ulp more; signed as v."""
        exponent, place = self._places(self.v[position : position + 1])
        size = math.ldexp(2 * float(np.floor(place[0])) + halves, int(exponent[0]) - 1)
        return math.copysign(size, float(self.v[position]))


def _decide(
    bench: Bench, rung: Rung, output: int, position: int, grid: _Grid, a: Arithmetic
) -> tuple[float | None, float]:
    """The number nearest to the exact value of an element (None: undecided), and how far the truth is from that value
    in ulp of float64."""
    at = tuple(int(i) for i in np.unravel_index(position, bench.output_shapes[output]))
    try:
        exact = evaluate(bench.program, output, at, rung.inputs(), a).value
        middle = a.number(grid.number(position, 1))
        beyond = a.apply("subtract", exact, middle)
        distance = abs(a.rounded(a.apply("subtract", exact, a.number(float(grid.v[position])))))
        radius = max(a.radius(beyond), a.radius(exact))
    except UNDEFINED:
        return None, 0.0
    if not math.isfinite(radius):
        return None, 0.0
    far = distance / math.ulp(float(grid.v[position]))
    zero = a.number(0.0)
    if radius == 0 and not a.less(beyond, zero) and not a.less(zero, beyond):
        halves = 0 if grid.whole(position) % 2 == 0 else 2
    elif abs(a.rounded(beyond)) > radius:
        halves = 2 if a.less(zero, beyond) == (grid.v[position] > 0) else 0
    else:
        return None, far
    return grid.number(position, halves), far
