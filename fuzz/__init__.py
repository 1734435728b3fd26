"""The engine of ulpfuzz: operators, oracle, backends, trials, campaigns.

The distribution installs three top-level packages, `fuzz`, `strategies` and `results`. The last two are common names,
so importing `fuzz` first makes sure that they are this project's.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

SIBLINGS = ("strategies", "results")
"""Packages of this project beside `fuzz`."""


def shadows() -> dict[str, str]:
    """Sibling packages that would not be this project's: name to the file or folder imported in their place, or ""."""
    root = Path(__file__).resolve().parent.parent
    found: dict[str, str] = {}
    for name in SIBLINGS:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):  # a module put into sys.modules without a spec
            spec = None
        folders = list(spec.submodule_search_locations or ()) if spec else []
        if not folders or Path(folders[0]).resolve().parent != root:
            found[name] = str(folders[0] if folders else (spec and spec.origin) or "")
    return found


def _check() -> None:
    for name, path in shadows().items():
        if path:
            raise ImportError(
                f"ulpfuzz needs its own package {name!r}, but {path} is imported in its place: "
                "rename it, or start Python from another folder",
                name=__name__,  # lets `python -m fuzz.cli` print the message instead of a traceback
            )
        raise ImportError(
            f"ulpfuzz is incomplete: its package {name!r} is missing: pip install --force-reinstall ulpfuzz"
        )


def __getattr__(name: str) -> Any:
    """`fuzz.check` and `fuzz.testing`, imported when they are first asked for."""
    if name == "check":
        from fuzz.checking.check import check

        return check
    if name == "testing":
        return importlib.import_module("fuzz.testing")
    raise AttributeError(f"module 'fuzz' has no attribute {name!r}")


_check()
