"""Versions and CPU of a measurement."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("ulpfuzz", "numpy", "scipy", "torch", "jax", "apache-tvm", "mpmath", "python-flint")


def versions() -> str:
    """Installed versions, separated by commas."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def cpu() -> str:
    """Model of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "an unknown CPU"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "an unknown CPU")
