"""Simpler numbers: zeros and ones where they are enough, by array and by element; then as few digits as keep it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fuzz.backends.base import Array
from fuzz.operators import operator
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.ddmin import ddmin
from fuzz.shrinking.search import Search
from strategies.contract import Spec

NEUTRAL = (0.0, 1.0)
"""Values that say nothing, the simplest first."""
ONE_BY_ONE = 64
"""Elements of all inputs together up to which each is simplified on its own: what a reader may still look at."""
PER_ARRAY_DIGITS = 7
QUESTIONS = 300
"""For the elements that are set to one neutral value, at most."""


def simplify_values(search: Search) -> None:
    """Arrays of zeros or ones, rounder arrays, neutral elements, then short decimals one by one."""
    for spec in _specs(search.best.specimen):
        any(search.holds(candidate) for candidate in _whole(search.best.specimen, spec))
    for neutral in NEUTRAL:
        _neutralise(search, neutral)
    if sum(values.size for values in search.best.specimen.arrays.values()) <= ONE_BY_ONE:
        for spec in _specs(search.best.specimen):
            for number in range(search.best.specimen.arrays[spec.name].size):
                any(search.holds(candidate) for candidate in _element(search.best.specimen, spec, number))


def _specs(specimen: Specimen) -> tuple[Spec, ...]:
    return operator(specimen.problem.operator).contract.inputs


def _whole(specimen: Specimen, spec: Spec) -> Iterator[Specimen]:
    """One array simplified as a whole."""
    values = specimen.arrays[spec.name]
    if not values.size:
        return
    for value in _plain(spec):
        yield from _changed(specimen, spec.name, np.full_like(values, value))
    for digits in range(1, PER_ARRAY_DIGITS + 1):
        yield from _changed(specimen, spec.name, rounded(values, digits))


def _neutralise(search: Search, neutral: float) -> None:
    """As few elements as possible that are not `neutral`."""
    specimen = search.best.specimen
    simpler = NEUTRAL[: NEUTRAL.index(neutral) + 1]
    places = [
        (spec.name, number)
        for spec in _specs(specimen)
        if neutral in _plain(spec) and not _constant(specimen.arrays[spec.name])
        for number, value in enumerate(specimen.arrays[spec.name].reshape(-1))
        if float(value) not in simpler
    ]

    def holds(kept: list[tuple[str, int]]) -> bool:
        arrays = {name: np.array(values, copy=True) for name, values in specimen.arrays.items()}
        for name, number in set(places) - set(kept):
            arrays[name].reshape(-1)[number] = neutral
        return search.holds(specimen.with_arrays(arrays))

    if places:
        with search.step(QUESTIONS):
            if not holds([]):
                ddmin(places, holds)


def _element(specimen: Specimen, spec: Spec, number: int) -> Iterator[Specimen]:
    """One element simplified, the simplest first: 0, 1, then short decimals."""
    values = specimen.arrays[spec.name]
    own = values.reshape(-1)[number]
    if float(own) in NEUTRAL and not np.signbit(own):
        candidates = [value for value in NEUTRAL if value < float(own)]
    else:
        candidates = [*NEUTRAL, *decimals(own)]
    for value in candidates:
        if spec.domain.low <= value <= spec.domain.high:
            changed = np.array(values, copy=True)
            changed.reshape(-1)[number] = value
            yield from _changed(specimen, spec.name, changed)


def decimals(value: np.generic) -> Iterator[float]:
    """Decimals near `value` with fewer digits than the shortest that reads as it, the shortest first."""
    wide = float(value)
    if not np.isfinite(wide):
        return
    seen: set[float] = set()
    for digits in range(1, 18):
        with np.errstate(all="ignore"):
            near = float(value.dtype.type(float(f"{wide:.{digits}g}")))
        if near == wide:
            return
        if near not in seen:
            seen.add(near)
            yield near


def rounded(values: Array, digits: int) -> Array:
    """The array with so many significant decimal digits."""
    wide = values.astype(np.float64)
    text = [f"{value:.{digits}g}" for value in wide.reshape(-1)]
    with np.errstate(all="ignore"):
        return np.array([float(t) for t in text]).reshape(wide.shape).astype(values.dtype)


def _plain(spec: Spec) -> list[float]:
    return [value for value in NEUTRAL if spec.domain.low <= value <= spec.domain.high]


def _constant(values: Array) -> bool:
    """Whether the array has several elements, all alike: as simple as an array gets."""
    raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(values.size, -1)
    return values.size > 1 and bool((raw == raw[0]).all())


def _changed(specimen: Specimen, name: str, values: Array) -> Iterator[Specimen]:
    if not np.array_equal(values, specimen.arrays[name], equal_nan=True):
        yield specimen.with_arrays({**specimen.arrays, name: values})
