"""Errors of other people's code in one line."""

from __future__ import annotations

from fuzz.backends.base import whole_text


def test_the_text_of_an_error_is_one_line() -> None:
    assert whole_text(ValueError("boom\n  second line\n")) == "boom second line"
    assert whole_text(ValueError()) == "ValueError"
    long = "first: what is wrong\n" + "dump\n" * 100 + "See https://docs"
    assert whole_text(ValueError(long)) == "first: what is wrong ... See https://docs"
    assert whole_text(ValueError("x" * 400), limit=20) == "x" * 17 + "..."
    assert len(whole_text(ValueError("x" * 290 + "\n" + "y" * 290))) <= 300
