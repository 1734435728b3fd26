"""Guarded arrays: alignment, canaries on both sides, guard pages, forensic slack."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import mmap
import os
import signal
import sys

import numpy as np
import pytest

from fuzz.buffers import ALIGNMENT, Arena, GuardedArray

SHAPES = [(), (0,), (1,), (3,), (16,), (17,), (1023,), (1024,), (1025,), (3, 5, 7)]


def poke(address: int) -> None:
    ctypes.memset(address, 0x11, 1)


def signal_of(action: object, *arguments: object) -> int:
    """What a child dies of that does this; 0 if it lives."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.close(2)
        action(*arguments)  # type: ignore[operator]
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return -status if status < 0 else 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_are_aligned_writable_and_whole(shape: tuple[int, ...], dtype: str) -> None:
    array = GuardedArray(shape, dtype).array
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.ctypes.data % ALIGNMENT == 0
    array[...] = 1
    assert (array == 1).all()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != (0,)])
@pytest.mark.parametrize("forensic", [False, True])
def test_a_byte_before_or_behind_is_noticed_once(shape: tuple[int, ...], forensic: bool) -> None:
    guarded = GuardedArray(shape, "float32", forensic)
    start, stop = guarded.array.ctypes.data, guarded.array.ctypes.data + guarded.array.nbytes
    guarded.array[...] = 7
    guarded.poison()
    assert not guarded.overrun()
    for address in (start - 1, stop):
        guard_page = address % mmap.PAGESIZE in (0, mmap.PAGESIZE - 1)
        if guard_page and not forensic:
            assert signal_of(poke, address) == signal.SIGSEGV
            continue
        poke(address)
        assert guarded.overrun()
        assert not guarded.overrun()


def test_poison_is_nan() -> None:
    guarded = GuardedArray((5,), "float32")
    guarded.poison()
    assert np.isnan(guarded.array).all()


def test_kernels_see_what_the_engine_fills_in_and_cannot_write_it() -> None:
    arena = Arena({"x": (3,), "y": (4, 2), "z": (4096,), "none": (0,)}, "float32")
    for name, array in arena.arrays.items():
        view = arena.views[name]
        array.fill(7)
        assert np.array_equal(view, array)
        assert view.flags.writeable
        assert view.ctypes.data % 64 == 0
        if array.size:
            assert signal_of(view.fill, 1) == signal.SIGSEGV
            assert signal_of(poke, view.ctypes.data + view.nbytes) == signal.SIGSEGV
    assert not arena.overrun()


def test_a_view_outlives_its_arena() -> None:
    arena = Arena({"x": (5000,)}, "float64")
    arena.arrays["x"].fill(3)
    view = arena.views["x"]
    del arena
    gc.collect()
    assert (view == 3).all()


def test_forensic_inputs_stay_writable_and_slack_is_watched() -> None:
    arena = Arena({"x": (1024,), "y": (3,)}, "float32", forensic=True)
    arena.views["x"].fill(1)
    assert (arena.arrays["x"] == 1).all()
    assert not arena.overrun()
    for name in ("x", "y"):
        poke(arena.views[name].ctypes.data + arena.views[name].nbytes + 500)
        assert arena.overrun()
        assert not arena.overrun()


@pytest.mark.skipif(sys.platform != "linux", reason="counts the mappings of the process")
def test_memory_is_given_back() -> None:
    def mappings() -> int:
        with open("/proc/self/maps") as maps:
            return len(maps.readlines())

    before = mappings()
    for _ in range(300):
        GuardedArray((64, 64), "float32").array.fill(0)
    assert mappings() < before + 20
