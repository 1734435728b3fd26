"""Scalar arithmetics for one-element evaluation: mpmath (200 bits) and Arb balls (python-flint), both optional."""

from __future__ import annotations

import importlib.util
from typing import Any, Protocol

MPMATH_BITS = 200
"""More than three times the significand of float64: the slices of one element lose far less than 100 bits."""

ARB_BITS = 256

MPMATH = f"mpmath ({MPMATH_BITS} bits)"

CERTIFY = "pip install 'ulpfuzz[certify]'"


class Arithmetic(Protocol):
    """Numbers of one kind. `apply` evaluates an elementwise primitive by name on them."""

    name: str

    def number(self, value: float) -> Any: ...
    def apply(self, primitive: str, *arguments: Any) -> Any: ...
    def less(self, x: Any, y: Any) -> bool: ...
    def rounded(self, x: Any) -> float: ...
    def radius(self, x: Any) -> float: ...
    def text(self, x: Any, digits: int) -> str: ...


_OPERATORS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negative": lambda x: -x,
    "square": lambda x: x * x,
}


class DependencyArithmetic:
    """Computes nothing: for finding out which inputs an element depends on."""

    name = "dependencies only"

    def number(self, value: float) -> float:
        return 0.0

    def apply(self, primitive: str, *arguments: Any) -> float:
        return 0.0

    def less(self, x: Any, y: Any) -> bool:
        return False

    def rounded(self, x: Any) -> float:
        return 0.0

    def radius(self, x: Any) -> float:
        return 0.0

    def text(self, x: Any, digits: int) -> str:
        return ""


class MpmathArithmetic:
    """Multiprecision floating point; no error bound, many guard bits."""

    name = MPMATH

    def __init__(self) -> None:
        import mpmath

        self._context = mpmath.mp.clone()
        self._context.prec = MPMATH_BITS
        mp = self._context
        self._functions = _OPERATORS | {
            "absolute": abs, "sqrt": mp.sqrt, "exp": mp.exp, "expm1": mp.expm1, "log": mp.log, "log1p": mp.log1p,
            "tanh": mp.tanh, "erf": mp.erf, "erfc": mp.erfc,
            "exp2": lambda x: mp.power(2, x), "log2": lambda x: mp.log(x) / mp.ln2,
            "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "sinh": mp.sinh, "cosh": mp.cosh,
            "arcsinh": mp.asinh, "arctanh": mp.atanh, "erfinv": mp.erfinv, "sign": mp.sign,
            "gammaln": lambda x: mp.re(mp.loggamma(x)), "psi": mp.digamma,
        }  # fmt: skip

    def number(self, value: float) -> Any:
        return self._context.mpf(value)

    def apply(self, primitive: str, *arguments: Any) -> Any:
        return self._functions[primitive](*arguments)

    def less(self, x: Any, y: Any) -> bool:
        return bool(x < y)

    def rounded(self, x: Any) -> float:
        return float(x)

    def radius(self, x: Any) -> float:
        return abs(float(x)) * 2.0 ** (40 - MPMATH_BITS)

    def text(self, x: Any, digits: int) -> str:
        return str(self._context.nstr(x, digits))


class ArbArithmetic:
    """Ball arithmetic: the radius encloses every error."""

    def __init__(self, bits: int = ARB_BITS) -> None:
        import flint

        self._flint, self._bits = flint, bits
        self.name = f"Arb ({bits} bits)"
        self._functions = _OPERATORS | {
            "absolute": abs, "sqrt": flint.arb.sqrt, "exp": flint.arb.exp, "expm1": flint.arb.expm1,
            "log": flint.arb.log, "log1p": flint.arb.log1p, "tanh": flint.arb.tanh, "erf": flint.arb.erf,
            "erfc": flint.arb.erfc,
            "exp2": lambda x: flint.arb(2) ** x, "log2": lambda x: x.log() / flint.arb.const_log2(),
            "sin": flint.arb.sin, "cos": flint.arb.cos, "tan": flint.arb.tan,
            "sinh": flint.arb.sinh, "cosh": flint.arb.cosh, "arcsinh": flint.arb.asinh,
            "arctanh": flint.arb.atanh, "erfinv": flint.arb.erfinv, "sign": flint.arb.sgn,
            "gammaln": lambda x: x.lgamma() if x > 0 else abs(x.gamma()).log(), "psi": flint.arb.digamma,
        }  # fmt: skip

    def number(self, value: float) -> Any:
        return self._flint.arb(value)

    def apply(self, primitive: str, *arguments: Any) -> Any:
        with self._flint.ctx.workprec(self._bits):
            return self._functions[primitive](*arguments)

    def less(self, x: Any, y: Any) -> bool:
        return bool(x.mid() < y.mid())

    def rounded(self, x: Any) -> float:
        return float(x.mid())

    def radius(self, x: Any) -> float:
        return float(x.rad())

    def text(self, x: Any, digits: int) -> str:
        return str(x.mid().str(digits, radius=False))


def adjudicator() -> Arithmetic | None:
    """The best arithmetic installed: Arb, else mpmath, else None (`CERTIFY` is the line that installs both)."""
    if present("flint"):
        return ArbArithmetic()
    return MpmathArithmetic() if present("mpmath") else None


def certifier_name() -> str:
    """The name of what `adjudicator` gives, without importing it; empty for None."""
    if present("flint"):
        return f"Arb ({ARB_BITS} bits)"
    return MPMATH if present("mpmath") else ""


def present(module: str) -> bool:
    """Whether a module is installed."""
    return importlib.util.find_spec(module) is not None
