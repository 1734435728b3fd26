"""How the targets of each output split by equal bits, counted without comparing strings pair by pair."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

NEEDED = ("problem_id", "seed", "index", "output", "target", "variant", "against", "output_digest")
"""The columns that are read."""

_CELLS = 1 << 22
"""Cells of a matrix of outputs and targets that are looked at together."""

Codes = npt.NDArray[np.int64]


def partitions(table: pa.Table) -> Counter[str]:
    """Splits of the targets that gave an output, with the number of outputs; one target alone makes no split.

    `table` has the columns NEEDED and all rows of its trials. A split is written as one line a target, in alphabetical
    order: target, tab, the first target with the same `output_digest`.
    """
    import pyarrow as pa

    rows = table.filter(pa.array(plain(table) & table.column("output_digest").is_valid().to_numpy()))
    if not rows.num_rows:
        return Counter()
    target, names = coded(rows.column("target"))
    order = np.argsort(names)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    sorted_names = [names[at] for at in order]
    found: Counter[str] = Counter()
    for matrix in _matrices(_outputs(rows), rank[target], coded(rows.column("output_digest"))[0], len(names)):
        for leaders, count in _counted(_leaders(matrix)):
            found[_written(leaders, sorted_names)] += count
    return found


def plain(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows are against the truth and without variant."""
    against, names = coded(table.column("against"))
    variant, variants = coded(table.column("variant"))
    is_truth = np.array([name == "truth" for name in names], bool)
    is_none = np.array([not name for name in variants], bool)
    found: npt.NDArray[np.bool_] = is_truth[against] & is_none[variant]
    return found


def _outputs(rows: pa.Table) -> Codes:
    """A number for each output of each trial, by row."""
    import pyarrow as pa

    key = np.zeros(rows.num_rows, np.int64)
    for name in ("problem_id", "seed", "output", "index"):
        codes, values = coded(rows.column(name))
        key = coded(pa.array(key * len(values) + codes))[0]
    return key


def coded(column: Any) -> tuple[Codes, list[Any]]:
    """A column as numbers from 0, and the values that they stand for; null is a value."""
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    encoded = whole.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    codes = encoded.indices
    if encoded.null_count:
        codes = codes.fill_null(len(values))
        values.append(None)
    return codes.to_numpy(zero_copy_only=False).astype(np.int64), values


def _matrices(output: Codes, target: Codes, digest: Codes, targets: int) -> Iterator[Codes]:
    """The digests by output and target, -1 where a target has none; so many outputs at a time as memory allows."""
    order = np.argsort(output, kind="stable")
    output, target, digest = output[order], target[order], digest[order]
    outputs = int(output[-1]) + 1
    step = max(1, _CELLS // targets)
    edges = np.searchsorted(output, np.arange(0, outputs + step, step))
    for number, (first, last) in enumerate(itertools.pairwise(edges)):
        height = min(step, outputs - number * step)
        matrix = np.full((height, targets), -1, np.int64)
        matrix[output[first:last] - number * step, target[first:last]] = digest[first:last]
        yield matrix


def _leaders(matrix: Codes) -> npt.NDArray[np.int32]:
    """In the place of each digest the first column of its row that holds the same; -1 stays. Rows of one are left out.

    Equal digests are neighbours once a row is sorted, and the first column comes first since the sort is stable.
    """
    matrix = matrix[(matrix >= 0).sum(axis=1) > 1]
    order = np.argsort(matrix, axis=1, kind="stable")
    ordered = np.take_along_axis(matrix, order, axis=1)
    begins = np.ones(ordered.shape, bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    begin = np.maximum.accumulate(np.where(begins, np.arange(matrix.shape[1]), 0), axis=1)
    leaders = np.empty(matrix.shape, np.int32)
    np.put_along_axis(leaders, order, np.take_along_axis(order, begin, axis=1).astype(np.int32), axis=1)
    leaders[matrix < 0] = -1
    return leaders


def _counted(leaders: npt.NDArray[np.int32]) -> Iterator[tuple[npt.NDArray[np.int32], int]]:
    """Each row that occurs, and how often."""
    if not leaders.size:
        return
    whole = np.ascontiguousarray(leaders).view(np.dtype((np.void, leaders.shape[1] * leaders.itemsize))).ravel()
    _, first, counts = np.unique(whole, return_index=True, return_counts=True)
    for at, count in zip(first, counts, strict=True):
        yield leaders[at], int(count)


def _written(leaders: npt.NDArray[np.int32], names: list[str]) -> str:
    return "\n".join(f"{names[at]}\t{names[leader]}" for at, leader in enumerate(leaders) if leader >= 0)
