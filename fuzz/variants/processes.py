"""The call in a newly started process: other addresses, other history, other random state."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from fuzz.backends.base import Array
from fuzz.variants.base import Around, Family, Wrapped
from fuzz.variants.values import none
from strategies.contract import Scalar
from strategies.precision import precision

_CHILD = "from fuzz.variants.processes import child; child(__import__('sys').argv[1])"
_ANSWER = "answer"


def _process(around: Around, value: str) -> Wrapped:
    """Costs some seconds a call, most of them for importing the library."""

    def call() -> tuple[Array, ...]:
        with tempfile.TemporaryDirectory(prefix="ulpfuzz-") as folder:
            return _asked(around, Path(folder))

    return Wrapped(call)


def _asked(around: Around, folder: Path) -> tuple[Array, ...]:
    request = around.request
    asked = {
        "operator": around.contract.operator,
        "target": around.target,
        "dtype": request.dtype,
        "attributes": {name: repr(v) if isinstance(v, float) else v for name, v in request.attributes.items()},
        "extensions": list(around.extensions()),
        "inputs": {name: list(values.shape) for name, values in request.inputs.items()},
    }
    (folder / "request.json").write_text(json.dumps(asked))
    for name, values in request.inputs.items():
        (folder / name).write_bytes(values.tobytes())
    done = subprocess.run(
        [sys.executable, "-P", "-c", _CHILD, str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise RuntimeError(f"a fresh process ended with exit code {done.returncode}: {lines[-1] if lines else ''}")
    found = []
    for number, (kind, shape) in enumerate(json.loads((folder / f"{_ANSWER}.json").read_text())):
        content = (folder / f"{_ANSWER}{number}").read_bytes()
        found.append(np.frombuffer(content, precision(kind).numpy).reshape(shape))
    return tuple(found)


def child(folder: str) -> None:
    """What the fresh process does: read the request, call, write the answer."""
    from fuzz.reproduction.calling import call  # only there: it stands above the engine
    from fuzz.threads import limit_threads

    limit_threads()
    place = Path(folder)
    asked = json.loads((place / "request.json").read_text())
    kind = precision(asked["dtype"]).numpy
    inputs = {
        name: np.frombuffer((place / name).read_bytes(), kind).reshape(shape).copy()
        for name, shape in asked["inputs"].items()
    }
    attributes = {name: _number(value) for name, value in asked["attributes"].items()}
    results = call(asked["operator"], asked["target"], inputs, attributes, asked["extensions"])
    about = []
    for number, values in enumerate(results):
        (place / f"{_ANSWER}{number}").write_bytes(np.ascontiguousarray(values).tobytes())
        about.append([values.dtype.name, list(values.shape)])
    (place / f"{_ANSWER}.json").write_text(json.dumps(about))


def _number(value: Scalar) -> Scalar:
    """Floats were written as text, which has all their bits; texts stay texts."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return float(value)
    return value


PROCESS = Family(
    "process",
    "the call in a newly started process; takes seconds, so it is in no list and has to be named",
    "nondeterministic",
    ("",),
    none,
    _process,
    in_all=False,
)
FAMILIES = (PROCESS,)
