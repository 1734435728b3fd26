"""Operands whose exact result lies next to a rounding midpoint: the hard cases of sqrt, division and reciprocal.

A midpoint of a format with p digits is an odd integer z of p + 1 bits, times a power of two. Significands here are
integers of p bits. All steps are integer arithmetic; products that pass 64 bits are split.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_HALF = 27
"""Bits of the lower part of a split factor: 2**27 * 2**27 = 2**54, the least divisor met where splitting is needed."""
_CONSTRUCTED_BEYOND = 12
"""Digits up to which all significands are tried for reciprocals."""
_NEAREST = 256
"""Significands kept for reciprocals, at most one in sixteen of all."""
_NEXT = 1 / 8
"""What counts as next to an odd integer: 1/16 ulp of the format."""


@functools.cache
def roots(digits: int, k: int) -> tuple[Integers, Integers]:
    """(X, s): sqrt(X * 2**s) is an odd z of digits + 1 bits, halved, but for |8j + 1| / (4 z), j = -k, ..., k.

    z*z = X * 2**(s+2) + 8j + 1: every r = 1 modulo 8 has square roots modulo 2**m, lifted here bit by bit (Hensel),
    as in the search for the worst cases of sqrt (Muller et al., Handbook of Floating-Point Arithmetic, ch. 4).
    """
    found: list[Integers] = []
    for s in (digits - 1, digits):
        m = s + 2
        r = 8 * np.arange(-k, k + 1, dtype=np.int64) + 1
        z = np.ones_like(r)
        for bit in range(3, m):
            with np.errstate(over="ignore"):
                wrong = ((z * z - r) >> bit) & 1  # modulo 2**64 is enough for the bits below it
            z += wrong << (bit - 1)
        for root in (z, -z, z + 2 ** (m - 1), 2 ** (m - 1) - z):
            inside = root % 2**m
            kept = (inside >= 2**digits) & (inside < 2 ** (digits + 1))
            x = _divided(inside[kept], inside[kept], -r[kept], m)
            # sqrt of an X below 2**(digits-1) has fewer bits, and X of more digits is no number
            fits = (x >= 2 ** (digits - 1)) & (x < 2**digits)
            found.append(np.stack([x[fits], np.full(int(fits.sum()), s)]))
    pairs = np.unique(np.concatenate(found, axis=1), axis=1)
    return pairs[0], pairs[1]


@functools.cache
def reciprocals(digits: int) -> Integers:
    """Significands X whose 1/X lies next to a midpoint, the nearest first.

    For long formats they are built: X = (2**(p-1+t) - a) / c, c odd of t bits, a = 4**(t-1) * b, b odd. The series
    of 2**(2p) / X is then c * 2**(p+1-t) + c*b + c*b*b * 2**(t-1-p) + ..., an odd integer and a small rest.
    """
    if digits <= _CONSTRUCTED_BEYOND:
        candidates = set(range(2 ** (digits - 1) + 1, 2**digits))
    else:
        candidates = set()
        for t in range(1, 7):
            for c in range(2 ** (t - 1) | 1, 2**t, 2):
                for b in range(-99, 100, 2):
                    x, rest = divmod(2 ** (digits - 1 + t) - 4 ** (t - 1) * b, c)
                    if rest == 0 and 2 ** (digits - 1) < x < 2**digits:
                        candidates.add(x)
    nearest = sorted((distance, x) for x in candidates if (distance := _from_midpoint(x, digits)) <= _NEXT)
    return np.array([x for _, x in nearest[: min(_NEAREST, 2 ** (digits - 1) // 16)]], np.int64)


def quotients(y: Integers, r: Integers, digits: int) -> Integers:
    """x with x / y next to a midpoint, for odd y of `digits` bits and odd r: 2**(digits+1) x = y z +- r, z odd of
    digits + 1 bits. z is -+r / y modulo 2**(digits+1); of both signs one gives z its leading bit."""
    m = digits + 1
    with np.errstate(over="ignore"):
        inverse = y.copy()  # y * y = 1 modulo 8: three bits are right, and Newton's step doubles them
        for _ in range(5):
            inverse *= 2 - y * inverse
        z = (-r * inverse) & (2**m - 1)
    other = z < 2**digits
    z = np.where(other, 2**m - z, z)
    return _divided(y, z, np.where(other, -r, r), m)


def _divided(y: Integers, z: Integers, r: Integers, m: int) -> Integers:
    """(y z + r) / 2**m, an integer; y and z below 2**54, m >= 54 where y z may pass 2**62."""
    if 2 * m <= 62:
        short: Integers = (y * z + r) >> m
        return short
    yh, yl, zh, zl = y >> _HALF, y & (2**_HALF - 1), z >> _HALF, z & (2**_HALF - 1)
    low = yh * zl + yl * zh + ((yl * zl + r) >> _HALF)  # what is shifted out is zero: 2**m divides the sum
    quotient: Integers = (yh * zh + (low >> _HALF)) >> (m - 2 * _HALF)
    return quotient


def _from_midpoint(x: int, digits: int) -> float:
    """Distance of 2**(2 digits) / x from the next odd integer."""
    whole, rest = divmod(2 ** (2 * digits), x)
    return float((rest if whole % 2 else x - rest) / x)
