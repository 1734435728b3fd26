"""Error of elementary functions in units of u (1 ulp <= 2u), by profile. Data, not code.

`measured`, the default, is the largest error of a healthy implementation seen on [-8, 8] among NumPy, torch and jax
in float32, rounded up (erfc: 14.6 in SciPy, 13.4 in jax, in float64 below 1, where both take 1 - erf); `strict` is
what good libm implementations promise; `opencl` is twice the ulp figure of the OpenCL C 3.0 full profile (section
7.4), the loosest promise in use.

Functions from exp2 on: `measured` is the largest error seen where the condition number is at most 2 (beyond, the seed
of the input dominates), in float32 and float64, among NumPy, SciPy, torch and jax, rounded up: exp2 2.84 (jax), log2
2.23 (jax), sin 1.16 and cos 1.43 (NumPy), tan 2.05 (NumPy), arcsinh 3.23 (jax), arctanh 2.87 (jax), sinh 5.55 (jax),
cosh 3.16 (NumPy), erfinv 4.01 (jax float32). No constant is below half of `strict`, so that an error that good
libraries document is never flagged: gammaln, 1.08 in torch, is 7, and what SciPy errs by at 1.4631, 9.6, accuses
nobody. Left out as defects (docs/known-defects.md) are errors above twice the bound: SciPy's gammaln reaches 2,800 u
beside its root 1, seven times what the seed of the input costs there.

`strict` is twice the ulp figure of the GNU C library's manual (Errors in Math Functions, x86_64), at least 2 ulp; for
erfinv, which it lacks, 2 ulp. OpenCL promises nothing for gammaln and erfinv: they take the strict figure.
"""

from __future__ import annotations

from collections.abc import Mapping

# fmt: off
PROFILES: dict[str, Mapping[str, float]] = {
    "measured": {
        "exp": 5, "log": 7, "log1p": 5, "expm1": 11, "tanh": 10, "erf": 11, "erfc": 14, "sqrt": 1,
        "exp2": 3, "log2": 3, "sin": 2, "cos": 2, "tan": 3,
        "arcsinh": 4, "arctanh": 3, "sinh": 6, "cosh": 4, "erfinv": 5, "gammaln": 7, "psi": 7,
    },
    "strict": {
        "exp": 4, "log": 6, "log1p": 5, "expm1": 4, "tanh": 4, "erf": 4, "erfc": 8, "sqrt": 1,
        "exp2": 4, "log2": 4, "sin": 4, "cos": 4, "tan": 4,
        "arcsinh": 4, "arctanh": 4, "sinh": 4, "cosh": 4, "erfinv": 4, "gammaln": 14, "psi": 14,
    },
    "opencl": {
        "exp": 6, "log": 6, "log1p": 4, "expm1": 6, "tanh": 10, "erf": 32, "erfc": 32, "sqrt": 1,
        "exp2": 6, "log2": 6, "sin": 8, "cos": 8, "tan": 10,
        "arcsinh": 8, "arctanh": 10, "sinh": 8, "cosh": 8, "erfinv": 4, "gammaln": 14, "psi": 14,
    },
}
# fmt: on

DEFAULT_PROFILE = "measured"
