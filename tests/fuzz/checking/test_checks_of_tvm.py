"""Functions of TVM under check: what runs, what describes something, and how to tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuzz
from fuzz.errors import UserError

tvm = pytest.importorskip("tvm")


def tanh(x: Any) -> Any:
    return np.tanh(x)


@pytest.fixture(scope="module")
def described() -> Any:
    from tvm import te

    a = te.placeholder((8,), name="a")
    made = te.create_prim_func([a, te.compute((8,), lambda i: a[i] + a[i])])
    return made.with_attr("global_symbol", "main")


@pytest.fixture(scope="module")
def compiled(described: Any) -> Any:
    return tvm.compile(tvm.IRModule({"main": described}), target="llvm")


def test_what_describes_a_computation_is_refused_and_ends_nothing(described: Any) -> None:
    """TVM takes such objects for callable, and its own pickling ends the process."""
    for value in (described, tvm.IRModule({"main": described})):
        with pytest.raises(UserError, match=r"describes a computation and does not run: pass what tvm\.compile makes"):
            fuzz.check(tanh, value, inputs=["normal(0,1)[8]"])


def test_what_holds_such_objects_stays_in_this_process(described: Any, compiled: Any, tmp_path: Path) -> None:
    def twice(x: Any) -> Any:
        result = tvm.runtime.tensor(np.empty(8, "float32"))
        assert described is not None
        compiled["main"](x, result)
        return result

    def double(x: Any) -> Any:
        return x + x

    result = fuzz.check(double, twice, inputs=["normal(0,1)[8]"], trials=3, out=tmp_path / "c")
    assert result.pairs[0].equal == 3
    assert any("they ran in this one" in note for note in result.notes)


def test_what_writes_into_its_last_argument_says_so(compiled: Any) -> None:
    with pytest.raises(UserError, match="writes into its last argument: wrap it"):
        fuzz.check(tanh, compiled["main"], inputs=["normal(0,1)[8]"])
