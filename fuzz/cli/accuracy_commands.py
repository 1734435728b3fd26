"""`ulpfuzz table`: the accuracy table of exhaustive campaigns, on the terminal and as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzz.errors import StorageError


def table(directories: Sequence[Path], markdown: Path | None, csv: Path | None, title: str) -> int:
    """Print the table of all `directories` together, write the files; 0.

    UserError for a directory named twice, ResultsError for one that holds no rows, StorageError for a file that cannot
    be written.
    """
    from fuzz.cli.table_commands import distinct
    from fuzz.terminal import console
    from results.accuracy import lines
    from results.accuracy_files import accuracy_csv, accuracy_markdown
    from results.reading import open as open_results
    from results.report_accuracy import print_accuracy

    distinct(directories)
    results = open_results(*directories)
    found = lines(results)
    print_accuracy(found, console())
    if markdown is not None:
        _write(markdown, accuracy_markdown(results, found, title))
    if csv is not None:
        _write(csv, accuracy_csv(found))
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}: name another file") from None
