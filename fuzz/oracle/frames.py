"""Run-time state of the bound interpreter: one frame a node, with buffers that live as long as the program.

A frame holds the value z and its error bound in units of u, split as E = C + sum over n of h(n) R_n:
`parts[0]` is C and `parts[n]` is R_n. Splitting costs one pass and gives every accumulation model at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fuzz.oracle.models import Model
from fuzz.oracle.named import inexact, wide_constant
from fuzz.oracle.passes import absolute
from fuzz.oracle.primitives import PRIMITIVES, call_arguments
from fuzz.oracle.program import Node

Real: TypeAlias = NDArray[Any]


_COPIES = frozenset({"negative", "absolute", "maximum", "minimum", "where", "max", "min", "gather", "kink", "chosen"})
"""Primitives whose result is one of their operands, but for its sign."""


class Charges(Struct, frozen=True):
    """What each operation is charged, in units of u."""

    u: float
    underflow: float
    """Absolute error of gradual underflow divided by u: half the smallest subnormal / u."""
    flush: float
    """Absolute error of flushing to zero divided by u (smallest normal / u), or 0 when gradual underflow is assumed."""
    constants: Mapping[str, float]
    """Errors of elementary functions in u."""
    rounding: float = 1.0
    """1 charges every operation; 0 leaves conditioning only (seeds)."""
    updating: bool = False
    """Charges variances as if mean and sum of squares were updated term by term (Welford 1962)."""

    def flushed(self, magnitude: Any) -> Any:
        """The allowance for flushing a number of this magnitude: none for what cannot be rounded to a subnormal one.

        float16 numbers are rarely far above the smallest normal one, 6e-5: an allowance everywhere would excuse more.
        """
        return np.where(magnitude < 2.0 * self.u * self.flush, self.flush, 0.0)

    def flushed_sums(self, count: Any, total: Any, value: Any, small: Any) -> Any:
        """The allowance for flushing the partial sums of `count` terms, in any order.

        `total` is the sum of their magnitudes, `value` that of the terms: where both agree nothing cancels, and a
        partial sum is subnormal only if its terms are (`small` of them). Elsewhere each may be.
        """
        cancels = total * (1.0 - 4.0 * self.u) > np.abs(value)
        sums = np.where(cancels, np.maximum(np.subtract(count, 1), 0), small)
        return self.flush * sums

    def subnormal(self, magnitude: Any) -> Any:
        """Where a number is subnormal, or may be rounded to one."""
        return (magnitude > 0) & (magnitude < 2.0 * self.u * self.flush)

    def read_as_zero(self, magnitude: Any) -> Any:
        """The allowance for an input of this magnitude where it is subnormal; none for 0, which stays what it is.

        Kernels read a subnormal number as 0 or as the smallest normal one.
        """
        return np.where((magnitude > 0) & (magnitude < self.u * self.flush), self.flush, 0.0)


class Operand:
    """Anything a rule reads: a value with magnitude and error parts."""

    value: Any
    parts: dict[int, Any]

    def magnitude(self) -> Any:
        raise NotImplementedError

    def seeded(self) -> bool:
        """Whether E is |z| itself, as for an input."""
        return False

    def total(self, model: Model = Model.SQRT) -> Any:
        """E under `model`, not to be written to (0.0 for exact operands)."""
        terms = [part if n == 0 else model.h(n) * part for n, part in self.parts.items()]
        total: Any = functools.reduce(np.add, terms) if terms else 0.0
        return total


class Constant(Operand):
    """A number in the reference. One that the working precision cannot hold is charged its rounding."""

    def __init__(self, value: float, dtype: np.dtype[Any], wide: np.dtype[Any]) -> None:
        self.value = wide_constant(value, wide)
        held = float(dtype.type(value)) == value and not inexact(value)
        self.parts = {} if held else {0: abs(value)}

    def magnitude(self) -> float:
        return abs(float(self.value))


class Frame(Operand):
    """Buffers and error bookkeeping of one node."""

    def __init__(
        self, node: Node, operands: tuple[Operand, ...], keys: tuple[int, ...], wide: np.dtype[Any], charges: Charges
    ) -> None:
        self.node = node
        self.operands = operands
        self.static = dict(node.static)
        self.charges = charges
        self.value: Real = np.empty(node.shape, wide)
        self.parts: dict[int, Real] = {key: np.empty(node.shape, wide) for key in keys}
        self._magnitude: Real = np.empty(node.shape, wide)
        self._scratch: Real = np.empty(node.shape, wide)
        self._fresh: set[int] = set()
        self._has_magnitude = False
        self.products: Real | None = None
        """Of the magnitudes of the operands of a product."""
        self.patterns: Real | None = None
        """Of errors of a product that enters another one, see `chains`."""
        self.links = 1
        """Products of the longest chain that ends here."""

    @property
    def nbytes(self) -> int:
        """Of all buffers."""
        return self.value.nbytes * (3 + len(self.parts))

    def begin(self) -> None:
        """Forget the previous trial; the buffers stay."""
        self._fresh.clear()
        self._has_magnitude = False
        self.products = self.patterns = None

    def fresh(self) -> frozenset[int]:
        """Keys of the parts that this trial has put so far."""
        return frozenset(self._fresh)

    def magnitude(self) -> Real:
        """|z|, computed once a trial and shared by all rules that need it."""
        if not self._has_magnitude:
            absolute(self.value, out=self._magnitude)
            self._has_magnitude = True
        return self._magnitude

    def seeded(self) -> bool:
        return len(self.parts) == 1 and self.parts.get(0) is self._magnitude

    def share_seed(self) -> None:
        """E is |z|, as for an input: the magnitude buffer itself, so that nothing is computed twice."""
        self.parts = {0: self._magnitude}

    def seed(self) -> None:
        """Compute E of a frame that shares its seed."""
        self.magnitude()
        self._fresh.add(0)

    def reach(self, finite: bool = False) -> Real:
        """Largest magnitude on the way to z in any order of summation: a partial sum may overflow where z does not.

        `finite`: of the finite operands alone, whose overflow beside a given infinity may make NaN of it.
        """
        name = self.node.primitive
        terms = [operand.magnitude() for operand in self.operands]
        if finite:
            terms = [np.where(np.isfinite(term), term, 0.0) for term in terms]
        if name == "matmul":
            if self.products is not None and not finite:
                return self.products
            products: Real = np.matmul(*terms)
            return products
        if name == "cumsum":
            running: Real = np.cumsum(terms[0], axis=self.static["axis"])
            return running
        if name == "prod":
            above = np.maximum(terms[0], 1.0)
            grown: Real = np.prod(above, axis=self.static["axis"], keepdims=self.static["keepdims"])
            return grown
        if name not in ("sum", "mean", "var"):
            return self.magnitude()
        axis, keepdims = self.static["axis"], self.static["keepdims"]
        if not finite and self._sums_of_sums():
            inner = self.operands[0]
            terms[0] = inner.partial() if isinstance(inner, Frame) else terms[0]
        partial: Real = np.sum(terms[0], axis=axis, keepdims=keepdims)
        if name == "var":
            partial = np.maximum(partial, self.magnitude() * (self.static["length"] - self.static["ddof"]))
        return partial

    def _sums_of_sums(self) -> bool:
        """Whether the terms are sums themselves, charged as if all were added up at once (fuzz.oracle.reverse)."""
        shape = np.shape(self.operands[0].value)
        own = math.prod(shape[axis] for axis in self.static["axis"])
        return self.node.primitive == "sum" and int(self.static["length"]) > own

    def partial(self) -> Real:
        """Largest partial sum behind each element, of a sum or product of matrices or a rearrangement of one."""
        if self.node.primitive in ("sum", "matmul", "mean"):
            return self.reach()
        primitive = PRIMITIVES.get(self.node.primitive)
        if primitive is not None and primitive.kind in ("view", "gather") and isinstance(self.operands[0], Frame):
            source = self.operands[0].partial()
            rest = (0.0,) if primitive.kind == "gather" else ()
            moved: Real = primitive.function(source, *rest, **call_arguments(self.static))
            return moved
        return self.magnitude()

    def carry(self, operand: Operand, factor: Any = None) -> None:
        """Add |dz/doperand| * E_operand, elementwise with broadcasting; `factor` None is 1."""
        for key, part in operand.parts.items():
            target = self.parts[key]
            if key not in self._fresh:
                self._fresh.add(key)
                if factor is None:
                    np.copyto(target, part)
                else:
                    np.multiply(part, factor, out=target)
            elif factor is None:
                np.add(target, part, out=target)
            else:
                np.multiply(part, factor, out=self._scratch)
                np.add(target, self._scratch, out=target)

    def join(self, x: Operand, y: Operand) -> None:
        """E_x + E_y, elementwise with broadcasting: the first thing a sum or difference does."""
        for key, target in self.parts.items():
            if key in x.parts and key in y.parts:
                np.add(x.parts[key], y.parts[key], out=target)
            elif key in x.parts or key in y.parts:
                np.copyto(target, x.parts[key] if key in x.parts else y.parts[key])
            else:
                continue
            self._fresh.add(key)

    def put(self, key: int, part: Any) -> None:
        """Add `part` to C (key 0) or to R_n."""
        target = self.parts[key]
        if key in self._fresh:
            np.add(target, part, out=target)
        else:
            self._fresh.add(key)
            np.copyto(target, part)

    def raise_to(self, key: int, part: Any) -> None:
        """The larger of what is there and `part`."""
        target = self.parts[key]
        if key in self._fresh:
            np.maximum(target, part, out=target)
        else:
            self._fresh.add(key)
            np.copyto(target, part)

    def local(self, units: float = 1.0, underflows: bool = True, seeds: int = 0) -> None:
        """Charge this operation's own rounding: units * |z|, and the absolute error of underflow where it can occur.

        `seeds` counts the inputs whose own rounding changes the result by |z|, too.
        """
        units *= self.charges.rounding
        if share := units + seeds:
            if 0 not in self._fresh:
                self._fresh.add(0)
                np.multiply(self.magnitude(), share, out=self.parts[0])
            else:
                magnitude = self.magnitude()
                self.put(0, magnitude if share == 1.0 else np.multiply(magnitude, share, out=self._scratch))
        if self.charges.rounding and underflows and self.charges.underflow:
            # below the normal range the ulp is the smallest subnormal: `units` of half of it
            self.put(0, self.charges.underflow * max(1.0, units))

    def finish(self, careful: bool) -> None:
        """Parts nobody touched are zero; in careful mode a nonfinite value carries no error.

        Whatever the operation, a subnormal result may be flushed; copies and selections pass on what their operands are
        charged.
        """
        if self.charges.flush and self.charges.rounding and 0 in self.parts and self.node.primitive not in _COPIES:
            self.put(0, self.charges.flushed(self.magnitude()))
        for key, part in self.parts.items():
            if key not in self._fresh:
                part.fill(0.0)
            if careful:
                part[~np.isfinite(self.value)] = 0.0
