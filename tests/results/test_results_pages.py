"""The generated pages are current."""

from __future__ import annotations

from pathlib import Path

from results.columns import COLUMNS, ELEMENT_COLUMNS
from results.schema import schema_page, verdict_table
from results.units import NUMBERS, UNIT_ROUNDOFF, digits
from results.verdicts import VERDICTS, worst
from strategies.patterns import patterns
from strategies.precision import PRECISIONS

DOCS = Path(__file__).parents[2] / "docs"


def test_schema_page_is_current() -> None:
    assert (DOCS / "schema.md").read_text("utf-8") == schema_page(), "run: python -m results.schema > docs/schema.md"


def test_verdict_page_holds_the_current_table() -> None:
    assert verdict_table() in (DOCS / "verdicts.md").read_text("utf-8")


def test_column_names_are_unique_and_documented() -> None:
    for columns in (COLUMNS, ELEMENT_COLUMNS):
        assert len({column.name for column in columns}) == len(columns)
        assert all(column.doc for column in columns)


def test_units_agree_with_the_formats() -> None:
    for name, found in PRECISIONS.items():
        assert UNIT_ROUNDOFF[name] == found.unit_roundoff
        assert (NUMBERS[name], digits(name)) == (patterns(name), found.digits)


def test_the_worst_verdict() -> None:
    assert worst(["rounding", "wrong", "ill_conditioned"]) == "wrong"
    assert list(VERDICTS)[-1] == "crashed"
