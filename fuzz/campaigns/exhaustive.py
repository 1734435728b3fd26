"""The plan `exhaustive`: unary elementwise operators at every number of a format, block by block."""

from __future__ import annotations

from msgspec import structs

from fuzz.campaigns.request import ALL, CampaignSpec, ProblemSpec
from fuzz.errors import UserError
from fuzz.operators import OPERATORS, operator
from strategies.contract import Contract
from strategies.patterns import blocks, patterns
from strategies.precision import PRECISIONS, DType

NAME = "exhaustive"
BLOCK = 2**17
"""Numbers a trial at most: all of a 16-bit format. In float32 a number costs two thirds of what it costs in blocks of
2^16 (exp, erf); the buffers of a trial take 320 MB at most (gelu_tanh, with the precision ladder)."""
SHARD_NUMBERS = 2**24
"""Numbers a shard: some seconds on five backends."""
WIDEST_BITS = 32
"""2^64 numbers would take 10^5 years."""
_UNUSED = ("recipes", "published", "until")


def elementwise(contract: Contract) -> bool:
    """Whether an operator is one function of one input, applied to each element by itself."""
    (*more, first), (*others, output) = contract.inputs, contract.outputs
    one_dim = len(contract.dims) == 1 and contract.dims[0].batch and not contract.dims[0].reduced
    return not more and not others and one_dim and first.dims == output.dims == contract.dim_names


def problems(spec: CampaignSpec) -> tuple[ProblemSpec, ...]:
    """The problems that `spec` asks for; `all` stands for every unary elementwise operator. UserError for others."""
    for key in _UNUSED:
        if getattr(spec, key) is not None:
            raise UserError(f"an exhaustive plan runs every input there is: leave out {key}")
    if spec.gradients:
        raise UserError(
            "a gradient has a cotangent beside its input: no plan runs every pair; use --plan survey or fixed"
        )
    if any(problem.dims or problem.inputs for problem in spec.problems):
        raise UserError("an exhaustive plan chooses dims and inputs itself: leave them out, or use --plan fixed")
    if [problem.operator for problem in spec.problems] == [ALL]:
        if spec.problems[0].attributes:
            raise UserError(f"--attr belongs to one operator: leave it out with {ALL!r}")
        return tuple(ProblemSpec(name) for name, known in OPERATORS.items() if elementwise(known.contract))
    for problem in spec.problems:
        if not elementwise(operator(problem.operator).contract):
            raise UserError(
                f"{problem.operator} is no function of one number: an exhaustive plan runs unary elementwise "
                f"operators, such as exp; `all` stands for them"
            )
    return spec.problems


def block(home: DType) -> int:
    """Numbers a trial."""
    return min(BLOCK, patterns(home))


def problem(asked: ProblemSpec, home: DType) -> ProblemSpec:
    """`asked` with the dims and inputs of this plan."""
    contract = operator(asked.operator).contract
    dims, inputs = {contract.dim_names[0]: block(home)}, {contract.inputs[0].name: "bits(0)"}
    return structs.replace(asked, dims=dims, inputs=inputs)


def trials(homes: tuple[str, ...], asked: int | None) -> int:
    """Trials of each problem: the blocks of the formats, or the first of them where fewer are `asked` for."""
    for home in homes:
        if patterns(home) > 2**WIDEST_BITS:
            fitting = ", ".join(name for name in PRECISIONS if patterns(name) <= 2**WIDEST_BITS)
            raise UserError(f"{home} has more numbers than can be run: an exhaustive plan takes {fitting}")
    counts = {blocks(home, block(home)) for home in homes}
    if len(counts) > 1:
        raise UserError("float32 has 65,536 times the numbers of a 16-bit format: start a campaign for each")
    (count,) = counts
    return count if asked is None else min(asked, count)


def shard_trials(blocks_there: int) -> int:
    """Trials a shard."""
    return min(blocks_there, max(1, SHARD_NUMBERS // BLOCK))
