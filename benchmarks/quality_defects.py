"""Defects of the pinned libraries: what is computed, what is right, and the command that shows it.

    python benchmarks/quality_defects.py [--write docs/known-defects.md]

One table for three readers: the page docs/known-defects.md, the false-alarm gate, which counts the combinations named
here apart, and the tests, which run every row and compare its value with mpmath.
"""

# ruff: noqa: E501  # the table of defects has one row a line

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
from quality_setting import cpu, versions

from fuzz.backends import BACKENDS
from fuzz.execution import CAMPAIGN, Ran, execute
from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import MpmathArithmetic
from fuzz.oracle.element import evaluate
from fuzz.oracle.plain import plain
from fuzz.oracle.trace import trace
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from fuzz.workbench import Bench
from results.columns import Row
from strategies import DType, Problem, make_problem, parse_recipe
from strategies.sampling import draw

mp = mpmath.mp.clone()
mp.prec = 400

Truth = Callable[[Any], Any]
POINT: Mapping[str, int] = {"n": 1}


def _gelu(x: Any) -> Any:
    return x * mp.erfc(-x / mp.sqrt(2)) / 2


def _gelu_tanh(x: Any) -> Any:
    return x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)))


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


def _lgamma(x: Any) -> Any:
    return mp.inf if mp.isinf(x) else mp.re(mp.loggamma(x))


TRUTHS: Mapping[str, Truth] = {
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "lgamma": _lgamma,
    "tanh": mp.tanh,
    "atanh": mp.atanh,
    "exp": mp.exp,
    "exp2": lambda x: mp.power(2, x),
    "log1p": mp.log1p,
    "sqrt": mp.sqrt,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfinv": mp.erfinv,
    "sign": lambda x: x if mp.isnan(x) else mp.sign(x),
    "relu": lambda x: x if mp.isnan(x) else max(x, mp.mpf(0)),
    "clip": lambda x: x if mp.isnan(x) else min(max(x, mp.mpf(-1)), mp.mpf(1)),
}
"""Elementwise operators in mpmath, written apart from the references. Others are evaluated by the reference's formula,
one element of it in mpmath."""


class Defect(NamedTuple):
    """A target that errs, and where."""

    operator: str
    backend: str
    implementation: str
    dtype: DType
    x: str
    """Recipe of input x (the others take their defaults); empty where there is no x."""
    verdict: str
    reason: str
    least: float = 1e-12
    """Relative error at least; infinite where only one side is a number."""
    dims: Mapping[str, int] = POINT
    others: Mapping[str, str] = {}
    attributes: Mapping[str, Any] = {}
    also: tuple[str, ...] = ()
    """Verdicts that the same defect gets on other inputs."""
    dtypes: tuple[DType, ...] = ()
    """Formats that the defect reaches besides `dtype`. The ladder shows a defect of float64 in rows of float32, too."""
    accuses: bool = True
    """False where the row shows a choice that the verdict explains, not a defect."""

    @property
    def target(self) -> str:
        """The target as a user spells it."""
        first = BACKENDS[self.backend].implementations[self.operator][0].name
        return self.backend if self.implementation == first else f"{self.backend}[impl={self.implementation}]"

    @property
    def provenance(self) -> str:
        offered = BACKENDS[self.backend].implementations[self.operator]
        return next(str(i.provenance) for i in offered if i.name == self.implementation)

    @property
    def inputs(self) -> dict[str, str]:
        return ({"x": self.x} if self.x else {}) | dict(self.others)

    @property
    def command(self) -> str:
        """What to type to see it."""
        words = ["ulpfuzz", "run", self.operator, "--dims", ",".join(f"{k}={v}" for k, v in self.dims.items())]
        for name, recipe in self.inputs.items():
            words += ["--input", f"{name}={recipe}"]
        for name, value in self.attributes.items():
            words += ["--attr", f"{name}={value}"]
        if self.dtype != "float32":
            words += ["--dtype", self.dtype]
        return shlex.join([*words, "--targets", self.target, "--trials", "1"])

    def problem(self) -> Problem:
        contract = OPERATORS[self.operator].contract
        recipes = [parse_recipe(self.inputs.get(s.name, s.default), (s.name,)) for s in contract.inputs]
        return make_problem(
            contract, dims=self.dims, home=self.dtype, recipes=recipes, attributes=self.attributes or None
        )


class Shown(NamedTuple):
    """What running a row gave: the worst element, its truth in mpmath, and the row of the trial."""

    row: Row
    value: float
    truth: Any
    x: str

    @property
    def relative(self) -> float:
        if math.isnan(self.value) != bool(mp.isnan(self.truth)) or math.isinf(self.value) != bool(mp.isinf(self.truth)):
            return math.inf
        if math.isnan(self.value) or self.value == self.truth:
            return 0.0
        if math.isinf(self.value):  # of the other sign
            return math.inf
        return float(abs(mp.mpf(self.value) - self.truth) / abs(self.truth)) if self.truth else math.inf


