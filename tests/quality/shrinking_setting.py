"""Planted faults shrunk in this process, and looked at again by the whole trial pipeline."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from planted_defects import PLANTED, Defect

from fuzz.operators import OPERATORS
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.journal import Journal
from fuzz.shrinking.looking import Looker, given
from fuzz.shrinking.phases import shrink, simplify_inputs
from fuzz.shrinking.search import USUAL, Found, Limits, Over, Search
from fuzz.shrinking.seen import DECADE, Aim, Seen, seen_of, sized
from fuzz.shrinking.shrinker import first_look
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from results.columns import Row
from results.verdicts import VERDICTS
from strategies import PRECISIONS, Problem, make_problem, parse_recipe
from strategies.sampling import draw


class Result(NamedTuple):
    """A shrunk case, and what the campaign had seen."""

    campaign: Seen
    search: Search
    seconds: float
    """CPU."""

    @property
    def specimen(self) -> Specimen:
        return self.search.best.specimen

    @property
    def elements(self) -> int:
        return sum(values.size for values in self.specimen.arrays.values())

    @property
    def telling(self) -> int:
        """Elements that are neither 0 nor 1."""
        return sum(int(np.count_nonzero((v != 0) & (v != 1))) for v in self.specimen.arrays.values())

    def again(self) -> Seen:
        """What a new session makes of the case."""
        cell = Cell(given(self.specimen), (self.specimen.target,))
        rows = run_trial(cell, 0, 0, Session("again"), ladder=self.search.ladder).rows
        found = seen_of(rows, self.campaign.output)
        assert found is not None
        return found

    def slipped(self) -> bool:
        """Whether that is another failure than the campaign's: another verdict, or another decade of rho."""
        now = self.again()
        if now.verdict != self.campaign.verdict or not sized(self.campaign):
            return now.verdict != self.campaign.verdict
        assert now.rho is not None
        assert self.campaign.rho is not None
        return not 1 / DECADE <= now.rho / self.campaign.rho <= DECADE


def problem_of(defect: Defect) -> tuple[Problem, Target]:
    """What the fault is planted in, and the target that has it."""
    called = f"{defect.operator}_{defect.name}"
    if called not in {i.name for i in PLANTED.implementations.get(defect.operator, ())}:
        PLANTED.operator(defect.operator, name=called, dtypes=tuple(PRECISIONS))(defect.kernel)
    contract = OPERATORS[defect.operator].contract
    recipes = [parse_recipe(defect.inputs.get(s.name, s.default), (s.name,)) for s in contract.inputs]
    problem = make_problem(contract, dims=defect.dims, home=defect.dtype, recipes=recipes, attributes=defect.attributes)
    return problem, Target("planted", "cpu", defect.dtype, (("impl", called),))


How = Callable[[Search, Problem, int, int], None]


def of_elements(search: Search, problem: Problem, seed: int, index: int) -> None:
    """Without new draws."""
    with contextlib.suppress(Over):
        simplify_inputs(search)


def shrunk(defect: Defect, seed: int = 0, limits: Limits = USUAL, how: How = shrink) -> Result | None:
    """The first trial shrunk; None where it is no finding of the target's own precision."""
    problem, target = problem_of(defect)
    return shrunk_trial(problem, target, seed, limits, how)


def shrunk_trial(
    problem: Problem, target: Target, seed: int = 0, limits: Limits = USUAL, how: How = shrink
) -> Result | None:
    """The same for a problem and a target."""
    index = 0
    rows = run_trial(Cell(problem, (target,)), seed, index, Session("campaign"), ladder=True).rows
    row: Row = max(rows, key=lambda row: (VERDICTS[str(row["verdict"])].severity, float(row.get("rho_max") or 0)))
    campaign = seen_of(rows, str(row["output"]))
    assert campaign is not None
    if not VERDICTS[campaign.verdict].finding:
        return None
    contract = OPERATORS[problem.operator].contract
    arrays = {n: np.empty(s, np.dtype(problem.home)) for n, s in contract.shapes(dict(problem.dims)).items()}
    draw(problem, contract, seed, index, arrays)
    aim, start = Aim(campaign.verdict, campaign.output), Specimen(problem, target, arrays)
    began = time.process_time()
    looker = Looker(aim)
    seen, ladder = first_look(looker, start, aim, Journal(None, {}))
    if seen is None:  # only the other precision shows it
        return None
    search = Search(looker, Found(start, seen), ladder, limits)
    how(search, problem, seed, index)
    return Result(campaign, search, time.process_time() - began)
