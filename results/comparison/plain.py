"""Comparisons as JSON: every figure, also those that the terminal leaves out."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import msgspec

from results.comparison.campaigns import Campaigns
from results.comparison.fates import Traced
from results.comparison.headline import headline
from results.comparison.lines import METHOD
from results.findings import FindingGroup

if TYPE_CHECKING:
    from results.comparison.plans import Planned
    from results.comparison.published import AgainstPublished


def campaigns_json(found: Campaigns) -> str:
    """One object: headline, failed, sides, setting, lines with their changes, tests, targets of one side, findings."""
    plain = {
        "headline": headline(found),
        "failed": found.failed,
        "first": found.first,
        "second": found.second,
        "setting": found.setting,
        "tests": found.tests,
        "adjusted_by": METHOD,
        "lines": found.lines,
        "one_side_only": found.alone,
        "findings": [_traced(item) for item in found.findings],
    }
    return _dumped(plain)


def published_json(found: AgainstPublished) -> str:
    """One object: the published count, what its event is, and every comparison."""
    return _dumped({"headline": found.headline, "failed": found.failed, **msgspec.structs.asdict(found)})


def planned_json(found: Planned) -> str:
    """One object: what was asked, the number of trials, how it was got."""
    return _dumped(found)


def _traced(item: Traced) -> dict[str, Any]:
    return {
        "fate": item.fate,
        "why": item.why,
        "same_trials": item.again,
        "chance": item.chance,
        "title": item.group.title,
        "first": _finding(item.first),
        "second": _finding(item.second),
    }


def _finding(group: FindingGroup | None) -> dict[str, Any] | None:
    if group is None:
        return None
    return {"id": group.id, **group.signature, "target": group.target, "trials": group.trials} | {
        "of_trials": group.of_trials,
        "worst_rho": group.worst_rho,
        "trial": group.trial,
    }


def _dumped(value: Any) -> str:
    return json.dumps(_finite(msgspec.to_builtins(value)), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN: they are strings, as in canonical JSON elsewhere."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
