"""Gradients of torch and jax from their forward formulations, and the text that computes the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuzz.backends import BACKENDS
from fuzz.backends.base import Backend, Derivative, Implementation, Request, Unsupported
from fuzz.backends.spelling import Wanted
from fuzz.buffers import Arena, GuardedArray
from fuzz.operators import OPERATORS
from fuzz.oracle.bound import bound
from fuzz.targets import Target

sys.path.append(str(Path(__file__).parents[1] / "operators"))
from gradient_cases import Case

FAST = ("tanh", "softmax", "dense", "batch_norm_training", "conv1d", "max_pool2d", "clip")
"""Every kind of operator: one and several inputs, attributes, outputs without cotangents."""


def offered(backend: str, operator: str) -> tuple[Implementation, ...]:
    return BACKENDS[backend].offered(f"{operator}.grad")


def prepared(backend: str, implementation: Implementation, case: Case, dtype: str, **options: str) -> Any:
    found: Backend = BACKENDS[backend]
    names = [spec.name for spec in case.gradient.contract.inputs]
    arena = Arena({name: a.shape for name, a in zip(names, case.arrays, strict=True)}, dtype, False)
    for name, values in zip(names, case.arrays, strict=True):
        np.copyto(arena.arrays[name], values)
    outputs = tuple(GuardedArray(shape, dtype, False).array for shape in case.program.output_shapes())
    declared = {option.name: option.default for option in found.options} | options
    request = Request(implementation, case.attributes, "cpu", dtype, declared, arena.views, outputs)
    return found.prepare(request)


def rho(case: Case, computed: Any, dtype: str) -> float:
    """The largest error in units of its bound."""
    u = 2.0**-24 if dtype == "float32" else 2.0**-53
    largest = 0.0
    for output, values in zip(bound(case.program, dtype)(case.arrays).outputs, computed, strict=True):
        assert values.dtype == dtype
        assert values.shape == output.value.shape
        error = np.abs(values - output.value)
        largest = max(largest, float((error / (u * output.excused() + 1e-300)).max()))
    return largest


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", FAST)
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_a_gradient_is_the_library_s_own(backend: str, operator: str, dtype: str) -> None:
    case = Case(operator, size=6, scale=0.5)
    for implementation in offered(backend, operator):
        assert rho(case, prepared(backend, implementation, case, dtype)(), dtype) <= 1.0


@pytest.mark.long
@pytest.mark.parametrize("operator", sorted(set(OPERATORS) - set(FAST)))
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_every_gradient_is_the_library_s_own(backend: str, operator: str) -> None:
    case = Case(operator, size=6, scale=0.5)
    for implementation in offered(backend, operator):
        for dtype in ("float32", "float64"):
            assert rho(case, prepared(backend, implementation, case, dtype)(), dtype) <= 2.0


@pytest.mark.parametrize(
    ("backend", "option"),
    [
        ("jax", {"mode": "eager"}),
        ("jax", {"batch": "vmap"}),
        ("jax", {"batch": "map"}),
        ("torch", {"mkldnn": "off"}),
        ("torch", {"threads": "2"}),
    ],
)
def test_options_of_the_operator_hold_for_its_gradient(backend: str, option: dict[str, str]) -> None:
    case = Case("dense", size=4)
    kernel = prepared(backend, offered(backend, "dense")[0], case, "float32", **option)
    assert rho(case, kernel(), "float32") <= 1.0


def test_the_same_kernel_follows_its_inputs() -> None:
    case = Case("tanh")
    arena = Arena({"x": (5,), "d_y": (5,)}, "float32", False)
    implementation = offered("torch", "tanh")[0]
    options = {option.name: option.default for option in BACKENDS["torch"].options}
    kernel = BACKENDS["torch"].prepare(Request(implementation, {}, "cpu", "float32", options, arena.views, ()))
    for values in ([0.0, 0.5], [0.25, -0.5]):
        case.arrays = [np.full(5, v) for v in values]
        for name, v in zip(("x", "d_y"), values, strict=True):
            arena.arrays[name][:] = v
        assert rho(case, kernel(), "float32") <= 1.0


def test_a_formulation_keeps_name_and_provenance() -> None:
    first, second = offered("torch", "matmul")
    assert (first.name, second.name, second.provenance) == ("matmul", "einsum", "library")
    assert second.source == "torch.autograd.grad of torch.einsum('ik,kj->ij')"
    assert isinstance(second.derivative, Derivative)
    assert offered("jax", "layer_norm")[0].provenance == "composed"


@pytest.mark.parametrize("backend", ["numpy", "scipy", "tvm"])
def test_a_library_that_does_not_differentiate_says_so(backend: str) -> None:
    with pytest.raises(Unsupported, match=f"{backend} has no tanh.grad: it does not differentiate"):
        Target(backend, BACKENDS[backend].default_device, "float32").implementation("tanh.grad")
    with pytest.raises(Unsupported, match=r"torch has no nothing$"):
        Target("torch", "cpu", "float32").implementation("nothing")


def text(backend: str, implementation: Implementation, case: Case, output: int, **options: str) -> str:
    found = BACKENDS[backend]
    contract = case.gradient.contract
    shapes = {spec.name: a.shape for spec, a in zip(contract.inputs, case.arrays, strict=True)}
    outputs = dict(zip((spec.name for spec in contract.outputs), case.program.output_shapes(), strict=True))
    declared = {option.name: option.default for option in found.options} | options
    spelling = found.spell(Wanted(implementation, case.attributes, "cpu", "float32", declared, shapes, outputs, output))
    body = "\n".join(f"    {line}" for line in spelling.body)
    return "\n".join([*spelling.imports, *spelling.definitions, f"def compute({', '.join(shapes)}):\n{body}\n"])


@pytest.mark.parametrize("operator", FAST)
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_the_text_computes_what_the_kernel_does(backend: str, operator: str) -> None:
    case = Case(operator, size=6)
    for implementation in offered(backend, operator):
        due = prepared(backend, implementation, case, "float32")()
        for output, values in enumerate(due):
            written = text(backend, implementation, case, output)
            assert "fuzz" not in written
            scope: dict[str, Any] = {"np": np}
            exec(written, scope)  # the text under test
            found = scope["compute"](*(a.astype(np.float32) for a in case.arrays))
            np.testing.assert_allclose(found, values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["vmap", "map"])
def test_the_text_of_a_mapped_kernel_is_differentiated_too(how: str) -> None:
    case = Case("dense", size=4)
    implementation = offered("jax", "dense")[0]
    scope: dict[str, Any] = {"np": np}
    exec(text("jax", implementation, case, 1, batch=how), scope)  # the text under test
    due = prepared("jax", implementation, case, "float32", batch=how)()[1]
    np.testing.assert_allclose(scope["compute"](*(a.astype(np.float32) for a in case.arrays)), due, rtol=1e-5)


def test_any_function_can_be_differentiated() -> None:
    import torch

    gradients = BACKENDS["torch"].vjp(lambda x, y, z: (x * y, x + 0 * z), inputs=3, wrt=(1, 0, 2), outputs=(0, 1))
    x, y, z, g, h = (torch.tensor([value]) for value in (2.0, 3.0, 4.0, 5.0, 7.0))
    with torch.no_grad():
        assert [float(d) for d in gradients(x, y, z, g, h)] == [10.0, 22.0, 0.0]
    assert not x.requires_grad
    gradients = BACKENDS["jax"].vjp(lambda x, y: x * y, inputs=2, wrt=(1,))
    assert [float(d) for d in gradients(2.0, 3.0, 5.0)] == [10.0]
    with pytest.raises(Unsupported, match="numpy does not differentiate"):
        BACKENDS["numpy"].vjp(np.exp, inputs=1, wrt=(0,))
