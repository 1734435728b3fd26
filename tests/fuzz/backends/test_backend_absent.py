"""ulpfuzz can be listed and asked for help without any of the libraries it tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

BLOCK = """
import sys
BLOCKED = {"torch", "jax", "jaxlib", "tvm", "tvm_ffi"}
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_backends_are_listed_without_their_libraries() -> None:
    code = BLOCK + (
        "from fuzz.backends import BACKENDS\n"
        "print(*BACKENDS, *sorted(n for n, b in BACKENDS.items() if b.missing()), sep=',')\n"
    )
    assert run(code) == "numpy,scipy,torch,jax,tvm,jax,torch,tvm"


def test_missing_backends_name_the_line_that_installs_them() -> None:
    code = BLOCK + "from fuzz.backends import BACKENDS\nprint(BACKENDS['tvm'].missing())\n"
    assert run(code) == "pip install 'ulpfuzz[tvm]'"


def test_listing_backends_imports_no_library() -> None:
    code = (
        "import sys, fuzz.extend, fuzz.targets\n"
        "print(*[m for m in ('torch', 'jax', 'tvm', 'scipy.special', 'scipy.linalg') if m in sys.modules])\n"
    )
    assert run(code) == ""
