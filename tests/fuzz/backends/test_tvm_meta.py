"""Samples of meta_schedule are legal, mean the same everywhere, and keep the bits where they say so."""

from __future__ import annotations

import functools
import hashlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from backend_cases import CASES, bind

import fuzz
from fuzz.backends import BACKENDS
from fuzz.backends.base import Unsupported
from fuzz.backends.tvm_meta import sample, sampled

pytest.importorskip("tvm")
ROOT = Path(fuzz.__file__).parents[1]
INTRINSICS = "tvm.s_tir.tensor_intrin"
SHAPES: dict[str, tuple[dict[str, Any], tuple[tuple[int, ...], ...]]] = {
    "sum": ({"axis": -1}, ((5, 36),)),
    "matmul": ({}, ((7, 12), (12, 5))),
    "softmax": ({"axis": -1}, ((4, 18),)),
    "cumsum": ({"axis": -1}, ((4, 19),)),
    "argmax": ({"axis": -1}, ((5, 9),)),
}


@functools.cache
def function(operator: str) -> Any:
    attributes, shapes = SHAPES[operator]
    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    return BACKENDS["tvm"].implementations[operator][0].function(*arrays, **attributes)


@pytest.mark.parametrize("operator", ["sum", "matmul", "softmax", "layer_norm", "batch_norm", "gelu"])
def test_samples_are_legal_and_keep_the_result(operator: str) -> None:
    case = CASES[operator]
    plain = bind("tvm", case, "float32").kernel()[0].copy()
    for seed in range(4):
        kernel = bind("tvm", case, "float32", meta_schedule=str(seed)).kernel
        found = kernel()[0]
        np.testing.assert_allclose(found, plain, rtol=2e-5, atol=2e-6)
        assert kernel.facts["schedule"]
        if kernel.same_bits:
            assert found.tobytes() == plain.tobytes(), kernel.facts["schedule"]


def test_the_statements_make_the_program_of_the_sample() -> None:
    import tvm_ffi

    for operator in ("matmul", "softmax", "argmax"):
        for seed in "012":
            made = sampled(function(operator), seed).function
            assert tvm_ffi.structural_equal(made, sample(function(operator), seed).mod["main"])


def test_a_seed_means_the_same_in_every_process_and_order() -> None:
    asked = [(operator, str(seed)) for operator in ("sum", "matmul", "softmax") for seed in (0, 1, 2, 999_999)]
    code = (
        "import hashlib, sys; sys.path.insert(0, 'tests/fuzz/backends')\n"
        "from test_tvm_meta import function; from fuzz.backends.tvm_meta import sampled\n"
        f"for operator, seed in reversed({asked}):\n"
        "    print(hashlib.sha256(sampled(function(operator), seed).function.script().encode()).hexdigest())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    scripts = [sampled(function(operator), seed).function.script() for operator, seed in asked]
    assert ran.stdout.split() == [hashlib.sha256(text.encode()).hexdigest() for text in reversed(scripts)]


def test_seeds_draw_sizes_and_places_too() -> None:
    """There are three kinds of programs of a product of matrices; their tiles make many of each."""
    assert len({sampled(function("matmul"), str(seed)).function.script() for seed in range(12)}) >= 9


def test_the_function_given_is_not_changed() -> None:
    before = function("matmul").script()
    for seed in "0123":
        sampled(function("matmul"), seed)
    assert function("matmul").script() == before


def test_primitives_name_blocks_loops_and_factors() -> None:
    lines = [line for seed in range(6) for line in sampled(function("softmax"), str(seed)).primitives]
    assert any(line.startswith("rfactor T_softmax_") and "_1 axis 1" in line for line in lines)
    assert any(line.startswith("split T_softmax_") and " x " in line for line in lines)
    assert "compute_at T_softmax_exp inline" in lines
    assert not any(word in line for line in lines for word in ("root", "get_", "sample_", "meta_schedule"))


class TestBits:
    def test_are_due_where_no_reduction_is_reordered_only(self) -> None:
        for operator in ("sum", "softmax", "argmax"):
            found = [sampled(function(operator), str(seed)) for seed in range(8)]
            assert {True, False} == {one.keeps_bits for one in found}
            for one in found:
                assert one.keeps_bits != any(line.startswith("rfactor") for line in one.primitives)

    def test_belong_to_the_options_of_a_schedule(self) -> None:
        assert "meta_schedule" in bind("tvm", CASES["gelu"], "float32", meta_schedule="1").kernel.same_bits
        host = bind("tvm", CASES["gelu"], "float32", meta_schedule="1", mcpu="host")
        assert host.kernel.same_bits == ()


def test_bfloat16_has_no_vectors() -> None:
    for seed in "012":
        facts = bind("tvm", CASES["softmax"], "bfloat16", meta_schedule=seed).kernel.facts
        assert "parallel" in facts["schedule"]
        assert "vectorize" not in facts["schedule"]


class TestRefused:
    """Unsupported, in one line."""

    def test_where_there_is_nothing_to_schedule(self) -> None:
        with pytest.raises(Unsupported, match=r"^meta_schedule finds nothing to schedule in this function$"):
            sampled(function("cumsum"), "0")

    def test_where_a_postprocessor_says_no(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tvm.s_tir import meta_schedule

        monkeypatch.setattr(meta_schedule.postproc.RewriteReductionBlock, "apply", lambda *_: False)
        with pytest.raises(Unsupported, match=r"^meta_schedule refuses sample 3: RewriteReductionBlock$"):
            sampled(function("sum"), "3")

    def test_where_tvm_raises(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("a dump of the program\nThe loop is gone")

        monkeypatch.setattr("fuzz.backends.tvm_meta._spaces", broken)
        with pytest.raises(Unsupported, match=r"^meta_schedule cannot schedule this: The loop is gone$"):
            sampled(function("sum"), "3")

    @pytest.mark.parametrize("other", ["schedule", "unsafe_schedule"])
    def test_next_to_another_schedule(self, other: str) -> None:
        with pytest.raises(Unsupported, match=f"^tvm options {other} and meta_schedule exclude each other: use one$"):
            bind("tvm", CASES["softmax"], "float32", meta_schedule="2", **{other: "2"})


class TestIntrinsics:
    """TVM parses those of other processors for half a minute: not for us, and not in the way of others."""

    def test_none_are_loaded_and_nothing_is_left_in_their_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tvm import s_tir

        monkeypatch.delitem(sys.modules, INTRINSICS, raising=False)
        before = vars(s_tir).get("tensor_intrin")
        sampled(function("sum"), "0")
        assert INTRINSICS not in sys.modules
        assert vars(s_tir).get("tensor_intrin") is before

    def test_loaded_ones_stay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loaded = ModuleType(INTRINSICS)
        monkeypatch.setitem(sys.modules, INTRINSICS, loaded)
        sampled(function("sum"), "0")
        assert sys.modules[INTRINSICS] is loaded
