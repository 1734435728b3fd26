"""Operator: a contract and one reference in plain NumPy, written in the numerically stable form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from strategies.contract import Contract


class Operator(Struct, frozen=True):
    """`reference(*inputs, **attributes)` uses only the oracle's primitives; it is traced, linted, checked with Arb."""

    contract: Contract
    reference: Callable[..., Any]

    @property
    def name(self) -> str:
        return self.contract.operator
