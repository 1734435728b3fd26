"""Text of anybody without what no page can hold."""

from __future__ import annotations

import re

_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""Control characters, lone surrogates, noncharacters, and marks that reverse the order of text."""


def readable(value: str) -> str:
    """`value` with U+FFFD for what cannot be written or read: the rest is untouched."""
    return _UNREADABLE.sub("\ufffd", value)
