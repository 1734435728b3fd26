"""Error rules of products, running sums and rearrangements (Higham 2002, sections 3.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.oracle.frames import Constant, Frame, Real
from fuzz.oracle.primitives import taken


def scaled_product(x: Real, axis: tuple[int, ...], keepdims: bool) -> Real:
    """Product with significands and exponents apart: no partial product overflows or underflows."""
    kept = [a for a in range(x.ndim) if a not in axis]
    lines = np.transpose(x, (*kept, *axis)).reshape(*(x.shape[a] for a in kept), -1)
    if lines.shape[-1] == 0:
        lines = np.ones((*lines.shape[:-1], 1), x.dtype)
    significand, exponent = np.frexp(lines)
    exponent = exponent.astype(np.int64)
    while (n := significand.shape[-1]) > 1:
        half = n // 2
        product = significand[..., :half] * significand[..., half : 2 * half]
        shift = exponent[..., :half] + exponent[..., half : 2 * half]
        product, more = np.frexp(product)
        significand = np.concatenate([product, significand[..., 2 * half :]], -1)
        exponent = np.concatenate([shift + more, exponent[..., 2 * half :]], -1)
    result: Real = np.ldexp(significand[..., 0], np.clip(exponent[..., 0], -(2**20), 2**20).astype(np.int32))
    return np.expand_dims(result, axis) if keepdims else result


def prod(f: Frame) -> None:
    """Relative errors add: E = sum over i of E_i times the product of the others, plus n - 1 multiplications.

    The others' product is |z| / |x_i| with the zeros left out; a second zero makes it 0. A partial product can only
    underflow where the factors below 1 alone would: then every multiplication is charged the floor, blown up by all
    factors above 1.
    """
    (x,) = f.operands
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    magnitude = x.magnitude()
    zero = magnitude == 0
    factors = np.where(zero, 1.0, magnitude)
    least = np.prod(np.minimum(factors, 1.0), axis=axis, keepdims=keepdims)
    most = np.prod(np.maximum(factors, 1.0), axis=axis, keepdims=keepdims)
    # between these two lie all partial products in any order
    edge = np.finfo(f.value.dtype)
    product: Callable[..., Any] = np.prod
    if not (least.min(initial=1.0) > edge.tiny and most.max(initial=1.0) < edge.max):
        product = scaled_product
        least = scaled_product(np.minimum(factors, 1.0), axis, keepdims)
        most = scaled_product(np.maximum(factors, 1.0), axis, keepdims)
    np.copyto(f.value, product(x.value, axis=axis, keepdims=keepdims))
    others = product(factors, axis=axis, keepdims=keepdims) if zero.any() else f.magnitude()
    zeros = np.sum(zero, axis=axis, keepdims=keepdims)
    for key, part in x.parts.items():
        without = np.sum(part / factors, axis=axis, keepdims=keepdims)
        at_zero = np.sum(np.where(zero, part, 0.0), axis=axis, keepdims=keepdims)
        share = np.where(zeros == 0, without, np.where(zeros == 1, at_zero, 0.0))
        f.put(key, np.where(share == 0, 0.0, share * others))
    if not f.charges.rounding or n < 2:
        return
    f.put(n, f.magnitude())
    if floor := f.charges.underflow + f.charges.flush:
        # charges.underflow, half the smallest subnormal in units of u, is the smallest normal number
        may_underflow = (zeros == 0) & (least <= max(f.charges.underflow, f.charges.flush * f.charges.u))
        f.put(0, np.where(may_underflow, (n - 1) * floor * most, 0.0))


def count_nonzero(f: Frame) -> None:
    """A whole number below the unit roundoff's reciprocal: exact, whatever the operand's errors."""
    (x,) = f.operands
    np.copyto(f.value, np.count_nonzero(x.value, axis=f.static["axis"], keepdims=f.static["keepdims"]))


def prefix_classes(n: int) -> tuple[int, ...]:
    """Lengths under which the prefixes of n terms are charged: the next power of two, at most n.

    A key for every length would cost n buffers; charging all under n would make the bound of a short prefix sqrt(n/k)
    times too loose. The next power of two is at most sqrt(2) too loose, with log2 n buffers.
    """
    classes = [2**j for j in range(1, max(n - 1, 0).bit_length()) if 2**j < n]
    return (*classes, n) if n > 1 else ()


def cumsum(f: Frame) -> None:
    """Prefix k: a sum of its k terms, charged under its own length class."""
    (x,) = f.operands
    axis, n = f.static["axis"], f.static["length"]
    np.cumsum(x.value, axis=axis, out=f.value)
    for key, part in x.parts.items():
        f.put(key, np.cumsum(part, axis=axis))
    if not f.charges.rounding:
        return
    running = np.cumsum(x.magnitude(), axis=axis)
    if f.charges.flush:
        count = np.arange(1, n + 1).reshape(-1, *(1,) * (f.value.ndim - 1 - axis))
        small = np.cumsum(f.charges.subnormal(x.magnitude()), axis=axis)
        f.put(0, f.charges.flushed_sums(count, running, f.value, small))
    start = 1  # the first prefix is a copy
    for length in prefix_classes(n):
        here: tuple[Any, ...] = (slice(None),) * axis + (slice(start, length),)
        scratch = np.zeros_like(running)
        scratch[here] = running[here]
        f.put(length, scratch)
        start = length


def gather(f: Frame) -> None:
    """A copy of chosen elements: exact, each with its own error."""
    x, constant = f.operands
    positions, padded = f.static["positions"], f.static["padded"]
    np.copyto(f.value, taken(x.value, constant.value, positions=positions, padded=padded))
    if f.seeded():
        f.seed()
        return
    for key in f.parts:
        part, outside = x.parts.get(key, 0.0), constant.parts.get(key, 0.0)
        f.put(key, taken(part, outside, positions=positions, padded=padded))


def copies_seeds(f: Frame) -> bool:
    """Whether E of a gather is |z|: it copies elements of which that is true, and so it is of the padding, if any."""
    x, constant = f.operands
    if not x.seeded() or not isinstance(constant, Constant):
        return False
    return not f.static["padded"] or constant.total() == constant.magnitude()
