"""Certification: a wrong oracle stops the campaign, a right one never does, and the choice of trials is fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import Cli, rows_of
from trial_cases import Lab

import fuzz.judging.assess
import fuzz.oracle.bound
import fuzz.trial
from fuzz.errors import InternalError
from fuzz.judging.certify import RANDOM, WORST, due
from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import DependencyArithmetic, adjudicator
from fuzz.oracle.element import _Slice
from fuzz.oracle.frames import Frame
from fuzz.oracle.rules import RULES
from fuzz.oracle.slices import slice_size
from fuzz.oracle.trace import trace
from fuzz.targets import Target
from strategies.families import FAMILIES, recipes_of

needs_arithmetic = pytest.mark.skipif(adjudicator() is None, reason="pip install 'ulpfuzz[certify]'")


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trial is certified."""
    monkeypatch.setattr(fuzz.judging.assess, "due", lambda *_: True)


def off_by(rule: Callable[[Frame], None], share: float) -> Callable[[Frame], None]:
    """The rule with a value that is wrong by a share of u E."""

    def wrong(f: Frame) -> None:
        rule(f)
        f.value += share * f.charges.u * f.total()

    return wrong


def healthy(lab: Lab, operator: str, dtype: str, backend: str = "numpy", recipe: str = "", **dims: int) -> Any:
    spec = OPERATORS[operator].contract.inputs[0]
    inputs = {spec.name: recipe} if recipe else None
    problem = lab.problem(operator, inputs, dims or None, dtype)
    return lab.trial(problem, Target(backend, "cpu", dtype)).rows[0]


@needs_arithmetic
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(("operator", "primitive"), [("exp", "exp"), ("softmax", "sum"), ("matmul", "matmul")])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_value_wrong_by_2_per_cent_of_the_bound_is_an_internal_error(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, operator: str, primitive: str, dtype: str
) -> None:
    right = RULES[primitive]
    monkeypatch.setitem(RULES, primitive, off_by(right, 0.002))
    assert healthy(lab, operator, dtype)["certified"] > 0
    lab.session = fuzz.trial.Session("test")
    monkeypatch.setitem(RULES, primitive, off_by(right, 0.02))
    with pytest.raises(InternalError, match=r"element \d+ of output \w+ of .* the oracle's truth is .*gives"):
        healthy(lab, operator, dtype)


@needs_arithmetic
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.long)])
def test_no_operator_contradicts_on_any_family_of_inputs(lab: Lab, dtype: str) -> None:
    """Among them var in float64, whose divisor once had the digits of float64 only."""
    sizes = {"rows": 3, "n": 24, "N": 2, "C": 2, "M": 3, "K": 9, "B": 2, "G": 2, "D": 2, "I": 2, "O": 2}
    sizes |= {"H": 6, "W": 6, "L": 6, "KL": 3, "KH": 3, "KW": 3, "T": 2, "R": 3, "J": 3, "Q": 2, "depth": 3}
    for name, operator in OPERATORS.items():
        dims = {dim: sizes[dim] for dim in operator.contract.dim_names}
        menus = [[r for f in FAMILIES.values() for r in recipes_of(f, s, dtype)] for s in operator.contract.inputs]
        for turn in range(0, max(map(len, menus)), 4):
            inputs = {m[0].fills[0]: m[(turn + k) % len(m)].expression() for k, m in enumerate(menus)}
            lab.trial(lab.problem(name, inputs, dims, dtype), Target("numpy", "cpu", dtype), ladder=False)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long double has the digits of float64, as on Windows and on Apple's processors: truths of float64 are screens."""
    monkeypatch.setattr(fuzz.oracle.bound, "wide_dtype", lambda dtype: np.dtype(np.float64))


@needs_arithmetic
@pytest.mark.usefixtures("always", "narrow")
def test_a_screen_is_replaced_not_contradicted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong by half a bound it stays a screen."""
    monkeypatch.setitem(RULES, "erfc", off_by(RULES["erfc"], 0.5))
    row = healthy(lab, "gelu", "float64", "scipy", "uniform(0.5,2)")
    assert row["certified"] == WORST + RANDOM
    assert row["verdict"] == "rounding"


@needs_arithmetic
@pytest.mark.usefixtures("narrow")
def test_a_screen_that_is_the_code_under_test_hides_nothing(lab: Lab) -> None:
    """SciPy's erfc is both: it gives 0 where the result is a subnormal number."""
    row = healthy(lab, "erfc", "float64", "scipy", "constant(26.7)", n=4)
    assert row["verdict"] == "subnormals_flushed"
    row = healthy(lab, "erfc", "float64", "scipy", "uniform(0,1)", n=40)
    assert 0 < row["rho_max"] < 1


def test_scipy_in_float64_is_not_judged_by_itself(lab: Lab) -> None:
    for operator, recipe in (("erfc", "constant(26.7)"), ("gelu", "constant(-37.9)")):
        assert healthy(lab, operator, "float64", "scipy", recipe, n=4)["verdict"] == "subnormals_flushed"
    for operator in ("erf", "erfc", "erfinv", "gelu"):
        assert healthy(lab, operator, "float64", "scipy", "uniform(0,1)", n=40)["rho_max"] > 0


