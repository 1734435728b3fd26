"""Elementwise formulations: within two bounds on data near 1, but for defects that mpmath proves, one line each.

When a proof fails the library has been repaired: drop its line, and its entry in UNHEALTHY.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from backend_cases import Array, Case, bind

from fuzz.backends import BACKENDS
from fuzz.operators import OPERATORS, elementary, pointwise
from fuzz.oracle.arithmetic import MpmathArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.trace import trace
from fuzz.thresholds import FLAG

NAMES = tuple(operator.name for operator in (*elementary.OPERATORS, *pointwise.OPERATORS))
UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
SIZE = 400

mp = mpmath.mp.clone()
mp.prec = 300


class Defect(NamedTuple):
    library: str
    operator: str
    dtype: str
    x: float
    function: Callable[[Any], Any]
    at_least: float
    """rho; infinite for an infinity where the truth is a number."""


def _lgamma(x: Any) -> Any:
    return mp.re(mp.loggamma(x))


DEFECTS = (
    Defect("tvm", "atanh", "float32", 1e-6, mp.atanh, 1e4),  # log((1 + x) / (1 - x)) / 2
    Defect("tvm", "atanh", "float32", 1e-8, mp.atanh, 4e6),  # returns 0
    Defect("tvm", "atanh", "float64", 1e-9, mp.atanh, 1e7),
    Defect("jax", "log1p", "float64", -0.4137333333333333, mp.log1p, 20),
    Defect("jax", "atanh", "float64", -0.41382, mp.atanh, 20),  # through log1p
    Defect("jax", "erfinv", "float64", 0.643356, mp.erfinv, 3),
    Defect("jax", "lgamma", "float32", 1.5396417379379272, _lgamma, 25),
    Defect("jax", "lgamma", "float64", 1.4490360769006565, _lgamma, 20),
    Defect("scipy", "lgamma", "float64", 0.9976909925769891, _lgamma, 6),
    Defect("scipy", "lgamma", "float64", 5e-324, _lgamma, math.inf),
    Defect("torch", "sinh", "float32", 89.0, mp.sinh, math.inf),  # exp x overflows, sinh x does not
    Defect("torch", "sinh", "float64", 710.0, mp.sinh, math.inf),
    Defect("torch", "cosh", "float32", 89.0, mp.cosh, math.inf),
    Defect("torch", "cosh", "float64", 710.0, mp.cosh, math.inf),
    Defect("torch", "lgamma", "float32", 4.04e36, _lgamma, math.inf),
    Defect("jax", "log", "float32", 1e-45, mp.log, math.inf),  # XLA reads subnormals as zero, in float64 too
    Defect("jax", "log", "float64", 5e-324, mp.log, math.inf),
)

UNHEALTHY = {(d.library, d.operator, d.dtype) for d in DEFECTS if not math.isinf(d.at_least)}
"""What may exceed two bounds on the data below."""

NAN_LOST = {("torch", "sign"): 0.0, ("tvm", "sign"): 0.0, ("tvm", "relu"): 0.0, ("tvm", "clip"): 1.0}
"""What these return for NaN, which the array API standard propagates."""


def case(operator: str, size: int) -> Case:
    contract = OPERATORS[operator].contract
    shapes: dict[str, tuple[int, ...]] = contract.shapes({"n": size})
    return Case(operator, shapes, {name: spec.default for name, spec in contract.attributes}, (size,), np.abs)


def draw(operator: str, name: str) -> Array:
    """Numbers of either sign around 1, by absolute value or in the unit interval where the domain asks for it."""
    spec = OPERATORS[operator].contract.input(name)
    z = np.random.default_rng(len(name) + ord(name[0])).normal(size=SIZE)
    if spec.domain.high == 1:
        return np.tanh(z)
    return np.exp(z) - 1 if spec.domain.low == -1 else np.abs(z) if spec.domain.low == 0 else z


def rho_of(operator: str, dtype: str, arrays: list[Array], attributes: dict[str, Any], result: Array) -> Array:
    """rho of every element; what is flagged is decided by mpmath."""
    traced = trace(OPERATORS[operator].reference, {str(n): x.shape for n, x in enumerate(arrays)}, attributes)
    output = bound(traced, dtype)(arrays).outputs[0]
    excused = output.excused()
    allowed = np.asarray(UNIT[dtype] * excused, np.float64)
    rho: Array = np.abs(result - output.value) / np.maximum(allowed, np.finfo(np.float64).tiny)
    for n in np.flatnonzero(rho > FLAG):
        exact = evaluate(traced, 0, (int(n),), arrays, MpmathArithmetic()).value
        rho[n] = float(abs(exact - float(result[n])) / allowed[n])
    return rho


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", NAMES)
def test_healthy_formulations_stay_within_two_bounds(library: str, operator: str, dtype: str) -> None:
    for implementation in BACKENDS[library].implementations.get(operator, ()):
        found = case(operator, SIZE)
        kernel = bind(library, found, dtype, implementation)
        for name, array in kernel.inputs.items():
            array[...] = draw(operator, name)
        (result,) = kernel.kernel()
        assert result.dtype == dtype
        rho = rho_of(operator, dtype, list(kernel.inputs.values()), found.attributes, result)
        if (library, operator, dtype) not in UNHEALTHY:
            assert rho.max() <= FLAG, (implementation.name, rho.max(), int(rho.argmax()))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: f"{d.library}-{d.operator}-{d.dtype}-{d.x}")
def test_defects_are_real(defect: Defect) -> None:
    """The value at x against mpmath, and the bound there."""
    if BACKENDS[defect.library].missing():
        pytest.skip(f"{defect.library} is not installed")
    kernel = bind(defect.library, case(defect.operator, 64), defect.dtype)
    (x,) = kernel.inputs.values()
    x[...] = defect.x
    value = float(kernel.kernel()[0][0])
    exact = defect.function(mp.mpf(float(x[0])))
    assert abs(exact) < np.finfo(defect.dtype).max
    if math.isinf(defect.at_least):
        assert math.isinf(value)
        return
    excused = float(
        bound(trace(OPERATORS[defect.operator].reference, {"x": (64,)}), defect.dtype)([x]).outputs[0].excused()[0]
    )
    assert abs(mp.mpf(value) - exact) / (mp.mpf(UNIT[defect.dtype]) * excused) >= defect.at_least


@pytest.mark.parametrize("operator", NAMES)
def test_nan_propagates(library: str, operator: str) -> None:
    for implementation in BACKENDS[library].implementations.get(operator, ()):
        kernel = bind(library, case(operator, 8), "float32", implementation)
        for array in kernel.inputs.values():
            array[...] = np.nan
        value = float(kernel.kernel()[0][0])
        expected = NAN_LOST.get((library, operator), math.nan)
        assert value == expected or (math.isnan(value) and math.isnan(expected)), implementation.name


def test_who_offers_what() -> None:
    lacking = {name: set(NAMES) - set(BACKENDS[name].implementations) for name in ("numpy", "torch", "jax", "tvm")}
    assert lacking == {
        "numpy": {"erf", "erfc", "erfinv", "lgamma"},
        "torch": set(),
        "jax": set(),
        "tvm": {"expm1", "erfc", "erfinv", "lgamma", "elu"},
    }
    in_scipy = set(NAMES) & set(BACKENDS["scipy"].implementations)
    assert in_scipy == {"sigmoid", "silu", "exp2", "expm1", "log1p", "erf", "erfc", "erfinv", "lgamma"}


def test_jax_erf_leaves_its_range_in_float32() -> None:
    pytest.importorskip("jax")
    kernel = bind("jax", case("erf", 4096), "float32")
    kernel.inputs["x"][...] = np.linspace(3.70, 3.84, 4096)
    assert float(kernel.kernel()[0].max()) == 1.0 + 2.0**-22
