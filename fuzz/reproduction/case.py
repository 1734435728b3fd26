"""A case file: everything that is needed to run one finding again, as JSON; and what comes out when it is run."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, structs

from fuzz.backends import BACKENDS
from fuzz.backends.base import Array
from fuzz.campaigns.environment import environment, environment_id
from fuzz.errors import UserError
from fuzz.operators import operator
from fuzz.reproduction.specimen import Specimen
from fuzz.reproduction.subject import Subject
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from fuzz.variants import expanded
from results.columns import Row
from results.verdicts import VERDICTS
from strategies.contract import ContractError
from strategies.given import STORE, Given
from strategies.problem import Problem, problem_from_plain
from strategies.recipe import ParameterError

FORMAT = "ulpfuzz case 1"
LISTED = 64
"""Elements up to which an array is written as hexadecimal numbers; larger ones as compressed bytes."""


class Stored(Struct, frozen=True, omit_defaults=True):
    """An array by value."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[str, ...] = ()
    """Hexadecimal floats in C order."""
    bytes: str = ""
    """Or little-endian bytes, deflated, in base64."""


class Expected(Struct, frozen=True):
    """What was seen."""

    verdict: str
    rho: float | None = None
    """None: not measured, or infinite."""
    detail: str = ""


class Shrinking(Struct, frozen=True):
    """How a case was made as small as it is."""

    summary: str
    """In a line."""
    evaluations: int
    """Candidates that were looked at."""
    complete: bool
    """Whether the search came to its end; else its time was over."""
    primitives: tuple[str, ...] = ()
    """What its schedule does, where it has one."""


class Case(Struct, frozen=True, omit_defaults=True):
    """One target on one draw of one problem, and what was seen there."""

    format: str
    title: str
    problem: dict[str, Any]
    target: Target
    output: str
    """Empty where the whole call fails."""
    expected: Expected
    seed: int = 0
    index: int = 0
    ladder: bool = True
    """Whether the other precision runs even if nothing looks suspicious, as on the first trial of a problem."""
    variant: str = ""
    """Under which the target is called, beside the plain call; empty for that one."""
    finding: str = ""
    trial: str = ""
    given: dict[str, Stored] = {}
    """Arrays that recipes name by their content."""
    extensions: tuple[str, ...] = ()
    input_digest: str = ""
    versions: dict[str, str] = {}
    shrunk: Shrinking | None = None
    """Of a case that a finding was shrunk to."""


class Answer(Struct, frozen=True):
    """What a case gives now. `reason` says why it cannot be run here."""

    verdict: str = ""
    rho: float | None = None
    detail: str = ""
    value: str = ""
    truth: str = ""
    reason: str = ""


def case_by_draw(subject: Subject) -> Case:
    """The trial as the campaign drew it."""
    problem = subject.cell.problem
    given = {r.content: stored(STORE.resolve(r.content)) for r in problem.recipes if isinstance(r, Given)}
    case = _case(subject, problem, subject.target, given, expected_of(subject.row))
    return structs.replace(
        case,
        seed=subject.seed,
        index=subject.index,
        ladder=subject.results.plan != "fixed" or subject.index == 0,
        input_digest=str(subject.row["input_digest"] or ""),
    )


def case_by_value(subject: Subject, specimen: Specimen, ladder: bool) -> Case:
    """The specimen's inputs, as given arrays. What is expected is found by running it: see `with_expectation`."""
    given: dict[str, Stored] = {}
    recipes = []
    for name, values in specimen.arrays.items():
        recipe = STORE.add(np.asarray(values), name)
        given[recipe.content] = stored(STORE.resolve(recipe.content))
        recipes.append(recipe)
    problem = structs.replace(specimen.problem, recipes=tuple(recipes), home=specimen.target.dtype)
    case = _case(subject, problem, specimen.target, given, Expected(subject.verdict))
    return structs.replace(case, ladder=ladder)


def _case(subject: Subject, problem: Problem, target: Target, given: dict[str, Stored], expected: Expected) -> Case:
    facts = environment()
    return Case(
        format=FORMAT,
        title=subject.group.title
        if subject.group
        else f"{subject.row['target']} {problem.operator}: {subject.verdict}",
        problem=problem.plain(),
        target=target,
        output="" if subject.group is not None and not subject.group.output else str(subject.row["output"]),
        expected=expected,
        variant=subject.variant,
        finding=subject.group.id if subject.group else "",
        trial=str(subject.row["trial"]),
        given=given,
        extensions=tuple(str(path.resolve()) for path in subject.extensions),
        versions=facts["versions"],
    )


