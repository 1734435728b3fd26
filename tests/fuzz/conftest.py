"""Fixtures for tests that run the command in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from running import PLANTED, Cli


@pytest.fixture
def ulpfuzz(tmp_path: Path) -> Iterator[Cli]:
    """`ulpfuzz`, started in an empty folder."""
    cli = Cli(tmp_path)
    yield cli
    cli.end()


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The file of misbehaving backends."""
    path = tmp_path / "planted.py"
    path.write_text(PLANTED)
    return path
