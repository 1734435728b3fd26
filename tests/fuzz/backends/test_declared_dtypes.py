"""Every implementation runs in every dtype it declares: right dtype, right shape, finite on moderate inputs."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.backends import BACKENDS
from fuzz.backends.base import Implementation, Request, Unsupported
from fuzz.buffers import Arena
from fuzz.operators import OPERATORS
from fuzz.oracle.trace import trace
from strategies.contract import Spec
from strategies.precision import DType, precision

SIZES = {"n": 17, "rows": 4, "N": 2, "C": 4, "H": 6, "W": 6, "M": 3, "K": 9, "B": 2, "G": 2, "D": 3, "L": 7}
SIZES |= {"I": 2, "O": 2, "KL": 3, "KH": 3, "KW": 3, "T": 2, "R": 3, "J": 3, "Q": 2, "depth": 3}
LIBRARIES = ("numpy", "scipy", "torch", "jax", "tvm")

RETURNS_FLOAT32 = ("numpy", "matmul", "bfloat16")
"""NumPy's product of bfloat16 matrices is float32: run as it is, the verdict says so."""


def moderate(spec: Spec, shape: tuple[int, ...], stream: np.random.Generator) -> np.ndarray:
    """Numbers well inside the input's domain, of the size that N(0,1) has."""
    values = stream.uniform(0.125, 0.875, shape)
    return values if np.isfinite(spec.domain.low) else values * stream.choice((-2.0, 2.0), shape)


def run(library: str, implementation: Implementation, dtype: DType) -> str:
    """What is wrong with the implementation in this dtype, or an empty string."""
    operator, found = OPERATORS[implementation.operator], BACKENDS[library]
    contract = operator.contract
    shapes = contract.shapes({name: SIZES[name] for name in contract.dim_names})
    attributes = {name: spec.default for name, spec in contract.attributes}
    program = trace(operator.reference, shapes, attributes)
    kind, stream = precision(dtype).numpy, np.random.default_rng(0)
    arena = Arena(shapes, dtype, False)
    for spec in contract.inputs:
        arena.arrays[spec.name][...] = moderate(spec, shapes[spec.name], stream).astype(kind)
    outputs = Arena({str(i): shape for i, shape in enumerate(program.output_shapes())}, dtype, False)
    for array in outputs.arrays.values():
        array[...] = np.nan
    options = {spec.name: spec.default for spec in found.options}
    request = Request(
        implementation=implementation,
        attributes=attributes,
        device=found.default_device,
        dtype=dtype,
        options=options,
        inputs=arena.views,
        outputs=tuple(outputs.arrays.values()),
    )
    try:
        values = found.prepare(request)()
    except Unsupported as reason:
        return f"unsupported although declared: {reason}"
    except Exception as error:  # noqa: BLE001 - whatever a library raises is the answer
        return f"raised {type(error).__name__}: {str(error)[-200:]}"
    for value, shape in zip(values, program.output_shapes(), strict=True):
        if value.dtype != kind or value.shape != shape:
            return f"returned {value.dtype} {value.shape}"
        if not np.isfinite(value.astype(np.float64)).all():
            return "is not finite"
    return ""


@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("float16", marks=pytest.mark.long), "float64"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_declared_dtypes_run(library: str, dtype: DType) -> None:
    if BACKENDS[library].missing() is not None:
        pytest.skip(f"{library} is not installed")
    BACKENDS[library].warm_up()
    offered = [i for several in BACKENDS[library].implementations.values() for i in several]
    declared = [
        i
        for i in offered
        if dtype in i.dtypes and i.operator in OPERATORS and (library, i.operator, dtype) != RETURNS_FLOAT32
    ]
    assert declared
    wrong = {f"{i.operator} {i.name}": problem for i in declared if (problem := run(library, i, dtype))}
    assert not wrong
