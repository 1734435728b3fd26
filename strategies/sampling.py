"""From a problem to arrays: every input is a pure function of (draw_id, campaign seed, index)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import xxhash
from numpy.random.bit_generator import ISeedSequence

from strategies.contract import Contract, ContractError, Shape
from strategies.precision import DType
from strategies.problem import Problem
from strategies.recipes import Array

STREAM = "sfc64-1"
"""Name of the rule (draw_id, seed, index, recipe) -> random stream. A new rule gets a new name."""

InputDigest: TypeAlias = str
"""32 hexadecimal digits (xxh3-128) of all inputs of a trial: names, dtype, shapes and bytes."""


class _Words(ISeedSequence):
    """Hands fixed words to a bit generator. SFC64 takes three, sets its counter to 1 and discards 12 outputs itself."""

    def __init__(self, words: npt.NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[np.uint64]:
        return self._words[:n_words]


def stream(draw_id: str, seed: int, index: int, purpose: int | str) -> np.random.Generator:
    """The random stream of one recipe (`purpose`: its number in the problem) of one trial.

    SFC64 started from 192 bits of BLAKE2b of the arguments. Hashing the words ourselves costs 1.5 us, against 7 us for
    NumPy's SeedSequence, and does not depend on how that class mixes.
    """
    text = f"{STREAM}|{draw_id}|{seed}|{index}|{purpose}"
    digest = hashlib.blake2b(text.encode(), digest_size=24).digest()
    words = np.frombuffer(digest, dtype="<u8").astype(np.uint64, copy=False)
    return np.random.Generator(np.random.SFC64(_Words(words)))  # type: ignore[arg-type]  # NumPy's stub omits ISeedSequence


def draw(problem: Problem, contract: Contract, seed: int, index: int, into: Mapping[str, Array]) -> InputDigest:
    """Fill `into` (input name -> C-contiguous array of the home dtype) with the inputs of trial `index`.

    The operator and its attributes matter to shapes at most: changing eps re-draws nothing. Raises ContractError when
    an array is missing or has another shape, dtype or memory order than the problem says.
    """
    shapes = contract.shapes(dict(problem.dims), dict(problem.attributes))
    for name, shape in shapes.items():
        _require(into.get(name), name, shape, problem.home)
    for number, recipe in enumerate(problem.recipes):
        drawn = recipe.at(index, problem.home, [shapes[name] for name in recipe.fills])
        drawn.draw(stream(problem.draw_id, seed, index, number), [into[name] for name in recipe.fills])
    digest = xxhash.xxh3_128(_header(problem.home, tuple(shapes.items())))
    for name in shapes:
        digest.update(raw(into[name]))
    return digest.hexdigest()


def raw(array: npt.NDArray[Any]) -> memoryview:
    """The bytes of a C-contiguous array. (An array of a format that is not NumPy's own has no buffer of its kind.)"""
    return array.reshape(-1).view(np.uint8).data


def extra_low_bits(
    values: npt.NDArray[np.float64], draw_id: str, seed: int, index: int, salt: int | str, digits: int = 24
) -> npt.NDArray[np.float64]:
    """x * (1 + r * 2**-digits) in float64, r uniform in [-1/2, 1/2), for values with so many significant bits.

    Every result still rounds to its number (of float32, by default), yet fills the wider significand: a kernel that
    narrows its inputs inside cannot hide. Zeros (sign too), infinities and NaN stay. `salt` names the input, or numbers
    repetitions.
    """
    factor = stream(draw_id, seed, index, f"low bits {salt}").random(size=values.shape)
    factor -= 0.5
    factor *= 2.0**-digits
    factor += 1.0
    factor *= values
    return factor


@functools.lru_cache(maxsize=4096)
def _header(home: DType, shapes: tuple[tuple[str, Shape], ...]) -> bytes:
    """What precedes the bytes in a digest, so that equal bytes of another shape are other inputs."""
    return "|".join([home, *(f"{name}{shape}" for name, shape in shapes)]).encode()


def _require(array: Array | None, name: str, shape: Shape, home: DType) -> None:
    if array is None:
        raise ContractError(f"no array to draw input {name!r} into: add one of shape {shape} and dtype {home}")
    if array.shape != shape or array.dtype != home or not array.flags.c_contiguous:
        raise ContractError(
            f"input {name!r} needs a C-contiguous {home} array of shape {shape}, "
            f"got {array.dtype} {array.shape} with strides {array.strides}"
        )
