"""Healthy library implementations are not accused; what is accused is wrong, as mpmath shows.

The fast form of benchmarks/quality_false_alarms.py: one draw a combination, float32 with the ladder's float64.
"""

from __future__ import annotations

import math
import shlex
import subprocess
import sys
from typing import Any

import pytest
from quality_modules import load

from fuzz.backends import BACKENDS, backend
from fuzz.campaigns.environment import environment
from fuzz.operators import OPERATORS
from fuzz.thresholds import FLAG
from fuzz.trial import Cell, Session, run_trial
from results.verdicts import VERDICTS
from strategies import make_problem, parse_recipe

quality = load("quality_false_alarms")
defects, known = load("quality_defects"), load("quality_table")

AS_COMMANDS = ("tanh", "sum")
"""Operators whose rows are typed as a user would, too; the others run in this process."""
FAST_DTYPES = {"batch_norm": quality.DTYPES, "gelu": quality.DTYPES, "softplus": quality.DTYPES}
"""The other operators run in float32, and by the ladder in float64."""


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    for name in ("numpy", "scipy", "torch", "jax", "tvm"):
        if backend(name).missing() is None:
            backend(name).warm_up()


@pytest.mark.heavy
@pytest.mark.parametrize("operator", OPERATORS)
def test_no_healthy_implementation_is_accused(operator: str) -> None:
    alarms, borderline, count = [], 0, 0
    for (_, target, dtype, kind), row in quality.trials([operator], 1, dtypes=FAST_DTYPES.get(operator, ("float32",))):
        verdict = str(row["verdict"])
        if verdict in quality.UNJUDGED:
            continue
        if verdict in quality.QUIET:
            assert float(row.get("rho_max") or 0) <= FLAG or verdict == "accumulation_order"
            borderline += verdict == "borderline"
            count += 1
        elif known.excuse(operator, target, dtype, verdict) is None:
            alarms.append(f"{target} {dtype} {kind}: {verdict}, {row['detail']}")
    assert not alarms
    assert borderline <= 0.1 * count + 1


WIDE_VECTORS = {"conv2d-torch-conv2d-bfloat16"}
"""Defects of kernels that are chosen on processors with AVX-512 only."""


def identify(defect: Any) -> str:
    return f"{defect.operator}-{defect.backend}-{defect.implementation}-{defect.dtype}"


@pytest.mark.heavy
@pytest.mark.parametrize("defect", known.DEFECTS, ids=identify)
def test_a_known_defect_is_real(defect: Any) -> None:
    """Value against mpmath. Where this fails, the library has been repaired: drop the row."""
    if (line := BACKENDS[defect.backend].missing()) is not None:
        pytest.skip(line)
    if identify(defect) in WIDE_VECTORS and "avx512f" not in environment()["cpu_flags"]:
        pytest.skip("the kernel in question needs AVX-512")
    shown = defects.show(defect)
    assert shown.row["verdict"] == defect.verdict, shown.row["detail"]
    assert VERDICTS[defect.verdict].finding == defect.accuses
    assert shown.relative >= defect.least, f"{defect.operator}({shown.x}) = {shown.value}, truth {shown.truth}"
    if math.isfinite(shown.relative) and defect.dims == load("quality_defect").POINT:
        assert float(shown.row["rel_max"] or 0) == pytest.approx(shown.relative, rel=1e-3)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "defect",
    [
        pytest.param(d, marks=[pytest.mark.long] if d.dtype == "float64" else [])
        for d in known.DEFECTS
        if d.operator in AS_COMMANDS
    ],
    ids=identify,
)
def test_its_command_gives_its_verdict(defect: Any, tmp_path: Any) -> None:
    if (line := BACKENDS[defect.backend].missing()) is not None:
        pytest.skip(line)
    command = [sys.executable, "-m", "fuzz.cli", *shlex.split(defect.command)[1:], "--out", str(tmp_path / "run")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == (1 if defect.accuses else 0), ended.stderr
    assert defect.verdict in ended.stdout


CLAIMS = (
    ("gelu", "normal(0,3)", {"torch:gelu", "tvm:relax", "tvm:te"}),
    ("tanh", "loguniform(1e-9,1)", {"tvm:topi"}),
    ("softplus", "uniform(-40,0)", {"tvm:topi", "tvm:relax"}),
    ("softplus", "loguniform(1e-9,1)", set()),
    ("layer_norm", "offset(1000,1)", {"jax:standardize"}),
)


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("operator", "recipe", "guilty"), CLAIMS)
def test_who_is_unstable_where(operator: str, recipe: str, guilty: set[str], dtype: str) -> None:
    targets = quality.targets(operator, dtype)
    contract = OPERATORS[operator].contract
    problem = make_problem(
        contract,
        dims={"rows": 16, "n": 257} if operator == "layer_norm" else {"n": 4096},
        home=dtype,
        recipes=[parse_recipe(recipe if s.name == "x" else s.default, (s.name,)) for s in contract.inputs],
    )
    session = Session("quality")
    for index in range(4):
        rows = run_trial(Cell(problem, targets), 0, index, session, ladder=index == 0).rows
        for target, row in zip(targets, rows, strict=True):
            name = f"{target.backend}:{dict(target.options)['impl']}"
            verdict = str(row["verdict"])
            if row["verdict"] == "unsupported":
                continue
            if name in guilty:
                assert verdict == "unstable", (name, row["detail"])
            else:
                assert not VERDICTS[verdict].finding or verdict == "subnormals_flushed", (name, row["detail"])


def test_the_page_names_every_row() -> None:
    page = defects.PAGE_FILE.read_text()
    for defect in known.DEFECTS:
        assert f"`{defect.command}`" in page
