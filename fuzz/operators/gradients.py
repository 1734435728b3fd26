"""Gradients as operators: `softmax.grad` is the vector-Jacobian product of `softmax`.

Its inputs are those of the operator and the cotangent of each output (`d_y`), its outputs the gradients with respect to
the inputs (`d_x`). It is derived when it is first asked for, and is in no list of operators. The name has no brackets
or spaces, which a shell would take for its own, and none that a file name or a string of SQL would have to quote.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from fuzz.errors import UserError
from fuzz.operators.base import Operator
from fuzz.oracle.program import Program
from fuzz.oracle.trace import TraceError, trace
from strategies.contract import Contract, Cost, Criterion, DimSpec, Scalar, Shape, Spec

SUFFIX = ".grad"
PREFIX = "d_"
"""Of the names of cotangents and gradients: d_y, d_x."""

COST = 3.0
"""A gradient takes about as much work as three evaluations: one forward, two products backward (Griewank and Walther,
Evaluating Derivatives, 2008, section 4.6: between 3 and 4)."""

_NONFINITE = (
    "at infinite inputs of elementwise operators, softmax, log_softmax and logsumexp the limit where there is one, "
    "else NaN. Not judged, as no standard says: NaN; infinities among terms of a sum or product, which formulas may "
    "multiply by 0; cotangents above the square root of the largest number, whose products overflow in one order and "
    "not in another"
)


class Gradient(Operator, frozen=True, kw_only=True):
    """The vector-Jacobian product of `forward` with respect to its inputs `wrt`."""

    forward: Operator
    wrt: tuple[str, ...]
    outputs: tuple[int, ...]
    """Numbers of the outputs of `forward` that have a cotangent."""

    @property
    def cotangents(self) -> tuple[str, ...]:
        """Names of the inputs that are cotangents."""
        return tuple(PREFIX + self.forward.contract.outputs[number].name for number in self.outputs)

    def program(self, shapes: Mapping[str, Shape], attributes: Mapping[str, Scalar]) -> Program:
        """From the operator's own gradient formula, where it has one, else from its program by reverse mode."""
        if self.forward.gradient is not None and self.wrt == _differentiable(self.forward):
            return trace(self.forward.gradient, shapes, attributes)
        primals = {spec.name: shapes[spec.name] for spec in self.forward.contract.inputs}
        cotangents = {n: (name, shapes[name]) for n, name in zip(self.outputs, self.cotangents, strict=True)}
        return self.forward.vjp(primals, attributes, self.wrt, cotangents)


def is_gradient(name: str) -> bool:
    """Whether `name` is that of a gradient."""
    return name.endswith(SUFFIX)


def gradient_name(name: str) -> str:
    return name + SUFFIX


def forward_name(name: str) -> str:
    """The operator of which `name` is the gradient."""
    return name.removesuffix(SUFFIX)


def gradient_of(operator: Operator, wrt: Sequence[str] | None = None) -> Gradient:
    """The gradient of `operator` with respect to `wrt`, by default every input that libraries pass gradients to.

    With fewer inputs the name says which, `dense.grad` becoming `dense.w.grad`. UserError, in one line, for a gradient
    of a gradient, an input that the operator has not, and an operator without differentiable inputs or outputs.
    """
    name, contract = operator.name, operator.contract
    if is_gradient(name):
        raise UserError(f"{name} is a gradient already: second derivatives are not derived")
    every = _differentiable(operator)
    chosen = every if wrt is None else tuple(wrt)
    outputs = tuple(number for number, spec in enumerate(contract.outputs) if spec.differentiable)
    for missing in (item for item in chosen if item not in every):
        raise UserError(f"{name} has no differentiable input {missing!r}: it has {', '.join(every) or 'none'}")
    if not chosen or not outputs:
        raise UserError(f"{name} has no gradient: none of its inputs or none of its outputs is differentiable")
    named = gradient_name(name if chosen == every else ".".join((name, *chosen)))
    return Gradient(
        contract=_contract(operator, named, chosen, outputs),
        reference=operator.gradient or _untraced,
        forward=operator,
        wrt=chosen,
        outputs=outputs,
    )


def _differentiable(operator: Operator) -> tuple[str, ...]:
    return tuple(spec.name for spec in operator.contract.inputs if spec.differentiable)


def _untraced(*inputs: Any, **attributes: Any) -> Any:
    raise TraceError("the program of a gradient is derived from that of its operator: ask the operator for `program`")


def _contract(operator: Operator, name: str, wrt: tuple[str, ...], outputs: tuple[int, ...]) -> Contract:
    """Inputs, domains, landmarks and attributes are those of the operator."""
    contract = operator.contract
    cotangents = tuple(Spec(PREFIX + contract.outputs[n].name, contract.outputs[n].dims) for n in outputs)
    judged_not = [*contract.unspecified, *((spec.name, "nan") for spec in contract.inputs)]
    judged_not += [(spec.name, kind) for spec in cotangents for kind in ("nan", "inf", "huge")]
    if operator.gradient is None and not _elementwise(contract):
        judged_not += [(spec.name, "inf") for spec in contract.inputs]
    return structs.replace(
        contract,
        operator=name,
        doc=f"gradient of {contract.operator} with respect to {', '.join(wrt)} for the cotangent "
        f"{', '.join(spec.name for spec in cotangents)}",
        dims=tuple(_dim(dim, contract, wrt) for dim in contract.dims),
        inputs=(*contract.inputs, *cotangents),
        outputs=tuple(Spec(PREFIX + item, contract.input(item).dims) for item in wrt),
        cost=Cost(tuple((COST * factor, names) for factor, names in contract.cost.terms)),
        criterion=Criterion.FORWARD_BOUND,
        nonfinite=_NONFINITE,
        unspecified=tuple(dict.fromkeys(judged_not)),
        contaminating=True,
        following=_shapes_of(operator, outputs),
    )


def _elementwise(contract: Contract) -> bool:
    """Whether every element of the output depends on the elements of the inputs at its own place only."""
    return all(spec.dims == contract.outputs[0].dims for spec in (*contract.inputs, *contract.outputs)) and not any(
        dim.reduced for dim in contract.dims
    )


def _dim(dim: DimSpec, contract: Contract, wrt: tuple[str, ...]) -> DimSpec:
    """A dim that an input lacks is summed over in the gradient of that input: its slices are not independent."""
    if all(dim.name in contract.input(name).dims for name in wrt):
        return dim
    return structs.replace(dim, reduced=True, batch=False)


def _shapes_of(
    operator: Operator, outputs: tuple[int, ...]
) -> Callable[[Mapping[str, int], Mapping[str, Scalar]], Mapping[str, Shape]]:
    """Shapes of the cotangents: those of the outputs, read off the traced reference."""

    @functools.lru_cache(maxsize=512)
    def shapes(dims: tuple[tuple[str, int], ...], attributes: tuple[tuple[str, Scalar], ...]) -> dict[str, Shape]:
        program = operator.program(operator.contract.shapes(dict(dims)), dict(attributes))
        found = program.output_shapes()
        return {PREFIX + operator.contract.outputs[number].name: found[number] for number in outputs}

    return lambda dims, attributes: shapes(tuple(dims.items()), tuple(attributes.items()))