@needs_arithmetic
@pytest.mark.parametrize("operator", ["tanh", "logsumexp"])
def test_a_wrong_truth_of_the_ladder_is_an_internal_error(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, operator: str
) -> None:
    """Wrong by 2e-8: nothing in float32, everything in float64, and both libraries would be accused."""
    primitive = "tanh" if operator == "tanh" else "log1p"
    right = RULES[primitive]

    def wrong(f: Frame) -> None:
        right(f)
        f.value *= 1.0 + 2e-8

    monkeypatch.setitem(RULES, primitive, wrong)
    monkeypatch.setattr(fuzz.judging.assess, "due", lambda *_: False)
    problem = lab.problem(operator, None, {"n": 40} if operator == "tanh" else {"rows": 4, "n": 8})
    with pytest.raises(InternalError, match=r"in float64: the oracle's truth is .*Arb|mpmath"):
        lab.trial(problem, Target("numpy", "cpu", "float32"))


@needs_arithmetic
def test_a_wrong_truth_of_the_narrower_rung_is_found_too(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    right = RULES["exp"]

    def wrong(f: Frame) -> None:
        right(f)
        if f.charges.u == 2.0**-24:
            f.value *= 1.5

    monkeypatch.setitem(RULES, "exp", wrong)
    off = lab.target("exp", lambda x: np.exp(x) * 1.01, dtype="float64")
    with pytest.raises(InternalError, match="of exp in float32"):
        lab.trial(lab.problem("exp", dtype="float64"), off)


@pytest.mark.usefixtures("always")
def test_without_arithmetic_nothing_is_certified(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz.trial, "adjudicator", lambda: None)
    monkeypatch.setitem(RULES, "exp", off_by(RULES["exp"], 0.02))
    assert healthy(lab, "exp", "float32")["certified"] is None


@needs_arithmetic
def test_flagged_outputs_are_certified_and_others_not(lab: Lab) -> None:
    problem = lab.problem("exp")
    off = lab.target("exp", lambda x: np.exp(x) * x.dtype.type(1.001))
    rows = lab.trial(problem, off, Target("numpy", "cpu", "float32")).rows
    assert [row["certified"] for row in rows] == [WORST + RANDOM, None]


@needs_arithmetic
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(("length", "elements"), [(64, WORST + RANDOM), (4096, 1), (20_000, 0)])
def test_long_reductions_cost_one_element_or_none(lab: Lab, length: int, elements: int) -> None:
    assert healthy(lab, "sum", "float32", rows=200, n=length)["certified"] == elements


def test_one_trial_in_a_thousand_is_due_and_always_the_same() -> None:
    chosen = [index for index in range(100_000) if due("0123456789abcdef", 0, index)]
    assert chosen == [index for index in range(100_000) if due("0123456789abcdef", 0, index)]
    assert chosen[:3] == [436, 1408, 3697]
    assert 70 <= len(chosen) <= 130
    assert chosen != [index for index in range(100_000) if due("0123456789abcdef", 1, index)]


@pytest.mark.parametrize("operator", ["softmax", "layer_norm", "logsumexp", "batch_norm_training", "conv2d", "cumsum"])
def test_the_estimate_is_an_upper_one_and_not_ten_times_too_large(operator: str) -> None:
    sizes = {"rows": 5, "n": 40, "N": 2, "C": 3, "O": 2, "H": 7, "W": 7, "KH": 3, "KW": 3}
    contract = OPERATORS[operator].contract
    shapes = contract.shapes({name: sizes[name] for name in contract.dim_names})
    attributes = {name: spec.default for name, spec in contract.attributes}
    program = trace(OPERATORS[operator].reference, shapes, attributes)
    slice_ = _Slice(program, [np.ones(shape) for shape in shapes.values()], DependencyArithmetic())
    slice_.value(program.outputs[0], tuple(size - 1 for size in program.output_shapes()[0]))
    assert len(slice_.memo) <= slice_size(program, 0) <= 10 * len(slice_.memo)


WRONG_ORACLE = """
import numpy as np
from fuzz.extend import FunctionBackend, register
from fuzz.oracle.rules import RULES
right = RULES["exp"]
def wrong(f):
    right(f)
    if f.value.flat[0] > 8:
        f.value += 0.02 * f.charges.u * f.total()
RULES["exp"] = wrong
off = FunctionBackend("off")
off.operator("exp")(lambda x: np.exp(x) * x.dtype.type(1.01))
register(off)
"""


@needs_arithmetic
def test_a_truth_that_the_certificate_contradicts_gives_no_verdict_and_is_said(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG_ORACLE)
    arguments = ("exp", "--dims", "n=40", "--targets", "off", "--extension", "wrong.py", "--trials", 400)
    ran = ulpfuzz("run", *arguments, "--shard-trials", 4, "--fail-on", "none", "--out", "c")
    assert ran.returncode == 70
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("ulpfuzz: ")]
    assert " no verdict because ulpfuzz itself failed, at " in line
    assert "of output y of exp in float32: the oracle's truth is " in line
    assert "Traceback" not in ran.stderr
    rows = rows_of(tmp_path / "c").values()
    assert len(rows) == 400
    doubted = [row for row in rows if row["verdict"] == "indeterminate"]
    assert 0 < len(doubted) < 200
    assert all(row["certified"] >= WORST for row in rows if row not in doubted)
