"""Logarithms of sums of exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from fuzz.operators.contracts import MATRIX, along_axis
from strategies.contract import Domain


def logsumexp(x: Any, *, axis: int) -> Any:
    """m + log1p(sum over the others of exp(x - m)), m = max x.

    log(sum exp(x - m)) loses the others where the maximum is 0 and they are small: the result is then about their sum
    (SciPy changed its own for this in 1.15). Elements equal to the maximum count 1 each, less the one that is m.
    """
    m = np.max(x, axis=axis, keepdims=True)
    distance = np.where(np.abs(m) < math.inf, x - m, -math.inf)  # inf - inf would be NaN: the limits are +-inf
    others = np.sum(np.where(x < m, np.exp(distance), 0.0), axis=axis, keepdims=True)
    ties = np.count_nonzero(x >= m, axis=axis, keepdims=True) - 1.0
    return np.sum(m + np.log1p(others + ties), axis=axis)  # of one term: drops the axis


def log_softmax(x: Any, *, axis: int) -> Any:
    """d - log(sum exp d), d = x - max x; a row with an infinite maximum is NaN by the formula.

    Not log1p of the others' sum: that would be better for an element that is 0 and the maximum, but the subtraction
    x - max x excuses the loss for every other maximum, and no library does it.
    """
    d = x - np.max(x, axis=axis, keepdims=True)
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


def logsumexp_gradient(x: Any, d_y: Any, *, axis: int) -> Any:
    """d_y softmax(x). With one infinity its own slope is 1, that of the others 0; with several there is none.

    Nor is there where all are -inf. The maximum that keeps exp from overflowing cancels: it is not differentiated.
    """
    m = np.max(x, axis=axis, keepdims=True)
    others = np.count_nonzero(x >= m, axis=axis, keepdims=True) - 1.0
    only = np.where(x >= m, 0.0, -math.inf)
    e = np.exp(np.where(m < math.inf, x - m, np.where(others, x - m, only)))
    return e / np.sum(e, axis=axis, keepdims=True) * np.expand_dims(d_y, axis)


def log_softmax_gradient(x: Any, d_y: Any, *, axis: int) -> Any:
    """d_y - softmax(x) sum d_y."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return d_y - e / np.sum(e, axis=axis, keepdims=True) * np.sum(d_y, axis=axis, keepdims=True)


OPERATORS = (
    Operator(
        along_axis(
            "logsumexp",
            "log(sum exp x) along an axis",
            15.0,
            nonfinite="limits: inf with an element inf, -inf where all are (scipy.special.logsumexp); NaN propagates",
        ),
        logsumexp,
        logsumexp_gradient,
    ),
    Operator(
        along_axis(
            "log_softmax",
            "log(exp(x) / sum exp x) along an axis",
            15.0,
            output=MATRIX,
            range_=Domain(high=0.0),
            nonfinite="IEEE 754-2019 by the formula: a slice with inf or NaN, or all -inf, is NaN",
        ),
        log_softmax,
        log_softmax_gradient,
    ),
)
