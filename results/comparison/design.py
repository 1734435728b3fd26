"""How the trials of two campaigns may be compared: pair by pair, as two samples, problem by problem, or not at all."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from results.comparison.trials import Places, Trials, shared
from results.errors import NotPermitted
from results.permitted import require

Way: TypeAlias = Literal["pairs", "samples", "cells", "refused"]


class Plans(Struct, frozen=True):
    """What two campaigns have in common that decides how they may be compared."""

    plan: str | None
    """That of both, "mixed" where they differ."""
    one_draw: bool = False
    """Every trial of both surveys drew its problem anew."""
    same_population: bool = True
    """Whether what both draw problems from is the same."""
    decided: str = ""
    """The campaigns that ended when a rate was decided, in words."""


class Design(Struct, frozen=True):
    """Trials of both sides that are compared, and how."""

    way: Way
    first: Trials
    second: Trials
    of: str = ""
    """What the result describes (results.permitted)."""
    why: str = ""
    """Why nothing is tested; empty where something is."""
    shared: int = 0
    """Trials that both sides ran on equal inputs."""
    inputs_differ: int = 0
    """Trials of equal problem, seed and index whose inputs differ all the same."""
    problems: int = 0
    """Problems whose trials are compared."""


def design(first: Trials, second: Trials, plans: Plans) -> Design:
    """Choose the trials to compare: shared ones where there are any, else all of the problems that both sides ran.

    Shared trials (same problem, seed, index, and equal inputs) are compared in pairs and everything else is left out.
    Several problems of a fixed plan, and any of an exploration, are cells (results.permitted).
    """
    match = shared(first, second)
    differ = int((~match.same_inputs).sum())
    one, other = match.first[match.same_inputs], match.second[match.same_inputs]
    chosen = (first.at(one), second.at(other)) if len(one) else _same_problems(first, second, plans)
    problems = len(set(chosen[0].problems.tolist()) & set(chosen[1].problems.tolist()))
    of = why = ""
    way: Way = "refused"
    try:
        way, of = _way(chosen, len(one) > 0, problems, plans)
    except NotPermitted as error:
        why = str(error)
        if not problems:
            chosen = first, second  # to be shown beside each other
    return Design(way, *chosen, of=of, why=why, shared=len(one), inputs_differ=differ, problems=problems)


def _way(chosen: tuple[Trials, Trials], pairs: bool, problems: int, plans: Plans) -> tuple[Way, str]:
    """How, and what the result describes; NotPermitted with the reason where nothing may be said."""
    if plans.decided:
        raise NotPermitted(
            f"{plans.decided} ended when a rate was decided: how many trials it has depends on what they showed; "
            "run as many trials on both sides"
        )
    pooled = plans.plan == "survey" and plans.one_draw
    if pooled and not pairs and not plans.same_population:
        raise NotPermitted("both surveys drew their problems from different populations: run them with the same one")
    cells = not pooled and (problems > 1 or plans.plan == "explore")
    of = require("drift", plans.plan, problems=1 if cells else max(problems, 1), cells=cells)
    if not len(chosen[0]) or not len(chosen[1]):
        raise NotPermitted("no problem ran on both sides: compare campaigns of the same problems")
    return "cells" if cells else "pairs" if pairs else "samples", of


def _same_problems(first: Trials, second: Trials, plans: Plans) -> tuple[Trials, Trials]:
    """All trials of problems that both sides ran; of a survey all trials, which draw on one population."""
    if plans.plan == "survey" and plans.one_draw:
        return first, second
    both = sorted(set(first.problems.tolist()) & set(second.problems.tolist()))
    return first.at(np.isin(first.problems, both)), second.at(np.isin(second.problems, both))


def of_problem(trials: Trials, problem: str) -> Trials:
    """The trials of one problem."""
    return trials.at(trials.problems == problem)


def by_problem(trials: Trials) -> dict[str, Places]:
    """Positions of the trials of each problem, in the order of their names."""
    names, codes = np.unique(trials.problems.astype(str), return_inverse=True)
    return {str(name): np.flatnonzero(codes == code) for code, name in enumerate(names)}
