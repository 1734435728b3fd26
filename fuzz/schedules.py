"""Random schedules and settings of options as further targets of a campaign, drawn when it is created.

They are written into campaign.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from fuzz.backends import backend
from fuzz.backends.tvm_meta import LARGEST as LARGEST_SEED
from fuzz.campaigns.request import CampaignSpec
from fuzz.errors import UserError
from fuzz.options import drawn, table
from fuzz.targets import Target
from strategies.canonical import identity

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MOST = 10_000
"""Of a kind, target and problem: each is compiled by every worker."""
OPTIONS = {"schedules": "schedule", "meta_schedules": "meta_schedule", "unsafe_schedules": "unsafe_schedule"}
"""The option of a target that each number of a campaign is about."""
VECTORS = frozenset({"schedule", "unsafe_schedule"})
"""Options whose values are moves (strategies.moves); those of others are seeds."""


def check_drawn(spec: CampaignSpec, targets: Sequence[Target]) -> None:
    """UserError for a number out of range, or where no target takes schedules or options."""
    if not 0 <= spec.options <= MOST:
        raise UserError(f"--options {spec.options}: use a whole number from 0 to {MOST}")
    if spec.options and not any(table(t, problem.operator) for t in targets for problem in spec.problems):
        names = ", ".join(dict.fromkeys(target.backend for target in targets))
        raise UserError(f"--options: {names} has no options for these operators: see `ulpfuzz list options`")
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


def with_drawn(
    spec: CampaignSpec, targets: Sequence[Target], operator: str, about: dict[str, Any]
) -> tuple[Target, ...]:
    """`targets`, and for each that takes them the settings of options and the schedules drawn, unsafe ones last.

    They are independent draws: a pure function of the campaign's seed, the target and `about`, what the schedules are
    for (a problem, or an operator whose problems a survey draws). A schedule drawn twice is drawn anew.
    """
    found = list(targets)
    for target in targets if spec.options else ():
        settings = drawn(target, operator, spec.options, spec.seed, about)
        found += [setting for setting in settings if setting not in found]
    for field, option in OPTIONS.items():
        number = getattr(spec, field)
        for target in targets:
            if number and takes(target, option):
                named = target.spelling(target.dtype)
                seed = identity({"seed": spec.seed, "target": named, "option": option, "of": about})
                for text in _different(values(option), int(seed, 16), number):
                    options = tuple(sorted((*target.options, (option, text))))
                    found.append(structs.replace(target, options=options))
    return tuple(found)


def values(option: str) -> SearchStrategy[str]:
    """Values that are drawn for an option that stands for a schedule."""
    from hypothesis import strategies as st

    from strategies.generation import schedules

    return schedules(least=1) if option in VECTORS else st.integers(0, LARGEST_SEED).map(str)


def _different(strategy: SearchStrategy[str], seed: int, number: int) -> list[str]:
    """So many independent draws, each drawn twice drawn anew."""
    from strategies.iid import independent

    found: dict[str, None] = {}
    chunk = 0
    while len(found) < number:
        found.update(dict.fromkeys(independent(strategy, seed, chunk, number)))
        chunk += 1
    return list(found)[:number]