def show(defect: Defect, session: Session | None = None) -> Shown:
    """Run the row's command in this process: trial 0 of seed 0, with the precision ladder."""
    found, problem = BACKENDS[defect.backend], defect.problem()
    target = Target(defect.backend, found.default_device, defect.dtype, (("impl", defect.implementation),))
    result = run_trial(Cell(problem, (target,)), 0, 0, session or Session("defects"), ladder=True)
    row = result.rows[0]
    if not result.elements:  # no output that can be judged
        return Shown(row, math.nan, mp.nan, defect.x)
    worst = next(e for e in result.elements if e["kind"] == "worst")
    contract = OPERATORS[defect.operator].contract
    shapes = contract.shapes(dict(problem.dims))
    arrays = {name: np.empty(shape, defect.dtype) for name, shape in shapes.items()}
    draw(problem, contract, 0, 0, arrays)
    values = _values(target, defect, arrays)
    program = trace(OPERATORS[defect.operator].reference, shapes, dict(problem.attributes))

    def at(position: int) -> Shown:
        value = float(values.reshape(-1)[position])
        if defect.operator in TRUTHS:
            x = float(arrays["x"].reshape(-1)[position])
            return Shown(row, value, TRUTHS[defect.operator](mp.mpf(x)), f"{x:.17g}")
        index = tuple(int(i) for i in np.unravel_index(position, values.shape))
        exact = evaluate(program, 0, index, list(arrays.values()), MpmathArithmetic()).value
        undefined = np.isnan(plain(program, list(arrays.values()), defect.dtype)[0].reshape(-1)[position])
        return Shown(row, value, mp.nan if undefined else mp.mpf(exact), defect.x)

    if row.get("nonfinite_mismatch"):
        return next(found for found in map(at, range(values.size)) if math.isinf(found.relative))
    return at(int(str(worst["element"])))


def _values(target: Target, defect: Defect, arrays: Mapping[str, Any]) -> Any:
    """What the library computes, first output."""
    bench = Bench(defect.problem())
    for name, values in arrays.items():
        bench.rung(defect.dtype).arena.arrays[name][...] = values
    outcome = execute(bench, target, CAMPAIGN, lambda stage: None, lambda: None)
    assert isinstance(outcome, Ran), outcome
    return outcome.values[0].copy()


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


COLUMNS = (
    "operator",
    "target",
    "dtype",
    "x",
    "value",
    "truth",
    "ulp",
    "relative error",
    "verdict",
    "reason",
    "command",
)


def table(rows: Sequence[Defect]) -> str:
    """The rows as Markdown, each run anew."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    session = Session("defects")
    for defect in sorted(rows, key=lambda d: (d.operator, d.backend, d.dtype)):
        if BACKENDS[defect.backend].missing() is not None:
            continue
        shown = show(defect, session)
        row, digits = shown.row, 17 if defect.dtype == "float64" else 9
        number = math.isfinite(shown.relative)
        value, truth = f"{shown.value:.{digits}g}", mp.nstr(shown.truth, digits)
        if "ulp_max" not in row:  # no output that can be judged
            value, truth, number = "", "", False
        ulp = float(row.get("ulp_max") or 0)
        reason = defect.reason
        if defect.verdict == "not_correctly_rounded":
            reason += f"; {str(row['detail']).partition(' are not')[0]} are not the nearest number"
        cells = (
            defect.operator, defect.target, defect.dtype, shown.x, value, truth,
            f"{ulp:.3g}" if number else "",
            f"{shown.relative:.2g}" if number else "infinite" if truth else "", f"`{row['verdict']}`", reason, f"`{defect.command}`",
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


PAGE_FILE = Path(__file__).parents[1] / "docs" / "known-defects.md"
PAGE = """# Known defects of the pinned libraries

Generated by `python benchmarks/quality_defects.py --write docs/known-defects.md` with {versions}, on {cpu}.
Every row names the command that shows it. `tests/quality` runs all of them in process, some as commands, and compares each
value with mpmath. Values depend on the CPU where a library chooses its kernel by it.

*x*: the input at the worst element, or its recipe where more than one input takes part. *ulp*, *relative error*: of that
trial; infinite where the result or the truth is no finite number. `subnormals_flushed` of jax holds for every operator:
its rows of exp stand for all.

{library}

## Not the library's

Formulations that ulpfuzz composed from primitives of the library. Nobody is accused of them.

{composed}

## Above one bound

Less accurate than they need be, by an error between one and two bounds: `borderline`, which accuses nobody.

{borderline}

## Not a defect

What looks like one and is a choice.

{choices}
"""


def page() -> str:
    """The page, every row run anew."""
    return PAGE.format(
        versions=versions(),
        cpu=cpu(),
        library=table([d for d in DEFECTS if d.accuses and d.provenance == "library"]),
        composed=table([d for d in DEFECTS if d.accuses and d.provenance != "library"]),
        borderline=table([d for d in DEFECTS if d.verdict == "borderline"]),
        choices=table([d for d in DEFECTS if not d.accuses and d.verdict != "borderline"]),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="file to write; without it the table is printed")
    arguments = parser.parse_args()
    text = page()
    if arguments.write:
        arguments.write.write_text(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