def expected_of(row: Row) -> Expected:
    """What a stored row says."""
    return Expected(str(row["verdict"]), _finite(row.get("rho_max")), str(row["detail"] or row["error"] or ""))


def run_case(case: Case) -> Answer:
    """Compute the case in this process, with ladder and probes; what a kernel does to the process, it does."""
    place = BACKENDS.get(case.target.backend)
    if place is None:
        return Answer(reason=f"there is no backend {case.target.backend}: its extension is missing")
    if (line := place.missing()) is not None:
        return Answer(reason=f"{case.target.backend} is not installed: {line}")
    if case.target.device != place.default_device and case.target.device not in place.devices():
        return Answer(reason=f"{case.target.backend} has no device {case.target.device} here")
    try:
        for array in case.given.values():
            STORE.add(restored(array), "x")
        problem = problem_from_plain(case.problem, operator(str(case.problem["operator"])).contract)
    except (ContractError, ParameterError, UserError) as error:
        return Answer(reason=str(error))
    place.warm_up()
    session = Session(environment_id(environment()))
    try:
        variants = expanded((case.variant,)) if case.variant else ()
    except UserError as error:
        return Answer(reason=str(error))
    cell = Cell(problem, (case.target,), variants=variants)
    rows = run_trial(cell, case.seed, case.index, session, ladder=case.ladder).rows
    row = max(_rows_of(case, rows), key=lambda r: VERDICTS[str(r["verdict"])].severity)
    if case.input_digest and row["input_digest"] != case.input_digest:
        return Answer(reason="its inputs are drawn differently here: another generator or machine")
    if row["verdict"] == "unsupported":
        return Answer(reason=str(row["detail"]))
    shown = {name: "" if row.get(f"rho_{name}") is None else repr(row[f"rho_{name}"]) for name in ("value", "truth")}
    return Answer(
        str(row["verdict"]), _finite(row.get("rho_max")), str(row["detail"] or row.get("error") or ""), **shown
    )


def _rows_of(case: Case, rows: Sequence[Row]) -> list[Row]:
    """The rows that the case is about. A variant is judged by what it differs by from the plain call, if at all."""
    here = [row for row in rows if case.output in ("", row["output"])]
    if not case.variant:
        return [row for row in here if row["against"] == "truth"]
    varied = [row for row in here if row["variant"] and row.get("verdict") is not None]
    own = [row for row in varied if row["against"] != "truth"]
    plain = [row for row in here if row["against"] == "truth" and not row["variant"]]
    return own or varied or plain


def with_expectation(case: Case, answer: Answer) -> Case:
    """The case with what it gave just now."""
    return structs.replace(case, expected=Expected(answer.verdict, answer.rho, answer.detail))


def stored(values: Array) -> Stored:
    """An array for a case file."""
    shape = tuple(int(n) for n in values.shape)
    if values.dtype.kind == "f" and values.size <= LISTED:
        return Stored(values.dtype.name, shape, tuple(float(v).hex() for v in values.reshape(-1)))
    little = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
    return Stored(values.dtype.name, shape, bytes=base64.b64encode(zlib.compress(little.tobytes())).decode())


def restored(array: Stored) -> Array:
    """The array of a case file; UserError where it is damaged."""
    kind = np.dtype(array.dtype)
    try:
        if array.bytes:
            raw = zlib.decompress(base64.b64decode(array.bytes, validate=True))
            values = np.frombuffer(raw, kind.newbyteorder("<")).astype(kind)
        else:
            values = np.array([float.fromhex(text) for text in array.values], kind)
        return values.reshape(array.shape)
    except (ValueError, zlib.error) as error:
        raise UserError(f"an array of the case file is damaged: {error}: write the file anew") from None


def to_json(case: Case) -> str:
    """The text of a case file."""
    return json.dumps(_named(msgspec.to_builtins(case)), indent=1, allow_nan=False) + "\n"


def read_case(path: Path) -> Case:
    """A case file. UserError, in one line, for anything else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no file {path}: give a case file or the directory of a campaign") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}: a case file is what `ulpfuzz repro --json` writes") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f"{path} is no case file: `ulpfuzz repro DIR FINDING --json FILE` writes one")
    try:
        return msgspec.convert(data, Case)
    except msgspec.ValidationError as error:
        raise UserError(f"{path} is damaged: {error}: write it anew with `ulpfuzz repro --json`") from None


def _named(value: Any) -> Any:
    """nan and inf as text: JSON has none."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _named(item) for key, item in value.items()}
    return [_named(item) for item in value] if isinstance(value, list | tuple) else value


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(float(value)) else None
