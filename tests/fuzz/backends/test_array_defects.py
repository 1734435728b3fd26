"""Defects of array operators in the pinned libraries, proven against mpmath. A test that fails says one was fixed."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from fuzz.backends import BACKENDS
from fuzz.backends.base import Array
from fuzz.execution import CAMPAIGN, Ran, execute
from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from fuzz.workbench import Bench
from strategies import make_problem, parse_recipe

mp = mpmath.mp.clone()
mp.prec = 200


def outputs(backend: str, operator: str, arrays: dict[str, Array], impl: str = "", **attributes: Any) -> list[Array]:
    """What the library computes on `arrays` (their dtype, C-ordered)."""
    if line := BACKENDS[backend].missing():
        pytest.skip(line)
    found, contract = BACKENDS[backend], OPERATORS[operator].contract
    dims = {n: s for spec in contract.inputs for n, s in zip(spec.dims, arrays[spec.name].shape, strict=True)}
    home = next(iter(arrays.values())).dtype.name
    recipes = [parse_recipe("normal(0,1)", (name,)) for name in arrays]
    bench = Bench(make_problem(contract, dims=dims, home=home, recipes=recipes, attributes=attributes))
    for name, values in arrays.items():
        bench.rung(home).arena.arrays[name][...] = values
    target = Target(backend, found.default_device, home, (("impl", impl),) if impl else ())
    outcome = execute(bench, target, CAMPAIGN, lambda stage: None, lambda: None)
    assert isinstance(outcome, Ran), outcome
    return [values.copy() for values in outcome.values]


def exact(values: Array) -> list[Any]:
    return [mp.mpf(float(v)) for v in values.ravel()]


def normalised(x: Array, eps: float) -> list[Any]:
    """(x - mean) / sqrt(var + eps) of all elements of x."""
    terms = exact(x)
    mean = mp.fsum(terms) / len(terms)
    var = mp.fsum((t - mean) ** 2 for t in terms) / len(terms)
    return [(t - mean) / mp.sqrt(var + mp.mpf(eps)) for t in terms]


def ramp(*shape: int) -> Array:
    """1000 plus a quarter of 0, 1, 2, 3, ...: exact in float32, as are all differences from the mean of one period."""
    return (1000 + np.arange(np.prod(shape)).reshape(shape) % 8 / 4).astype(np.float32)


@pytest.mark.parametrize(
    ("operator", "shape", "parameters"), [("group_norm", (1, 1, 2, 64), (1, 2)), ("instance_norm", (1, 1, 8, 16), (1,))]
)
def test_tvm_subtracts_the_squared_mean_from_the_mean_square(
    operator: str, shape: tuple[int, ...], parameters: tuple[int, ...]
) -> None:
    x, one, zero = ramp(*shape), np.ones(parameters, np.float32), np.zeros(parameters, np.float32)
    truth = np.array([float(t) for t in normalised(x, 1e-5)]).reshape(shape)
    errors = {}
    for impl in ("topi", "te"):
        (y,) = outputs("tvm", operator, {"x": x, "gamma": one, "beta": zero}, impl)
        errors[impl] = np.max(np.abs(y - truth))
    assert errors["topi"] > 1e-3  # 1.5 % of the standard deviation in the surveys
    assert errors["te"] < 1e-4


def test_tvm_rms_norm_computes_float64_in_float32() -> None:
    x = np.array([[1.0, 2.0 / 3.0, 0.1]])
    (y,) = outputs("tvm", "rms_norm", {"x": x, "gamma": np.ones(3)})
    terms = exact(x)
    scale = mp.sqrt(mp.fsum(t * t for t in terms) / 3 + mp.mpf(1e-5))
    assert max(abs(mp.mpf(float(v)) * scale / t - 1) for v, t in zip(y.ravel(), terms, strict=True)) > 1e-9


@pytest.mark.parametrize(
    ("backend", "operator", "rows", "attributes"),
    [
        ("tvm", "max", 2, {}),
        ("tvm", "argmax", 2, {}),
        ("jax", "max", 512, {}),
        ("jax", "norm", 512, {"ord": float("inf")}),
    ],
)
def test_a_maximum_loses_nan(backend: str, operator: str, rows: int, attributes: dict[str, Any]) -> None:
    """jax on the CPU: from 4,096 elements on; smaller arrays are right."""
    x = np.ones((rows, 8), np.float32)
    x[:, 3] = np.nan
    (y,) = outputs(backend, operator, {"x": x}, **attributes)
    assert not np.isnan(y).any()
    for healthy in ("numpy", "torch"):
        assert np.isnan(outputs(healthy, operator, {"x": x}, **attributes)[0]).all()


def test_jax_keeps_nan_in_small_arrays() -> None:
    x = np.full((511, 8), np.nan, np.float32)
    assert np.isnan(outputs("jax", "max", {"x": x})[0]).all()
    x = np.full((512, 8), np.nan, np.float32)
    assert (outputs("jax", "max", {"x": x})[0] == -np.inf).all()


@pytest.mark.parametrize(("backend", "side"), [("tvm", 6), ("jax", 64)])
def test_a_maximum_of_windows_loses_nan(backend: str, side: int) -> None:
    x = np.ones((1, 1, side, side), np.float32)
    x[..., ::2] = np.nan  # TVM keeps one that is the last of its window
    (y,) = outputs(backend, "max_pool2d", {"x": x}, kernel=2, stride=2)
    assert not np.isnan(y).any()
    assert np.isnan(outputs("torch", "max_pool2d", {"x": x}, kernel=2, stride=2)[0]).all()


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_logsumexp_loses_the_smaller_terms_where_the_maximum_is_zero(backend: str) -> None:
    x = np.array([[0.0, -18.0]], np.float32)
    truth = float(mp.log1p(mp.exp(-18)))
    assert truth == pytest.approx(1.522997951276035e-08)
    assert outputs(backend, "logsumexp", {"x": x})[0][0] == 0.0
    assert outputs("scipy", "logsumexp", {"x": x})[0][0] == pytest.approx(truth)


def test_torch_overflows_where_it_folds_scale_and_deviation() -> None:
    """gamma / sqrt(var + eps) leaves float32; (x - mean) times it does not."""
    x = np.float32(1e-30) * np.array([1, -1, 2, -2], np.float32).reshape(4, 1, 1, 1)
    gamma, beta = np.array([2e38], np.float32), np.zeros(1, np.float32)
    truth = [t * mp.mpf(float(gamma[0])) for t in normalised(x, 1e-6)]
    y = outputs("torch", "batch_norm_training", {"x": x, "gamma": gamma, "beta": beta}, eps=1e-6)[0]
    assert max(map(abs, truth)) < 1e12
    assert not np.isfinite(y).any()


def test_the_order_of_numpys_axis_0_is_called_so() -> None:
    contract = OPERATORS["mean"].contract
    problem = make_problem(
        contract,
        dims={"rows": 32768, "n": 2},
        home="float32",
        recipes=[parse_recipe("uniform(0,1)", ("x",))],
        attributes={"axis": 0},
    )
    session, target = Session("a test"), Target("numpy", "cpu", "float32")
    verdicts = {run_trial(Cell(problem, (target,)), 0, i, session).rows[0]["verdict"] for i in range(5)}
    assert "accumulation_order" in verdicts
    assert verdicts <= {"accumulation_order", "rounding"}


def test_every_output_of_an_operator_has_rows_pairs_and_elements() -> None:
    contract = OPERATORS["batch_norm_training"].contract
    problem = make_problem(
        contract,
        dims={"N": 2, "C": 3, "H": 4, "W": 5},
        home="float32",
        recipes=[parse_recipe("normal(0,1)", (spec.name,)) for spec in contract.inputs],
    )
    targets = (Target("numpy", "cpu", "float32"), Target("numpy", "cpu", "float64"))
    found = run_trial(Cell(problem, targets, ((0, 1),)), 0, 0, Session("a test"), ladder=True)
    against = [(row["output"], row["against"]) for row in found.rows]
    for name, size in (("y", 120), ("mean", 3), ("var", 3)):
        assert against.count((name, "truth")) == 2
        assert len([pair for pair in against if pair[0] == name]) == 3
        mine = [row for row in found.rows if row["output"] == name]
        assert all(row["verdict"] in ("exact", "rounding", "ill_conditioned") for row in mine)
        assert all(row["elements"] == size for row in mine)
        assert all(row["rung_rho"] is not None for row in mine if row["against"] == "truth")
        assert {e["output"] for e in found.elements} == {"y", "mean", "var"}
