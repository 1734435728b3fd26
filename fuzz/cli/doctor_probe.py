"""Try one backend in this process: `python -m fuzz.cli.doctor_probe NAME [EXTENSION...]` prints what happened as JSON.

A process of its own because a broken library may kill it, hang, or leave it unusable for the next one.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.backends import backend
from fuzz.backends.base import Array, Backend, Implementation, Request, Unsupported, last_line
from fuzz.extensions import load_entry_points, load_extension
from fuzz.operators import OPERATORS
from strategies.precision import PRECISIONS, precision

_SIZE = 4


def probe(found: Backend) -> dict[str, Any]:
    """Import, devices, versions; for each dtype "" or why no operator ran; whether subnormals are still computed."""
    start = time.perf_counter()
    found.warm_up()
    facts: dict[str, Any] = {"seconds": time.perf_counter() - start}
    facts["devices"], facts["versions"] = list(found.devices()), found.versions()
    facts["runs"] = {dtype: _run(found, dtype) for dtype in PRECISIONS}
    facts["flushes_subnormals"] = bool(np.float32(1e-39) * np.ones(1, "float32")[0] == 0)
    return facts


def _run(found: Backend, dtype: str) -> str:
    reason = "it has no operator that ulpfuzz knows"
    for operator, implementations in found.implementations.items():
        if operator not in OPERATORS:
            continue
        accepting = [implementation for implementation in implementations if dtype in implementation.dtypes]
        if not accepting:
            reason = "no implementation accepts it"
            continue
        try:
            found.prepare(_request(found, operator, accepting[0], dtype))()
        except Unsupported as error:
            reason = last_line(error)
            continue
        return ""
    return reason


def _request(found: Backend, operator: str, implementation: Implementation, dtype: str) -> Request:
    contract = OPERATORS[operator].contract
    dims = {dim.name: max(_SIZE, dim.minimum) for dim in contract.dims}
    attributes = {name: spec.default for name, spec in contract.attributes}
    program = OPERATORS[operator].program(contract.shapes(dims), attributes)
    return Request(
        implementation=implementation,
        attributes=attributes,
        device=found.devices()[0],
        dtype=dtype,
        options={spec.name: spec.default for spec in found.options},
        inputs={name: aligned_ones(shape, dtype) for name, shape in contract.shapes(dims).items()},
        outputs=tuple(aligned_ones(shape, dtype) for shape in program.output_shapes()),
    )


def aligned_ones(shape: tuple[int, ...], dtype: str) -> Array:
    """Ones at an address divisible by 64, which zero-copy exchange with jax and tvm asks for."""
    kind = precision(dtype).numpy
    size = int(np.prod(shape)) * kind.itemsize
    room = np.empty(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    array: Array = room[start : start + size].view(kind).reshape(shape)
    array[...] = 1
    return array


def main(arguments: list[str]) -> int:
    """Print the facts; on an error print {"error": line} and return 1."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for extension in arguments[1:]:
                load_extension(Path(extension))
            load_entry_points()
            facts = probe(backend(arguments[0]))
    except Exception as error:  # noqa: BLE001 - whatever a broken library raises is the answer
        facts = {"error": f"{type(error).__name__}: {last_line(error)}"}
    print(json.dumps(facts))
    return 1 if "error" in facts else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
