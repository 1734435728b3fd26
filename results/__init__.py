"""What was seen: row schema, verdicts, store, statistics, reports.

The names below are loaded on first use: importing `results` loads neither Arrow, DuckDB, SciPy nor rich.
`results.findings.findings` and `results.report.report` have the names of their modules and are imported from there.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from results.errors import InvalidRate, QueryError, ResultsError, StoreError
    from results.findings import FindingGroup
    from results.rates import RateTable, rate
    from results.reading import Results, open  # noqa: A004 results.open is the public name
    from results.statistics.proportions import compare_with_published, one_sided_upper, rate_interval
    from results.store import Store

__all__ = [
    "FindingGroup",
    "InvalidRate",
    "QueryError",
    "RateTable",
    "Results",
    "ResultsError",
    "Store",
    "StoreError",
    "compare_with_published",
    "one_sided_upper",
    "open",
    "rate",
    "rate_interval",
]

_HOMES = {
    "errors": ("InvalidRate", "QueryError", "ResultsError", "StoreError"),
    "findings": ("FindingGroup",),
    "rates": ("RateTable", "rate"),
    "reading": ("Results", "open"),
    "statistics.proportions": ("compare_with_published", "one_sided_upper", "rate_interval"),
    "store": ("Store",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(f"results.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'results' has no attribute {name!r}")
