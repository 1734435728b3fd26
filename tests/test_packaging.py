"""What is installed is what is here."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_every_package_is_installed() -> None:
    setuptools = pytest.importorskip("setuptools")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    listed = setuptools.find_packages(str(ROOT), include=settings["include"])
    found = [
        path.parent.relative_to(ROOT)
        for top in ("fuzz", "results", "strategies")
        for path in (ROOT / top).rglob("__init__.py")
    ]
    assert sorted(listed) == sorted(".".join(path.parts) for path in found)
