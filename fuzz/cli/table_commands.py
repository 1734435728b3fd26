"""`ulpfuzz sql DIR... QUERY` and `ulpfuzz export DIR... --to FILE`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.errors import Interrupted, UserError
from fuzz.reproduction.saving import storing
from fuzz.say import tell
from fuzz.terminal import console
from results.layout import count
from results.reading import open as open_results

if TYPE_CHECKING:
    from results.reading import Results


def sql(words: Sequence[str], csv: Path | None = None, json: bool = False, rows: int | None = None) -> int:
    """Print the answer of a query over campaigns, or write it into a CSV file or as JSON lines; 0.

    `words` are the directories, then the query. QueryError for a query that cannot be run, StorageError for a file
    that cannot be written.
    """
    if csv is not None and json:
        raise UserError("--csv and --json both say where the answer goes: leave one out")
    if csv is not None and csv.suffix.lower() != ".csv":
        raise UserError(f"--csv names {csv}: name a file that ends in .csv")
    *places, query = words
    if _is_directory(query):
        raise UserError(f'the query is missing: write it last, `ulpfuzz sql {query} "select * from trials"`')
    if not places:
        raise UserError('no campaign is named: write its directory first, `ulpfuzz sql DIR "select * from trials"`')
    directories = [Path(place) for place in places]
    distinct(directories)
    results = open_results(*directories)
    try:
        _answer(results, query, csv, json, rows)
    except KeyboardInterrupt:
        raise Interrupted("interrupted: the query was ended") from None
    return 0


def _answer(results: Results, query: str, csv: Path | None, json: bool, rows: int | None) -> None:
    from results.export import save_answer
    from results.plain import json_lines
    from results.report_answer import print_answer
    from results.visible import visible_json

    if csv is not None:
        with storing(csv):
            _wrote(csv, save_answer(results, query, csv))
        return
    schema, batches = results.batches(query)
    if json:
        for piece in json_lines(schema, batches):
            sys.stdout.buffer.write(visible_json(piece.decode()).encode())
        sys.stdout.buffer.flush()
    else:
        print_answer(schema, batches, console(), rows)


def export(directories: Sequence[Path], file: Path, table: str) -> int:
    """Write a table of campaigns into a file of the kind that its suffix names; 0."""
    from results.export import export as write
    from results.export import format_of

    format_of(file)
    distinct(directories)
    with storing(file):
        _wrote(file, write(open_results(*directories), table, file))
    return 0


def distinct(directories: Sequence[Path]) -> None:
    """UserError for a directory named twice: its rows would count twice."""
    places = [path.resolve() for path in directories]
    if repeated := [path for path in directories if places.count(path.resolve()) > 1]:
        raise UserError(f"{repeated[0]} is named twice: remove one")


def _is_directory(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except (OSError, ValueError):  # too long for a name, as queries may be
        return False


def _wrote(file: Path, rows: int) -> None:
    tell(f"wrote {file}: {count(rows)} {'row' if rows == 1 else 'rows'}")
