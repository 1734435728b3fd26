"""Facts about this machine and these libraries that can change the bits of a result.

Nothing here names a user, a host or a path: the record travels with published results. It depends on what is installed,
not on what this process happens to have imported, so a supervisor and its workers agree.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import __version__
from fuzz.oracle.arithmetic import certifier_name
from strategies.canonical import identity

DISTRIBUTIONS = (
    "numpy",
    "scipy",
    "torch",
    "jax",
    "jaxlib",
    "apache-tvm",
    "opt_einsum",
    "ml_dtypes",
    "python-flint",
    "mpmath",
)
"""opt_einsum and ml_dtypes count: the first, when importable, changes the order in which torch.einsum sums. Arb
(python-flint), else mpmath, certifies the truth and takes the place of a mere screen."""

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "MKL_NUM_THREADS",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
    "GLIBC_TUNABLES",
    "NPY_DISABLE_CPU_FEATURES",
    "TVM_NUM_THREADS",
    "XLA_FLAGS",
    "JAX_ENABLE_X64",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "NVIDIA_TF32_OVERRIDE",
)
"""Environment variables that choose kernels or thread counts."""

_FLAG_PREFIXES = ("sse4", "avx", "fma", "f16c", "amx", "asimd", "sve", "bf16", "i8mm")
_CPUINFO = Path("/proc/cpuinfo")


def environment() -> dict[str, Any]:
    """JSON-able facts: versions, platform, CPU, BLAS kernels, variables, width of long double."""
    model, flags = cpu()
    return {
        "versions": versions(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "libc": libc(),
        "cpu": model,
        "cpu_flags": list(flags),
        "blas": blas(),
        "variables": variables(),
        "certifier": certifier_name(),
        "longdouble_bits": int(np.finfo(np.longdouble).nmant) + 1,
    }


def environment_id(facts: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits that name an environment."""
    return identity(facts)


def versions() -> dict[str, str]:
    """ulpfuzz and the installed distributions among `DISTRIBUTIONS`, without importing them."""
    found = {"ulpfuzz": __version__}
    for name in DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def libc() -> str:
    """For example "glibc 2.36": its libm computes exp and tanh for several libraries."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return " ".join(platform.libc_ver()).strip()


def cpu() -> tuple[str, tuple[str, ...]]:
    """Model name, and the vector instruction sets among its flags, sorted. Flags are known on Linux only."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine(), ()
    facts = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = (facts.get("flags") or facts.get("features") or "").split()
    kept = tuple(sorted(flag for flag in flags if flag.startswith(_FLAG_PREFIXES)))
    return facts.get("model name") or platform.processor() or platform.machine(), kept


def blas() -> list[dict[str, Any]]:
    """NumPy's BLAS: library, version, kernel, threads. Those of other libraries, if loaded already, are left out."""
    import threadpoolctl

    loaded = [info for info in threadpoolctl.threadpool_info() if info.get("user_api") == "blas"]
    own = [info for info in loaded if "numpy" in Path(info["filepath"]).parent.name] or loaded
    return [
        {
            "library": str(info.get("internal_api", "")),
            "version": str(info.get("version") or ""),
            "kernel": str(info.get("architecture") or ""),
            "threads": int(info.get("num_threads") or 0),
        }
        for info in own
    ]


def variables() -> dict[str, str]:
    """The variables among `VARIABLES` that are set; values that look like paths are left out of the record."""
    return {name: _without_paths(os.environ[name]) for name in VARIABLES if name in os.environ}


def _without_paths(value: str) -> str:
    """`value` with every word that holds a path cut at it: --xla_dump_to=/home/me becomes --xla_dump_to=..."""
    return " ".join(word if os.sep not in word else word.partition(os.sep)[0] + "..." for word in value.split())
