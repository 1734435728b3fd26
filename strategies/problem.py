"""Problem: what is computed on which population of inputs. No target, no schedule, no version."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from strategies.canonical import identity
from strategies.contract import Contract, ContractError, Scalar, Shape
from strategies.precision import PRECISIONS, DType
from strategies.recipes import Recipe, recipe_from_plain


class Problem(Struct, frozen=True, dict=True):
    """An operator with attributes, sizes, home dtype and input recipes. Hashable; `id` is the same everywhere."""

    operator: str
    attributes: tuple[tuple[str, Scalar], ...]
    dims: tuple[tuple[str, int], ...]
    home: DType
    recipes: tuple[Recipe, ...]

    @functools.cached_property
    def id(self) -> str:
        """Hash of the whole problem."""
        return identity(self._identifying())

    @functools.cached_property
    def draw_id(self) -> str:
        """Hash of what the inputs depend on: dims, home dtype, recipes and the inputs they fill; not the attributes."""
        plain = self._identifying()
        return identity({key: plain[key] for key in ("dims", "home", "recipes")})

    def _identifying(self) -> dict[str, object]:
        """`plain` without what recipes carry for display only (file names)."""
        return {**self.plain(), "recipes": [recipe.identifying() for recipe in self.recipes]}

    def plain(self) -> dict[str, object]:
        """The problem as JSON values; `problem_from_plain` reads it back."""
        return {
            "operator": self.operator,
            "attributes": dict(self.attributes),
            "dims": dict(self.dims),
            "home": self.home,
            "recipes": [recipe.plain() for recipe in self.recipes],
        }


def make_problem(
    contract: Contract,
    *,
    dims: Mapping[str, int],
    home: DType,
    recipes: Sequence[Recipe],
    attributes: Mapping[str, Scalar] | None = None,
) -> Problem:
    """A problem that keeps the contract: every dim and input given once, attributes coerced and completed.

    Raises ContractError (one line, says how to fix) otherwise.
    """
    operator = contract.operator
    if home not in PRECISIONS:
        raise ContractError(f"unknown dtype {home!r}: use one of {', '.join(PRECISIONS)}")
    _check_dims(contract, dims)
    filled = [name for recipe in recipes for name in recipe.fills]
    wanted = [spec.name for spec in contract.inputs]
    for name in filled:
        if name not in wanted:
            raise ContractError(f"{operator} has no input {name!r}: its inputs are {', '.join(wanted)}")
        if filled.count(name) > 1:
            raise ContractError(f"input {name!r} of {operator} is filled by more than one recipe")
    if missing := [name for name in wanted if name not in filled]:
        raise ContractError(f"{operator} needs a recipe for {', '.join(missing)}")
    values = complete(contract, attributes or {})
    shapes = contract.shapes(dims, dict(values))
    for recipe in recipes:
        recipe.check(home, [shapes[name] for name in recipe.fills])
    order = {name: position for position, name in enumerate(wanted)}
    return Problem(
        operator=operator,
        attributes=values,
        dims=tuple(sorted((name, int(size)) for name, size in dims.items())),
        home=home,
        recipes=tuple(sorted(recipes, key=lambda recipe: order[recipe.fills[0]])),
    )


def complete(contract: Contract, attributes: Mapping[str, Scalar]) -> tuple[tuple[str, Scalar], ...]:
    """All attributes of the contract, sorted: `attributes` coerced, the others at their defaults.

    Raises ContractError (one line, says how to fix) for an unknown name or a value that does not fit.
    """
    operator, known = contract.operator, dict(contract.attributes)
    for name in attributes:
        if name not in known:
            has = f"its attributes are {', '.join(known)}" if known else "it has none"
            raise ContractError(f"{operator} has no attribute {name!r}: {has}")
    values = {
        name: spec.coerce(attributes.get(name, spec.default), f"attribute {name} of {operator}")
        for name, spec in known.items()
    }
    return tuple(sorted(values.items()))


def problem_from_plain(plain: Mapping[str, object], contract: Contract) -> Problem:
    """Inverse of `Problem.plain`."""
    recipes = plain["recipes"]
    dims = plain["dims"]
    attributes = plain["attributes"]
    assert isinstance(recipes, Sequence)
    assert isinstance(dims, Mapping)
    assert isinstance(attributes, Mapping)
    return make_problem(
        contract,
        dims=dims,
        home=str(plain["home"]),
        recipes=[recipe_from_plain(recipe) for recipe in recipes],
        attributes={name: _scalar(contract, name, value) for name, value in attributes.items()},
    )


def input_shapes(problem: Problem, contract: Contract) -> dict[str, Shape]:
    """Shape of each input of `problem`, in the contract's order."""
    return contract.shapes(dict(problem.dims), dict(problem.attributes))


def _scalar(contract: Contract, name: str, value: Scalar) -> Scalar:
    """nan and inf were written as strings: read them back for float attributes."""
    spec = dict(contract.attributes).get(name)
    return float(value) if spec is not None and isinstance(spec.default, float) else value


def _check_dims(contract: Contract, dims: Mapping[str, int]) -> None:
    names = contract.dim_names
    for name, size in dims.items():
        if name not in names:
            raise ContractError(f"{contract.operator} has no dim {name!r}: its dims are {', '.join(names)}")
        minimum = next(d.minimum for d in contract.dims if d.name == name)
        if isinstance(size, bool) or not isinstance(size, int) or size < minimum:
            raise ContractError(f"dim {name} of {contract.operator} is {size!r}: use a whole number >= {minimum}")
    for dim in contract.dims:
        if dim.within and dims.get(dim.name, 0) > dims.get(dim.within, math.inf):
            limit = f"{dims[dim.within]} ({dim.within})"
            raise ContractError(f"dim {dim.name} of {contract.operator} is {dims[dim.name]}: use at most {limit}")
    if missing := [name for name in names if name not in dims]:
        example = ",".join(f"{name}=8" for name in missing)
        raise ContractError(
            f"{contract.operator} needs the size of {', '.join(missing)}: give it, as in --dims {example}"
        )
