"""What an operator promises: named inputs and outputs, attributes, domains, landmarks, cost. No backend, no engine."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

Scalar: TypeAlias = bool | int | float | str
Shape: TypeAlias = tuple[int, ...]


class ContractError(ValueError):
    """A problem contradicts its operator's contract. The message is one line and says how to fix it."""


class Domain(Struct, frozen=True):
    """Closed interval of values at which the operator is defined."""

    low: float = -math.inf
    high: float = math.inf


class Landmark(Struct, frozen=True):
    """A point where accuracy is known to be delicate: root, pole, branch end, overflow or underflow threshold."""

    at: float
    what: str


class Spec(Struct, frozen=True):
    """One named input or output. `dims` are names of `Contract.dims` or fixed sizes.

    An output may have other names: sizes that follow from dims and attributes, and are read off the traced reference.
    """

    name: str
    dims: tuple[str | int, ...]
    domain: Domain = Domain()
    landmarks: tuple[Landmark, ...] = ()
    default: str = "normal(0,1)"
    """Recipe expression used when the user names none; it stays inside `domain`."""
    differentiable: bool = True
    """Whether libraries pass gradients to this input, or from this output. Running statistics are buffers to them."""

    def shape(self, dims: Mapping[str, int]) -> Shape:
        """The array shape for concrete sizes of the symbolic dims."""
        return tuple(size if isinstance(size, int) else dims[size] for size in self.dims)


class AttributeSpec(Struct, frozen=True):
    """A static argument. Values are coerced to the type of `default`, so eps=1 and eps=1.0 are one problem."""

    default: Scalar
    doc: str
    usual: tuple[Scalar, ...] = ()
    unusual: tuple[Scalar, ...] = ()
    choices: tuple[Scalar, ...] = ()
    """When not empty, the only values allowed."""

    def coerce(self, value: Scalar, where: str) -> Scalar:
        """`value` as the attribute's type; ContractError says what is wrong."""
        kind = type(self.default)
        if kind is bool:
            if not isinstance(value, bool):
                raise ContractError(f"{where} is {value!r}: use true or false")
            coerced: Scalar = value
        elif kind is int:
            if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
                raise ContractError(f"{where} is {value!r}: use a whole number")
            coerced = int(value)
        elif kind is float:
            if isinstance(value, bool | str):
                raise ContractError(f"{where} is {value!r}: use a number")
            coerced = float(value)
        else:
            coerced = str(value)
        if self.choices and coerced not in self.choices:
            raise ContractError(f"{where} is {value!r}: use one of {', '.join(map(str, self.choices))}")
        return coerced


class DimSpec(Struct, frozen=True):
    """A symbolic dimension. `reduced`: summed over inside; `batch`: its slices are independent of each other.

    With an axis attribute both may be true.
    """

    name: str
    reduced: bool = False
    batch: bool = False
    minimum: int = 0
    sizes: tuple[int, ...] = ()
    """Sizes worth trying, increasing, where the general ones are not (the extents of a kernel)."""
    within: str = ""
    """Name of a dim this one may not exceed: a kernel lies within its image."""


class Criterion(enum.Enum):
    """What makes an output right (see docs/verdicts.md)."""

    FORWARD_BOUND = "forward bound"
    CORRECTLY_ROUNDED = "correctly rounded"
    BACKWARD_RESIDUAL = "backward residual"
    EITHER_SIDE = "either side"
    EXACT = "exact"
    NORMWISE = "normwise"


class Cost(Struct, frozen=True):
    """Floating-point work: sum of coefficient * product of the named dims."""

    terms: tuple[tuple[float, tuple[str, ...]], ...]

    def operations(self, dims: Mapping[str, int]) -> float:
        return sum(c * math.prod(dims[d] for d in names) for c, names in self.terms)


class Contract(Struct, frozen=True):
    """Everything the engine, the strategies and a backend may know about an operator."""

    operator: str
    doc: str
    dims: tuple[DimSpec, ...]
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    cost: Cost
    attributes: tuple[tuple[str, AttributeSpec], ...] = ()
    criterion: Criterion = Criterion.FORWARD_BOUND
    nonfinite: str = "IEEE 754-2019: NaN propagates, limits at infinity"
    """Policy for NaN and Inf, with its source."""
    unspecified: tuple[tuple[str, str], ...] = ()
    """(input, "nan", "inf", "huge" or "tiny"): what depends on such elements of it is left open by the policy, so not
    judged. "huge" are numbers above the square root of the largest, whose product may overflow, "tiny" those below that
    of the smallest normal one, whose product may underflow."""
    contaminating: bool = False
    """Whether such elements also leave open what does not depend on them by the reference's formula: elementwise, the
    same element; else the whole output."""
    following: Callable[[Mapping[str, int], Mapping[str, Scalar]], Mapping[str, Shape]] | None = None
    """Shapes of the inputs whose sizes follow from dims and attributes, where there are such: a cotangent has the shape
    of its output."""

    @property
    def dim_names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.dims)

    def input(self, name: str) -> Spec:
        return next(spec for spec in self.inputs if spec.name == name)

    def shapes(self, dims: Mapping[str, int], attributes: Mapping[str, Scalar] | None = None) -> dict[str, Shape]:
        """Shape of each input, in order. Attributes that are not given have their defaults."""
        known: Mapping[str, Shape] = {}
        if self.following is not None:
            defaults = {name: spec.default for name, spec in self.attributes}
            known = self.following(dims, defaults | dict(attributes or {}))
        return {s.name: known[s.name] if s.name in known else s.shape(dims) for s in self.inputs}
