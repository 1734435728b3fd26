"""Plain functions as a backend: the public way to test one's own kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backend_cases import CASES, aligned, fill

from fuzz.backends.base import Array, Kernel, Request
from fuzz.extend import FunctionBackend


def prepare(backend: FunctionBackend, name: str, outputs: int = 1) -> tuple[Kernel, dict[str, Array]]:
    case = CASES[name]
    inputs = {key: aligned(shape, "float32") for key, shape in case.shapes.items()}
    fill(inputs, 1)
    buffers = tuple(aligned(case.output, "float32") for _ in range(outputs))
    (implementation,) = backend.implementations[case.operator]
    return backend.prepare(Request(implementation, case.attributes, "cpu", "float32", {}, inputs, buffers)), inputs


def test_a_function_returns_its_result() -> None:
    mine = FunctionBackend("mine", "for a test")

    @mine.operator("softmax")
    def naive(x: Array, *, axis: int) -> Array:
        """Without the shift by the maximum."""
        return np.exp(x) / np.exp(x).sum(axis, keepdims=True)

    kernel, inputs = prepare(mine, "softmax")
    np.testing.assert_allclose(kernel()[0], CASES["softmax"].value(inputs["x"]), rtol=1e-5)
    assert not kernel.engine_owned
    (implementation,) = mine.implementations["softmax"]
    assert (implementation.name, implementation.provenance) == ("naive", "user")
    assert implementation.source == "Without the shift by the maximum."
    assert mine.missing() is None


def test_out_is_the_engines_buffer() -> None:
    mine = FunctionBackend("mine")

    @mine.operator("sum")
    def total(x: Array, *, axis: int, out: Array) -> None:
        np.sum(x, axis=axis, out=out)

    kernel, inputs = prepare(mine, "sum axis 0")
    np.testing.assert_allclose(kernel()[0], inputs["x"].sum(0), rtol=1e-6)
    assert kernel.engine_owned


def test_several_outputs_come_as_a_tuple() -> None:
    mine = FunctionBackend("mine")

    @mine.operator("exp")
    def both(x: Array, *, out: tuple[Array, Array]) -> None:
        np.exp(x, out=out[0])
        np.negative(x, out=out[1])

    kernel, inputs = prepare(mine, "exp", outputs=2)
    np.testing.assert_array_equal(kernel()[1], -inputs["x"])


@pytest.mark.parametrize(
    ("result", "message"),
    [(None, "returned None"), ((1.0, 2.0), "returned 2 arrays: the operator has 1")],
)
def test_a_wrong_result_is_said_plainly(result: Any, message: str) -> None:
    mine = FunctionBackend("mine")

    @mine.operator("exp")
    def broken(x: Array) -> Any:
        return result

    kernel, _ = prepare(mine, "exp")
    with pytest.raises(TypeError, match=f"mine function 'broken' for exp {message}"):
        kernel()


def test_results_are_made_c_ordered() -> None:
    mine = FunctionBackend("mine")

    @mine.operator("matmul")
    def transposed(a: Array, b: Array) -> Array:
        return (b.T @ a.T).T

    kernel, _ = prepare(mine, "matmul")
    assert kernel()[0].flags.c_contiguous


def test_floating_point_warnings_are_not_printed(recwarn: pytest.WarningsRecorder) -> None:
    mine = FunctionBackend("mine")

    @mine.operator("exp")
    def overflow(x: Array) -> Array:
        return np.exp(x * np.float32(1e30)) / np.float32(0)

    kernel, _ = prepare(mine, "exp")
    kernel()
    assert not recwarn.list
