"""Arrays on their own pages: 64-byte aligned, guard pages around, inputs read-only for kernels.

    guard page | gap, its last 64 bytes a canary | array | canary to the next multiple of 64 bytes | guard page

A write past either end hits a canary or a guard page (SIGSEGV); only one that jumps into the gap goes unseen.
The pages of an input are mapped twice: the engine fills them at one address, kernels read them at another that cannot
be written (protecting and unprotecting one mapping around each call would cost 8 us an input and trial).
In forensic mode kernels get the writable mapping, and the guard pages are writable slack filled with the canary, so
that a second run of the fatal call can tell a write to an input or out of bounds from other crashes.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategies.contract import Shape

ALIGNMENT = 64
_PAGE = mmap.PAGESIZE
_CANARY = 0xA5
_NONE = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _protect(address: int, length: int, protection: int) -> None:
    if _libc.mprotect(address, length, protection):
        code = ctypes.get_errno()
        raise OSError(code, f"mprotect: {os.strerror(code)}")


class GuardedArray:
    """One array whose end lies at a guard page, give or take 63 bytes. `array` keeps its address for life.

    `view` is what kernels get: the same memory, mapped read-only where `reading` is set (not in forensic mode). NumPy
    calls it writeable all the same, because some libraries refuse arrays that are not.
    """

    def __init__(self, shape: Shape, dtype: str, forensic: bool = False, reading: bool = False) -> None:
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        padded = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        length = -(-padded // _PAGE) * _PAGE
        start, stop = _PAGE + length - padded, _PAGE + length
        twice = reading and not forensic
        memories = _mapped_twice(length + 2 * _PAGE) if twice else (mmap.mmap(-1, length + 2 * _PAGE),)
        whole, *others = (_bytes_of(memory) for memory in memories)
        self.array: NDArray[Any] = whole[start : start + size].view(kind).reshape(shape)
        self.view = others[0][start : start + size].view(kind).reshape(shape) if others else self.array
        self._bytes = whole[start : start + size]
        before = whole[0 if forensic else max(_PAGE, start - ALIGNMENT) : start]
        behind = whole[start + size : stop + (_PAGE if forensic else 0)]
        self._canaries = (before, behind)
        for canary in self._canaries:
            canary.fill(_CANARY)
        if not forensic:
            for mapping in (whole, *others):
                _protect(mapping.ctypes.data, _PAGE, _NONE)
                _protect(mapping.ctypes.data + stop, _PAGE, _NONE)

    def poison(self) -> None:
        """Fill with NaN bit patterns, so that an element nobody writes cannot pass for a result."""
        self._bytes.fill(0xFF)

    def overrun(self) -> bool:
        """Whether bytes around the array changed; restores them."""
        changed = any((canary != _CANARY).any() for canary in self._canaries)
        if changed:
            for canary in self._canaries:
                canary.fill(_CANARY)
        return changed


def _mapped_twice(length: int) -> tuple[mmap.mmap, mmap.mmap]:
    """The same anonymous memory at two addresses: writable, and read-only."""
    file = os.memfd_create("ulpfuzz-inputs")
    try:
        os.ftruncate(file, length)
        return mmap.mmap(file, length), mmap.mmap(file, length, prot=mmap.PROT_READ)
    finally:
        os.close(file)


def _bytes_of(memory: mmap.mmap) -> NDArray[np.uint8]:
    """The mapping as an array that NumPy calls writeable, whatever its pages allow, and that keeps it alive."""
    if not memoryview(memory).readonly:
        return np.frombuffer(memory, np.uint8)
    address = np.frombuffer(memory, np.uint8).ctypes.data
    block = (ctypes.c_uint8 * len(memory)).from_address(address)
    block.owner = memory  # type: ignore[attr-defined]
    result: NDArray[np.uint8] = np.ctypeslib.as_array(block)
    return result


class Arena:
    """The input arrays of one dtype, shared by all kernels of a problem shape.

    The engine fills `arrays`; kernels get `views` of the same memory.
    """

    def __init__(self, shapes: Mapping[str, Shape], dtype: str, forensic: bool = False) -> None:
        self._guarded = {name: GuardedArray(shape, dtype, forensic, reading=True) for name, shape in shapes.items()}
        self.arrays: dict[str, NDArray[Any]] = {name: guarded.array for name, guarded in self._guarded.items()}
        self.views: dict[str, NDArray[Any]] = {name: guarded.view for name, guarded in self._guarded.items()}

    def overrun(self) -> bool:
        """Whether any byte around an input changed; restores them all."""
        return sum(guarded.overrun() for guarded in self._guarded.values()) > 0
