"""What a user asks for, from the command line or a TOML file, checked and turned into cells."""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil
from msgspec import Struct, structs

from fuzz.campaigns import exhaustive
from fuzz.campaigns.budget import Ends, ends
from fuzz.campaigns.drawing import DRAWN, EXPLORE, ISLANDS, SEARCH, SURVEY
from fuzz.campaigns.grid import grid
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.standard import expanded, named
from fuzz.errors import TextError, UserError, unknown
from fuzz.operators import operator
from fuzz.schedules import check_drawn, with_drawn
from fuzz.targets import Target, default_targets, parse_target, require_installed, require_offer
from fuzz.trial import Cell
from fuzz.variants import expanded as expanded_variants
from results.fail_on import PLANS as PLANS_WITH_RATES
from results.fail_on import parse_fail_on, require_plan
from strategies.contract import Contract, ContractError
from strategies.expressions import RecipeError, input_names
from strategies.given import STORE, Given
from strategies.inputs import input_recipes
from strategies.precision import PRECISIONS, narrowest
from strategies.problem import Problem, make_problem
from strategies.recipes import ParameterError

PLANS = ("fixed", *DRAWN, exhaustive.NAME)
PLANS_WITH_VARIANTS = ("fixed", SURVEY, EXPLORE)


_TOP = set(CampaignSpec.__struct_encode_fields__) | {"extensions"}
_PROBLEM = {"operator", "dims", "attributes", "inputs", "variants"}
_PUBLISHED = {"rate", "pair", "above"}


