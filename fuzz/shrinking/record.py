"""The result of a search as a case file of the campaign, and back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from msgspec import structs

from fuzz.backends.base import Array
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.errors import UserError
from fuzz.operators import operator
from fuzz.reproduction import literals
from fuzz.reproduction.case import Case, Expected, Shrinking, case_by_value, read_case, restored, to_json
from fuzz.reproduction.saving import save
from fuzz.reproduction.specimen import Specimen
from fuzz.reproduction.subject import Subject
from fuzz.schedules import OPTIONS
from fuzz.shrinking.shrinker import Shrunk
from results.shrunk import path_of
from strategies.given import STORE, Given
from strategies.problem import problem_from_plain

SHOWN = 5
"""Elements that a summary names; of more it says how many there are."""


def case_of(subject: Subject, shrunk: Shrunk, primitives: tuple[str, ...] = ()) -> Case:
    """The case by value. `primitives` are what its schedule does, where it has one."""
    specimen, seen = shrunk.best
    case = case_by_value(subject, specimen, shrunk.ladder)
    rho = seen.rho if seen.rho is not None and math.isfinite(seen.rho) else None
    facts = Shrinking(
        summary=summary_of(specimen, primitives, shrunk.complete),
        evaluations=shrunk.evaluations,
        complete=shrunk.complete,
        primitives=primitives,
    )
    return structs.replace(case, expected=Expected(seen.verdict, rho, seen.detail), shrunk=facts)


def store(directory: Path, finding: str, case: Case) -> None:
    """Write the case into the campaign, whole or not at all."""
    path = path_of(directory, finding)
    with CampaignDirectory(directory).writing():
        path.parent.mkdir(exist_ok=True)
    save(path, to_json(case))


def stored(directory: Path, finding: str) -> Case | None:
    """The case that a finding was shrunk to; None where there is none. UserError where it is damaged."""
    path = path_of(directory, finding)
    return read_case(path) if path.exists() else None


def specimen_of(case: Case) -> Specimen:
    """The inputs of a case by value. UserError where it is none."""
    for array in case.given.values():
        STORE.add(restored(array), "x")
    problem = problem_from_plain(case.problem, operator(str(case.problem["operator"])).contract)
    arrays: dict[str, Array] = {}
    for recipe in problem.recipes:
        if not isinstance(recipe, Given):
            raise UserError(f"the case of {case.finding} draws its inputs: delete its file and shrink it again")
        arrays[recipe.fills[0]] = np.array(STORE.resolve(recipe.content)).astype(case.target.dtype)
    return Specimen(problem, case.target, arrays)


def summary_of(specimen: Specimen, primitives: tuple[str, ...] = (), complete: bool = True) -> str:
    """For instance "shrunk to 1 element: x = -5.5"."""
    count = sum(values.size for values in specimen.arrays.values())
    text = f"shrunk to {count:,} {'element' if count == 1 else 'elements'}"
    shown = ", ".join(f"{name} = {_shown(values, count <= SHOWN)}" for name, values in specimen.arrays.items())
    text += f": {shown}" if shown else ""
    options = [f"{name}={value}" for name, value in specimen.target.options if name in OPTIONS.values()]
    text += f"; {options[0]}: {'; '.join(primitives) or 'no primitives'}" if options else ""
    return text if complete else f"{text} (so far)"


def _shown(values: Array, each: bool) -> str:
    """The numbers, or what there is to say about them."""
    flat = values.reshape(-1)
    if each and flat.size == 1:
        return _number(flat[0])
    if each:
        return f"[{', '.join(_number(v) for v in flat)}]"
    raw = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
    if flat.size and (raw == raw[0]).all():
        return f"{flat.size:,} times {_number(flat[0])}"
    others = np.flatnonzero(flat != 0)  # NaN among them
    if 0 < others.size <= SHOWN < flat.size:
        return f"{flat.size:,} numbers, 0 but for {', '.join(_placed(values, int(at)) for at in others)}"
    zeros = flat.size - others.size
    return f"{flat.size:,} numbers" + (f", {zeros:,} of them 0" if zeros else "")


def _placed(values: Array, at: int) -> str:
    """For instance "0.5 at [1, 3]"."""
    place = [int(index) for index in np.unravel_index(at, values.shape)]
    return f"{_number(values.reshape(-1)[at])} at {place}"


def _number(value: np.generic) -> str:
    shown = literals.number(float(value), value.dtype.name)
    return shown.removeprefix("np.") if "fromhex" not in shown else repr(float(value))
