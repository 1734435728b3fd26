"""`python -m results.schema` prints docs/schema.md; `verdict_table` is the table inside docs/verdicts.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from results.columns import COLUMNS, ELEMENT_COLUMNS, FINDING_COLUMNS, KEY, SCHEMA_VERSION, TIMINGS, Column
from results.verdicts import VERDICTS

_INTRODUCTION = f"""# Columns of a campaign

Schema version {SCHEMA_VERSION}. This page is generated: `python -m results.schema > docs/schema.md`.

A campaign directory holds

* `campaign.json`: what was planned; `environments.json`: the environments that rows refer to;
* `parts/*.parquet`: one row for each problem, draw, output, target, variant and reference (below);
* `elements/*.parquet`: the worst and some random elements of sampled trials (second table);
* `answers.msgpack`: answers of reports that need a look at all rows, kept by the last compaction of a large campaign
  ([decision 026](decisions/026-kept-answers.md)). It may be deleted.
* `findings.parquet`: the findings (third table), computed from the rows when a run ends. It may be deleted.

Columns are only ever added. A file written before a column existed reads as null there. `since` is the schema version
that brought a column. Every column may be null: a trial that crashed has no error to measure.

The footer of each file (Parquet key-value metadata) says `ulpfuzz.schema_version`, `ulpfuzz.shards` (shards covered,
JSON), `ulpfuzz.generation`, `ulpfuzz.rows`, `ulpfuzz.done` (leading trials of its only shard that the file holds, where
a run was interrupted; null for whole shards), `ulpfuzz.since` (JSON, by column) and `ulpfuzz.checksum`: the xxh3-64 of
the whole file with its own sixteen digits set to 0. Parts of 8,192 rows and more may have `ulpfuzz.summary`: what
reports count, tallied from the rows when the part was written (results/summary.py). It may be missing.

Merged parts and their elements are named by their first and last shard and their generation, as in
`00000000-00000311-1.parquet`, and sorted by operator, `home` (elements: `dtype`), target, against, problem and index.
Where several parts cover a shard, the highest generation counts: others wait to be deleted. `damaged/` holds files that
were found damaged on resuming.

[sql.md](sql.md) says how to ask for these columns: in SQL, and in what `ulpfuzz export` writes, the rows are the table
`measurements`, `trials` is the part of it against the truth and without variant, and every table has one more column,
`campaign`: the directory as it was named.
"""


def schema_page() -> str:
    """The text of docs/schema.md."""
    key = ", ".join(f"`{name}`" for name in KEY)
    timings = ", ".join(f"`{name}`" for name in sorted(TIMINGS))
    return "\n".join(
        [
            _INTRODUCTION,
            "## Rows",
            "",
            f"A row is named by {key}. Two runs of one campaign give equal rows, except for {timings}.",
            "",
            *_column_table(COLUMNS),
            "",
            "## Elements",
            "",
            *_column_table(ELEMENT_COLUMNS),
            "",
            "## Findings",
            "",
            *_column_table(FINDING_COLUMNS),
            "",
        ]
    )


def verdict_table() -> str:
    """The verdicts as a Markdown table, in order of severity."""
    rows = [
        (f"`{verdict.name}`", "yes" if verdict.finding else "no", f"The result {verdict.sentence}.")
        for verdict in VERDICTS.values()
    ]
    return "\n".join(_markdown(("verdict", "finding", "means"), rows))


def _column_table(columns: Sequence[Column]) -> list[str]:
    rows = [(f"`{column.name}`", column.kind, column.unit, str(column.since), column.doc) for column in columns]
    return _markdown(("column", "type", "unit", "since", "says"), rows)


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


if __name__ == "__main__":
    print(schema_page(), end="")