def read_toml(path: Path) -> tuple[CampaignSpec, tuple[Path, ...]]:
    """The campaign of a TOML file and its extension files (relative to it). UserError names file and key."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"no file {str(path)!r}: name an operator (see `ulpfuzz list operators`) or a TOML file"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {str(path)!r}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not valid TOML: {error}") from None
    _known_keys(data, _TOP, f"key in {path}")
    problems = data.get("problem", [])
    if not isinstance(problems, list) or not problems:
        raise UserError(f'{path} has no [[problem]] table: add one with operator = "..."')
    for problem in problems:
        _known_keys(problem, _PROBLEM, f"key of [[problem]] in {path}")
    if "published" in data:
        _known_keys(data["published"], _PUBLISHED, f"key of published in {path}")
    data["problem"] = [one for problem in problems for one in grid(problem)]
    if isinstance(data.get("dtype"), str):
        data["dtype"] = [data["dtype"]]
    try:
        extensions = msgspec.convert({"extensions": data.pop("extensions", [])}, _Extensions).extensions
        return msgspec.convert(data, CampaignSpec), tuple(path.parent / name for name in extensions)
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {_in_toml_terms(error)}") from None


def _known_keys(table: Mapping[str, Any], known: set[str], what: str) -> None:
    if not isinstance(table, Mapping):
        raise UserError(f"{what.split(' ', 2)[-1]}: a table is due, got {table!r}")
    for key in table:
        if key not in known:
            if key in _PROBLEM:
                raise UserError(f"unknown {what} {key!r}: it belongs into a [[problem]] table, below that heading")
            raise unknown(what, key, known)


class _Extensions(Struct, frozen=True):
    extensions: tuple[str, ...]


def _in_toml_terms(error: msgspec.ValidationError) -> str:
    """msgspec's message with TOML's names of types, and the key instead of a JSON path."""
    what, _, place = str(error).replace(" | null`", "`").partition(" - at `$.")
    for json_name, toml_name in (("`str`", "a string"), ("`int`", "a whole number"), ("`object`", "a table")):
        what = what.replace(json_name, toml_name)
    what = what.replace("Object missing required field", "missing key").replace("`array`", "an array")
    return f"{place.rstrip('`')}: {what}" if place else what


class Resolved(Struct, frozen=True):
    """A spec with every name looked up: cells for a fixed plan, operators and targets where problems are drawn."""

    spec: CampaignSpec
    ends: Ends
    cells: tuple[Cell, ...]
    targets: tuple[tuple[Target, ...], ...]
    """Per dtype of the spec."""
    pairs: tuple[tuple[tuple[int, int], ...], ...]
    """Per dtype of the spec, positions among its targets."""
    variants: tuple[str, ...]
    """Canonical ids, one by one."""
    skipped: tuple[str, ...]
    """One line for each backend that is not installed."""


def resolve(spec: CampaignSpec, base: Path = Path()) -> Resolved:
    """Check everything and build the cells. Raises UserError before anything is written.

    Files named by given(...) are found relative to `base` (the folder of a TOML file).
    """
    if spec.plan not in PLANS:
        raise unknown("plan", spec.plan, PLANS)
    if not 0 <= spec.seed < 2**63:
        raise UserError(f"seed is {spec.seed}: use a whole number from 0 to 2^63 - 1")
    for dtype in spec.dtypes:
        if dtype not in PRECISIONS:
            raise unknown("dtype", dtype, PRECISIONS)
    spec = structs.replace(spec, problems=exhaustive.problems(spec)) if spec.plan == exhaustive.NAME else named(spec)
    for problem in spec.problems:
        operator(problem.operator)
        if spec.plan in DRAWN and (problem.dims or problem.inputs or problem.attributes):
            raise UserError(
                f"the plan {spec.plan} draws dims, attributes and inputs itself: leave them out, or use --plan fixed"
            )
        if spec.plan != PLANS[0] and problem.variants is not None:
            raise UserError(
                f"variants of one problem go with --plan {PLANS[0]}: name them for all, or use another plan than "
                f"{spec.plan}"
            )
    groups: list[tuple[Target, ...]] = []
    skipped: dict[str, None] = {}
    for dtype in spec.dtypes:
        targets, missing = _targets(spec, dtype)
        check_drawn(spec, targets)
        groups.append(targets)
        skipped.update(dict.fromkeys(missing))
    pairs = tuple(_pairs(spec, targets) for targets in groups)
    variants = _variants(spec, spec.variants)
    _check_published(spec)
    _check_rates(spec)
    if spec.fail_on is not None:
        require_plan(parse_fail_on(spec.fail_on), spec.plan)
    end = ends(spec)
    cells: list[Cell] = []
    if spec.plan == exhaustive.NAME:
        end = structs.replace(end, trials=exhaustive.trials(tuple(_home(targets) for targets in groups), spec.trials))
    if spec.plan == SEARCH:
        end = structs.replace(end, trials=_of_islands(spec, end, groups))
    elif spec.evaluations is not None:
        raise UserError(f"evaluations belong to an island of a search: leave them out, or use --plan {SEARCH}")
    if spec.plan not in DRAWN:
        for problem in spec.problems:
            for targets, compared in zip(groups, pairs, strict=True):
                home = _home(targets)
                for one in expanded(spec, problem, home):
                    found = _problem(one, home, base)
                    every = with_drawn(spec, targets, problem.operator, {"problem": found.id})
                    own = variants if one.variants is None else _variants(spec, one.variants)
                    cells.append(Cell(found, every, compared, own))
    _refuse_repetitions(spec, cells, groups)
    return Resolved(spec, end, tuple(cells), tuple(groups), pairs, variants, tuple(skipped))


def _variants(spec: CampaignSpec, named: tuple[str, ...]) -> tuple[str, ...]:
    if named and spec.plan not in PLANS_WITH_VARIANTS:
        raise UserError(
            f"variants go with --plan {', '.join(PLANS_WITH_VARIANTS)}: leave them out, or use another plan than "
            f"{spec.plan}"
        )
    return expanded_variants(named)


def _of_islands(spec: CampaignSpec, end: Ends, groups: Sequence[Sequence[Target]]) -> int | None:
    """Trials of so many islands as are asked for; None where time ends the campaign."""
    if spec.evaluations is not None and spec.evaluations < 1:
        raise UserError(f"evaluations is {spec.evaluations}: use a number >= 1")
    if end.trials is None:
        return None
    return (spec.trials or ISLANDS) * DRAWN[SEARCH].size(max(map(len, groups)))


def _check_rates(spec: CampaignSpec) -> None:
    """Where no rate can be read off a plan, none can be compared or waited for."""
    for key in ("published", "until"):
        if getattr(spec, key) is not None and spec.plan not in PLANS_WITH_RATES:
            raise UserError(
                f"{key} is about a rate, and the plan {spec.plan} has none: its problems are chosen to find failures; "
                f"leave it out, or use --plan {' or '.join(PLANS_WITH_RATES)}"
            )


def _home(targets: Sequence[Target]) -> str:
    return narrowest(tuple(target.dtype for target in targets))


def _pairs(spec: CampaignSpec, targets: Sequence[Target]) -> tuple[tuple[int, int], ...]:
    home = _home(targets)
    pairs = tuple((_position(a, targets, home), _position(b, targets, home)) for a, b in spec.pairs)
    for number, (first, second) in enumerate(pairs):
        name = "/".join(spec.pairs[number])
        if first == second:
            raise UserError(f"pair {name} compares a target with itself: name two")
        if (first, second) in pairs[:number]:
            raise UserError(f"pair {name} is named twice: remove one")
    return pairs


def _refuse_repetitions(spec: CampaignSpec, cells: Sequence[Cell], groups: Sequence[Sequence[Target]]) -> None:
    """Two cells of the same problem would give rows with the same key."""
    if cells:
        keys = [(cell.problem.id, cell.problem.operator, cell.problem.home) for cell in cells]
    else:
        keys = [("", problem.operator, _home(targets)) for targets in groups for problem in spec.problems]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise UserError(f"the same problem of {key[1]} in {key[2]} is asked for twice: remove one")


def _targets(spec: CampaignSpec, dtype: str) -> tuple[tuple[Target, ...], list[str]]:
    if spec.targets:
        targets = [parse_target(text, dtype) for text in spec.targets]
        require_installed(targets)
        for target in targets:
            target.require_device()
        require_offer([problem.operator for problem in spec.problems], targets)
        skipped: list[str] = []
    else:
        targets, skipped = default_targets(dtype)
    if repeated := [t for t in targets if targets.count(t) > 1]:
        raise UserError(f"target {repeated[0].spelling(dtype)} is named twice: remove one")
    if not targets:
        raise UserError("no backend is installed: run `ulpfuzz doctor`")
    home = PRECISIONS[_home(targets)]
    for target in targets:
        if not PRECISIONS[target.dtype].holds(home):
            raise UserError(
                f"{target.dtype} does not hold every {home.name} number, so their targets cannot share inputs: "
                f"give each --dtype its own targets"
            )
    return tuple(targets), skipped


def _position(text: str, targets: Sequence[Target], home: str) -> int:
    """Which of `targets` a pair names."""
    wanted = parse_target(text, home)
    if wanted in targets:
        return list(targets).index(wanted)
    of_backend = [number for number, target in enumerate(targets) if target.backend == wanted.backend]
    if wanted == Target(wanted.backend, wanted.device, wanted.dtype) and len(of_backend) == 1:
        return of_backend[0]
    known = ", ".join(target.spelling(home) for target in targets)
    raise UserError(f"pair names {text!r}, which is not among the targets {known}: add it to --targets")


def _check_published(spec: CampaignSpec) -> None:
    if spec.published is None:
        return
    numerator, slash, denominator = spec.published.rate.partition("/")
    valid = slash and numerator.strip().isdigit() and denominator.strip().isdigit()
    if not valid or not 0 <= int(numerator) <= int(denominator) or int(denominator) == 0:
        raise UserError(f"published rate {spec.published.rate!r} is not a count: write failures/trials, e.g. 38/5000")
    if not 1 <= spec.published.above <= 12:
        raise UserError(f"published event above = {spec.published.above}: use k from 1 to 12 for 1e-k")
    if spec.published.pair is not None and tuple(spec.published.pair) not in spec.pairs:
        raise UserError(f"published pair {'/'.join(spec.published.pair)} is not compared: add it to pairs")


def _problem(spec: ProblemSpec, home: str, base: Path) -> Problem:
    contract = operator(spec.operator).contract
    try:
        _known_inputs(contract, spec)
        recipes = input_recipes(contract, spec.inputs, lambda path, name: _load(base, path, name))
        problem = make_problem(contract, dims=spec.dims, home=home, recipes=recipes, attributes=spec.attributes)
    except RecipeError as error:
        raise TextError(str(error)) from None
    except (ParameterError, ContractError) as error:
        raise UserError(str(error)) from None
    _fits_in_memory(contract, problem)
    return problem


def _fits_in_memory(contract: Contract, problem: Problem) -> None:
    """Inputs and outputs alone, in float64 as the ladder holds them, must fit: the engine needs a multiple of it."""
    sizes = defaultdict(lambda: 1, problem.dims)  # what follows from attributes (a convolution's output) counts as 1
    elements = sum(math.prod(spec.shape(sizes)) for spec in (*contract.inputs, *contract.outputs))
    needed, there = 8 * elements, psutil.virtual_memory().total
    if needed > there:
        dims = ",".join(f"{name}={size}" for name, size in problem.dims)
        raise UserError(
            f"{contract.operator} with {dims} needs more than {needed / 1e9:,.0f} GB, this machine has "
            f"{there / 1e9:,.0f} GB: use smaller dims"
        )


def _known_inputs(contract: Contract, spec: ProblemSpec) -> None:
    names = [item.name for item in contract.inputs]
    for name in (name for written in spec.inputs for name in input_names(written)):
        if name not in names:
            raise unknown(f"input of {contract.operator}", name, names)


def _load(base: Path, text: str, input_name: str) -> Given:
    return STORE.load_text(text if text.startswith("@") else str(base / text), input_name)
