"""`run all` and `--recipes`: what stands for many problems becomes the problems."""

from __future__ import annotations

from msgspec import structs

from fuzz.campaigns import exhaustive
from fuzz.campaigns.request import ALL, CampaignSpec, ProblemSpec
from fuzz.errors import UserError, unknown
from fuzz.operators import OPERATORS, operator
from fuzz.operators.gradients import gradient_name, is_gradient
from strategies.standard import RECIPE_SETS, standard_dims, standard_inputs


def named(spec: CampaignSpec) -> CampaignSpec:
    """`spec` with the operators that `all` stands for, and their gradients where those are asked for.

    UserError where a request says two things at once.
    """
    found = _named(spec)
    if not spec.gradients:
        return found
    derived = tuple(structs.replace(p, operator=_gradient(p.operator)) for p in found.problems)
    return structs.replace(found, problems=derived)


def _gradient(name: str) -> str:
    """The name of the gradient of an operator; of a gradient, its own."""
    return name if is_gradient(name) else gradient_name(name)


def _named(spec: CampaignSpec) -> CampaignSpec:
    if spec.recipes is not None:
        _check_recipes(spec)
    if not any(problem.operator == ALL for problem in spec.problems):
        return spec
    if len(spec.problems) > 1:
        raise UserError(f"{ALL!r} stands for every operator: name it alone")
    (whole,) = spec.problems
    if whole.dims or whole.attributes or whole.inputs:
        raise UserError(f"--dims, --input and --attr belong to one operator: leave them out with {ALL!r}")
    if spec.recipes is None and spec.plan == "fixed":
        raise UserError(f"{ALL!r} needs sizes and inputs: add --recipes {RECIPE_SETS[0]}, or --plan survey or explore")
    return structs.replace(spec, problems=tuple(ProblemSpec(name) for name in OPERATORS))


def _check_recipes(spec: CampaignSpec) -> None:
    if spec.recipes not in RECIPE_SETS:
        raise unknown("recipe set", str(spec.recipes), RECIPE_SETS)
    if spec.plan != "fixed":
        raise UserError(f"the plan {spec.plan} draws its recipes itself: leave out --recipes, or use --plan fixed")
    if any(problem.inputs for problem in spec.problems):
        raise UserError("--recipes chooses the inputs and --input names them: use one of the two")


def expanded(spec: CampaignSpec, problem: ProblemSpec, home: str) -> list[ProblemSpec]:
    """The problems that `problem` stands for at a home dtype: itself, or one for each kind of input of the set."""
    if spec.plan == exhaustive.NAME:
        return [exhaustive.problem(problem, home)]
    if spec.recipes is None:
        return [problem]
    contract = operator(problem.operator).contract
    dims = problem.dims or standard_dims(contract)
    return [structs.replace(problem, dims=dims, inputs=inputs) for inputs in standard_inputs(contract, home)]
