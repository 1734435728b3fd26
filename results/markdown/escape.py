"""Text of anybody as GitHub's Markdown: shown as it is, on one line, and linked to nobody."""

from __future__ import annotations

import re

from results.contents.readable import readable

MOST = 600
"""Characters of a text; the rest is cut, since Markdown has nowhere to fold it."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")
_MENTION = re.compile(r"@(?=\w)")


def plain(value: str, most: int = MOST) -> str:
    """`value` as text of a line or of a cell: marks escaped, line ends as spaces, no mention of anybody."""
    line = " ".join(readable(value).split())
    line = line if len(line) <= most else f"{line[: most - 1]}\u2026"
    escaped = _SPECIAL.sub(r"\\\1", line)
    return re.sub(r"^([-+=]|\d+[.)])(?=\s)", r"\\\1", _MENTION.sub("@\u200b", escaped))


def code(value: str) -> str:
    """A block of code whose fence is longer than any run of backticks inside."""
    content = readable(value).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{content}\n{fence}"
