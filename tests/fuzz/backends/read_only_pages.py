"""Run every kernel of one backend with its inputs on pages that may not be written: python read_only_pages.py NAME."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np
from backend_cases import CASES, aligned, fill

from fuzz.backends import BACKENDS
from fuzz.backends.base import Array, Request, Unsupported
from fuzz.extend import FunctionBackend, register

writer = FunctionBackend("writer", "a kernel that scribbles on its input")


@writer.operator("exp")
def scribble(x: Array) -> Array:
    x[0] = 0
    return np.exp(x)


class Page:
    """An array at the start of pages of its own."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.room = mmap.mmap(-1, mmap.PAGESIZE)
        self.array: Array = np.frombuffer(self.room, dtype, int(np.prod(shape))).reshape(shape)

    def protect(self, flags: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(self.array.ctypes.data), ctypes.c_size_t(mmap.PAGESIZE), flags):
            raise OSError(ctypes.get_errno(), "mprotect")


def main(name: str) -> None:
    backend = BACKENDS[name]
    backend.warm_up()
    ran = 0
    for case in CASES.values():
        for implementation in backend.implementations.get(case.operator, ()):
            for dtype in ("float32", "float64"):
                pages = {key: Page(shape, dtype) for key, shape in case.shapes.items()}
                inputs: dict[str, Any] = {key: page.array for key, page in pages.items()}
                options = {spec.name: spec.default for spec in backend.options}
                outputs = (aligned(case.output, dtype),)
                request = Request(
                    implementation, case.attributes, backend.default_device, dtype, options, inputs, outputs
                )
                try:
                    kernel = backend.prepare(request)
                except Unsupported:
                    continue
                for seed in (1, 2):
                    fill(inputs, seed)
                    for page in pages.values():
                        page.protect(mmap.PROT_READ)
                    (result,) = kernel()
                    if not np.isfinite(result).all():
                        raise SystemExit(f"{name} {case.operator} {implementation.name} gave {result}")
                    for page in pages.values():
                        page.protect(mmap.PROT_READ | mmap.PROT_WRITE)
                ran += 1
    print(ran, "kernels ran")


if __name__ == "__main__":
    register(writer)
    main(sys.argv[1])
