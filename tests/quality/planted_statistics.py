"""Faults planted in normalisations, reductions along an axis and logarithms of sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from planted_defects import rounded_to
from planted_faults import FOUR, NORMAL, SIXTEEN, WITH_SPECIAL, changed, planted, rounded_inside, scaled

from fuzz.backends.base import Array

OFFSET = {"x": "offset(1000,1)"}
ROWS = {"rows": 6, "n": 100}
MANY_ROWS = {"rows": 256, "n": 8}
SHORT_ROWS = {"rows": 32, "n": 8}
TRAINING = {"N": 2, "C": 4, "H": 5, "W": 5}
GROUPS = {"N": 2, "G": 3, "D": 4, "L": 16}
IMAGE = {"N": 2, "C": 4, "H": 6, "W": 6}


def moments(x: Array, axis: Any, ddof: int = 0, one_pass: bool = False) -> tuple[Array, Array]:
    mean = x.mean(axis, keepdims=True)
    if one_pass:
        return mean, np.maximum((x * x).mean(axis, keepdims=True) - mean * mean, 0)
    return mean, x.var(axis, keepdims=True, ddof=ddof)


def normalised(x: Array, axis: Any, eps: float, outside: bool, **how: Any) -> Array:
    mean, var = moments(x, axis, **how)
    eps = x.dtype.type(eps)
    return (x - mean) / (np.sqrt(var) + eps if outside else np.sqrt(var + eps))


def group_norm(x: Array, gamma: Array, beta: Array, *, eps: float, outside: bool = False, **how: Any) -> Array:
    return normalised(x, (2, 3), eps, outside, **how) * gamma[..., None] + beta[..., None]


def instance_norm(x: Array, gamma: Array, beta: Array, *, eps: float, outside: bool = False, **how: Any) -> Array:
    return normalised(x, (2, 3), eps, outside, **how) * gamma[:, None, None] + beta[:, None, None]


def instance_norm_over_the_image(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    return normalised(x, (1, 2, 3), eps, False) * gamma[:, None, None] + beta[:, None, None]


def rms_norm(x: Array, gamma: Array, *, eps: float, outside: bool = False, less: int = 0) -> Array:
    mean = (x * x).sum(-1, keepdims=True) / x.dtype.type(x.shape[-1] - less)
    eps = x.dtype.type(eps)
    return x / (np.sqrt(mean) + eps if outside else np.sqrt(mean + eps)) * gamma


def training(x: Array, gamma: Array, beta: Array, *, eps: float, used: int = 0, shown: int = 0,
             one_pass: bool = False) -> tuple[Array, Array, Array]:  # fmt: skip
    """`used` and `shown` are the ddof of the variance that divides and of the one returned."""
    axis = (0, 2, 3)
    mean, var = moments(x, axis, used, one_pass)
    y = (x - mean) / np.sqrt(var + x.dtype.type(eps)) * gamma[:, None, None] + beta[:, None, None]
    return y, mean.reshape(-1), x.var(axis, ddof=shown)


def training_swapped(x: Array, gamma: Array, beta: Array, *, eps: float) -> tuple[Array, Array, Array]:
    y, mean, var = training(x, gamma, beta, eps=eps)
    return y, var, mean


def mean(x: Array, *, axis: int, less: int = 0) -> Array:
    return x.sum(axis) / x.dtype.type(x.shape[axis] - less)


def var(x: Array, *, axis: int, ddof: int, one_pass: bool = False) -> Array:
    if one_pass:
        return moments(x, axis, one_pass=True)[1].squeeze(axis)
    return x.var(axis, ddof=ddof)


def std(x: Array, *, axis: int, ddof: int, one_pass: bool = False) -> Array:
    return np.sqrt(var(x, axis=axis, ddof=ddof, one_pass=one_pass))


def prod_in_float16(x: Array, *, axis: int) -> Array:
    return x.astype(np.float16).prod(axis).astype(x.dtype) if x.dtype == np.float32 else x.prod(axis)


def prod_by_logarithms(x: Array, *, axis: int) -> Array:
    return np.exp(np.log(x).sum(axis))


def norm(x: Array, *, axis: int, ord: float) -> Array:
    return np.linalg.norm(x, axis=axis, ord=ord)


def norm_without_root(x: Array, *, axis: int, ord: float) -> Array:
    return (x * x).sum(axis)


def norm_in_float16(x: Array, *, axis: int, ord: float) -> Array:
    half = x.astype(np.float16)
    return np.sqrt((half * half).sum(axis)).astype(x.dtype)


def norm_without_scaling(x: Array, *, axis: int, ord: float) -> Array:
    return np.sqrt((x * x).sum(axis))


def cumsum_exclusive(x: Array, *, axis: int) -> Array:
    return np.cumsum(x, axis) - x


def cumsum_by_blocks(x: Array, *, axis: int) -> Array:
    """Forgets to carry the sum of the first 64 elements."""
    y = np.moveaxis(np.cumsum(x, axis), axis, 0)
    y[64:] -= y[63]
    return np.moveaxis(y, 0, axis)


def cumsum_in_bfloat16(x: Array, *, axis: int) -> Array:
    rows = np.moveaxis(x, axis, 0)
    y, total = np.empty_like(rows), np.zeros_like(rows[0])
    for number, row in enumerate(rows):
        total = rounded_to(8, total + row)
        y[number] = total
    return np.moveaxis(y, 0, axis)


def logsumexp_without_maximum(x: Array, *, axis: int) -> Array:
    return np.log(np.exp(x).sum(axis))


def log_of_softmax(x: Array, *, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return np.log(e / e.sum(axis, keepdims=True))


def log_softmax_without_maximum(x: Array, *, axis: int) -> Array:
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def log_softmax_in_base_2(x: Array, *, axis: int) -> Array:
    d = x - x.max(axis, keepdims=True)
    return d - np.log2(np.exp(d).sum(axis, keepdims=True))


def last_maximum(x: Array, *, axis: int) -> Array:
    """The value at the last of equal maxima: any of them is right."""
    at = x.shape[axis] - 1 - np.flip(x, axis).argmax(axis)
    return np.take_along_axis(x, np.expand_dims(at, axis), axis).squeeze(axis)


def second_largest(x: Array, *, axis: int) -> Array:
    return np.take(np.sort(x, axis), -2, axis)


def maximum_ignoring_nan(x: Array, *, axis: int) -> Array:
    return np.fmax.reduce(x, axis)


def maximum_from_zero(x: Array, *, axis: int) -> Array:
    return x.max(axis, initial=0)


def maximum_without_last(x: Array, *, axis: int) -> Array:
    return x[:, :-1].max(axis)


FAULTS = (
    *planted("group_norm", "eps_1e6", changed(group_norm, eps=1e-6), NORMAL, "wrong", GROUPS),
    *planted("group_norm", "eps_outside_root", changed(group_norm, outside=True), NORMAL, "wrong", GROUPS),
    *planted("group_norm", "one_pass", changed(group_norm, one_pass=True), OFFSET, "unstable", GROUPS),
    *planted("group_norm", "ddof", changed(group_norm, ddof=1), NORMAL, "wrong", GROUPS),
    *planted("instance_norm", "eps_outside_root", changed(instance_norm, outside=True), NORMAL, "wrong", IMAGE),
    *planted("instance_norm", "eps_missing", changed(instance_norm, eps=0.0), NORMAL, "wrong", IMAGE),
    *planted("instance_norm", "one_pass", changed(instance_norm, one_pass=True), OFFSET, "unstable", IMAGE),
    *planted("instance_norm", "over_image", instance_norm_over_the_image, NORMAL, "wrong", IMAGE),
    *planted("rms_norm", "eps_outside_root", changed(rms_norm, outside=True), "normal(0,0.1)", "wrong", ROWS),
    *planted("rms_norm", "eps_missing", changed(rms_norm, eps=0.0), "normal(0,0.1)", "wrong", ROWS),
    *planted("rms_norm", "n_minus_1", changed(rms_norm, less=1), NORMAL, "wrong", ROWS),
    *planted("batch_norm_training", "unbiased_shown", changed(training, shown=1), NORMAL, "wrong", TRAINING),
    *planted("batch_norm_training", "unbiased_used", changed(training, used=1), NORMAL, "wrong", TRAINING),
    *planted("batch_norm_training", "outputs_swapped", training_swapped, NORMAL, "wrong", TRAINING),
    *planted("batch_norm_training", "one_pass", changed(training, one_pass=True), OFFSET, "unstable", TRAINING),
    *planted("mean", "n_minus_1", changed(mean, less=1), NORMAL, "wrong", ROWS),
    *planted("mean", "constant_1e6", scaled(mean, 1e-6), "uniform(0,1)", "wrong", SHORT_ROWS),
    *planted("mean", "constant_1e4", rounded_inside(scaled(mean, 1e-4)), "uniform(0,1)", "wrong", ROWS,
             dtypes=SIXTEEN, every=True),
    *planted("var", "ddof_ignored", changed(var, ddof=0), NORMAL, "wrong", ROWS, ddof=1),
    *planted("var", "one_pass", changed(var, one_pass=True), OFFSET, "unstable", ROWS),
    *planted("std", "ddof_1", changed(std, ddof=1), NORMAL, "wrong", ROWS),
    *planted("std", "one_pass", changed(std, one_pass=True), OFFSET, "unstable", ROWS),
    *planted("prod", "float16_inside", prod_in_float16, "uniform(0.8,1.25)", "low_precision", ROWS,
             dtypes=("float32",)),
    *planted("prod", "by_logarithms", prod_by_logarithms, NORMAL, "nonfinite_mismatch", ROWS),
    *planted("norm", "wrong_order", changed(norm, ord=2.0), NORMAL, "wrong", ROWS, ord=1.0),
    *planted("norm", "root_missing", norm_without_root, NORMAL, "wrong", ROWS),
    *planted("norm", "float16_inside", norm_in_float16, "normal(0,300)", "nonfinite_mismatch", ROWS),
    *planted("norm", "overflow_excused", norm_without_scaling, "normal(0,1e30)", ("exact", "rounding"), ROWS,
             dtypes=("float32",)),
    *planted("cumsum", "exclusive", cumsum_exclusive, NORMAL, "wrong", ROWS),
    *planted("cumsum", "carry_lost", cumsum_by_blocks, NORMAL, "wrong", ROWS),
    *planted("cumsum", "bfloat16_accumulator", cumsum_in_bfloat16, NORMAL, "low_precision", ROWS,
             dtypes=("float32",)),
    *planted("logsumexp", "without_maximum", logsumexp_without_maximum, "normal(0,1000)", "nonfinite_mismatch", ROWS),
    *planted("logsumexp", "underflow", logsumexp_without_maximum, "uniform(-2000,-1000)", "nonfinite_mismatch", ROWS),
    *planted("logsumexp", "without_maximum_16", rounded_inside(logsumexp_without_maximum), "normal(0,200)",
             "nonfinite_mismatch", ROWS, dtypes=("float16", "bfloat16")),
    *planted("log_softmax", "log_of_softmax", log_of_softmax, "normal(0,1000)", "nonfinite_mismatch", ROWS),
    *planted("log_softmax", "without_maximum", log_softmax_without_maximum, "uniform(-2000,-1000)",
             "nonfinite_mismatch", ROWS),
    *planted("log_softmax", "base_2", log_softmax_in_base_2, NORMAL, "wrong", ROWS),
    *planted("argmax", "last_of_ties", last_maximum, "integers(-3,3)", "exact", ROWS, dtypes=FOUR),
    *planted("argmax", "second_largest", second_largest, NORMAL, "wrong", ROWS),
    *planted("max", "nan_ignored", maximum_ignoring_nan, WITH_SPECIAL, "nonfinite_mismatch", MANY_ROWS, dtypes=FOUR),
    *planted("max", "from_zero", maximum_from_zero, "uniform(-2,-1)", "wrong", ROWS, dtypes=FOUR),
    *planted("max", "last_dropped", maximum_without_last, NORMAL, "wrong", SHORT_ROWS),
)  # fmt: skip
