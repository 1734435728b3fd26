"""Faults planted in activations, elementary functions and the arithmetic of IEEE 754."""

from __future__ import annotations

import math

import numpy as np
from planted_faults import (
    BOTH,
    FOUR,
    NORMAL,
    SIXTEEN,
    TINY,
    WITH_SPECIAL,
    Kernel,
    changed,
    computed_in,
    last_element_off,
    planted,
    rounded_inside,
    scaled,
    some_off_by_one_ulp,
    through,
    truncated,
    without_nan,
)
from scipy import special

from fuzz.backends.base import Array
from fuzz.operators.rectifiers import SELU_ALPHA, SELU_SCALE

MANY = {"n": 16384}
RAGGED = {"n": 101}


def sigmoid(x: Array) -> Array:
    return special.expit(x)


def sigmoid_with_float16_exp(x: Array) -> Array:
    e = np.exp(-x)
    return 1 / (1 + (e.astype(np.float16).astype(x.dtype) if x.dtype == np.float32 else e))


def sigmoid_overflowing(x: Array) -> Array:
    e = np.exp(x)
    return e / (1 + e)


def silu_overflowing(x: Array) -> Array:
    return x * sigmoid_overflowing(x)


def silu(x: Array) -> Array:
    return x * special.expit(x)


def hard_silu(x: Array) -> Array:
    return x * np.clip(x / 6 + x.dtype.type(0.5), 0, 1)


def elu(x: Array, *, alpha: float) -> Array:
    return np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(np.minimum(x, 0)))


def elu_by_exp(x: Array, *, alpha: float) -> Array:
    return np.where(x > 0, x, x.dtype.type(alpha) * (np.exp(np.minimum(x, 0)) - 1))


def log_of_sigmoid(x: Array) -> Array:
    return np.log(1 / (1 + np.exp(-x)))


def log_sigmoid_by_log(x: Array) -> Array:
    return -np.log(1 + np.exp(-x))


def mish_by_log(x: Array) -> Array:
    return x * np.tanh(np.log(1 + np.exp(x)))


def softsign_of_square(x: Array) -> Array:
    return x / np.sqrt(1 + x * x)


def leaky_relu(x: Array, *, alpha: float) -> Array:
    return np.where(x > 0, x, x.dtype.type(alpha) * x)


def selu_by_exp(x: Array) -> Array:
    kind = x.dtype.type
    return kind(SELU_SCALE) * np.where(x > 0, x, kind(SELU_ALPHA) * (np.exp(np.minimum(x, 0)) - 1))


def hard_swish_of_keras(x: Array) -> Array:
    """With the hard sigmoid of slope 0.2."""
    return x * np.clip(x / 5 + x.dtype.type(0.5), 0, 1)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def relu_by_comparison(x: Array) -> Array:
    return np.where(x > 0, x, x.dtype.type(0))


def sign_by_comparison(x: Array) -> Array:
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def sign_of_zero(x: Array) -> Array:
    return np.copysign(np.ones_like(x), x)


def clip(x: Array, *, low: float, high: float) -> Array:
    kind = x.dtype.type
    return np.minimum(np.maximum(x, kind(low)), kind(high))


def clip_swapped(x: Array, *, low: float, high: float) -> Array:
    return clip(x, low=high, high=low)


def log1p_by_log(x: Array) -> Array:
    return np.log(1 + x)


def expm1_by_exp(x: Array) -> Array:
    return np.exp(x) - 1


def exp2_with_short_constant(x: Array) -> Array:
    return np.exp(x * x.dtype.type(0.69315))


def exp2_by_exp(x: Array) -> Array:
    return np.exp(x * x.dtype.type(math.log(2)))


def log_clamped(x: Array) -> Array:
    return np.log(np.maximum(x, x.dtype.type(1e-7)))


def log2_with_float32_constant(x: Array) -> Array:
    return np.log(x) * x.dtype.type(np.float32(1 / math.log(2)))


def asinh_by_log(x: Array) -> Array:
    return np.log(x + np.sqrt(x * x + 1))


def atanh_by_log(x: Array) -> Array:
    return np.log((1 + x) / (1 - x)) / 2


