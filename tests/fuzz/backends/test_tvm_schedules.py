"""Vectors decode to legal schedules that keep the result, and the bits wherever they say so."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_cases import CASES, bind
from hypothesis import HealthCheck, given, settings

import fuzz
from fuzz.backends import BACKENDS
from fuzz.backends.base import Unsupported
from fuzz.backends.tvm_backend import CompileError
from fuzz.backends.tvm_moves import FACTORS, MOST_UNROLLED, TABLE, WIDEST_VECTOR
from fuzz.backends.tvm_options import SCHEDULES
from fuzz.backends.tvm_schedules import Scheduled, scheduled
from strategies import schedules
from strategies.moves import MOVES

pytest.importorskip("tvm")
ROOT = Path(fuzz.__file__).parents[1]
SHAPES = {
    "sum": ({"axis": -1}, (5, 37)),
    "argmax": ({"axis": -1}, (5, 9)),
    "matmul": ({}, (7, 13), (13, 5)),
    "softmax": ({"axis": -1}, (4, 19)),
    "cumsum": ({"axis": -1}, (4, 19)),
}
SPLIT, VECTORIZE, REORDER, RFACTOR = (MOVES.index(name) for name in ("split", "vectorize", "reorder", "rfactor"))


@functools.cache
def function(operator: str, number: int = 0) -> Any:
    attributes, *shapes = SHAPES[operator]
    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    return BACKENDS["tvm"].implementations[operator][number].function(*arrays, **attributes)


def made(operator: str, *moves: tuple[int, int, int], unsafe: bool = False) -> Scheduled:
    return scheduled(function(operator), ".".join(str(n) for move in moves for n in move), unsafe=unsafe)


def test_every_move_is_known() -> None:
    assert ("nothing", *TABLE) == MOVES


@pytest.mark.parametrize("text", ["", "0", "0.0.0.0.0.0", "0.9.9"])
def test_zeros_are_the_function_itself(text: str) -> None:
    found = scheduled(function("softmax"), text)
    assert found.function is function("softmax")
    assert found.primitives == ()


@functools.cache
def plain(operator: str) -> np.ndarray:
    return bind("tvm", CASES[operator], "float32").kernel()[0].copy()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(schedules())
def test_any_vector_is_legal_and_keeps_the_result(text: str) -> None:
    for name, case in (("softmax", CASES["softmax"]), ("matmul", CASES["matmul"])):
        changed = bind("tvm", case, "float32", schedule=text)
        one, other = plain(name), changed.kernel()[0]
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6, err_msg=name)
        if changed.kernel.same_bits:
            assert one.tobytes() == other.tobytes(), changed.kernel.facts["schedule"]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(schedules(least=4))
def test_the_function_given_is_not_changed(text: str) -> None:
    before = function("matmul").script()
    scheduled(function("matmul"), text)
    assert function("matmul").script() == before


@settings(max_examples=25, deadline=None, derandomize=True)
@given(schedules(least=6))
def test_code_stays_small(text: str) -> None:
    script = scheduled(function("matmul", 1), text).function.script()
    assert all(2 <= int(lanes) <= WIDEST_VECTOR for lanes in re.findall(r"T\.vectorized\((\d+)\)", script))
    assert all(int(copies) <= MOST_UNROLLED for copies in re.findall(r"T\.unroll\((\d+)\)", script))


def test_an_outer_loop_is_not_unrolled_around_long_ones() -> None:
    unroll = MOVES.index("unroll")
    assert made("matmul", (unroll, 0, 0)).primitives == ("unroll T_matmul ax1",)  # 5 * 13 copies; 7 * 5 * 13 are many
    after = made("matmul", (unroll, 0, 0), (REORDER, 0, 0))
    assert not any("reorder T_matmul ax1 ax0" in line for line in after.primitives)


def test_functions_without_blocks_are_left_as_they_are() -> None:
    assert made("cumsum", (SPLIT, 0, 0), (VECTORIZE, 0, 0)).primitives == ()


class TestSafeOrder:
    """The rules that only `unsafe` drops, one test each."""

    def test_a_reduction_is_factored_before_all_else(self) -> None:
        moves = (SPLIT, 0, 5), (RFACTOR, 0, 0)
        assert not any("rfactor" in line for line in made("sum", *moves).primitives)
        assert any("rfactor" in line for line in made("sum", *moves, unsafe=True).primitives)

    def test_every_lane_has_terms(self) -> None:
        widest = len(FACTORS) - 1  # 32 exceeds 9 terms
        safe, unsafe = (made("argmax", (RFACTOR, 0, widest), unsafe=flag) for flag in (False, True))
        assert "by 3 " in safe.primitives[0]  # of the six that do not
        assert "by 32 " in unsafe.primitives[0]

    def test_splits_keep_their_guard(self) -> None:
        unguarded = 5 + 8
        safe, unsafe = (made("sum", (SPLIT, 0, unguarded), unsafe=flag) for flag in (False, True))
        assert "T.where" in safe.function.script()
        assert "T.where" not in unsafe.function.script()

    def test_a_reduction_with_two_results_is_not_vectorized(self) -> None:
        safe, unsafe = (made("argmax", (VECTORIZE, 0, 0), unsafe=flag) for flag in (False, True))
        assert not any("input0_red_temp" in line for line in safe.primitives)
        assert unsafe.primitives == ("vectorize input0_red_temp ax0",)


class TestOrderOfAddition:
    """Whether a schedule keeps the order in which a reduction adds up."""

    def test_splitting_and_fusing_keep_it(self) -> None:
        assert made("sum", (SPLIT, 1, 2)).keeps_bits
        fuse = MOVES.index("fuse")
        assert made("sum", (SPLIT, 1, 2), (fuse, 0, 0)).primitives[-1].startswith("fuse")
        assert made("sum", (SPLIT, 1, 2), (fuse, 0, 0)).keeps_bits

    def test_moving_a_reduction_past_a_spatial_loop_keeps_it(self) -> None:
        found = made("sum", (REORDER, 0, 0))
        assert found.primitives == ("reorder input0_red k1 ax0",)
        assert found.keeps_bits

    def test_swapping_reduction_loops_changes_it_even_when_they_are_fused_later(self) -> None:
        swapped = made("sum", (SPLIT, 1, 2), (REORDER, 1, 1))
        assert swapped.primitives[-1] == "reorder input0_red ax0 k1_1 k1_0"
        assert not swapped.keeps_bits
        fused = made("sum", (SPLIT, 1, 2), (REORDER, 1, 1), (MOVES.index("fuse"), 0, 0))
        assert fused.primitives[-1] == "fuse input0_red k1_1 k1_0"
        assert not fused.keeps_bits

    def test_swapping_them_back_keeps_it(self) -> None:
        found = made("sum", (SPLIT, 1, 2), (REORDER, 1, 1), (REORDER, 1, 1))
        assert found.primitives[-1] == "reorder input0_red ax0 k1_0 k1_1"
        assert found.keeps_bits

    def test_factoring_changes_it(self) -> None:
        assert not made("sum", (RFACTOR, 0, 0)).keeps_bits


def test_a_vector_means_the_same_in_every_process() -> None:
    text = "6.3.1.13.2.9.2.4.3.9.1.0.3.2.2.5.1.1.11.0.2.4.3"
    code = (
        "import numpy as np; from fuzz.backends import BACKENDS; from fuzz.backends.tvm_schedules import scheduled\n"
        "f = BACKENDS['tvm'].implementations['softmax'][0].function(np.zeros((4, 19), 'f'), axis=-1)\n"
        f"print(scheduled(f, {text!r}).primitives)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(scheduled(function("softmax"), text).primitives)


class TestKernels:
    """The options of a target."""

    def test_primitives_are_facts_and_explained(self) -> None:
        bound = bind("tvm", CASES["softmax"], "float32", schedule=f"{SPLIT}.0.5")
        assert bound.kernel.facts["schedule"] == "split T_softmax_maxelem i0 by 8"
        assert bound.kernel.same_bits == SCHEDULES
        assert bind("tvm", CASES["softmax"], "float32").kernel.same_bits == ()

    @pytest.mark.parametrize("options", [{"mcpu": "host"}, {"fma": "on"}, {"fast_math": "on"}])
    def test_bits_are_not_due_where_operations_may_be_merged(self, options: dict[str, str]) -> None:
        bound = bind("tvm", CASES["softmax"], "float32", schedule=f"{SPLIT}.0.5", **options)
        assert bound.kernel.same_bits == ()

    def test_bfloat16_has_neither_vectors_nor_due_bits(self) -> None:
        bound = bind("tvm", CASES["softmax"], "bfloat16", schedule=f"{VECTORIZE}.0.0.{SPLIT}.0.5")
        assert bound.kernel.facts["schedule"] == "split T_softmax_maxelem i0 by 8"
        assert bound.kernel.same_bits == ()

    def test_bits_are_due_again_without_fused_multiply_add(self) -> None:
        bound = bind("tvm", CASES["softmax"], "float32", schedule=f"{SPLIT}.0.5", mcpu="host", fma="off")
        assert bound.kernel.same_bits

    def test_two_schedules_at_once_are_unsupported(self) -> None:
        with pytest.raises(Unsupported, match="use one"):
            bind("tvm", CASES["softmax"], "float32", schedule="2", unsafe_schedule="2")

    def test_what_tvm_cannot_schedule_is_an_error_of_compilation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise ValueError("a dump of the program\nThe loop is gone")

        monkeypatch.setitem(TABLE, "split", (TABLE["split"][0], broken))
        with pytest.raises(CompileError, match=r"^TVM cannot schedule this: The loop is gone$"):
            bind("tvm", CASES["softmax"], "float32", schedule=f"{SPLIT}.0.5")

    def test_what_tvm_refuses_is_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tvm import s_tir

        def refused(program: Any, place: Any, how: int) -> None:
            program.did("split", place[0].block)
            raise s_tir.ScheduleError("no")

        monkeypatch.setitem(TABLE, "split", (TABLE["split"][0], refused))
        found = made("sum", (SPLIT, 0, 0), (VECTORIZE, 0, 0))
        assert found.refused == ("split input0_red",)
        assert found.primitives == ("vectorize input0_red ax0",)
