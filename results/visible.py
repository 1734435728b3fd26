"""Text of anybody on a terminal: what would move its cursor, colour or reorder the text is shown as an escape.

So is the beginning of a workflow command: GitHub's runner reads the same lines and obeys `::error::` at their start.
"""

from __future__ import annotations

import re

_ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
"""Control characters, line and paragraph separators, marks of direction, lone surrogates, noncharacters."""
_COMMAND = re.compile(r"(?<!\S)::|##(?=\[)")
"""The marks of commands of a workflow, https://docs.github.com/actions/reference/workflow-commands-for-github-actions."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """`text` on one line, every character that a terminal would obey as an escape of Python: ESC is \\x1b."""
    return _COMMAND.sub(_escape_first, _ACTIVE.sub(_escape, text))


def visible_lines(text: str) -> str:
    """The same for text of several lines: their ends and tabs stay."""
    return "\n".join(_ACTIVE.sub(_escape_but_tabs, line) for line in text.split("\n"))


def visible_json(text: str) -> str:
    """Lines of JSON with those characters, which stand in strings only, as escapes of JSON: the same values."""
    return _ACTIVE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    number = ord(sign)
    return _SHORT.get(sign) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")


def _escape_first(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0][0]):02x}{found[0][1:]}"


def _escape_but_tabs(found: re.Match[str]) -> str:
    return "\t" if found[0] == "\t" else _escape(found)


def shortened(text: str, most: int) -> str:
    """The start of a long text, with its length behind it."""
    if len(text) <= most:
        return text
    tail = f"\u2026 ({len(text):,} characters)"
    return text[: most - len(tail)] + tail
