"""The order in which reductions add up, read off scheduled programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.backends import BACKENDS
from fuzz.backends.tvm_orders import order_kept, orders

pytest.importorskip("tvm")


def schedule(operator: str, *shapes: tuple[int, ...], **attributes: Any) -> Any:
    from tvm import s_tir

    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    return s_tir.Schedule(BACKENDS["tvm"].implementations[operator][0].function(*arrays, **attributes))


def matmul() -> Any:
    return schedule("matmul", (6, 12), (12, 4))


def kept(before: Any, after: Any) -> bool:
    return order_kept(before.mod["main"], after.mod["main"])


def test_the_order_of_a_function_is_that_of_its_loops() -> None:
    assert orders(matmul().mod["main"]) == {"T_matmul": (("v_k", 12),)}
    assert orders(schedule("exp", (5,)).mod["main"]) == {}
    assert orders(schedule("cumsum", (5, 4), axis=-1).mod["main"]) is None


def test_loops_over_other_elements_may_be_anywhere() -> None:
    sch = matmul()
    i, j, k = sch.get_loops("T_matmul")
    i0, i1 = sch.split(i, [None, 4])  # which does not divide it
    k0, k1 = sch.split(k, [None, 3])
    sch.reorder(k0, i0, j, k1, i1)
    assert kept(matmul(), sch)


def test_parts_of_a_reduction_may_not_be_swapped() -> None:
    sch = matmul()
    _, _, k = sch.get_loops("T_matmul")
    k0, k1 = sch.split(k, [None, 3])
    sch.reorder(k1, k0)
    assert not kept(matmul(), sch)


def test_what_is_decomposed_keeps_its_order() -> None:
    sch = matmul()
    block = sch.get_sblock("T_matmul")
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    assert kept(matmul(), sch)


def test_factoring_changes_it_whatever_the_name() -> None:
    sch = matmul()
    _, _, k = sch.get_loops("T_matmul")
    _, inner = sch.split(k, [None, 3])
    sch.rfactor(inner, 0)
    assert not kept(matmul(), sch)


def test_fused_reductions_are_not_known() -> None:
    sch = matmul()
    _, _, k = sch.get_loops("T_matmul")
    sch.fuse(*sch.split(k, [None, 3]))
    assert kept(matmul(), sch)  # simplified to the loop that it was
    sch = matmul()
    _, j, k = sch.get_loops("T_matmul")
    sch.fuse(j, k)
    assert not kept(matmul(), sch)


def test_two_reductions_stay_one_within_the_other() -> None:
    from tvm import s_tir, te

    def both() -> Any:
        x = te.placeholder((5, 4, 6), name="x")
        p, q = te.reduce_axis((0, 4), "p"), te.reduce_axis((0, 6), "q")
        return s_tir.Schedule(te.create_prim_func([x, te.compute((5,), lambda i: te.sum(x[i, p, q], [p, q]), "s")]))

    assert orders(both().mod["main"]) == {"s": (("v_p", 4), ("v_q", 6))}
    swapped = both()
    i, p, q = swapped.get_loops("s")
    swapped.reorder(q, i, p)
    assert not kept(both(), swapped)
    tiled = both()
    i, p, q = tiled.get_loops("s")
    p0, p1 = tiled.split(p, [2, 2])
    q0, q1 = tiled.split(q, [2, 3])
    tiled.reorder(p0, q0, i, p1, q1)
    assert orders(tiled.mod["main"]) is None
    tiled.reorder(p0, p1, q0, q1)
    assert kept(both(), tiled)


DIAGONAL = """
@T.prim_func(s_tir=True)
def main(x: T.Buffer((4, 4), "float32"), y: T.Buffer((4,), "float32")):
    for k in range(4):
        with T.sblock("s"):
            v_i = T.axis.spatial(4, k)
            v_k = T.axis.reduce(4, k)
            with T.init():
                y[v_i] = T.float32(0)
            y[v_i] = y[v_i] + x[v_i, v_k]
"""


def test_a_loop_over_terms_and_elements_at_once_is_not_known() -> None:
    import tvm

    assert orders(tvm.script.from_source(DIAGONAL)) is None
