"""Errors of a product that enter another product: added up as independent ones, unless the weights align them.

The elements of a product are rounded apart from each other: each is a sum of its own. Through the next product they
are carried as the root of the sum of their squares, the assumption behind the model sqrt(n) of one sum (Higham and
Mary 2019), with the same number of standard deviations. The sum of the magnitudes, which is right for any errors,
would grow by 0.8 sqrt(n) a layer of random weights: by 10^11 over ten layers of 256, where errors in fact grow like the
square root of the depth. Each layer's own roundings are added to what is carried by magnitude.

Where columns of weights are alike the errors of a layer are, too, and add up in the next one. So a few patterns of
errors are carried along, each exactly: all of one sign, of the sign of the values, and of random signs. Where their
root mean square exceeds that of independent errors, it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fuzz.oracle.frames import Frame, Operand, Real
from fuzz.oracle.models import Model
from fuzz.oracle.primitives import PRIMITIVES, call_arguments, taken

RANDOM_PATTERNS = 2
"""Beside the two regular ones. They are the rule where weights align errors of no regular pattern."""


def of_products(operand: Operand) -> bool:
    """Whether the elements are those of a product, rearranged, padded, or cut off at a constant."""
    return _product(operand) is not None


def carry(f: Frame) -> None:
    """Put the errors of those operands of the product `f` that are products themselves. The others' are there."""
    chained = [at for at, operand in enumerate(f.operands) if of_products(operand)]
    if not chained:
        return
    local = _weighted({key: f.parts[key] for key in f.fresh()})
    patterns: Any = 0.0
    for at in chained:
        operand, other = f.operands[at], f.operands[1 - at]
        independent = {key: _independent(at, part, other.magnitude()) for key, part in operand.parts.items()}
        moved = _multiplied(at, _patterns(operand), _plain(other.value), len(f.value.shape))
        size, whole = np.sqrt(np.mean(np.square(moved), axis=0)), _weighted(independent)
        aligned = np.divide(size, whole, out=np.ones_like(size), where=(whole > 0) & np.isfinite(size))
        for key, part in independent.items():
            f.put(key, part * np.maximum(aligned, 1.0))
        patterns = patterns + moved
    f.links = 1 + max(_links(f.operands[at]) for at in chained)
    f.patterns = patterns + _signs(f) * local


def magnitudes(f: Frame) -> Real:
    """The product of the magnitudes of the operands. Of a chain in float64: it is a bound, and there are many."""
    a, b = (operand.magnitude() for operand in f.operands)
    if not any(of_products(operand) for operand in f.operands):
        result: Real = np.matmul(a, b)
        return result
    largest_a, largest_b = _largest(a), _largest(b)
    product: Real
    if 0.0 < largest_a < np.inf and 0.0 < largest_b < np.inf:
        product = np.matmul(_plain(a / largest_a), _plain(b / largest_b)) * largest_a * largest_b
    else:
        product = np.matmul(a, b)
    return product


def _product(operand: Operand) -> Frame | None:
    """The product whose elements these are."""
    while isinstance(operand, Frame):
        if operand.node.primitive == "matmul":
            return operand
        source = _source(operand)
        if source is None:
            return None
        operand = source
    return None


def _source(frame: Frame) -> Frame | None:
    """The frame whose elements these are; None where they are computed from more than one."""
    name = frame.node.primitive
    frames = [operand for operand in frame.operands if isinstance(operand, Frame)]
    rearranged = PRIMITIVES[name].kind == "view" or name in ("gather", "maximum", "minimum") if frames else False
    return frames[0] if rearranged and len(frames) == 1 else None


def _patterns(operand: Operand) -> Real:
    """Patterns of errors of what `of_products` accepts, (PATTERNS, *shape)."""
    assert isinstance(operand, Frame)
    if operand.node.primitive == "matmul":
        if operand.patterns is None:  # the first of a chain
            operand.patterns = _signs(operand) * _plain(operand.total())
        return operand.patterns
    source = _source(operand)
    assert source is not None
    patterns, name = _patterns(source), operand.node.primitive
    if name in ("maximum", "minimum"):
        kept: Real = patterns * (operand.value == source.value)
        return kept
    if name == "gather":
        return np.stack([taken(one, 0.0, **call_arguments(operand.static)) for one in patterns])
    function = PRIMITIVES[name].function
    return np.stack([function(one, **call_arguments(operand.static)) for one in patterns])


def _links(operand: Operand) -> int:
    product = _product(operand)
    assert product is not None
    return product.links


def _signs(f: Frame) -> Real:
    """A sign for each element in each pattern; random ones differ from product to product of a chain."""
    shape = f.value.shape
    random = np.random.default_rng(f.links).choice((-1.0, 1.0), (RANDOM_PATTERNS, *shape))
    return np.concatenate([np.ones((1, *shape)), np.where(f.value < 0, -1.0, 1.0)[None], random])


def _independent(at: int, part: Real, other: Real) -> Real:
    """The root of the sum of the squares; scaled, so that squares neither overflow nor vanish."""
    largest_part, largest_other = _largest(part), _largest(other)
    if not (0.0 < largest_part < np.inf and 0.0 < largest_other < np.inf):
        return _multiplied(at, part, other)  # zeros, or infinities and NaN, which are to show
    squares = _multiplied(at, np.square(_plain(part / largest_part)), np.square(_plain(other / largest_other)))
    result: Real = np.sqrt(squares) * largest_part * largest_other
    return result


def _largest(values: Real) -> Any:
    """The largest of numbers that are not negative, in their own type: a longdouble may be beyond float64."""
    return np.max(values, initial=0.0)


def _multiplied(at: int, one: Real, other: Real, rank: int = 0) -> Real:
    """The product of matrices in which `one` is operand number `at`; `rank` of what is behind a first axis of it."""
    if rank:
        one = one.reshape(len(one), *(1,) * (rank + 1 - one.ndim), *one.shape[1:])
    result: Real = np.matmul(one, other) if at == 0 else np.matmul(other, one)
    return result


def _plain(values: Real) -> Real:
    """As float64, in which products are a hundred times as fast as in longdouble."""
    return np.asarray(values, np.float64)


def _weighted(parts: Mapping[int, Real]) -> Any:
    """The errors in all under the model of independent roundings."""
    return _plain(sum((part if n == 0 else Model.SQRT.h(n) * part for n, part in parts.items()), start=np.zeros(())))
