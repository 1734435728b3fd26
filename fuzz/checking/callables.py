"""What can be checked: something that is called with arrays. What is none says what it is, and what to pass instead."""

from __future__ import annotations

from typing import Any

from fuzz.errors import UserError

_OF_TVM = ("tvm", "tvm_ffi")
_WRITES = "a compiled PrimFunc writes into its last argument: wrap it in a function that makes and returns that array"


def require_callable(value: Any) -> None:
    """UserError unless `value` is called with arrays and computes at once."""
    kind = type(value)
    if any(base.__module__.startswith("tvm.ir.") for base in kind.__mro__):
        raise UserError(
            f"{kind.__name__} of TVM describes a computation and does not run: pass what tvm.compile makes of it, "
            "wrapped in a function of its inputs (docs/checking.md)"
        )
    if kind.__module__ == "tvm.runtime.vm" and not callable(value):
        raise UserError(f'{kind.__name__} of TVM holds functions: pass one of them, for instance vm["main"]')
    if not callable(value):
        raise UserError(f"{kind.__name__} is no function: pass the functions first, inputs by name")


def hint(function: Any) -> str:
    """What may lie behind an error of a function that was called with its inputs alone; empty where that is unknown."""
    return f" ({_WRITES})" if type(function).__module__.partition(".")[0] in _OF_TVM else ""
