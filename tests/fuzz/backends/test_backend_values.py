"""Every formulation of every backend computes its operator, in both precisions, with the promised kind of array."""

from __future__ import annotations

import numpy as np
import pytest
from backend_cases import CASES, bind

from fuzz.backends import BACKENDS
from fuzz.backends.base import Unsupported
from strategies.precision import PRECISIONS

# Values are of order 1 and no sum is longer than 9: a hundred roundings. TVM's tanh and torch's gelu, which are much
# less accurate relative to their result, stay inside it absolutely.
TOLERANCE = {name: 100 * p.unit_roundoff for name, p in PRECISIONS.items() if name != "bfloat16"} | {"bfloat16": 0.05}


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_formulations_agree_with_the_formula(library: str, name: str, dtype: str) -> None:
    case = CASES[name]
    offered = BACKENDS[library].implementations.get(case.operator, ())
    for implementation in offered:
        if (library, implementation.name, dtype) == ("tvm", "topi", "float64") and case.operator == "layer_norm":
            continue  # refused: see below
        if dtype not in implementation.dtypes or (library, case.operator, dtype) == ("numpy", "matmul", "bfloat16"):
            continue
        bound = bind(library, case, dtype, implementation)
        (result,) = bound.kernel()
        where = f"{library} {implementation.name}"
        assert result.dtype == dtype, where
        assert result.shape == case.output, where
        assert result.flags.c_contiguous, where
        value = bound.value(case)
        worst = np.max(np.abs(result - value) / (1 + np.abs(value)))
        assert worst < TOLERANCE[dtype], f"{where}: {worst}"


def test_who_has_which_operator() -> None:
    operators = {case.operator for case in CASES.values()}
    lacking = {name: operators - set(BACKENDS[name].implementations) for name in ("numpy", "torch", "jax", "tvm")}
    assert lacking == {"numpy": {"gelu"}, "torch": set(), "jax": set(), "tvm": set()}
    in_scipy = operators & set(BACKENDS["scipy"].implementations)
    assert in_scipy == {"matmul", "softmax", "softplus", "gelu", "gelu_tanh"}


def test_the_default_formulation_is_the_library_where_it_has_one() -> None:
    for backend in BACKENDS.values():
        for operator, offered in backend.implementations.items():
            if any(i.provenance == "library" for i in offered):
                assert offered[0].provenance == "library", f"{backend.name} {operator}"
            names = [(i.name, dtype) for i in offered for dtype in i.dtypes]
            assert len(set(names)) == len(names), f"{backend.name} {operator}: {names}"


def test_tvm_layer_norm_in_float64_is_unsupported_in_one_line() -> None:
    """When this fails TVM has learned it: drop the exception above."""
    pytest.importorskip("tvm")
    with pytest.raises(Unsupported, match="only support float32") as raised:
        bind("tvm", CASES["layer_norm"], "float64")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 120


@pytest.mark.parametrize("shape", [(0,), (1,)])
def test_empty_and_single_vectors(library: str, shape: tuple[int, ...]) -> None:
    case = CASES["softplus"]
    bound = bind(library, case, "float32", shapes={"x": shape}, output=shape)
    np.testing.assert_allclose(bound.kernel()[0], bound.value(case), rtol=1e-6)


def test_matrix_product_over_no_terms_is_zero_in_scipy() -> None:
    bound = bind("scipy", CASES["matmul"], "float32", shapes={"a": (3, 0), "b": (0, 4)}, output=(3, 4))
    np.testing.assert_array_equal(bound.kernel()[0], np.zeros((3, 4), "float32"))
