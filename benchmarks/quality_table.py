"""The defects of the pinned libraries, one row each; the false-alarm gate counts the combinations named here apart."""

# ruff: noqa: E501  # one row a line

from __future__ import annotations

import math

from quality_defect import Defect

from strategies import DType

TAIL = "x (1 + f(x)) / 2 cancels in the left tail"
LOG1P = "log(1 + exp x) loses exp x below u"
ONE_PASS = "variance in one pass, mean(x*x) - mean(x)**2, cancels where the mean is large"
FTZ = "XLA on the CPU reads and writes subnormal numbers as zero"
OVERFLOW = "exp(-x) overflows, so the result is 0 where it is a subnormal number"
QUOTIENT = "(1 - exp(-2x)) / (1 + exp(-2x)) cancels near 0"
FOLDED = "folded to x * scale + shift: scale, or x * scale, overflows"
LARGE_ROOT = "half of exp x overflows before sinh x and cosh x do"
NAN = "NaN is lost in a comparison"
GROUPS = {"N": 1, "G": 2, "D": 2, "L": 64}
IMAGE = {"N": 1, "C": 2, "H": 8, "W": 16}
OFFSET = "offset(1000,1)"
UNIT = {"gamma": "constant(1)", "beta": "constant(0)"}
WIDE_FORMATS: tuple[DType, ...] = ("float32", "float64")
ALL: tuple[DType, ...] = ("float32", "float64", "float16", "bfloat16")
BELOW_FLAG = ("borderline",)
"""What a defect also gets where it is as large as one or two bounds: a result without a correct digit errs by |v|, and
where E is larger than |v| / (2 u), as it often is in bfloat16, that is below 2."""


def _sigmoids() -> tuple[Defect, ...]:
    rows = []
    for operator, targets in (
        ("sigmoid", ("numpy:formula", "scipy:expit", "torch:sigmoid", "jax:sigmoid", "tvm:topi")),
        ("silu", ("numpy:formula", "scipy:expit", "torch:silu", "jax:silu", "tvm:relax")),
    ):
        for target in targets:
            backend, _, implementation = target.partition(":")
            for dtype, x in (("float32", "constant(-95)"), ("float64", "constant(-720)")):
                also: tuple[DType, ...] = ("bfloat16",) if dtype == "float32" else ()
                rows.append(
                    Defect(
                        operator,
                        backend,
                        implementation,
                        dtype,
                        x,
                        "subnormals_flushed",
                        OVERFLOW,
                        0.99,
                        also=BELOW_FLAG,
                        dtypes=also,
                    )
                )
    for target in ("sigmoid:numpy:formula", "sigmoid:tvm:topi", "silu:numpy:formula", "silu:tvm:relax"):
        operator, backend, implementation = target.split(":")
        rows.append(
            Defect(operator, backend, implementation, "float16", "constant(-14)", "subnormals_flushed", OVERFLOW, 0.99)
        )
    for target in ("sigmoid:numpy:formula", "sigmoid:torch:sigmoid", "sigmoid:tvm:topi"):
        operator, backend, implementation = target.split(":")
        rows.append(
            Defect(operator, backend, implementation, "bfloat16", "constant(-89)", "subnormals_flushed", OVERFLOW, 0.99)
        )
    return tuple(rows)


