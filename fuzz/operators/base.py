"""Operator: a contract and one reference in plain NumPy, written in the numerically stable form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fuzz.oracle.program import Program
from fuzz.oracle.reverse import vjp_program
from fuzz.oracle.trace import trace
from strategies.contract import Contract, Scalar, Shape


class Operator(Struct, frozen=True):
    """`reference(*inputs, **attributes)` uses only the oracle's primitives; it is traced, linted, checked with Arb."""

    contract: Contract
    reference: Callable[..., Any]
    gradient: Callable[..., Any] | None = None
    """`gradient(*inputs, *cotangents, **attributes)`: the gradient with respect to every differentiable input, for
    references whose derivative by reverse mode (fuzz.oracle.reverse) is unstable, or has kinks where they are smooth.
    """

    @property
    def name(self) -> str:
        return self.contract.operator

    def program(self, shapes: Mapping[str, Shape], attributes: Mapping[str, Scalar]) -> Program:
        """The program behind the truth for inputs of these shapes; TraceError where the oracle has no rule for it."""
        return trace(self.reference, shapes, attributes)

    def vjp(
        self,
        shapes: Mapping[str, Shape],
        attributes: Mapping[str, Scalar],
        wrt: Sequence[str],
        cotangents: Mapping[int, tuple[str, Shape]],
    ) -> Program:
        """The program of its vector-Jacobian product with respect to `wrt`, by reverse mode.

        `cotangents`: name and shape by the number of the output. TraceError for a primitive without a derivative.
        """
        named = {number: name for number, (name, _) in cotangents.items()}
        return vjp_program(self.program(shapes, attributes), wrt, named)
