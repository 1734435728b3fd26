"""The inputs that a hunt is about to run, where they outlive the worker: what a target dies of becomes a problem."""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from strategies.contract import Shape
from strategies.precision import DType, precision


class Record:
    """A shared file beside the breadcrumb of a worker, which holds one set of input arrays."""

    def __init__(self, crumb: Path, shapes: Mapping[str, Shape], home: DType) -> None:
        self._shapes, self._kind = dict(shapes), precision(home).numpy
        size = sum(math.prod(shape) for shape in shapes.values()) * self._kind.itemsize
        path = _beside(crumb)
        path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), size)

    def write(self, arrays: Mapping[str, Any]) -> None:
        """Keep these arrays, and no others."""
        self._memory[:] = b"".join(arrays[name].tobytes() for name in self._shapes)

    def arrays(self, content: bytes) -> dict[str, Any]:
        """What `write` kept, from the bytes that `kept` returns."""
        found, start = {}, 0
        for name, shape in self._shapes.items():
            stop = start + math.prod(shape) * self._kind.itemsize
            found[name] = np.frombuffer(content[start:stop], self._kind).reshape(shape)
            start = stop
        return found

    def close(self) -> None:
        self._memory.close()


def kept(crumb: Path) -> bytes:
    """The last inputs of a worker that is dead."""
    return _beside(crumb).read_bytes()


def _beside(crumb: Path) -> Path:
    return crumb.with_suffix(".inputs")
