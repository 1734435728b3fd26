"""Error rules of functions whose first-order rule does not hold everywhere: periods, poles and jumps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.oracle.frames import Frame
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
