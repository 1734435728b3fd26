"""One Parquet file of a campaign: its bytes with a checksum over all of them, and the check of a file read back.

The footer carries, as text: schema_version, shards (JSON list), generation, rows, done (leading trials of the shard
that the file holds; JSON null for all of them), since (JSON, schema version by column) and checksum. The checksum is
the xxh3-64 of the whole file with its own sixteen digits set to zero, so any cut or flipped bit is seen, in the data
and in the footer alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from msgspec import Struct

from results.arrow import AnyRow, to_table
from results.columns import SCHEMA_VERSION, Column
from results.errors import StoreError

ROW_GROUP = 131_072
"""Rows of a row group: large enough for scans, small enough to skip."""

_PREFIX = "ulpfuzz."
_CHECKSUM = (_PREFIX + "checksum").encode()
_ZEROS = b"0" * 16


class PartFacts(Struct, frozen=True):
    """What the footer of a file says about it."""

    path: Path
    shards: tuple[int, ...]
    generation: int
    rows: int
    schema_version: int
    done: int | None = None
    """Leading trials of the only shard that the file holds; None when it holds its shards whole."""


def encode(
    rows: Sequence[AnyRow],
    columns: Sequence[Column],
    shards: Sequence[int],
    generation: int = 0,
    done: int | None = None,
) -> bytes:
    """`rows` as the bytes of a Parquet file: strings dictionary-encoded, zstd level 3, checksum in the footer."""
    table = to_table(rows, columns)
    facts = {
        "schema_version": str(SCHEMA_VERSION),
        "shards": json.dumps(list(shards)),
        "generation": str(generation),
        "rows": str(len(rows)),
        "done": json.dumps(done),
        "since": json.dumps({column.name: column.since for column in columns}),
        "checksum": _ZEROS.decode(),
    }
    sink = pa.BufferOutputStream()
    strings = [column.name for column in columns if column.kind == "string"]
    options = {"compression": "zstd", "compression_level": 3, "use_dictionary": strings}
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        writer.write_table(table, row_group_size=ROW_GROUP)
        writer.add_key_value_metadata({_PREFIX + key: value for key, value in facts.items()})
    content = bytearray(sink.getvalue())
    at = _checksum_position(content)
    assert at is not None
    content[at : at + 16] = xxhash.xxh3_64_hexdigest(content).encode()
    return bytes(content)


def facts(path: Path) -> PartFacts:
    """What the footer says, without reading the data. StoreError for a file without a readable footer."""
    try:
        with path.open("rb") as file:
            return _facts(path, pq.read_metadata(file))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    except pa.ArrowException as error:
        raise damaged(path, "it is cut short or is not a Parquet file") from error


def verify(path: Path) -> PartFacts:
    """Read the whole file and compare its checksum. StoreError, naming the file, when one byte is not as written."""
    try:
        content = bytearray(path.read_bytes())
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing: {_again(path, path.parent.parent / 'parts' / path.name)}") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) < 12 or content[-4:] != b"PAR1":
        raise damaged(path, f"it ends after {len(content):,} bytes, before its footer")
    at = _checksum_position(content)
    if at is None:
        raise damaged(path, "its footer has no checksum")
    written = bytes(content[at : at + 16])
    content[at : at + 16] = _ZEROS
    if xxhash.xxh3_64_hexdigest(content).encode() != written:
        raise damaged(path, "its content does not match its checksum")
    return facts(path)


def damaged(path: Path, wrong: str) -> StoreError:
    """The one line for a damaged file: which, what is wrong, how to mend it."""
    also = f" and {path.parent.parent / 'parts' / path.name}" if path.parent.name == "elements" else ""
    return StoreError(f"{path} is damaged: {wrong}; {_again(path, 'it' + also)}")


def _again(path: Path, what: object) -> str:
    return f"delete {what} and run `ulpfuzz resume {path.parent.parent}`: its trials are computed again"


def _checksum_position(content: bytearray) -> int | None:
    """Offset of the digits of the checksum. In the footer (Thrift) they follow the key after a type and a length."""
    footer = int.from_bytes(content[-8:-4], "little")
    at = content.find(_CHECKSUM, max(0, len(content) - 8 - footer))
    start = at + len(_CHECKSUM) + 2
    return start if at >= 0 and start + 16 <= len(content) else None


def _facts(path: Path, metadata: Any) -> PartFacts:
    found = {
        key.decode().removeprefix(_PREFIX): value.decode()
        for key, value in (metadata.metadata or {}).items()
        if key.startswith(_PREFIX.encode())
    }
    try:
        version = int(found["schema_version"])
        shards = tuple(int(shard) for shard in json.loads(found["shards"]))
        done = json.loads(found.get("done", "null"))
        part = PartFacts(path, shards, int(found["generation"]), int(found["rows"]), version, done)
    except (KeyError, ValueError, TypeError) as error:
        raise damaged(path, "its footer does not say which shards it covers") from error
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}, this ulpfuzz reads up to {SCHEMA_VERSION}: upgrade ulpfuzz"
        )
    if part.rows != metadata.num_rows:
        raise damaged(path, f"its footer promises {part.rows:,} rows and it holds {metadata.num_rows:,}")
    return part
