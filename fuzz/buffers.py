"""Arrays on their own pages: 64-byte aligned, guard pages around, input pages read-only while a kernel runs.

    guard page | gap, its last 64 bytes a canary | array | canary to the next multiple of 64 bytes | guard page

A write past either end hits a canary or a guard page (SIGSEGV); only one that jumps into the gap goes unseen.
In forensic mode the guard pages are writable slack filled with the canary, so that a second run of the fatal call can
tell an out-of-bounds write from other crashes.
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
_NONE, _READ, _READ_WRITE = 0, 1, 3
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _protect(address: int, length: int, protection: int) -> None:
    if _libc.mprotect(address, length, protection):
        code = ctypes.get_errno()
        raise OSError(code, f"mprotect: {os.strerror(code)}")


class GuardedArray:
    """One array whose end lies at a guard page, give or take 63 bytes. `array` keeps its address for life."""

    def __init__(self, shape: Shape, dtype: str, forensic: bool = False) -> None:
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        padded = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        self._length = -(-padded // _PAGE) * _PAGE
        self._memory = mmap.mmap(-1, self._length + 2 * _PAGE)
        whole = np.frombuffer(self._memory, np.uint8)
        self._address = whole.ctypes.data + _PAGE
        start = _PAGE + self._length - padded
        stop = _PAGE + self._length
        self.array: NDArray[Any] = whole[start : start + size].view(kind).reshape(shape)
        self._bytes = whole[start : start + size]
        before = whole[0 if forensic else max(_PAGE, start - ALIGNMENT) : start]
        behind = whole[start + size : stop + (_PAGE if forensic else 0)]
        self._canaries = (before, behind)
        for canary in self._canaries:
            canary.fill(_CANARY)
        if not forensic:
            _protect(self._address - _PAGE, _PAGE, _NONE)
            _protect(self._address + self._length, _PAGE, _NONE)

    def read_only(self, on: bool) -> None:
        """Make the data pages read-only (a write ends the process) or writable again."""
        _protect(self._address, self._length, _READ if on else _READ_WRITE)

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


class Arena:
    """The input arrays of one dtype, shared by all kernels of a problem shape."""

    def __init__(self, shapes: Mapping[str, Shape], dtype: str, forensic: bool = False) -> None:
        self._guarded = {name: GuardedArray(shape, dtype, forensic) for name, shape in shapes.items()}
        self.arrays: dict[str, NDArray[Any]] = {name: guarded.array for name, guarded in self._guarded.items()}
        self._forensic = forensic

    def read_only(self, on: bool) -> None:
        """Protect all inputs (not in forensic mode, which must survive a write to them)."""
        if not self._forensic:
            for guarded in self._guarded.values():
                guarded.read_only(on)

    def overrun(self) -> bool:
        """Whether any byte around an input changed; restores them all."""
        return sum(guarded.overrun() for guarded in self._guarded.values()) > 0
