"""Files of rows: every format holds what the campaign holds, and is there whole or not at all."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from synthetic_rows import make_row

import results
from results.errors import QueryError, ResultsError
from results.export import EXPORTED, FORMATS, export, save_answer

ODD = 'a "b", <i>\n\x1b[31m|é漢😀 ' + "long " * 2000
ROWS = [
    make_row(0, rel_max=math.nan, rho_max=math.inf, abs_mean=-math.inf, detail=ODD),
    make_row(1, rel_max=5e-324, rho_max=0.1, abs_mean=-0.0, detail=""),
    make_row(2, rel_max=None, rho_max=1.7976931348623157e308, seed=2**62, detail=None),
    make_row(3, verdict="wrong", against="torch:cpu"),
]


@pytest.fixture
def found(campaign: Callable[..., Path]) -> results.Results:
    return results.open(campaign(ROWS))


def read_parquet(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(path).to_pylist()
    return rows


def read_arrow(path: Path) -> list[dict[str, object]]:
    with pa.OSFile(str(path)) as file:
        rows: list[dict[str, object]] = pa.ipc.open_file(file).read_all().to_pylist()
        return rows


def read_csv(path: Path) -> list[dict[str, object]]:
    """As documented: an empty field is null, an empty text is quoted."""
    options = pyarrow.csv.ConvertOptions(
        strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""],
        column_types=results.open(path.parent / "campaign-0").sql("from measurements limit 0").schema,
    )  # fmt: skip
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    rows: list[dict[str, object]] = pyarrow.csv.read_csv(path, convert_options=options, parse_options=parse).to_pylist()
    return rows


def read_jsonl(path: Path) -> list[dict[str, object]]:
    numbers = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    rows = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").splitlines()]
    return [{k: numbers.get(v, v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]


READERS = {".parquet": read_parquet, ".arrow": read_arrow, ".csv": read_csv, ".jsonl": read_jsonl}


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_value_comes_back(found: results.Results, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{suffix}"
    assert export(found, "measurements", path) == 4
    rows = READERS[suffix](path)
    assert repr(rows) == repr(found.sql("from measurements").to_pylist())
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [path.name]


@pytest.mark.parametrize("table", EXPORTED)
def test_every_table_can_be_written(found: results.Results, table: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    written = export(found, table, path)
    assert written == {"measurements": 4, "trials": 3, "elements": 0, "findings": 1}[table]
    assert repr(pq.read_table(path).to_pylist()) == repr(found.sql(f"from {table}").to_pylist())


def test_text_in_a_csv_file_is_quoted(found: results.Results, tmp_path: Path) -> None:
    export(found, "trials", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["detail"] for row in rows] == [ODD, "", ""]
    assert [row["rel_max"] for row in rows] == ["nan", "5e-324", ""]


def test_answers_of_other_types(found: results.Results, tmp_path: Path) -> None:
    query = """
        select 1 as a, 2 as a, sum(2::hugeint ** 70)::hugeint as big, 1.50::decimal(4, 2) as half,
               date '2026-01-02' as day,
               [1, null] as list, {'x': 'nan'::double} as struct, '\\x01ab'::blob as bytes, true as yes,
               null as none, interval 3 day as span from range(1)
    """
    save_answer(found, query, tmp_path / "a.jsonl")
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {
        "a": 1, "a_1": 2, "big": 2**70, "half": 1.5, "day": "2026-01-02", "list": [1, None], "struct": {"x": "nan"},
        "bytes": "016162", "yes": True, "none": None, "span": [0, 3, 0],
    }  # fmt: skip
    save_answer(found, query, tmp_path / "a.csv")
    (row,) = csv.DictReader((tmp_path / "a.csv").open(newline=""))
    assert (row["a_1"], row["big"], row["half"], row["none"]) == ("2", str(2**70), "1.50", "")
    assert (row["list"], row["struct"], row["yes"]) == ("[1, null]", '{"x": "nan"}', "true")


def test_what_is_wrong_is_one_line(found: results.Results, tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"there is no table 'rows' to export: name one of measurements, trials"):
        export(found, "rows", tmp_path / "a.csv")
    with pytest.raises(ResultsError, match=r"a.txt has the suffix '.txt': name a file that ends in .parquet, .csv"):
        export(found, "trials", tmp_path / "a.txt")
    with pytest.raises(ResultsError, match=r"a has no suffix"):
        export(found, "trials", tmp_path / "a")


def test_a_file_that_cannot_be_finished_leaves_the_old_one(found: results.Results, tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("old")
    query = "select error('late') from range(100000) where range = 99999"
    for suffix in FORMATS:
        with pytest.raises(QueryError, match="late"):
            save_answer(found, query, path.with_suffix(suffix))
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["old.csv"]
