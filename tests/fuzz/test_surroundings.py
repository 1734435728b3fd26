"""What a call changes in the arithmetic of its thread ends with it, and what it says can be stored."""

from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest

from fuzz.execution import Failure, execute, survived
from fuzz.extend import FunctionBackend
from fuzz.surroundings import Arithmetic
from fuzz.targets import Target
from fuzz.workbench import Bench
from strategies.problem import Problem

x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="constants of x86-64")
libm = ctypes.CDLL("libm.so.6")
SMALL = np.full(8, 1e-40, np.float32)


@x86
def test_rounding_and_subnormals_are_restored() -> None:
    numbers = np.arange(1, 100, dtype=np.float32)
    nearest = np.reciprocal(numbers)
    with Arithmetic():
        libm.fesetround(0x800)
        assert (np.reciprocal(numbers) != nearest).any()
    assert (np.reciprocal(numbers) == nearest).all()
    with Arithmetic():
        environment = ctypes.create_string_buffer(256)
        libm.fegetenv(environment)
        environment[28:32] = (int.from_bytes(environment[28:32], "little") | 0x8040).to_bytes(4, "little")
        libm.fesetenv(environment)
        assert not (SMALL * np.float32(1)).any()
    assert (SMALL * np.float32(1)).all()


def test_error_handling_of_numpy_is_restored_also_after_an_exception() -> None:
    before = np.geterr()

    def fail() -> None:
        with Arithmetic():
            np.seterr(all="raise")
            np.reciprocal(np.zeros(1))

    with pytest.raises(FloatingPointError):
        fail()
    assert np.geterr() == before


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize(
    ("error", "verdict", "message"),
    [
        (RuntimeError("first\nlast"), "raised", "RuntimeError: last"),
        (RuntimeError("\udcff\x00\x1b[31m"), "raised", "RuntimeError: ���[31m"),
        (RuntimeError("x" * 10_000), "raised", "RuntimeError: " + "x" * 286),
        (Unprintable(), "raised", "Unprintable: "),
        (SystemExit(3), "raised", "SystemExit: 3"),
        (MemoryError("no"), "out_of_memory", "raised MemoryError: no"),
        (
            RuntimeError("InternalError: std::bad_alloc"),
            "out_of_memory",
            "raised RuntimeError: InternalError: std::bad_alloc",
        ),
        (
            ValueError("RESOURCE_EXHAUSTED: Out of memory"),
            "out_of_memory",
            "raised ValueError: RESOURCE_EXHAUSTED: Out of memory",
        ),
    ],
)
def test_errors_are_verdicts_with_a_line_that_can_be_stored(
    error: BaseException, verdict: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = FunctionBackend("throwing")

    @backend.operator("exp")
    def exp(x: object) -> None:
        raise error

    monkeypatch.setitem(__import__("fuzz.backends").backends.BACKENDS, "throwing", backend)
    problem = Problem(operator="exp", attributes=(), dims=(("n", 2),), home="float32", recipes=())
    outcome = execute(
        Bench(problem), Target("throwing", "cpu", "float32"), "campaign", lambda stage: None, lambda: None
    )
    assert isinstance(outcome, Failure)
    assert (outcome.verdict, outcome.error) == (verdict, message)
    outcome.error.encode()
    assert survived(outcome.error) == (verdict == "out_of_memory")


def test_an_interrupt_of_the_user_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(stage: str) -> None:
        raise KeyboardInterrupt

    problem = Problem(operator="exp", attributes=(), dims=(("n", 2),), home="float32", recipes=())
    with pytest.raises(KeyboardInterrupt):
        execute(Bench(problem), Target("numpy", "cpu", "float32"), "campaign", interrupted, lambda: None)
