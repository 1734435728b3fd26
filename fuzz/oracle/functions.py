"""Error rules of functions whose first-order rule does not hold everywhere: periods, poles, jumps and kinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.oracle.frames import Constant, Frame, Operand
from fuzz.oracle.kinks import chosen, kinked
from fuzz.oracle.loggamma import digamma, loggamma


def wave(function: np.ufunc, slope: np.ufunc) -> Callable[[Frame], None]:
    """z = sin x or cos x, for any error d of x, even one longer than the period, by the addition theorem:
    |f(x + d) - f(x)| <= |f'(x)| min(d, 1) + |f(x)| min(d^2/2, 2)."""

    def rule(f: Frame) -> None:
        (x,) = f.operands
        function(x.value, out=f.value)
        d = f.charges.u * np.asarray(x.total(), f.value.dtype)
        f.carry(x, np.absolute(slope(x.value)) * np.minimum(1.0, 1.0 / d))
        f.put(0, f.magnitude() * np.minimum(d * d / 2.0, 2.0) / f.charges.u)
        f.local(f.charges.constants[function.__name__])

    return rule


def gammaln(f: Frame) -> None:
    """z = log |Gamma(x)|. At a root the error of x alone remains, at a pole the first order is void."""
    (x,) = f.operands
    loggamma(x.value, out=f.value)
    f.carry(x, np.absolute(digamma(x.value)))
    f.local(f.charges.constants["gammaln"])


def sign(f: Frame) -> None:
    """Exact, but for the jump: where x may be 0 within its error, either side and 0 are right."""
    (x,) = f.operands
    np.sign(x.value, out=f.value)
    error = np.asarray(x.total(), f.value.dtype)
    f.put(0, np.where((error > 0) & (x.magnitude() <= f.charges.u * error), 2.0 / f.charges.u, 0.0))
    f.local()  # a wrong sign then has rho 1/u, not infinity: its growth with precision can be seen


def kink(f: Frame) -> None:
    """E of the side taken; where x may equal `at` within its error, of both, and half of what lies between them."""
    x, at, below, above = f.operands
    np.copyto(f.value, kinked(x.value, at.value, below.value, above.value))
    may_tie = np.abs(np.subtract(x.value, at.value)) <= f.charges.u * (_rounding(x) + _rounding(at))
    may_tie |= np.equal(x.value, at.value)  # infinities
    over = np.greater(x.value, at.value)
    for operand, may in ((above, over | may_tie), (below, ~over | may_tie)):
        for key, part in operand.parts.items():
            f.raise_to(key, np.where(may, part, 0.0))
    distance = np.maximum(np.abs(above.value - f.value), np.abs(below.value - f.value))
    f.put(0, np.where(may_tie, distance / f.charges.u, 0.0))


def choice(f: Frame) -> None:
    """E of what is passed on; where several may be the largest within their errors, each may get all or nothing."""
    x, g = f.operands
    axis, largest = f.static["axis"], f.static["largest"]
    np.copyto(f.value, chosen(x.value, g.value, axis=axis, largest=largest))
    if not np.size(x.value):
        return
    extreme = (np.max if largest else np.min)(x.value, axis=axis, keepdims=True)
    error = np.broadcast_to(_rounding(x), np.shape(x.value))
    at_extreme = np.max(np.where(x.value == extreme, error, 0.0), axis=axis, keepdims=True)
    near = np.abs(x.value - extreme) <= f.charges.u * (error + at_extreme)
    near |= x.value == extreme
    tied = near & (np.count_nonzero(near, axis=axis, keepdims=True) > 1)
    for key, part in g.parts.items():
        f.put(key, np.where(near, part, 0.0))
    distance = np.maximum(np.abs(g.value - f.value), np.abs(f.value))
    f.put(0, np.where(tied, distance / f.charges.u, 0.0))


def _rounding(operand: Operand) -> Any:
    """E of what is compared. A number that was given is compared exactly: no error of its own may move it to a kink."""
    if isinstance(operand, Constant) or not operand.seeded():
        return operand.total()
    return 0.0
