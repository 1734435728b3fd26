"""A campaign on faulty kernels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels import CAMPAIGN, EXTENSION
from running import Cli

from fuzz import extensions
from fuzz.backends import BACKENDS


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign's directory, in a folder whose name needs quoting. Not to be changed."""
    folder = tmp_path_factory.mktemp("night") / 'o\'dd "name" \\ {x}'
    folder.mkdir()
    (folder / "my kernel.py").write_text(EXTENSION)
    (folder / "c.toml").write_text(CAMPAIGN)
    cli = Cli(folder)
    ran = cli("run", "c.toml", "--out", "night")
    assert ran.returncode == 0, ran.stderr
    return folder / "night"


@pytest.fixture(autouse=True)
def no_backends_left() -> Iterator[None]:
    """Loading a campaign registers its kernels in this process."""
    before = dict(BACKENDS)
    yield
    BACKENDS.clear()
    BACKENDS.update(before)
    extensions._loaded.clear()
    for name in [n for n in sys.modules if n.startswith("ulpfuzz_extension_")]:
        del sys.modules[name]
