"""Small problems of the gradient of every operator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.operators import OPERATORS, gradient
from fuzz.operators.gradients import Gradient, gradient_name
from fuzz.oracle.program import Program
from strategies.contract import Scalar, Spec
from strategies.sizes import fitted

Array = NDArray[Any]
_SIZES = {"KH": 2, "KW": 3, "KL": 3}


class Case:
    """The gradient of an operator at a few numbers of float32."""

    def __init__(self, operator: str, size: int = 5, scale: float = 1.0, **attributes: Scalar) -> None:
        self.gradient: Gradient = gradient(gradient_name(operator))
        contract = self.gradient.contract
        self.attributes = {name: spec.default for name, spec in contract.attributes} | attributes
        sizes = {dim.name: max(dim.minimum, _SIZES.get(dim.name, size)) for dim in contract.dims}
        self.dims = fitted(contract, sizes)
        shapes = contract.shapes(self.dims, self.attributes)
        self.program: Program = self.gradient.program(shapes, self.attributes)
        primals = {spec.name: shapes[spec.name] for spec in OPERATORS[operator].contract.inputs}
        self.forward: Program = OPERATORS[operator].program(primals, self.attributes)
        rng = np.random.default_rng(7)
        self.arrays = [inside(spec, scale * rng.normal(size=shapes[spec.name])) for spec in contract.inputs]
        self.primals = len(primals)


def inside(spec: Spec, values: Array) -> Array:
    """The values moved into the domain, away from its ends, as float32 numbers in float64."""
    if np.isfinite(spec.domain.high):
        values = 0.9 * np.tanh(values)
    elif np.isfinite(spec.domain.low):
        values = np.abs(values) + 0.1
    return values.astype(np.float32).astype(np.float64)
