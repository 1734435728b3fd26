"""What the oracle costs, counted instead of timed: the work of truth and bound relative to that of the reference.

Work is what the arrays of either pass through: elements of a call's longest array, times the weight of the function.
benchmarks/cost.py has the same limits on CPU time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from quality_modules import load

from fuzz.operators import OPERATORS
from fuzz.oracle import bound as bounds
from fuzz.oracle import frames
from fuzz.workbench import Bench
from strategies import make_problem, parse_recipe
from strategies.sampling import draw

cost = load("cost")

ELEMENTARY = 10.0
"""Work of exp, sqrt, tanh and the like on an element; that of an addition is 1."""
PRODUCT = 1.0 / 3.0
"""Of one multiply-add inside a product of matrices."""
WEIGHTS = {
    "add": 1.0, "subtract": 1.0, "multiply": 1.0, "divide": 1.0, "negative": 1.0, "absolute": 1.0, "square": 1.0,
    "greater": 1.0, "greater_equal": 1.0, "less": 1.0, "less_equal": 1.0, "equal": 1.0, "not_equal": 1.0,
    "isfinite": 1.0, "isnan": 1.0, "any": 1.0, "all": 1.0, "count_nonzero": 1.0, "flatnonzero": 1.0,
    "copyto": 1.0, "take": 1.0, "sum": 1.0, "mean": 1.0, "max": 1.0, "min": 1.0,
    "bitwise_and": 0.25, "bitwise_or": 0.25, "invert": 0.25,
    "maximum": 4.0, "minimum": 4.0, "sign": 4.0, "where": 4.0, "var": 4.0, "prod": 7.0, "cumsum": 7.0,
}  # fmt: skip
"""Of one element, as measured on float64; ELEMENTARY for what is not named."""
REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}
"""What the methods of arrays and of ufuncs are named above."""
FREE = {
    "reshape", "transpose", "broadcast_to", "sliding_window_view", "ravel", "expand_dims", "shape", "ndim", "swapaxes",
    "moveaxis", "empty_like", "zeros_like", "ones_like", "result_type", "shares_memory", "unravel_index",
}  # fmt: skip
"""Views, questions, fresh memory."""


class Work:
    """The work done so far."""

    total = 0.0

    def book(self, name: str, arguments: Iterable[Any]) -> None:
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        if name == "matmul":
            a, b = arrays[:2]
            batch = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
            self.total += batch * a.shape[-2] * a.shape[-1] * b.shape[-1] * PRODUCT
        elif name not in FREE:
            self.total += max((array.size for array in arrays), default=0) * WEIGHTS.get(name, ELEMENTARY)


WORK = Work()


class Counted(np.ndarray):
    """An array whose passes through NumPy are booked, and those of everything computed from it."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        name = ufunc.__name__ if method == "__call__" else REDUCTIONS.get(ufunc.__name__, ufunc.__name__)
        if name == "matmul" or method != "__call__":
            WORK.book(name, (*inputs, *out))
        else:  # two narrow operands may make a wide result
            WORK.book(name, (np.broadcast_to(0.0, np.broadcast_shapes(*map(np.shape, inputs))),))
        result = getattr(ufunc, method)(*_plain(inputs), **{key: _plain(value) for key, value in kwargs.items()})
        return out[0] if out else _counted(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        WORK.book(function.__name__, (*args, *kwargs.values()))
        result = function(*_plain(args), **{key: _plain(value) for key, value in kwargs.items()})
        return _counted(result) if kwargs.get("out") is None else kwargs["out"]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_plain(v) for v in value)
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def _counted(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_counted(r) for r in result)
    return result.view(Counted) if isinstance(result, np.ndarray) else result


class CountingNumpy:
    """NumPy whose fresh arrays are counted."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, *arguments: Any) -> Any:
        return np.empty(*arguments).view(Counted)


def work_of(function: Any) -> float:
    before = WORK.total
    with np.errstate(all="ignore"):
        function()
    return WORK.total - before


@pytest.mark.parametrize("operator", OPERATORS)
def test_truth_and_bound_are_at_most_so_many_times_the_work_of_the_reference(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = OPERATORS[operator].contract
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    bench = Bench(make_problem(contract, dims=cost.dims(operator), home="float32", recipes=recipes))
    rung = bench.rung("float32")
    draw(bench.problem, contract, 0, 0, rung.arena.arrays)
    inputs = rung.inputs()
    monkeypatch.setattr(frames, "np", CountingNumpy())
    interpreter = bounds.bound(bench.program, "float32")
    wide = [array.astype(np.float64).view(Counted) for array in inputs]
    attributes = dict(bench.problem.attributes)
    plain = work_of(lambda: bench.operator.reference(*wide, **attributes))
    oracle = work_of(lambda: interpreter(inputs))
    limit = cost.PRODUCT_LIMIT if operator in cost.PRODUCTS else cost.ELEMENTWISE_LIMIT
    assert 1.0 < oracle / plain <= limit


def test_what_passes_over_all_elements_is_counted() -> None:
    array = np.ones((10, 10)).view(Counted)
    assert work_of(lambda: np.sum(array + 1.0, axis=0)) == 200.0
    assert work_of(lambda: np.exp(array, out=array)) == 100.0 * ELEMENTARY
    assert work_of(lambda: array @ array) == pytest.approx(1000.0 * PRODUCT)
