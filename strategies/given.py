"""The user's own arrays as inputs: named by their content, kept as .npy files, never pickled."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from strategies.contract import ContractError, Shape
from strategies.precision import DType, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, register

CONTENT_DIGITS = 32
"""Hexadecimal digits of a content hash: 128 bits, no accidental collisions."""
SUFFIXES = (".npz", ".npy")


class GivenError(ParameterError):
    """An array cannot be read, or its content is not known. One line."""


@register("given", example="given(weights.npz:w)")
class Given(Recipe, frozen=True):
    """The user's array, rounded to the home dtype: the same for every seed and index. No randomness."""

    content: str
    """Hash of dtype, shape and bytes."""
    shape: tuple[int, ...]
    name: str = ""
    """File and key, for display: not part of any id."""

    def validate(self) -> None:
        if len(self.fills) != 1:
            raise ParameterError(f"given fills one input, not {', '.join(self.fills)}: use one given() for each")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        if shapes[0] != self.shape:
            raise ContractError(
                f"{self} has shape {self.shape}, input {self.fills[0]} needs {shapes[0]}: change the dims or the file"
            )

    def support(self, home: DType) -> Support:
        array = STORE.resolve(self.content)
        finite = array[~np.isnan(array)] if array.dtype.kind == "f" else array
        return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        if out.shape != self.shape:
            raise ContractError(f"{self} has shape {self.shape}, input {self.fills[0]} needs {out.shape}")
        array = STORE.resolve(self.content)
        with np.errstate(over="ignore", under="ignore"):  # rounding to the home dtype is what is asked for
            out[...] = precision(out.dtype.name).round(array) if array.dtype.kind == "f" else array

    def expression(self) -> str:
        """`given(FILE:key)` as first loaded, or `given(@content)` for an array that came from no file."""
        text = self.name or f"@{self.content}"
        return f'given("{text}")' if any(c in text for c in " ,()") else f"given({text})"


class GivenStore:
    """Arrays by content: in memory, and in the directories registered with it."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._directories: list[Path] = []

    def add(self, array: npt.NDArray[Any], input_name: str, name: str = "") -> Given:
        """Keep `array` (copied, read-only) and return the recipe that draws it. GivenError when it is not numeric.

        A bfloat16 array is kept as float32, which holds the same values: .npy files do not know the format.
        """
        if array.dtype == precision("bfloat16").numpy:
            array = array.astype(np.float32)
        _require_numeric(array, name or "the array")
        kept = np.array(array, order="C", copy=True)
        kept.flags.writeable = False
        content = content_of(kept)
        self._arrays[content] = kept
        return Given((input_name,), content, kept.shape, name)

    def load(self, path: str | Path, key: str | None, input_name: str) -> tuple[Given, npt.NDArray[Any]]:
        """The recipe and the array for a .npy file, or for `key` of a .npz file.

        Without a key, a .npz file must hold one array, or one called `input_name`. GivenError says what is wrong.
        """
        path = Path(path)
        array, key = _read(path, key, input_name)
        recipe = self.add(array, input_name, f"{path.name}:{key}" if key is not None else path.name)
        return recipe, self._arrays[recipe.content]

    def load_text(self, text: str, input_name: str) -> Given:
        """What stands inside `given(...)`: FILE, FILE:key, or @content for an array already known."""
        if text.startswith("@"):
            content = text[1:]
            return Given((input_name,), content, self.resolve(content).shape)
        path, colon, key = text.rpartition(":")
        if colon and path.endswith(SUFFIXES):
            return self.load(path, key, input_name)[0]
        return self.load(text, None, input_name)[0]

    def register(self, directory: str | Path) -> None:
        """Look for contents in `directory` too."""
        if (path := Path(directory)) not in self._directories:
            self._directories.append(path)

    def save(self, directory: str | Path, content: str, array: npt.NDArray[Any]) -> Path:
        """Write `<content>.npy`; an existing file is left alone (same name, same bytes)."""
        path = Path(directory) / f"{content}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{content}-{os.getpid()}.part")  # several processes may find the same array
            with part.open("wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        return path

    def resolve(self, content: str) -> npt.NDArray[Any]:
        """The array called `content`. GivenError when it is nowhere, or a file's bytes are not what its name says."""
        if content not in self._arrays:
            self._arrays[content] = self._find(content)
        return self._arrays[content]

    def _find(self, content: str) -> npt.NDArray[Any]:
        for directory in self._directories:
            path = directory / f"{content}.npy"
            if path.exists():
                array, _ = _read(path, None, "")
                if content_of(array) != content:
                    raise GivenError(f"{path} does not hold the bytes its name promises: restore the file")
                array.flags.writeable = False
                return array
        where = ", ".join(map(str, self._directories)) or "no directory is registered"
        raise GivenError(f"no array with content {content} (looked in: {where}): copy the campaign's given/ folder")


STORE = GivenStore()
"""The arrays of this process."""


def content_of(array: npt.NDArray[Any]) -> str:
    """Hash of dtype, shape and little-endian C-order bytes."""
    portable = np.ascontiguousarray(array).reshape(array.shape)
    portable = portable.astype(portable.dtype.newbyteorder("<"), copy=False)
    header = f"{portable.dtype.str}{portable.shape}".encode()
    return hashlib.sha256(header + portable.tobytes()).hexdigest()[:CONTENT_DIGITS]


def _read(path: Path, key: str | None, input_name: str) -> tuple[npt.NDArray[Any], str | None]:
    """The array in `path` and the key it was found under (None for .npy)."""
    if path.suffix not in SUFFIXES:
        raise GivenError(f"given reads .npz and .npy files, not {path.name!r}: save it with numpy.savez")
    if not path.is_file():
        raise GivenError(f"no file {str(path)!r}: check the path of given()")
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            if key is not None:
                raise GivenError(f"{path.name} is one array and has no key {key!r}: write given({path.name})")
            array, found = loaded, None
        else:
            with loaded:
                found = _choose(path, loaded.files, key, input_name)
                array = loaded[found]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, GivenError):
            raise
        reason = "it holds pickled objects" if "allow_pickle" in str(error) else "it is damaged or no NumPy file"
        raise GivenError(f"{path.name} cannot be read, {reason}: save plain numeric arrays") from error
    _require_numeric(array, path.name if found is None else f"{path.name}:{found}")
    return array, found


def _choose(path: Path, keys: Sequence[str], key: str | None, input_name: str) -> str:
    if key is None and len(keys) == 1:
        return keys[0]
    wanted = input_name if key is None else key
    if wanted not in keys:
        raise GivenError(f"{path.name} has no key {wanted!r}: its keys are {', '.join(keys)}; write {path.name}:KEY")
    return wanted


def _require_numeric(array: npt.NDArray[Any], name: str) -> None:
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise GivenError(f"{name} has dtype {array.dtype}: save it as float64, float32, float16, integers or bool")
