"""einsum and what stands for it: equal bits where the order is the same, rounding where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.backends.base import present
from fuzz.backends.contractions import WRITTEN_OUT, low_rank_matmul
from fuzz.equations import EQUATIONS
from fuzz.operators import OPERATORS

SIZES = {"B": 2, "T": 3, "R": 4, "C": 5, "I": 6, "O": 3, "J": 4, "Q": 3, "H": 2, "D": 5, "K": 4}


def arrays(operator: str, seed: int = 0, sizes: dict[str, int] | None = None) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in OPERATORS[operator].contract.shapes(sizes or SIZES).values()]


@pytest.mark.parametrize("operator", EQUATIONS)
def test_every_form_is_the_contraction_of_its_equation(operator: str) -> None:
    given = arrays(operator)
    wanted = np.einsum(EQUATIONS[operator], *given)
    for name, _, function in WRITTEN_OUT[operator]:
        np.testing.assert_allclose(function(*given), wanted, rtol=1e-12, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(OPERATORS[operator].reference(*given), wanted, rtol=1e-12, atol=1e-12)


def test_dims_are_the_letters_and_those_that_vanish_are_summed() -> None:
    for name, equation in EQUATIONS.items():
        operands, result = equation.split("->")
        dims = {dim.name.lower(): dim for dim in OPERATORS[name].contract.dims}
        assert set(dims) == set(operands) - {","}
        assert {letter for letter, dim in dims.items() if dim.reduced} == set(operands) - set(result) - {","}
        assert all(letter in result for letter, dim in dims.items() if dim.batch)


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(4, 16, 8, 32, 8), (2, 64, 16, 32, 16), (32, 10, 4, 8, 4)])
def test_torch_einsum_has_the_bits_of_the_matmul_form_of_its_order(dtype: str, sizes: tuple[int, ...]) -> None:
    """With opt_einsum e * s comes first where that is cheaper, without it operands are taken from left to right: each
    has the bits of that order written out, and the two differ by rounding alone."""
    torch = pytest.importorskip("torch")
    if not present("opt_einsum"):
        pytest.skip("opt_einsum is not installed")
    from fuzz.backends.torch_contractions import low_rank_multiply_matmul

    torch.set_num_threads(1)
    equation = EQUATIONS["einsum_low_rank"]
    named = dict(zip("BTRCI", sizes, strict=True))
    x, e, s = (torch.from_numpy(a.astype(dtype)) for a in arrays("einsum_low_rank", 1, named))
    with_it = torch.einsum(equation, x, e, s)
    torch.backends.opt_einsum.enabled = False
    try:
        without = torch.einsum(equation, x, e, s)
    finally:
        torch.backends.opt_einsum.enabled = True
    assert torch.equal(with_it, low_rank_multiply_matmul(x, e, s))
    assert torch.equal(without, low_rank_matmul(x, e, s))
    size = float((x.abs().amax() * e.abs().amax() * s.abs().amax()) * x.shape[2])
    assert 0 < float((with_it - without).abs().max()) < 4 * np.finfo(dtype).eps * size
