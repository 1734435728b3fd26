"""`import strategies` is quick and light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import strategies

ROOT = Path(strategies.__file__).parents[1]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_hypothesis_is_imported_only_when_used() -> None:
    code = "import sys, strategies; print([m for m in ('hypothesis', 'scipy', 'pyarrow') if m in sys.modules])"
    assert run(code) == "[]"
    assert run("import sys, strategies; strategies.problems; print('hypothesis' in sys.modules)") == "True"


def test_neither_fuzz_nor_results_is_imported() -> None:
    code = "import sys, strategies.generation, strategies.iid; print({'fuzz', 'results'} & set(sys.modules))"
    assert run(code) == "set()"


def test_every_public_name_exists() -> None:
    assert all(getattr(strategies, name) is not None for name in strategies.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        strategies.nothing  # noqa: B018


def test_no_public_name_hides_a_submodule() -> None:
    modules = {path.stem for path in (ROOT / "strategies").glob("*.py")}
    assert not modules & set(strategies.__all__)
