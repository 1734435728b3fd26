"""One thread a library: campaigns parallelise over workers. Libraries read these variables when they are imported."""

from __future__ import annotations

import os

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TVM_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
_SET_HERE = "ULPFUZZ_LIMITED"
"""Names of the variables that were set here, for child processes."""


def limit_threads() -> None:
    """Ask for one thread, where the user has not said otherwise. Call it before NumPy is imported.

    The environment record holds these variables and NumPy's thread count: called later, it would depend on when.
    """
    wanted = dict.fromkeys(_VARIABLES, "1") | {
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    }
    for name, value in wanted.items():
        if name not in os.environ:
            os.environ[name] = value
            os.environ[_SET_HERE] = f"{os.environ.get(_SET_HERE, '')} {name}".strip()


def given_threads() -> frozenset[str]:
    """Variables that `limit_threads` set here or in a parent process: the user's own shell has none of them."""
    return frozenset(os.environ.get(_SET_HERE, "").split()) | {_SET_HERE}
