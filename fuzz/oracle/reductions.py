"""First-order error rules of sums and of what is made of them, of extremes, and of products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.oracle.chains import carry, magnitudes, of_products
from fuzz.oracle.frames import Frame, Operand, Real
from fuzz.oracle.passes import only

_SPARSE = 16
"""Picking elements out of an array pays where at most one in so many is wanted."""


def sum(f: Frame) -> None:
    (x,) = f.operands
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    np.sum(x.value, axis=axis, keepdims=keepdims, out=f.value)
    for key, part in x.parts.items():
        f.put(key, np.sum(part, axis=axis, keepdims=keepdims))
    if n > 1 and f.charges.rounding:
        f.put(n, np.sum(x.magnitude(), axis=axis, keepdims=keepdims))
    _flushed_sums(f, x)


def _flushed_sums(f: Frame, x: Operand, scale: float = 1.0) -> None:
    """The flush allowance for the partial sums of x, times `scale`."""
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    if not (f.charges.flush and f.charges.rounding and n > 1):
        return
    magnitude = x.magnitude()
    total = np.sum(magnitude, axis=axis, keepdims=keepdims)
    small = np.count_nonzero(f.charges.subnormal(magnitude), axis=axis, keepdims=keepdims)
    f.put(0, scale * f.charges.flushed_sums(n, total, f.value / scale, small))


def mean(f: Frame) -> None:
    (x,) = f.operands
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    np.mean(x.value, axis=axis, keepdims=keepdims, out=f.value)
    for key, part in x.parts.items():
        f.put(key, np.mean(part, axis=axis, keepdims=keepdims))
    if n > 1 and f.charges.rounding:
        f.put(n, np.mean(x.magnitude(), axis=axis, keepdims=keepdims))
    if n > 1:
        _flushed_sums(f, x, 1.0 / n)
    f.local()


def var(f: Frame) -> None:
    """Two-pass variance. d var/d mean is exactly 0, so the error of the mean enters only squared.

    Without this rule the bound would be 1e4 times too loose on data with a large mean, and a one-pass variance could
    hide in it. The square of E_mean = C + sum h R is bounded by J (C^2 + sum h^2 R^2), J its number of terms; the term
    h(n)^2 is carried under the key n*n.
    """
    (x,) = f.operands
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    rounding = f.charges.rounding
    mean = np.mean(x.value, axis=axis, keepdims=True)
    centred = x.value - mean
    distance = np.abs(centred)
    squares = centred * centred
    divisor = n - f.static["ddof"]
    scale = f.value.dtype.type(1.0) / divisor if divisor else math.inf  # Python's 1/3 has the digits of float64 only

    def total(values: Any) -> Any:
        return scale * np.sum(values, axis=axis, keepdims=keepdims)

    np.copyto(f.value, total(squares))
    # seeds of x, one rounding of x - mean, one of the square, and the sum
    for key, part in x.parts.items():
        f.put(key, total(2.0 * distance * part))
    if rounding:
        f.put(0, total(3.0 * squares))
        if n > 1:
            f.put(n, total(squares))
        if f.charges.flush:
            f.put(0, total(f.charges.flushed(squares)))
        if n > 1 and f.charges.updating:
            # |error| <= n u kappa var, kappa = sqrt(mean x^2 / var): Chan, Golub and LeVeque, Am. Stat. 37 (1983) 242
            f.put(n, np.sqrt(np.mean(np.square(x.value), axis=axis, keepdims=keepdims)) * np.sqrt(f.value))
    magnitude_mean = np.mean(x.magnitude(), axis=axis, keepdims=keepdims)
    mean_parts = {key: np.mean(part, axis=axis, keepdims=keepdims) for key, part in x.parts.items()}
    if rounding:
        mean_parts[0] = mean_parts.get(0, 0.0) + np.abs(np.mean(x.value, axis=axis, keepdims=keepdims))
        if n > 1:
            mean_parts[n] = mean_parts.get(n, 0.0) + magnitude_mean
    for key, part in mean_parts.items():
        f.put(key * key, len(mean_parts) * n * scale * f.charges.u * np.square(part))
    f.local()


def extreme(reduce: Callable[..., Any], least: float) -> Callable[[Frame], None]:
    """Reduction by max or min: the largest E among the elements that may be the extreme one within their errors."""

    def rule(f: Frame) -> None:
        (x,) = f.operands
        axis = f.static["axis"]
        kept = reduce(x.value, axis=axis, keepdims=True, initial=least)  # an empty axis only occurs in empty outputs
        np.copyto(f.value, kept.reshape(f.value.shape))
        if not x.parts:
            return
        near = _near(f, kept, least)
        if near is None:
            candidates = np.abs(x.value - kept) <= (2.0 * f.charges.u) * x.total()
            for key, part in x.parts.items():
                f.put(key, np.max(only(part, candidates), axis=axis, initial=0.0).reshape(f.value.shape))
            return
        line = tuple(np.zeros_like(index) if a in axis else index for a, index in enumerate(near))
        candidates = np.abs(x.value[near] - kept[line]) <= (2.0 * f.charges.u) * x.total()[near]
        for key, part in x.parts.items():
            largest = np.zeros_like(kept)
            np.maximum.at(largest, line, np.where(candidates, part[near], 0.0))
            f.put(key, largest.reshape(f.value.shape))

    return rule


def _near(f: Frame, kept: Real, least: float) -> tuple[Any, ...] | None:
    """Indices of all elements that may be the extreme one, and of some more; None where they are too many to pick."""
    (x,) = f.operands
    if kept.size * _SPARSE > x.value.size:
        return None
    # 3 u instead of 2 u: whatever is rounded here, none is left out
    distance = (3.0 * f.charges.u) * np.max(x.total(), axis=f.static["axis"], keepdims=True, initial=0.0)
    edge = kept + math.copysign(1.0, least) * distance
    if not np.isfinite(edge).all():
        return None
    near = x.value >= edge if least < 0 else x.value <= edge
    if np.count_nonzero(near) * _SPARSE > near.size:
        return None
    return np.unravel_index(np.flatnonzero(near), near.shape)  # ten times as fast as np.nonzero with two axes


def matmul(f: Frame) -> None:
    a, b = f.operands
    k = f.static["length"]
    np.matmul(a.value, b.value, out=f.value)
    ma, mb = a.magnitude(), b.magnitude()
    product = f.products = magnitudes(f)
    if not of_products(a):
        for key, part in a.parts.items():
            f.put(key, product if part is ma else np.matmul(part, mb))
    if not of_products(b):
        for key, part in b.parts.items():
            f.put(key, product if part is mb else np.matmul(ma, part))
    if f.charges.rounding:
        f.put(k if k > 1 else 0, product)
        if f.charges.underflow:
            f.put(0, max(k, 1) * f.charges.underflow)  # every product may underflow
        if f.charges.flush:
            small = np.zeros_like(f.value)
            for i in range(k):
                term = ma[..., :, i, None] * mb[..., None, i, :]
                f.put(0, f.charges.flushed(term))
                small += f.charges.subnormal(term)
            f.put(0, f.charges.flushed_sums(k, product, f.value, small))
    carry(f)