def sinh_by_exp(x: Array) -> Array:
    return (np.exp(x) - np.exp(-x)) / 2


def cosh_by_exp(x: Array) -> Array:
    return (np.exp(x) + np.exp(-x)) / 2


def erf_of_abramowitz(x: Array) -> Array:
    """Abramowitz and Stegun 7.1.25, error 2.5e-5."""
    kind = x.dtype.type
    t = 1 / (1 + kind(0.47047) * np.abs(x))
    y = 1 - t * (kind(0.3480242) + t * (kind(-0.0958798) + t * kind(0.7478556))) * np.exp(-x * x)
    return np.copysign(y, x)


def erfc_by_erf(x: Array) -> Array:
    return 1 - special.erf(x)


def erfinv_clipped(x: Array) -> Array:
    return special.erfinv(np.clip(x, x.dtype.type(-0.999), x.dtype.type(0.999)))


def lgamma_of_stirling(x: Array) -> Array:
    kind = x.dtype.type
    return (x - kind(0.5)) * np.log(x) - x + kind(math.log(2 * math.pi) / 2) + 1 / (12 * x)


def rsqrt_by_magic(x: Array) -> Array:
    """One Newton step from the bits of x halved: error 1.8e-3."""
    kind, integer = x.dtype.type, f"u{x.dtype.itemsize}"
    magic = {4: 0x5F3759DF, 8: 0x5FE6EB50C7B537A9}[x.dtype.itemsize]
    y = (np.array(magic, integer) - (x.view(integer) >> np.ones((), integer))).view(x.dtype)
    return y * (kind(1.5) - kind(0.5) * x * y * y)


def rsqrt_from_12_bits(x: Array) -> Array:
    """One Newton step from a 12-bit estimate: enough for float32 only."""
    fraction, exponent = np.frexp(1 / np.sqrt(x))
    y = np.ldexp(np.floor(fraction * 4096) / 4096, exponent).astype(x.dtype)
    return y * (x.dtype.type(1.5) - x.dtype.type(0.5) * x * y * y)


def rsqrt_from_8_bits(x: Array) -> Array:
    """Half the digits of float32; in float64 healthy."""
    if x.dtype != np.float32:
        return 1 / np.sqrt(x)
    fraction, exponent = np.frexp(1 / np.sqrt(x))
    return np.ldexp(np.round(fraction * 256) / 256, exponent).astype(x.dtype)


def reciprocal_by_newton(x: Array) -> Array:
    """Two Newton steps from a linear estimate: error 2e-5 at most."""
    kind = x.dtype.type
    fraction, exponent = np.frexp(x)
    a = np.abs(fraction)
    y = kind(48 / 17) - kind(32 / 17) * a
    y = y * (2 - a * y)
    y = y * (2 - a * y)
    return np.copysign(np.ldexp(y, -exponent), x)


def sqrt_by_rsqrt(x: Array) -> Array:
    return x * (1 / np.sqrt(x))


def divide_by_reciprocal(x: Array, y: Array) -> Array:
    return x * (1 / y)


def twice_rounded(function: Kernel, inside: str) -> Kernel:
    """Rounded to `inside` first."""

    def rounding(x: Array, y: Array) -> Array:
        return function(x.astype(inside), y.astype(inside)).astype(x.dtype)

    return rounding


def flushing(function: Kernel) -> Kernel:
    def flushed(*arrays: Array) -> Array:
        y = function(*arrays)
        return np.where(np.abs(y) < np.finfo(y.dtype).tiny, y.dtype.type(0), y)

    return flushed


def with_short_pi(function: Kernel) -> Kernel:
    """The argument reduced by 2 pi rounded to float32."""

    def reduced(x: Array) -> Array:
        turn = x.dtype.type(np.float32(2 * math.pi))
        return function(x - np.round(x / turn) * turn)

    return reduced


SHORT_CONSTANT = ("wrong", "silent_downcast")
"""A float32 constant inside float64 is both; the error varies a little with the extra bits of large arguments."""
LONGDOUBLE = BOTH[1:] if np.finfo(np.longdouble).nmant == 63 else ()
"""Rounding twice needs a format a little wider than float64."""

