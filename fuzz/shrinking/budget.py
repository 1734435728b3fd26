"""How long to shrink at the end of a run."""

from __future__ import annotations

from fuzz.campaigns import duration

SHARE = 0.1
"""Of the time that the campaign ran."""
LEAST, MOST = 5.0, 60.0
"""Seconds: one finding in NumPy takes about one, with its worker; nobody waits longer for what was not asked for."""
OFF = 0.0


def after_run(asked: str | None, ran: float) -> float:
    """Seconds for all findings of a run of `ran` seconds; 0: none are shrunk. UserError for what is no time."""
    if asked is not None:
        return OFF if asked.strip() in ("0", "0s", "off") else duration.seconds(asked)
    return min(max(SHARE * ran, LEAST), MOST)
