"""Error of elementary functions in units of u (1 ulp <= 2u), by profile. Data, not code.

`measured`, the default, is the largest error of a healthy implementation seen on [-8, 8] among NumPy, torch and jax
in float32, rounded up; `strict` is what good libm implementations promise; `opencl` is twice the ulp figure of the
OpenCL C 3.0 full profile (section 7.4), the loosest promise in use.
"""

from __future__ import annotations

from collections.abc import Mapping

PROFILES: dict[str, Mapping[str, float]] = {
    "measured": {"exp": 5, "log": 7, "log1p": 5, "expm1": 11, "tanh": 10, "erf": 11, "erfc": 8, "sqrt": 1},
    "strict": {"exp": 4, "log": 6, "log1p": 5, "expm1": 4, "tanh": 4, "erf": 4, "erfc": 8, "sqrt": 1},
    "opencl": {"exp": 6, "log": 6, "log1p": 4, "expm1": 6, "tanh": 10, "erf": 32, "erfc": 32, "sqrt": 1},
}

DEFAULT_PROFILE = "measured"
