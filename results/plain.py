"""Answers of queries as plain values: for JSON, for CSV and for a cell on a terminal.

JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf". Whole numbers of any size stay numbers,
dates are ISO 8601 text, bytes hexadecimal digits, lists and structs arrays and objects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def names(schema: pa.Schema) -> list[str]:
    """The names of the columns, told apart: x, x_1."""
    found: list[str] = []
    for name in schema.names:
        number, unique = 0, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found


def json_lines(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """A JSON object for each row, in pieces of many lines."""
    keys = names(schema)
    for batch in batches:
        columns = [plain_values(column) for column in batch.columns]
        rows = [dict(zip(keys, cells, strict=True)) for cells in zip(*columns, strict=True)]
        yield b"".join(_ENCODER.encode(row) + b"\n" for row in rows)


def plain_values(column: Any) -> list[Any]:
    """The values of an Arrow column as JSON has them."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        values: list[Any] = column.to_pylist()
    elif pa.types.is_floating(kind):
        values = column.to_pylist()
        if not pc.all(pc.is_finite(column)).as_py():
            values = [_finite(value) for value in values]
    else:
        values = [plain(value) for value in column.to_pylist()]
    return values


def plain(value: Any) -> Any:
    """One value of any type as JSON has it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return _finite(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else value
        case datetime() | date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return str(value)


def text(value: Any) -> str:
    """One plain value as text; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return repr(value) if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def for_csv(schema: pa.Schema) -> pa.Schema:
    """The schema with text in place of every type that CSV has no spelling for."""
    fields = zip(names(schema), schema.types, strict=True)
    return pa.schema([(name, kind if _spelled(kind) else pa.string()) for name, kind in fields])


def as_csv(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the types of `for_csv`."""
    columns = [
        column if column.type == field.type else pa.array([_or_null(v) for v in plain_values(column)], pa.string())
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _spelled(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )


def _or_null(value: Any) -> str | None:
    return None if value is None else text(value)


def _finite(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def rows_of(batch: pa.RecordBatch, most: int) -> Sequence[tuple[Any, ...]]:
    """The first rows of a batch as plain values."""
    return list(zip(*(plain_values(column) for column in batch.slice(0, most).columns), strict=True))