FAULTS = (
    *planted("sigmoid", "float16_exp", sigmoid_with_float16_exp, "uniform(-4,4)", "low_precision",
             dtypes=("float32",)),
    *planted("sigmoid", "overflow", sigmoid_overflowing, "normal(0,1000)", "nonfinite_mismatch"),
    *planted("sigmoid", "constant_1e6", scaled(sigmoid, 1e-6), NORMAL, "wrong"),
    *planted("sigmoid", "constant_1e4", rounded_inside(scaled(sigmoid, 1e-4)), NORMAL, "wrong", dtypes=SIXTEEN,
             every=True),
    *planted("silu", "overflow", silu_overflowing, "normal(0,1000)", "nonfinite_mismatch"),
    *planted("silu", "overflow_16", rounded_inside(silu_overflowing), "normal(0,1000)", "nonfinite_mismatch",
             dtypes=SIXTEEN),
    *planted("silu", "hard_form", hard_silu, NORMAL, "wrong"),
    *planted("silu", "last_element", last_element_off(silu), NORMAL, "wrong", RAGGED),
    *planted("elu", "by_exp", elu_by_exp, TINY, "unstable"),
    *planted("elu", "alpha_ignored", changed(elu, alpha=1.0), NORMAL, "wrong", alpha=0.5),
    *planted("log_sigmoid", "by_log_of_sigmoid", log_of_sigmoid, "uniform(-120,-95)", "nonfinite_mismatch",
             dtypes=("float32",)),
    *planted("log_sigmoid", "by_log", log_sigmoid_by_log, "uniform(10,30)", "unstable"),
    *planted("mish", "by_log", mish_by_log, "uniform(-30,-10)", "unstable"),
    *planted("softsign", "squared", softsign_of_square, NORMAL, "wrong"),
    *planted("leaky_relu", "alpha_ignored", changed(leaky_relu, alpha=0.01), NORMAL, "wrong", alpha=0.2),
    *planted("selu", "by_exp", selu_by_exp, TINY, "unstable"),
    *planted("hard_swish", "of_hard_sigmoid_0.2", hard_swish_of_keras, NORMAL, "wrong"),
    *planted("relu", "nan_swallowed", relu_by_comparison, WITH_SPECIAL, "nonfinite_mismatch", dtypes=FOUR),
    *planted("relu", "at_6", lambda x: np.clip(x, 0, 6), "normal(0,30)", "wrong"),
    *planted("sign", "of_nan", sign_by_comparison, WITH_SPECIAL, "nonfinite_mismatch", dtypes=FOUR),
    *planted("sign", "of_zero", sign_of_zero, "integers(-3,3)", "wrong"),
    *planted("clip", "swapped", clip_swapped, NORMAL, "wrong", dtypes=FOUR),
    *planted("clip", "nan_swallowed", without_nan(clip), WITH_SPECIAL, "nonfinite_mismatch"),
    *planted("log1p", "by_log", log1p_by_log, "loguniform(1e-6,1e-3)", "unstable"),
    *planted("expm1", "by_exp", expm1_by_exp, TINY, "unstable"),
    *planted("exp2", "short_constant", exp2_with_short_constant, NORMAL, "wrong"),
    *planted("exp2", "by_exp", exp2_by_exp, "uniform(-20,20)", ("exact", "rounding", "borderline")),
    *planted("log", "clamped", log_clamped, "loguniform(1e-12,1e-3)", "wrong"),
    *planted("log2", "float32_constant", log2_with_float32_constant, NORMAL, "wrong", every=True),
    *planted("asinh", "by_log_negative", asinh_by_log, "uniform(-30,-3)", "unstable"),
    *planted("asinh", "by_log_small", asinh_by_log, TINY, "unstable"),
    *planted("asinh", "by_log_large", asinh_by_log, "uniform(-1e9,-1e8)", "nonfinite_mismatch"),
    *planted("atanh", "by_log", atanh_by_log, TINY, "unstable"),
    *planted("sinh", "by_exp", sinh_by_exp, TINY, "unstable"),
    *planted("cosh", "overflow", cosh_by_exp, "uniform(88.8,89.3)", "nonfinite_mismatch", dtypes=("float32",)),
    *planted("cosh", "overflow", cosh_by_exp, "uniform(709.8,710.4)", "nonfinite_mismatch", dtypes=("float64",)),
    *planted("erf", "short_polynomial", erf_of_abramowitz, NORMAL, "wrong"),
    *planted("erfc", "by_erf", erfc_by_erf, "uniform(1,3)", "unstable"),
    *planted("erfc", "by_erf_tail", erfc_by_erf, "uniform(3,8)", "unstable"),
    *planted("erfinv", "clipped", erfinv_clipped, "uniform(0.99,1)", "wrong"),
    *planted("lgamma", "stirling", lgamma_of_stirling, "uniform(0.5,5)", "wrong"),
    *planted("rsqrt", "magic", rsqrt_by_magic, NORMAL, "wrong"),
    *planted("rsqrt", "12_bit_estimate", rsqrt_from_12_bits, NORMAL, ("wrong", "silent_downcast"), every=True),
    *planted("rsqrt", "8_bit_estimate", rsqrt_from_8_bits, NORMAL, "low_precision", dtypes=("float32",)),
    *planted("reciprocal", "two_newton_steps", reciprocal_by_newton, NORMAL, "wrong"),
    *planted("reciprocal", "flushed", flushing(np.reciprocal), "signed(uniform(9e37,3e38))", "subnormals_flushed",
             dtypes=("float32",)),
    *planted("sin", "short_pi", with_short_pi(np.sin), "uniform(1e4,1e5)", SHORT_CONSTANT, every=True),
    *planted("cos", "short_pi", with_short_pi(np.cos), "uniform(1e4,1e5)", SHORT_CONSTANT, every=True),
    *planted("tan", "short_pi", with_short_pi(np.tan), "uniform(100,1000)", SHORT_CONSTANT, every=True),
    *planted("sqrt", "one_ulp_in_100", some_off_by_one_ulp(np.sqrt), NORMAL, "not_correctly_rounded", dtypes=FOUR),
    *planted("sqrt", "by_rsqrt", sqrt_by_rsqrt, NORMAL, "not_correctly_rounded"),
    *planted("sqrt", "at_zero", sqrt_by_rsqrt, "integers(0,3)", "nonfinite_mismatch"),
    *planted("sqrt", "float32_inside", computed_in(np.sqrt, "float32"), NORMAL, "silent_downcast",
             dtypes=("float64",)),
    *planted("add", "float16_inside", through(np.add, "float16"), NORMAL, "low_precision", dtypes=("float32",)),
    *planted("add", "bfloat16_inside", through(np.add, "bfloat16"), NORMAL, "low_precision", dtypes=("float32",)),
    *planted("add", "truncated", truncated(np.add), NORMAL, "not_correctly_rounded", dtypes=SIXTEEN),
    *planted("add", "bfloat16_on_the_way", through(np.add, "bfloat16", "float16"), NORMAL, "not_correctly_rounded",
             dtypes=("float16",)),
    *planted("add", "last_element", last_element_off(np.add), NORMAL, "wrong", RAGGED),
    *planted("multiply", "truncated", truncated(np.multiply), NORMAL, "not_correctly_rounded", dtypes=SIXTEEN),
    *planted("multiply", "rounded_twice", twice_rounded(np.multiply, "longdouble"), NORMAL, "not_correctly_rounded",
             MANY, dtypes=LONGDOUBLE),
    *planted("multiply", "flushed", flushing(np.multiply), "signed(loguniform(1e-21,1e-18))", "subnormals_flushed",
             dtypes=("float32",)),
    *planted("multiply", "float16_inside", through(np.multiply, "float16"), NORMAL, "low_precision",
             dtypes=("float32",)),
    *planted("divide", "rounded_twice", twice_rounded(np.divide, "longdouble"), NORMAL, "not_correctly_rounded",
             MANY, dtypes=LONGDOUBLE),
    *planted("divide", "by_reciprocal", divide_by_reciprocal, NORMAL, "not_correctly_rounded"),
    *planted("divide", "float32_inside", computed_in(np.divide, "float32"), NORMAL, "silent_downcast",
             dtypes=("float64",)),
)  # fmt: skip