# fmt: off
DEFECTS: tuple[Defect, ...] = (
    Defect("tanh", "tvm", "topi", "float32", "constant(1e-6)", "unstable", QUOTIENT, 1e-2, also=BELOW_FLAG, dtypes=ALL),
    Defect("tanh", "tvm", "topi", "float64", "constant(1e-9)", "unstable", QUOTIENT, 1e-9),
    Defect("atanh", "tvm", "topi", "float32", "constant(1e-6)", "unstable", "log((1 + x) / (1 - x)) / 2 cancels near 0", 1e-3, also=BELOW_FLAG, dtypes=ALL),
    Defect("atanh", "tvm", "topi", "float64", "constant(1e-9)", "unstable", "log((1 + x) / (1 - x)) / 2 cancels near 0", 1e-9),
    Defect("softplus", "tvm", "topi", "float32", "constant(-20)", "unstable", LOG1P, 0.99, also=BELOW_FLAG, dtypes=ALL),
    Defect("softplus", "tvm", "topi", "float64", "constant(-40)", "unstable", LOG1P, 0.99),
    Defect("softplus", "tvm", "relax", "float32", "constant(-20)", "unstable", LOG1P, 0.99, also=BELOW_FLAG, dtypes=ALL),
    Defect("softplus", "tvm", "topi", "float16", "constant(12)", "nonfinite_mismatch", "exp x overflows, softplus x does not", math.inf),
    Defect("softplus", "tvm", "relax", "float16", "constant(12)", "nonfinite_mismatch", "exp x overflows, softplus x does not", math.inf),
    Defect("softplus", "torch", "softplus", "float64", "constant(21)", "wrong", "returns x above 20, off by exp(-20)", 1e-11),
    Defect("gelu", "torch", "gelu", "float32", "constant(-6)", "unstable", TAIL, 0.5, also=BELOW_FLAG, dtypes=ALL),
    Defect("gelu", "torch", "gelu", "float64", "constant(-8.5)", "unstable", TAIL, 0.5),
    Defect("gelu", "tvm", "relax", "float32", "constant(-6)", "unstable", TAIL, 0.5, also=BELOW_FLAG, dtypes=ALL),
    Defect("gelu", "tvm", "relax", "float64", "constant(-8.5)", "unstable", TAIL, 0.5),
    Defect("gelu", "tvm", "te", "float32", "constant(-6)", "unstable", TAIL, 0.5, also=BELOW_FLAG, dtypes=ALL),
    Defect("gelu_tanh", "torch", "gelu", "float32", "constant(-5)", "unstable", TAIL, 1e-2, also=BELOW_FLAG, dtypes=ALL),
    Defect("gelu_tanh", "tvm", "relax", "float32", "constant(-5)", "unstable", TAIL, 1e-2, also=BELOW_FLAG, dtypes=ALL),
    Defect("gelu_tanh", "jax", "gelu", "float32", "constant(-5)", "unstable", TAIL, 1e-2, also=BELOW_FLAG, dtypes=ALL),
    Defect("gelu_tanh", "numpy", "formula", "float32", "constant(-5)", "unstable", TAIL, 1e-2, also=BELOW_FLAG, dtypes=ALL),
    Defect("gelu_tanh", "scipy", "expit", "float32", "constant(-10.1)", "subnormals_flushed", "scipy.special.expit gives 0 where its result is subnormal", 0.99, dtypes=WIDE_FORMATS),
    *_sigmoids(),
    Defect("sinh", "torch", "sinh", "float32", "constant(89)", "nonfinite_mismatch", LARGE_ROOT, math.inf, dims={"n": 64}),
    Defect("sinh", "torch", "sinh", "float64", "constant(710)", "nonfinite_mismatch", LARGE_ROOT, math.inf, dims={"n": 64}),
    Defect("cosh", "torch", "cosh", "float32", "constant(89)", "nonfinite_mismatch", LARGE_ROOT, math.inf, dims={"n": 64}),
    Defect("cosh", "torch", "cosh", "float64", "constant(710)", "nonfinite_mismatch", LARGE_ROOT, math.inf, dims={"n": 64}),
    Defect("sinh", "torch", "sinh", "bfloat16", "constant(89)", "nonfinite_mismatch", LARGE_ROOT, math.inf, dims={"n": 64}),
    Defect("cosh", "torch", "cosh", "bfloat16", "constant(89)", "nonfinite_mismatch", LARGE_ROOT, math.inf, dims={"n": 64}),
    Defect("erf", "torch", "erf", "bfloat16", "constant(1e-9)", "unstable", "an absolute error of 1e-7, unlike its float32 kernel", 0.99),
    Defect("erf", "jax", "erf", "float32", "constant(3.6962413787841797)", "out_of_range", "above 1 at 7,383 numbers from 3.6962414 to 3.8325036", 1e-8),
    Defect("log1p", "jax", "log1p", "float64", "constant(-0.4137333333333333)", "unstable", "the approximation of XLA for float64", 1e-15),
    Defect("atanh", "jax", "arctanh", "float64", "constant(-0.41382)", "unstable", "computed by log1p", 1e-15),
    Defect("erfinv", "jax", "erfinv", "float64", "constant(0.643356)", "unstable", "the approximation of XLA for float64", 1e-15),
    Defect("lgamma", "jax", "gammaln", "float32", "constant(1.5396417379379272)", "unstable", "Lanczos: cancels beside the roots 1 and 2", 1e-7, dtypes=WIDE_FORMATS),
    Defect("lgamma", "jax", "gammaln", "float64", "constant(1.4490360769006565)", "unstable", "Lanczos: cancels beside the roots 1 and 2", 1e-16),
    Defect("lgamma", "scipy", "gammaln", "float64", "constant(0.9976909925769891)", "unstable", "cancels beside the roots 1 and 2", 1e-13, also=BELOW_FLAG),
    Defect("lgamma", "torch", "lgamma", "float32", "constant(4.04e36)", "nonfinite_mismatch", "overflows although the result is below the largest number", math.inf),
    Defect("lgamma", "scipy", "gammaln", "float32", "constant(-inf)", "nonfinite_mismatch", "-inf at -inf, where C17 (F.10.5.3) wants inf", math.inf),
    Defect("sqrt", "torch", "sqrt", "float32", "uniform(0,1)", "not_correctly_rounded", "a vector kernel of more than half an ulp; IEEE 754 requires correct rounding", 1e-8, dims={"n": 100000}),
    Defect("sqrt", "torch", "sqrt", "float64", "uniform(0,1)", "not_correctly_rounded", "a vector kernel of more than half an ulp; IEEE 754 requires correct rounding", 1e-17, dims={"n": 100000}),
    Defect("exp", "jax", "exp", "float32", "constant(-90)", "subnormals_flushed", FTZ, 0.99, dtypes=ALL),
    Defect("exp", "jax", "exp", "float64", "constant(-710)", "subnormals_flushed", FTZ, 0.99),
    Defect("erfc", "jax", "erfc", "float32", "constant(9.8)", "subnormals_flushed", FTZ, 0.99),
    Defect("exp2", "scipy", "exp2", "float64", "constant(-1025.29)", "subnormals_flushed", "0 where the result is a subnormal number", 0.99),
    Defect("erfc", "scipy", "erfc", "float64", "constant(26.7)", "subnormals_flushed", "0 where the result is a subnormal number", 0.99),
    Defect("gelu", "scipy", "ndtr", "float64", "constant(-37.9)", "subnormals_flushed", "scipy.special.ndtr gives 0 where its result is subnormal", 0.99),
    Defect("gelu", "scipy", "erfc", "float64", "constant(-37.9)", "subnormals_flushed", "scipy.special.erfc gives 0 where its result is subnormal", 0.99),
    Defect("conv2d", "torch", "conv2d", "bfloat16", "special(normal(0,1),0.1)", "nonfinite_mismatch", "NaN and infinities spread beyond their windows", math.inf, {"N": 1, "C": 1, "O": 1, "H": 7, "W": 7, "KH": 3, "KW": 3}),
    Defect("batch_norm", "torch", "batch_norm", "float32", "normal(0,1e-3)", "nonfinite_mismatch", FOLDED, math.inf, {"N": 2, "C": 2, "H": 4, "W": 4}, {"mean": "constant(0)", "var": "constant(1e-20)", "gamma": "constant(1e38)", "beta": "constant(0)"}),
    Defect("batch_norm_training", "torch", "batch_norm", "float32", OFFSET, "nonfinite_mismatch", FOLDED, math.inf, {"N": 2, "C": 2, "H": 4, "W": 4}, {"gamma": "constant(1e36)", "beta": "constant(0)"}),
    Defect("group_norm", "torch", "group_norm", "float32", OFFSET, "nonfinite_mismatch", FOLDED, math.inf, {"N": 2, "G": 2, "D": 2, "L": 8}, {"gamma": "constant(1e36)", "beta": "constant(0)"}),
    Defect("instance_norm", "torch", "instance_norm", "float32", OFFSET, "nonfinite_mismatch", FOLDED, math.inf, {"N": 2, "C": 2, "H": 4, "W": 4}, {"gamma": "constant(1e36)", "beta": "constant(0)"}),
    Defect("rms_norm", "tvm", "topi", "float64", "normal(0,1e20)", "silent_downcast", "computes float64 in float32, where x*x overflows: 0", 0.99, {"rows": 4, "n": 64}, {"gamma": "constant(1)"}),
    Defect("group_norm", "tvm", "topi", "float32", OFFSET, "unstable", ONE_PASS, 1e-4, GROUPS, UNIT, also=("nonfinite_mismatch",), dtypes=ALL),
    Defect("instance_norm", "tvm", "topi", "float32", OFFSET, "unstable", ONE_PASS, 1e-4, IMAGE, UNIT, also=("nonfinite_mismatch",), dtypes=ALL),
    Defect("layer_norm", "jax", "standardize", "float32", OFFSET, "unstable", ONE_PASS, 1e-4, {"rows": 4, "n": 64}, UNIT, also=BELOW_FLAG, dtypes=ALL),
    Defect("matmul", "numpy", "matmul", "bfloat16", "", "dtype_mismatch", "returns float32 (loops of ml_dtypes)", 0.0, {"M": 2, "K": 3, "N": 2}),
    Defect("rms_norm", "tvm", "topi", "float64", "normal(0,1)", "silent_downcast", "computes float64 in float32", 1e-9, {"rows": 4, "n": 64}, {"gamma": "constant(1)"}),
    Defect("sign", "torch", "sign", "float32", "constant(nan)", "nonfinite_mismatch", NAN + ": 0", math.inf),
    Defect("sign", "tvm", "topi", "float32", "constant(nan)", "nonfinite_mismatch", NAN + ": 0", math.inf),
    Defect("relu", "tvm", "topi", "float32", "constant(nan)", "nonfinite_mismatch", NAN + ": 0", math.inf),
    Defect("clip", "tvm", "topi", "float32", "constant(nan)", "nonfinite_mismatch", NAN + ": the upper end", math.inf),
    Defect("max", "tvm", "topi", "float32", "special(normal(0,1),0.05)", "nonfinite_mismatch", NAN, math.inf, {"rows": 16, "n": 64}),
    Defect("max", "jax", "max", "float32", "constant(nan)", "nonfinite_mismatch", NAN + ", from 4,096 elements on", math.inf, {"rows": 512, "n": 8}),
    Defect("max_pool2d", "jax", "reduce_window", "float32", "constant(nan)", "nonfinite_mismatch", NAN + ", from 4,096 elements on", math.inf, {"N": 1, "C": 1, "H": 64, "W": 64}),
    Defect("logsumexp", "torch", "logsumexp", "float32", "ramp(-18,0)", "unstable", "the smaller terms are lost where the maximum is near 0", 1e-2, {"rows": 1, "n": 2}),
    Defect("logsumexp", "jax", "logsumexp", "float32", "ramp(-18,0)", "unstable", "the smaller terms are lost where the maximum is near 0", 1e-2, {"rows": 1, "n": 2}),
    Defect("group_norm", "tvm", "topi", "float32", "uniform(0,1)", "borderline", ONE_PASS, 1e-6, {"N": 8, "G": 8, "D": 4, "L": 49}, UNIT, accuses=False),
    Defect("instance_norm", "tvm", "topi", "float32", "uniform(0,1)", "borderline", ONE_PASS, 1e-6, {"N": 2, "C": 8, "H": 14, "W": 14}, UNIT, accuses=False),
    Defect("exp2", "jax", "exp2", "float64", "constant(-754)", "borderline", "exp(x ln 2) with ln 2 rounded: 2^-754 is a number of the format", 1e-14, accuses=False),
    Defect("exp2", "jax", "exp2", "bfloat16", "constant(-111)", "borderline", "exp(x ln 2) with ln 2 rounded: 2^-111 is a number of the format", 0.5, accuses=False),
    Defect("sum", "numpy", "sum", "float32", "uniform(0,1)", "accumulation_order", "rows are added one after another along axis 0", 1e-7, {"rows": 65536, "n": 24}, attributes={"axis": 0}, accuses=False),
)
# fmt: on


def excuse(operator: str, target: str, dtype: DType, verdict: str) -> Defect | None:
    """The row that says why `target` (backend:implementation) gets this verdict. A row of one of the two wide formats
    speaks for the other, since the precision ladder shows its defect there."""
    for defect in DEFECTS:
        reached = {defect.dtype, *defect.dtypes}
        reached |= set(WIDE_FORMATS) if reached & set(WIDE_FORMATS) else set()
        here = (operator, target) == (defect.operator, f"{defect.backend}:{defect.implementation}")
        flushed = verdict == "subnormals_flushed" and target.startswith("jax:") and defect.reason == FTZ
        if (here or flushed) and dtype in reached and verdict in (defect.verdict, *defect.also):
            return defect
    return None
