"""How much of the oracle was checked by arithmetic that encloses every error: one line of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from results.layout import count

if TYPE_CHECKING:
    from results.reading import Results

INSTALL = "pip install 'ulpfuzz[certify]'"


def certification(results: Results, environments: Sequence[str]) -> str:
    """The line; empty where the campaign does not say what certified it."""
    (row,) = results.tallied("""
        SELECT coalesce(sum(elements), 0)::BIGINT AS elements, coalesce(sum(skipped), 0)::BIGINT AS skipped,
               coalesce(sum(n) FILTER (certified), 0)::BIGINT AS trials
        FROM trial_kinds
    """)
    records = [results.environments.get(environment, {}) for environment in environments]
    names = sorted({str(record["certifier"]) for record in records if record.get("certifier")})
    if not names:
        told = any("certifier" in record for record in records)
        return f"the oracle was not certified: neither Arb nor mpmath is installed: {INSTALL}" if told else ""
    skipped = row["skipped"]
    more = f"; {count(skipped)} outputs skipped, an element of theirs is too long a reduction" if skipped else ""
    if not row["elements"]:
        return f"the oracle was not certified: no output was flagged, and no trial was the one chosen of 1,000{more}"
    trials = f"{count(row['trials'])} {'trial' if row['trials'] == 1 else 'trials'}"
    return f"the oracle was certified by {' and '.join(names)} at {count(row['elements'])} elements of {trials}{more}"
