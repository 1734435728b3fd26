"""Spans of time as people write them."""

from __future__ import annotations

import math
import re

from fuzz.errors import UserError

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0}
_PART = r"(\d+(?:\.\d+)?)\s*(d|h|min|m|s)"
_WHOLE = re.compile(rf"\s*(?:{_PART}\s*)+")


def seconds(text: str | float) -> float:
    """Seconds in "8h", "1h30m", "90 s" or a number of seconds. UserError for anything else, and for nothing at all."""
    if isinstance(text, str) and _WHOLE.fullmatch(text):
        value = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, text))
    else:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
    if not 0 < value < math.inf:
        raise UserError(f"cannot read the time {text!r}: write e.g. 8h, 1h30m, 45s or a number of seconds")
    return value


def text(value: float) -> str:
    """For people: 45 s, 3 min 05 s, 2 h 10 min, 3 d 04 h."""
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02d} h"
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
