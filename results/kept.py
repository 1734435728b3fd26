"""Answers that take a look at all rows, kept in a file by the last compaction of a campaign.

Each is what this very code computed of these very rows: the file says which source text, manifest and parts it is of.
Where one of them differs, or the file is damaged, it is as if there were none.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import msgspec
import xxhash
from msgspec import Struct

from results.files import write

if TYPE_CHECKING:
    from results.parts import PartFacts
    from results.reading import Results

ANSWERS = "answers.msgpack"
"""The file in the directory of a campaign: a checksum of its content, which follows."""
_PACKAGE = Path(__file__).resolve().parent
_DIGITS = 16

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Keepable(Protocol[T_co]):
    """A question about one campaign whose answer can be kept."""

    kept_as: str

    def __call__(self, results: Results) -> T_co: ...


class _Content(Struct, frozen=True):
    of: str
    answers: dict[str, bytes]


def kept(kind: Any) -> Callable[[Callable[[Results], T]], Keepable[T]]:
    """Make a function's answer, which msgspec can read back as a `kind`, one that a compaction keeps."""

    def decorate(compute: Callable[[Results], T]) -> Keepable[T]:
        @functools.wraps(compute)
        def answer(results: Results) -> T:
            found = results.kept_answers.get(question.kept_as)
            if found is None:
                return compute(results)
            read: T = msgspec.msgpack.decode(found, type=kind)
            return read

        question = cast(Keepable[T], answer)
        question.kept_as = f"{compute.__module__}.{compute.__name__}"
        return question

    return decorate


def keep(results: Results, questions: Sequence[Keepable[Any]]) -> bool:
    """Keep the answers for a campaign; False where the file has these already.

    StoreError when the disk does not take them.
    """
    (directory,) = results.directories
    if all(question.kept_as in results.kept_answers for question in questions):
        return False
    answers = {question.kept_as: msgspec.msgpack.encode(question(results)) for question in questions}
    content = msgspec.msgpack.encode(_Content(results.identity, answers))
    write(directory / ANSWERS, xxhash.xxh3_64_hexdigest(content).encode() + content)
    return True


def read(directory: Path, identity: str) -> dict[str, bytes]:
    """What was kept of the rows with this identity, by the name of the question."""
    try:
        found = (directory / ANSWERS).read_bytes()
    except OSError:
        return {}
    content = found[_DIGITS:]
    if xxhash.xxh3_64_hexdigest(content).encode() != found[:_DIGITS]:
        return {}
    try:
        decoded = msgspec.msgpack.decode(content, type=_Content)
    except msgspec.MsgspecError:  # of a version of ulpfuzz that lays it out in another way
        return {}
    return decoded.answers if decoded.of == identity else {}


def identity(manifest: Mapping[str, Any], parts: Sequence[PartFacts]) -> str:
    """Differs whenever an answer could: between rows, manifests, and source texts of this package."""
    digest = xxhash.xxh3_128(_source())
    digest.update(json.dumps(manifest, sort_keys=True).encode())
    for part in sorted(parts, key=lambda part: part.path.name):
        digest.update(f"{part.path.name} {part.checksum}\n".encode())
    return digest.hexdigest()


@functools.cache
def _source() -> bytes:
    digest = xxhash.xxh3_128()
    paths = sorted(_PACKAGE.rglob("*.py"))
    for path in paths:
        digest.update(path.read_bytes())
    return digest.digest() if paths else os.urandom(16)  # no text to compare: nothing is of this code
