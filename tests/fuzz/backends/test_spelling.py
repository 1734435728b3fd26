"""Every kernel of the built-in backends has a text, without anything of ulpfuzz in it, that compiles."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from fuzz.backends import BACKENDS
from fuzz.backends.base import Backend, Implementation, Request
from fuzz.backends.extraction import Unspellable, extract
from fuzz.backends.spelling import Spelling, Wanted
from fuzz.buffers import Arena, GuardedArray
from fuzz.operators import OPERATORS
from fuzz.oracle.trace import trace

BUILT_IN = ("numpy", "scipy", "torch", "jax", "tvm")
KERNELS = [
    (name, implementation)
    for name in BUILT_IN
    for offered in BACKENDS[name].implementations.values()
    for implementation in offered
]


def wanted(backend: Backend, implementation: Implementation, dtype: str, output: int = 0, **options: str) -> Wanted:
    contract = OPERATORS[implementation.operator].contract
    dims = {dim.name: max(dim.minimum, 2) for dim in contract.dims}
    attributes = {name: spec.default for name, spec in contract.attributes}
    shapes = contract.shapes(dims)
    outputs = trace(OPERATORS[implementation.operator].reference, shapes, attributes).output_shapes()
    return Wanted(
        implementation,
        attributes,
        backend.default_device,
        dtype,
        {option.name: option.default for option in backend.options} | options,
        shapes,
        dict(zip((spec.name for spec in contract.outputs), outputs, strict=True)),
        output,
    )


def text_of(spelling: Spelling, names: list[str]) -> str:
    body = "\n".join(f"    {line}" for line in spelling.body)
    return "\n".join([*spelling.imports, *spelling.definitions, f"def compute({', '.join(names)}):\n{body}\n"])


@pytest.mark.parametrize(
    ("name", "implementation"), KERNELS, ids=[f"{name}-{i.operator}-{i.name}" for name, i in KERNELS]
)
def test_every_kernel_has_a_text(name: str, implementation: Implementation) -> None:
    backend = BACKENDS[name]
    asked = wanted(backend, implementation, implementation.dtypes[-1])
    text = text_of(backend.spell(asked), list(asked.inputs))
    compile(text, "script", "exec")
    assert not re.search(r"\b(fuzz|strategies|results)\.", text.replace("results[", "").replace("*results", ""))
    assert "Lazy" not in text


@pytest.mark.parametrize(
    "implementation",
    [pytest.param(i, id=f"{name}-{i.operator}-{i.name}") for name, i in KERNELS if name in ("numpy", "scipy")],
)
def test_the_text_computes_what_the_kernel_does(implementation: Implementation) -> None:
    backend = BACKENDS["numpy" if "numpy" in implementation.function.__module__ else "scipy"]
    dtype = implementation.dtypes[-1]
    asked = wanted(backend, implementation, dtype)
    scope: dict[str, Any] = {"np": np}
    exec(text_of(backend.spell(asked), list(asked.inputs)), scope)  # the text under test
    contract = OPERATORS[implementation.operator].contract
    random = np.random.default_rng(1)
    inputs = {name: np.abs(random.standard_normal(shape)).astype(dtype) / 4 for name, shape in asked.inputs.items()}
    found = scope["compute"](*(values.copy() for values in inputs.values()))
    outputs = tuple(np.full(shape, np.nan, dtype) for shape in asked.outputs.values())
    request = Request(implementation, asked.attributes, "cpu", dtype, {}, inputs, outputs)
    due = backend.prepare(request)()[0]
    assert found.dtype == due.dtype, contract.operator
    assert np.array_equal(found, due, equal_nan=True)


LIBRARY_KERNELS = [
    ("torch", "batch_norm_training", "batch_norm"),
    ("torch", "divide", "div"),
    ("jax", "batch_norm_training", "formula"),
    ("jax", "lgamma", "gammaln"),
    ("tvm", "batch_norm_training", "topi"),
    ("tvm", "divide", "topi"),
    ("tvm", "gelu", "relax"),
    ("tvm", "var", "relax"),
    ("tvm", "softplus", "te"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("library", "operator", "name"), LIBRARY_KERNELS)
def test_the_text_computes_what_the_library_does(library: str, operator: str, name: str) -> None:
    backend = BACKENDS[library]
    (implementation,) = (i for i in backend.implementations[operator] if i.name == name)
    outputs = len(OPERATORS[operator].contract.outputs)
    for output in range(outputs):
        asked = wanted(backend, implementation, "float32", output)
        scope: dict[str, Any] = {"np": np}
        exec(text_of(backend.spell(asked), list(asked.inputs)), scope)  # the text under test
        random = np.random.default_rng(1)
        arena = Arena(asked.inputs, "float32")
        for array in arena.arrays.values():
            array[...] = np.abs(random.standard_normal(array.shape)) / 4
        found = scope["compute"](*(array.copy() for array in arena.arrays.values()))
        guarded = tuple(GuardedArray(shape, "float32") for shape in asked.outputs.values())
        due = backend.prepare(
            Request(
                implementation,
                asked.attributes,
                backend.default_device,
                "float32",
                asked.options,
                arena.views,
                tuple(g.array for g in guarded),
            )
        )()[output]
        assert np.array_equal(found, due)


def test_options_are_in_the_text() -> None:
    (gelu,) = (i for i in BACKENDS["torch"].implementations["gelu"] if i.name == "gelu")
    spelling = BACKENDS["torch"].spell(wanted(BACKENDS["torch"], gelu, "float32", mkldnn="off"))
    assert "torch.backends.mkldnn.enabled = False" in spelling.definitions
    assert "mkldnn=off" in spelling.settings
    tanh = BACKENDS["tvm"].implementations["tanh"][0]
    spelling = BACKENDS["tvm"].spell(wanted(BACKENDS["tvm"], tanh, "float32", mcpu="host", fma="on"))
    assert re.search(r"'mattr': \[.*'\+fma'\]", spelling.definitions[0])
    assert "from_device" in spelling.definitions[0]
    exp = BACKENDS["jax"].implementations["exp"][0]
    spelling = BACKENDS["jax"].spell(wanted(BACKENDS["jax"], exp, "float64", mode="eager"))
    assert 'jax.config.update("jax_enable_x64", True)' in spelling.definitions
    assert "jax.jit" not in "".join(spelling.body)


def test_functions_without_a_text_say_why() -> None:
    with pytest.raises(Unspellable, match="not a plain function"):
        extract(np.exp, ("x",), {})
    made: dict[str, Any] = {}
    exec("def f(x):\n    return x\n", made)  # a function without a file
    with pytest.raises(Unspellable, match="its source is not on disk"):
        extract(made["f"], ("x",), {})
