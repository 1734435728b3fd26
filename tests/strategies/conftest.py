"""Two small contracts: an operator with channels and a domain, and a reduction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from strategies import (
    AttributeSpec,
    Contract,
    Cost,
    DimSpec,
    Domain,
    Landmark,
    Problem,
    Spec,
    make_problem,
    parse_recipe,
)

IMAGE = ("N", "C", "H", "W")


@pytest.fixture(scope="session")
def batch_norm() -> Contract:
    return batch_norm_contract()


def batch_norm_contract() -> Contract:
    return Contract(
        operator="batch_norm",
        doc="(x - mean) / sqrt(var + eps) * gamma + beta, per channel",
        dims=(DimSpec("N", batch=True), DimSpec("C"), DimSpec("H"), DimSpec("W", minimum=1)),
        inputs=(
            Spec("x", IMAGE, landmarks=(Landmark(1.0, "where the tests put one"),)),
            Spec("mean", ("C",)),
            Spec("var", ("C",), Domain(0.0), default="abs(normal(1,1))"),
            Spec("gamma", ("C",)),
            Spec("beta", ("C",)),
        ),
        outputs=(Spec("y", IMAGE),),
        cost=Cost(((4.0, IMAGE),)),
        attributes=(
            ("eps", AttributeSpec(1e-5, "added to var", usual=(1e-5, 1e-3), unusual=(0.0, 1e-12))),
            ("training", AttributeSpec(False, "a flag")),
        ),
    )


@pytest.fixture(scope="session")
def matmul() -> Contract:
    return Contract(
        operator="matmul",
        doc="a @ b",
        dims=(DimSpec("M"), DimSpec("K", reduced=True), DimSpec("N")),
        inputs=(Spec("a", ("M", "K")), Spec("b", ("K", "N"))),
        outputs=(Spec("c", ("M", "N")),),
        cost=Cost(((2.0, ("M", "K", "N")),)),
    )


@pytest.fixture
def s0(batch_norm: Contract) -> Problem:
    """The batch_norm problem that the benchmarks use: 50,176 elements of x."""
    return batch_norm_problem(batch_norm, {"N": 2, "C": 32, "H": 28, "W": 28})


def batch_norm_problem(contract: Contract, dims: dict[str, int], home: str = "float32", **changes: str) -> Problem:
    texts = {spec.name: "normal(0,1)" for spec in contract.inputs} | {"var": "abs(normal(1,1))"} | changes
    recipes = [parse_recipe(text, (name,)) for name, text in texts.items()]
    return make_problem(contract, dims=dims, home=home, recipes=recipes)


@pytest.fixture
def problem_of() -> Callable[..., Problem]:
    """batch_norm_problem(contract, dims, home, **recipe texts)."""
    return batch_norm_problem


@pytest.fixture
def empty_arrays() -> Callable[[Contract, Problem], dict[str, np.ndarray]]:
    def make(contract: Contract, problem: Problem) -> dict[str, np.ndarray]:
        shapes = contract.shapes(dict(problem.dims))
        return {name: np.full(shape, np.nan, problem.home) for name, shape in shapes.items()}

    return make
