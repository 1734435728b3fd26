"""What the tables of planted faults are made of: helpers that break a healthy kernel in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from planted_defects import Defect, rounded_to

from fuzz.backends.base import Array
from fuzz.operators import OPERATORS

Kernel = Callable[..., Any]

NORMAL = "normal(0,1)"
WITH_SPECIAL = "special(normal(0,1),0.05)"
TINY = "signed(loguniform(1e-6,1e-3))"
BOTH = ("float32", "float64")
SIXTEEN = ("float16", "bfloat16")
FOUR = (*BOTH, *SIXTEEN)


def planted(
    operator: str,
    name: str,
    kernel: Kernel,
    recipe: str | Mapping[str, str],
    verdict: str | tuple[str, ...],
    dims: Mapping[str, int] | None = None,
    /,
    *,
    dtypes: tuple[str, ...] = BOTH,
    every: bool = False,
    **attributes: Any,
) -> Iterator[Defect]:
    """One fault in each of `dtypes`. `recipe` holds for every input: its absolute value where negatives are outside."""
    specs = OPERATORS[operator].contract.inputs
    inputs = (
        {s.name: f"abs({recipe})" if s.domain.low >= 0 else recipe for s in specs}
        if isinstance(recipe, str)
        else recipe
    )
    verdicts = (verdict,) if isinstance(verdict, str) else verdict
    for dtype in dtypes:
        yield Defect(operator, name, kernel, inputs, verdicts, dims or {"n": 512}, dtype, attributes, every)


def rounded_inside(kernel: Kernel) -> Kernel:
    """The usual kernel of a 16-bit format: float32 inside, rounded once. Wider formats as they are."""

    def rounding(*arrays: Array, **attributes: Any) -> Any:
        if arrays[0].dtype.itemsize > 2:
            return kernel(*arrays, **attributes)
        return kernel(*(a.astype(np.float32) for a in arrays), **attributes).astype(arrays[0].dtype)

    return rounding


def changed(kernel: Kernel, **attributes: Any) -> Kernel:
    """`kernel` with other attributes than it was given."""
    return lambda *arrays, **given: kernel(*arrays, **(given | attributes))


def scaled(kernel: Kernel, by: float) -> Kernel:
    """Every result off by the factor 1 + `by`."""

    def off(*arrays: Array, **attributes: Any) -> Any:
        y = kernel(*arrays, **attributes)
        return y * y.dtype.type(1 + by)

    return off


def inputs_rounded(kernel: Kernel, bits: int) -> Kernel:
    """float32 inputs cut to `bits` significant bits: 8 is bfloat16, 11 is TF32. float64 stays as it is."""
    return lambda *arrays, **attributes: kernel(*(rounded_to(bits, a) for a in arrays), **attributes)


def through(kernel: Kernel, inside: str, only: str = "float32") -> Kernel:
    """Results rounded to `inside` on the way, where the arrays are of dtype `only`."""

    def rounding(*arrays: Array, **attributes: Any) -> Any:
        y = kernel(*arrays, **attributes)
        return y.astype(inside).astype(y.dtype) if arrays[0].dtype == only else y

    return rounding


def computed_in(kernel: Kernel, inside: str, only: str = "float64") -> Kernel:
    """The whole computation in `inside`, where the arrays are of dtype `only`."""

    def narrow(*arrays: Array, **attributes: Any) -> Any:
        if arrays[0].dtype != only:
            return kernel(*arrays, **attributes)
        return kernel(*(a.astype(inside) for a in arrays), **attributes).astype(only)

    return narrow


def without_nan(kernel: Kernel) -> Kernel:
    """NaN read as 0."""
    return lambda *arrays, **attributes: kernel(*(np.where(np.isnan(a), a.dtype.type(0), a) for a in arrays),
                                                **attributes)  # fmt: skip


def last_element_off(kernel: Kernel) -> Kernel:
    """The last element, alone behind the vector loop, is that of its neighbour."""

    def tail(*arrays: Array, **attributes: Any) -> Any:
        y = kernel(*arrays, **attributes)
        y[-1] = y[-2]
        return y

    return tail


def truncated(kernel: Kernel) -> Kernel:
    """Results rounded towards zero in a 16-bit format."""

    def towards_zero(*arrays: Array, **attributes: Any) -> Any:
        exact = kernel(*(a.astype(np.float64) for a in arrays), **attributes)
        y = exact.astype(arrays[0].dtype)
        beyond = np.abs(y.astype(np.float64)) > np.abs(exact)
        bits = y.view(np.uint16)
        return np.where(beyond, bits - np.uint16(1), bits).view(y.dtype)

    return towards_zero


def some_off_by_one_ulp(kernel: Kernel, every: int = 100) -> Kernel:
    """One element in `every` is the neighbour of the right number."""

    def off(*arrays: Array, **attributes: Any) -> Any:
        y = kernel(*arrays, **attributes)
        integer = f"u{y.dtype.itemsize}"
        y.view(integer)[every // 2 :: every] += np.ones((), integer)
        return y

    return off
