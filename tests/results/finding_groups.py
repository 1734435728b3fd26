"""Findings and known files made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from results.findings import FindingGroup


def group(**fields: Any) -> FindingGroup:
    """A finding of TVM's gelu; `fields` replace any of its values."""
    plain: dict[str, Any] = {
        "operator": "gelu",
        "output": "y",
        "backend": "tvm",
        "device": "llvm",
        "options": "",
        "dtype": "float32",
        "verdict": "unstable",
        "against": "truth",
        "region": "x < -2.75",
        "target": "tvm:llvm",
        "provenance": "library",
        "variants": "",
        "trials": 8,
        "of_trials": 40,
        "not_run": 0,
        "rate": None,
        "worst_rho": 1.5e5,
        "worst_relative": 1.0,
        "worst_ulp": 1.3e7,
        "trial": "beef551b-4",
        "detail": "rho 1.54e+05",
        "environments": ("e" * 16,),
        "versions": (("apache-tvm", ("0.27.0.post1",)),),
    }
    return FindingGroup(**plain | fields)


def known_file(folder: Path, text: str) -> Path:
    path = folder / "known.toml"
    path.write_text(text, "utf-8")
    return path
