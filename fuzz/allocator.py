"""What a worker asks of glibc's malloc. Elsewhere both functions do no harm and may do nothing."""

from __future__ import annotations

import ctypes

import numpy as np

LARGE = 32_000_000
"""Bytes: just below glibc's largest dynamic mmap threshold (mallopt(3), M_MMAP_THRESHOLD)."""


def keep_freed_blocks() -> None:
    """Let temporaries reuse memory instead of faulting in fresh pages each time.

    One large block, freed, raises the size above which malloc asks the system for pages and gives them back at once.
    """
    block = np.ones(LARGE // 8)
    del block


def return_freed_pages() -> None:
    """Give the system what is free inside the heaps. Compilers leave hundreds of MB there, in pieces."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
