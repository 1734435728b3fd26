"""Text of anybody as HTML: every name, message and path goes through here."""

from __future__ import annotations

import html
import re

from results.contents.readable import readable

LONG = 400
"""Characters of which a longer text shows the start; the rest opens at a click."""
SHORT = 60
"""The same in a cell of a table."""
_CODE = re.compile("`([^`\n]+)`")


def text(value: str) -> str:
    """`value` as text or in double quotes of an attribute; what HTML cannot hold becomes U+FFFD."""
    return html.escape(readable(value), quote=True)


def prose(value: str) -> str:
    """A sentence; what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", text(value))


def shortened(value: str, most: int = LONG) -> str:
    """The start of a long text, with the whole of it behind a click; also without a script."""
    if len(value) <= most:
        return text(value)
    return (
        f'<details class="long"><summary>{text(value[: most - 1])}&hellip; <span class="more">'
        f"{len(value):,} characters</span></summary><pre>{text(value)}</pre></details>"
    )


def attributes(**values: str | float | None) -> str:
    """Attributes with a space before each. None is left out; an underscore at the end is, too, others are hyphens."""
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value if isinstance(value, str) else number(value))}"'
        for name, value in values.items()
        if value is not None
    )


def number(value: float) -> str:
    """A coordinate: two decimals at most, no exponent. ValueError for what is not finite."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} is no coordinate")
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown
