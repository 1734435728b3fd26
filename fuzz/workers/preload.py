"""Imported once by the process that workers are forked from: the heavy libraries, and nothing that uses them.

A child forked after torch or jax has computed does not finish; one forked after mere imports does. Hence no `warm_up`
here. The names of the backends come from the environment, because a preloaded module takes no arguments.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import warnings

PRELOAD = "ULPFUZZ_PRELOAD"

for _module in filter(None, os.environ.get(PRELOAD, "").split(",")):
    with contextlib.suppress(ImportError):
        importlib.import_module(_module)

warnings.filterwarnings("ignore", message=".*os.fork.*", category=RuntimeWarning)

import fuzz.workers.worker  # noqa: E402, F401
