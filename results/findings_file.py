"""findings.parquet: the findings of a campaign as a table, so that nobody needs to group rows to read them.

Derived data: computed from the rows, whole or not at all, when a run ends. Whoever finds it missing or older than the
rows computes it again; the record of what was done are the parts alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from results.arrow import arrow_schema, empty, named, to_table
from results.columns import CAMPAIGN, FINDING_COLUMNS, Row
from results.errors import StoreError
from results.files import write
from results.findings import FindingGroup, computed
from results.parts import encode, verify
from results.statistics.proportions import Interval
from results.store import Store

if TYPE_CHECKING:
    from results.reading import Results

FILE = "findings.parquet"
Covered: TypeAlias = tuple[list[int], int | None]
"""Shards that are whole, and the trials of those that are not."""
_CONFIDENCE = 0.95
_COMPUTED = ("rate", "environments", "versions")
_PLAIN = tuple(field for field in FindingGroup.__struct_fields__ if field not in _COMPUTED)


def write_findings(results: Results, directory: Path) -> Path:
    """Write findings.parquet of the campaign in `directory`, which `results` holds; its path.

    All findings are in it, those of formulations that ulpfuzz composed included (provenance `composed`).
    Raises StoreError, in one line, where the disk does not take it; an older file is then kept.
    """
    store = Store(directory)
    shards, partial = _covered(store)
    rows = [_row(group) for group in computed(results)]
    path = directory / FILE
    write(path, encode(rows, FINDING_COLUMNS, shards, done=partial))
    return path


def read_findings(directory: Path, covered: Covered | None = None) -> list[FindingGroup] | None:
    """What the file says, `composed` included; None where there is none, or it is damaged or made of other rows than
    those that `covered` (default: what is there now) says."""
    path = directory / FILE
    if not path.exists():
        return None
    try:
        facts = verify(path)
        if (list(facts.shards), facts.done) != (covered or _covered(Store(directory))):
            return None
    except StoreError:
        return None
    with pq.ParquetFile(path) as file:  # read_table would import Arrow's datasets first
        table = file.read()
    if table.schema.names != arrow_schema(FINDING_COLUMNS).names:
        return None
    return [_group(row) for row in table.to_pylist()]


def finding_table(results: Results) -> pa.Table:
    """The findings of each campaign, `composed` included, with the columns of FINDING_COLUMNS and `campaign`.

    A campaign counts for itself, as in its report, also where several are open.
    """
    from results.reading import Results as Opened

    tables = [empty(arrow_schema([*FINDING_COLUMNS, CAMPAIGN]))]
    for path, name in zip(results.directories, results.names, strict=True):
        one = results if len(results.directories) == 1 else Opened([path], verify=False)
        kept = read_findings(path, one.covered)
        groups = computed(one) if kept is None else kept
        tables.append(named(to_table([_row(group) for group in groups], FINDING_COLUMNS), name))
    return pa.concat_tables(tables)


def _covered(store: Store) -> Covered:
    """Shards that are whole, and the trials of those that are not: what a file of findings was computed from."""
    return sorted(store.done()), sum(store.partial().values()) or None


def _row(group: FindingGroup) -> Row:
    row: Row = {name: getattr(group, name) for name in _PLAIN}
    rate = group.rate
    return row | {
        "id": group.id,
        "title": group.title,
        "rate_low": rate.low if rate else None,
        "rate_high": rate.high if rate else None,
        "environments": json.dumps(group.environments),
        "versions": json.dumps(dict(group.versions)),
    }


def _group(row: dict[str, Any]) -> FindingGroup:
    k, n, low, high = row["trials"], row["of_trials"], row["rate_low"], row["rate_high"]
    return FindingGroup(
        **{name: row[name] for name in _PLAIN},
        rate=None if low is None else Interval(k, n, k / n, low, high, _CONFIDENCE),
        environments=tuple(json.loads(row["environments"])),
        versions=tuple((name, tuple(found)) for name, found in json.loads(row["versions"]).items()),
    )
