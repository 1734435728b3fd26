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


def limit_threads() -> None:
    """Ask for one thread, where the user has not said otherwise. Call it before NumPy is imported.

    The environment record holds these variables and NumPy's thread count: called later, it would depend on when.
    """
    for name in _VARIABLES:
        os.environ.setdefault(name, "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
