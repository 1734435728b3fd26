"""Kernels live on the engine's buffers: inputs are refilled in place and never written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from backend_cases import CASES, bind, fill

from fuzz.backends import BACKENDS

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def test_a_refill_is_seen_by_the_next_call(library: str) -> None:
    for case in CASES.values():
        if case.operator not in BACKENDS[library].implementations:
            continue
        bound = bind(library, case, "float32")
        bound.kernel()
        for seed in (2, 3):
            fill(bound.inputs, seed)
            np.testing.assert_allclose(
                bound.kernel()[0], bound.value(case), rtol=1e-4, atol=1e-5, err_msg=case.operator
            )


def test_repeated_calls_give_the_same_bits(library: str) -> None:
    bound = bind(library, CASES["softmax"], "float32")
    first = bound.kernel()[0].copy()
    assert bound.kernel()[0].tobytes() == first.tobytes()


def test_engine_owned_kernels_return_the_engines_buffer(library: str) -> None:
    for case in CASES.values():
        for implementation in BACKENDS[library].implementations.get(case.operator, ()):
            bound = bind(library, case, "float32", implementation)
            result = bound.kernel()[0]
            shared = np.shares_memory(result, bound.outputs[0])
            assert shared == bound.kernel.engine_owned, f"{library} {case.operator} {implementation.name}"
            assert not any(np.shares_memory(result, array) for array in bound.inputs.values())


def test_who_writes_into_the_engines_buffers() -> None:
    owned = {
        name: bind(name, CASES["softmax"], "float32").kernel.engine_owned
        for name in ("numpy", "scipy", "torch", "jax", "tvm")
        if BACKENDS[name].missing() is None
    }
    assert owned.items() <= {"numpy": True, "scipy": False, "torch": False, "jax": False, "tvm": True}.items()


def _on_read_only_pages(name: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(HERE)])
    return subprocess.run(
        [sys.executable, str(HERE / "read_only_pages.py"), name],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_inputs_may_lie_on_read_only_pages(library: str) -> None:
    """In a process of its own: a kernel that writes there dies."""
    done = _on_read_only_pages(library)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "kernels ran" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
def test_the_read_only_pages_catch_a_kernel_that_writes() -> None:
    assert _on_read_only_pages("writer").returncode < 0
