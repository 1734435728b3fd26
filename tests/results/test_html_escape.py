"""Text of anybody stays text, in HTML and in Markdown."""

from __future__ import annotations

import html
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.html import escape
from results.markdown.escape import code, plain

HOSTILE = "<script>alert(1)</script> \"quoted\" 'single' & &amp; </title>\n`code` | cell @someone"


def test_marks_of_html_are_text() -> None:
    shown = escape.text(HOSTILE)
    assert "<" not in shown
    assert '"' not in shown
    assert "'" not in shown
    assert html.unescape(shown) == HOSTILE


def test_backticks_in_a_sentence_are_code_and_what_is_between_them_is_text() -> None:
    assert escape.prose("run `ulpfuzz shrink DIR` first") == "run <code>ulpfuzz shrink DIR</code> first"
    assert escape.prose("`<b>`") == "<code>&lt;b&gt;</code>"
    assert "<" not in escape.prose(HOSTILE).replace("<code>code</code>", "")
    assert escape.prose("one ` alone") == "one ` alone"


@given(st.text(st.characters(codec=None)))
def test_anything_can_be_written_down(value: str) -> None:
    shown = escape.shortened(value) + escape.attributes(title=value)
    shown.encode("utf-8")
    assert "\0" not in shown
    assert "<script" not in shown.lower()


def test_what_reverses_text_is_replaced() -> None:
    assert escape.text("a\u202eb\x00c\ud800d") == "a\ufffdb\ufffdc\ufffdd"


def test_long_text_is_folded_and_whole() -> None:
    value = "".join(f"{n} " for n in range(3000))
    shown = escape.shortened(value)
    assert shown.startswith('<details class="long">')
    assert value in shown
    assert "13,890 characters" in shown
    assert "<details" not in escape.shortened("x" * escape.LONG)


def test_attributes() -> None:
    assert escape.attributes(class_="a", data_key='"', x=1.5, none=None) == ' class="a" data-key="&quot;" x="1.5"'


def test_coordinates_are_plain_numbers() -> None:
    assert [escape.number(v) for v in (0.0, -0.0, 1e-9, 12.345, 700.0)] == ["0", "0", "0", "12.35", "700"]
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="no coordinate"):
            escape.number(value)


def test_markdown_is_text() -> None:
    assert plain("a|b *c* `d` <e> [f](g) #h\nnext") == r"a\|b \*c\* \`d\` \<e\> \[f\](g) \#h next"
    assert plain("1. first") == r"\1. first"
    assert plain("- item") == r"\- item"
    assert "@someone" not in plain("@someone")
    assert len(plain("x" * 10_000)) == 600


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert code("plain") == "```\nplain\n```"
    assert code("a\n````\nb").startswith("`````\n")
