"""Options that the failure does not need are left out, a sample of meta_schedule among them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from fuzz.operators import OPERATORS
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.scheduled import default_options, fewer_moves, schedule_of
from fuzz.targets import Target, parse_target
from strategies import make_problem, parse_recipe


class Searching:
    """What the phases need of a search; `needs` are the options without which the failure is gone."""

    def __init__(self, target: Target, needs: frozenset[str] = frozenset()) -> None:
        recipe = parse_recipe("normal(0,1)", ("x",))
        problem = make_problem(OPERATORS["exp"].contract, dims={"n": 2}, home="float32", recipes=[recipe])
        self.best = SimpleNamespace(specimen=Specimen(problem, target, {"x": np.zeros(2, np.float32)}))
        self.needs = needs

    def holds(self, specimen: Specimen) -> bool:
        if not self.needs <= set(dict(specimen.target.options)):
            return False
        self.best = SimpleNamespace(specimen=specimen)
        return True


def left(text: str, *needs: str) -> str:
    search: Any = Searching(parse_target(text, "float32"), frozenset(needs))
    fewer_moves(search)
    default_options(search)
    return str(search.best.specimen.target.spelling("float32"))


def test_a_sample_is_left_out_where_it_is_not_needed() -> None:
    assert left("tvm:llvm[meta_schedule=12,mcpu=host]") == "tvm:llvm"
    assert left("tvm:llvm[meta_schedule=12,mcpu=host]", "meta_schedule") == "tvm:llvm[meta_schedule=12]"


def test_a_seed_is_no_vector_of_moves() -> None:
    assert schedule_of(parse_target("tvm:llvm[meta_schedule=12]", "float32")) == ()
    assert schedule_of(parse_target("tvm:llvm[schedule=2.1]", "float32")) == (2, 1, 0)
