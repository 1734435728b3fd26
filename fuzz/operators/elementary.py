"""Mathematical functions of one variable. Special values follow IEEE 754-2019 (table 9.1 and 9.2.1) or C17 annex F."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import erf, erfc, erfinv, gammaln

from fuzz.operators.elementwise import ANNEX_F, NONNEGATIVE, SIGNED_UNIT, unary
from strategies.contract import Criterion, Domain

_IEEE = "IEEE 754-2019, 9.2.1"
_on_half_line = partial(unary, domain=Domain(low=0.0), default="abs(normal(0,1))")
_on_unit_interval = partial(unary, domain=Domain(-1.0, 1.0), default="uniform(-1,1)")


def rsqrt(x: Any) -> Any:
    return 1.0 / np.sqrt(x)


def reciprocal(x: Any) -> Any:
    return 1.0 / x


OPERATORS = (
    unary(
        "exp2",
        "2**x",
        np.exp2,
        10.0,
        f"{_IEEE}: exp2(-inf) = 0, exp2(inf) = inf",
        (128.0, "overflow in float32"),
        (-126.0, "subnormal in float32"),
        (-149.0, "underflow in float32"),
        (1024.0, "overflow in float64"),
        (-1022.0, "subnormal in float64"),
        range_=NONNEGATIVE,
    ),
    unary(
        "expm1",
        "exp(x) - 1",
        np.expm1,
        12.0,
        f"{_IEEE}: expm1(-inf) = -1, expm1(inf) = inf, expm1(+-0) = +-0",
        (0.0, "root"),
        (88.72, "overflow in float32"),
        (709.78, "overflow in float64"),
        (-17.33, "exp x below u in float32"),
        range_=Domain(low=-1.0),
    ),
    _on_half_line(
        "log",
        "natural logarithm",
        np.log,
        10.0,
        f"{_IEEE}: log(+-0) = -inf, log(x) for x < 0 is NaN, log(inf) = inf",
        (1.0, "root"),
        (0.0, "pole"),
    ),
    _on_half_line(
        "log2",
        "logarithm to base 2",
        np.log2,
        10.0,
        f"{_IEEE}: log2(+-0) = -inf, log2(x) for x < 0 is NaN, log2(inf) = inf",
        (1.0, "root"),
        (0.0, "pole"),
    ),
    unary(
        "log1p",
        "log(1 + x)",
        np.log1p,
        12.0,
        f"{_IEEE} (logp1): log1p(-1) = -inf, log1p(x) for x < -1 is NaN, log1p(+-0) = +-0",
        (0.0, "root"),
        (-1.0, "pole"),
        (2.0**-24, "u of float32: 1 + x rounds to 1"),
        domain=Domain(low=-1.0),
        default="uniform(-1,1)",
    ),
    _on_half_line(
        "sqrt",
        "square root",
        np.sqrt,
        5.0,
        "IEEE 754-2019, 5.4.1 and 7.2: sqrt(-0) = -0, sqrt(x) for x < 0 is NaN, sqrt(inf) = inf",
        (0.0, "branch end"),
        (1.0, "binade"),
        criterion=Criterion.CORRECTLY_ROUNDED,
        range_=NONNEGATIVE,
    ),
    _on_half_line(
        "rsqrt",
        "1 / sqrt x",
        rsqrt,
        6.0,
        f"{_IEEE} (rSqrt): rsqrt(+-0) = +-inf, rsqrt(x) for x < 0 is NaN, rsqrt(inf) = 0",
        (0.0, "pole"),
        (2.0**-126, "subnormal below in float32"),
    ),
    unary(
        "reciprocal",
        "1 / x",
        reciprocal,
        4.0,
        "IEEE 754-2019, 6.1 and 7.3 (1 / x): reciprocal(+-0) = +-inf, reciprocal(+-inf) = +-0",
        (0.0, "pole"),
        (2.0**-128, "overflow in float32"),
        (2.0**126, "subnormal result in float32"),
    ),
    unary(
        "sin",
        "sine",
        np.sin,
        12.0,
        f"{_IEEE}: sin(+-inf) is NaN",
        (0.0, "root"),
        (math.pi, "root"),
        (105615.0, "the reduction of x modulo pi/2 needs more than three float32 constants"),
        range_=SIGNED_UNIT,
    ),
    unary(
        "cos",
        "cosine",
        np.cos,
        12.0,
        f"{_IEEE}: cos(+-inf) is NaN",
        (math.pi / 2, "root"),
        (105615.0, "the reduction of x modulo pi/2 needs more than three float32 constants"),
        range_=SIGNED_UNIT,
    ),
    unary(
        "tan",
        "tangent",
        np.tan,
        15.0,
        f"{_IEEE}: tan(+-inf) is NaN",
        (0.0, "root"),
        (math.pi / 2, "pole"),
        (math.pi, "root"),
    ),
    unary(
        "asinh",
        "inverse hyperbolic sine",
        np.arcsinh,
        15.0,
        f"{_IEEE}: asinh(+-inf) = +-inf, asinh(+-0) = +-0",
        (0.0, "root"),
        (2.0**64, "x*x overflows in float32"),
        (2.0**512, "x*x overflows in float64"),
    ),
    _on_unit_interval(
        "atanh",
        "inverse hyperbolic tangent",
        np.arctanh,
        15.0,
        f"{_IEEE}: atanh(+-1) = +-inf, atanh(x) for |x| > 1 is NaN",
        (0.0, "root"),
        (1.0, "pole"),
        (-1.0, "pole"),
    ),
    unary(
        "sinh",
        "hyperbolic sine",
        np.sinh,
        15.0,
        f"{_IEEE}: sinh(+-inf) = +-inf, sinh(+-0) = +-0",
        (0.0, "root"),
        (88.72, "exp x overflows in float32"),
        (89.42, "overflow in float32"),
        (709.78, "exp x overflows in float64"),
        (710.47, "overflow in float64"),
    ),
    unary(
        "cosh",
        "hyperbolic cosine",
        np.cosh,
        15.0,
        f"{_IEEE}: cosh(+-inf) = inf",
        (88.72, "exp x overflows in float32"),
        (89.42, "overflow in float32"),
        (709.78, "exp x overflows in float64"),
        (710.47, "overflow in float64"),
        range_=Domain(low=1.0),
    ),
    unary(
        "erf",
        "error function",
        erf,
        20.0,
        f"{ANNEX_F}.5.1: erf(+-inf) = +-1, erf(+-0) = +-0",
        (0.0, "root"),
        (3.79, "rounds to 1 from about here in float32"),
        (5.92, "rounds to 1 from about here in float64"),
        range_=SIGNED_UNIT,
    ),
    unary(
        "erfc",
        "complementary error function",
        erfc,
        20.0,
        f"{ANNEX_F}.5.2: erfc(inf) = 0, erfc(-inf) = 2",
        (0.5, "1 - erf cancels beyond"),
        (9.19, "subnormal in float32"),
        (10.05, "underflow in float32"),
        (26.54, "subnormal in float64"),
        range_=Domain(0.0, 2.0),
    ),
    _on_unit_interval(
        "erfinv",
        "inverse of erf",
        erfinv,
        25.0,
        "no standard; documentation of scipy.special.erfinv: erfinv(+-1) = +-inf, NaN outside [-1, 1]",
        (0.0, "root"),
        (1.0, "pole"),
        (-1.0, "pole"),
        (0.9966, "usual branch: -log(1 - x*x) = 5"),
    ),
    unary(
        "lgamma",
        "log |Gamma(x)|",
        gammaln,
        30.0,
        f"{ANNEX_F}.5.3: inf at 0, -1, -2, ... and at +-inf",
        (1.0, "root"),
        (2.0, "root"),
        (0.0, "pole"),
        (-1.0, "pole"),
        (-2.4570247382208006, "root"),
        (4.085e36, "overflow in float32"),
        (2.556e305, "overflow in float64"),
    ),
)
