"""Random schedules as further targets of a campaign: drawn when it is created, written into campaign.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from fuzz.backends import backend
from fuzz.errors import UserError
from fuzz.request import CampaignSpec
from fuzz.targets import Target
from strategies.canonical import identity

MOST = 10_000
"""Of a kind, target and problem: each is compiled by every worker."""
OPTIONS = {"schedules": "schedule", "unsafe_schedules": "unsafe_schedule"}
"""The option of a target that each number of a campaign is about."""


def check_schedules(spec: CampaignSpec, targets: Sequence[Target]) -> None:
    """UserError for a number out of range, or where no target takes schedules."""
    for field, option in OPTIONS.items():
        number = getattr(spec, field)
        flag = field.replace("_", "-")
        if not 0 <= number <= MOST:
            raise UserError(f"--{flag} {number}: use a whole number from 0 to {MOST}")
        if number and not any(takes(target, option) for target in targets):
            raise UserError(f"--{flag}: none of the targets has schedules; add tvm without one to --targets")


def takes(target: Target, option: str) -> bool:
    """Whether schedules are drawn for a target: its backend knows the option, and it has no schedule of its own."""
    declared = {spec.name for spec in backend(target.backend).options}
    return option in declared and not set(OPTIONS.values()) & set(dict(target.options))


def with_schedules(spec: CampaignSpec, targets: Sequence[Target], about: dict[str, Any]) -> tuple[Target, ...]:
    """`targets`, and for each that takes them the schedules drawn, safe ones first.

    They are independent draws: a pure function of the campaign's seed, the target and `about`, what the schedules are
    for (a problem, or an operator whose problems a survey draws). A schedule drawn twice is drawn anew.
    """
    found = list(targets)
    for field, option in OPTIONS.items():
        number = getattr(spec, field)
        for target in targets:
            if number and takes(target, option):
                named = target.spelling(target.dtype)
                seed = identity({"seed": spec.seed, "target": named, "option": option, "of": about})
                for text in _drawn(int(seed, 16), number):
                    options = tuple(sorted((*target.options, (option, text))))
                    found.append(structs.replace(target, options=options))
    return tuple(found)


def _drawn(seed: int, number: int) -> list[str]:
    from strategies.generation import schedules
    from strategies.iid import independent

    strategy = schedules(least=1)
    found: dict[str, None] = {}
    chunk = 0
    while len(found) < number:
        found.update(dict.fromkeys(independent(strategy, seed, chunk, number)))
        chunk += 1
    return list(found)[:number]
