"""What is said of the inputs that a finding was shrunk to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.operators import operator
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.record import summary_of
from fuzz.targets import Target
from strategies import make_problem, parse_recipe

NORMAL = parse_recipe("normal(0,1)", ("x",))


def placed(shape: tuple[int, ...], **numbers: float) -> Any:
    values = np.zeros(shape, np.float32)
    for index, number in numbers.items():
        values.reshape(-1)[int(index.removeprefix("at"))] = number
    return values


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array([-5.5], np.float32), "1 element: x = -5.5"),
        (np.array([1, 2, 0], np.float32), "3 elements: x = [1.0, 2.0, 0.0]"),
        (np.full(64, 3.0, np.float32), "64 elements: x = 64 times 3.0"),
        (placed((2, 4), at7=0.5), "8 elements: x = 8 numbers, 0 but for 0.5 at [1, 3]"),
        (placed((8,), at0=1.0, at5=np.nan), "8 elements: x = 8 numbers, 0 but for 1.0 at [0], nan at [5]"),
        (np.arange(9, dtype=np.float32), "9 elements: x = 9 numbers, 1 of them 0"),
        (np.arange(1, 9, dtype=np.float32), "8 elements: x = 8 numbers"),
    ],
    ids=lambda value: value.partition(" = ")[2] if isinstance(value, str) else "",
)
def test_inputs_are_shown_in_a_few_words(values: Any, said: str) -> None:
    problem = make_problem(operator("tanh").contract, dims={"n": values.size}, home="float32", recipes=[NORMAL])
    specimen = Specimen(problem, Target("numpy", "cpu", "float32"), {"x": values})
    assert summary_of(specimen) == f"shrunk to {said}"
