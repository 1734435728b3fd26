"""The options of TVM that are schedules: at most one at a time, by the name of the option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from fuzz.backends.base import OptionSpec, Unsupported
from fuzz.backends.tvm_meta import canonical_seed, sample_statements, sampled
from fuzz.backends.tvm_schedules import Scheduled, scheduled, statements
from strategies.moves import canonical_schedule

Make: TypeAlias = Callable[[Any, str], Scheduled]
Spell: TypeAlias = Callable[[Any, str], tuple[str, ...]]

OPTIONS = (
    OptionSpec(
        "schedule",
        "",
        "numbers that stand for a legal schedule (docs/schedules.md)",
        canonical=canonical_schedule,
        example="2.0.5.3.1",
    ),
    OptionSpec(
        "unsafe_schedule",
        "",
        "the same, with orders of primitives that TVM miscompiles",
        canonical=canonical_schedule,
        example="2.0.5.3.1",
    ),
    OptionSpec(
        "meta_schedule",
        "",
        "seed of a sample of the design space of TVM's meta_schedule",
        canonical=canonical_seed,
        example="7",
    ),
)
SCHEDULES = tuple(option.name for option in OPTIONS)
"""Options that order the same operations differently."""

_MAKERS: dict[str, tuple[Make, Spell]] = {
    "schedule": (scheduled, statements),
    "unsafe_schedule": (partial(scheduled, unsafe=True), partial(statements, unsafe=True)),
    "meta_schedule": (sampled, sample_statements),
}


def scheduled_by(options: Mapping[str, str], function: Any) -> Scheduled:
    """`function` under the schedule that the options ask for, as it is where they ask for none.

    Unsupported for two schedules at once, and where meta_schedule has none for the function.
    """
    asked = _asked(options)
    return Scheduled(function, (), True) if asked is None else _MAKERS[asked][0](function, options[asked])


def statements_by(options: Mapping[str, str], function: Callable[[], Any]) -> tuple[str, ...]:
    """The same as Python statements on `sch`, an s_tir.Schedule of what `function` makes; none where none is asked."""
    asked = _asked(options)
    return () if asked is None else _MAKERS[asked][1](function(), options[asked])


def _asked(options: Mapping[str, str]) -> str | None:
    asked = [name for name in SCHEDULES if options.get(name)]
    if len(asked) > 1:
        raise Unsupported(f"tvm options {' and '.join(asked)} exclude each other: use one")
    return asked[0] if asked else None
