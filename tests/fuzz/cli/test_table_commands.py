"""`ulpfuzz sql` and `ulpfuzz export`: what is printed, what is written, what is told."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import odd_campaigns
import pytest

from fuzz.cli.app import invoke


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    odd_campaigns.write(folder / "a")
    odd_campaigns.healthy(folder)
    return folder


@pytest.fixture(autouse=True)
def _here(campaigns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(campaigns)


def test_a_table_with_full_names_and_a_count(capsys: Any) -> None:
    query = "select target, count(*) as a_rather_long_name, null as nothing, '' as empty from trials group by target"
    assert invoke(["sql", "a", f"{query} order by target"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "target     a_rather_long_name  nothing  empty",
        "mine:cpu                    4     null",
        "numpy:cpu                   4     null",
        "2 rows",
    ]


def test_several_campaigns(capsys: Any) -> None:
    assert invoke(["sql", "a", "healthy", "select campaign, count(*) n from trials group by all order by all"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["a         8", "healthy   4", "2 rows"]


def test_rows_with_many_columns_are_printed_one_below_the_other(capsys: Any) -> None:
    assert invoke(["sql", "a", "from trials"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "row 1"
    assert lines[1] == "  problem_id          a00124432fffeaf1"
    assert "  rounding_undecided  null" in lines
    assert lines[-1] == "8 rows, the first is shown: --csv FILE or --json gives all, --rows N more"
    assert invoke(["sql", "a", "from trials", "--rows", "2"]) == 0
    assert "row 2" in capsys.readouterr().out.splitlines()


def test_json_moves_no_terminal(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    text = "a\x7f\x9b31m\u202eb\u2028\n"
    assert invoke(["sql", "a", f"select '{text}' as x from range(2)", "--json"]) == 0
    out = capfdbinary.readouterr().out
    assert out.isascii()
    assert [json.loads(line) for line in out.splitlines()] == [{"x": text}] * 2


def test_long_answers_are_cut_and_counted(capsys: Any) -> None:
    assert invoke(["sql", "a", "select range as n from range(123456)"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 42
    assert lines[-1] == "123,456 rows, the first 40 are shown: --csv FILE or --json gives all, --rows N more"
    assert invoke(["sql", "a", "select repeat('x', 10000) as long, 1 as n"]) == 0
    head, row, _ = capsys.readouterr().out.splitlines()
    assert head.split() == ["long", "n"]
    assert len(row) < 70
    assert invoke(["sql", "a", "select repeat('x', 10000) as long, * from trials limit 1"]) == 0
    assert "\u2026 (10,000 characters)" in capsys.readouterr().out


def test_all_rows_as_json_lines(capfdbinary: Any) -> None:
    assert invoke(["sql", "a", "select range as n, 'nan'::double as x from range(1000)", "--json"]) == 0
    rows = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert rows == [{"n": n, "x": "nan"} for n in range(1000)]


def test_all_rows_as_csv(capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    assert invoke(["sql", "a", "select range as n, 'a,b' as t from range(1000)", "--csv", str(file)]) == 0
    assert capsys.readouterr().err == f"wrote {file}: 1,000 rows\n"
    assert file.read_text().splitlines()[:2] == ['"n","t"', '0,"a,b"']


def test_export(capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    assert invoke(["export", "a", "healthy", "--table", "findings", "--to", str(file)]) == 0
    assert capsys.readouterr().err == f"wrote {file}: 1 row\n"
    assert json.loads(file.read_text())["campaign"] == "a"


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["sql", "a", "select nothing from trials"], 2, 'the query failed: Binder Error: Referenced column "nothing"'),
        (["sql", "a", "drop view trials"], 2, "the query is a DROP statement: only one SELECT is run"),
        (["sql", "a"], 2, 'the query is missing: write it last, `ulpfuzz sql a "select * from trials"`'),
        (["sql", "a", "healthy"], 2, "the query is missing"),
        (["sql", "select 1"], 2, "no campaign is named: write its directory first"),
        (["sql", "b", "select 1"], 2, "there is no directory b"),
        (["sql", "a", "./a", "select 1"], 2, "a is named twice: remove one"),
        (["sql", "a", "select 1", "--csv", "x.csv", "--json"], 2, "--csv and --json both say"),
        (["sql", "a", "select 1", "--csv", "x.txt"], 2, "--csv names x.txt: name a file that ends in .csv"),
        (["sql", "a", "select 1", "--csv", "no/x.csv"], 3, "no/x.csv cannot be written: No such file or directory"),
        (["sql", "a", "select 1", "--rows", "0"], 2, "Invalid value for '--rows'"),
        (["export", "a", "--to", "x.xlsx"], 2, "x.xlsx has the suffix '.xlsx': name a file that ends in .parquet"),
        (["export", "a", "--to", "x.csv", "--table", "rows"], 2, "there is no table 'rows' to export: name one of"),
        (["export", "a", "--to", "no/x.csv"], 3, "no/x.csv cannot be written"),
        (["export", "a", "a", "--to", "x.csv"], 2, "a is named twice"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], code: int, line: str, capsys: Any) -> None:
    assert invoke(arguments) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"ulpfuzz: {line}")
    assert said.err.count("\n") == 1
    assert not list(Path().glob("x.*"))


def test_an_interrupt_ends_an_endless_query(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from results.database import Database

    timers: list[threading.Timer] = []
    begin = Database.batches

    def begun(self: Database, query: str) -> Any:
        timers.append(threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)))
        timers[0].start()
        return begin(self, query)

    monkeypatch.setattr(Database, "batches", begun)
    query = "select count(*) from range(3000000) a, range(3000000) b where (a.range * b.range) % 7 = 3"
    assert invoke(["sql", "a", query]) == 130
    timers[0].join()
    assert capsys.readouterr() == ("", "ulpfuzz: interrupted: the query was ended\n")
