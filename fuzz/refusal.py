"""Whether an exception refuses an unusual attribute value: the same call with the default value works."""

from __future__ import annotations

from msgspec import structs

from fuzz.surroundings import Arithmetic
from fuzz.targets import Target
from fuzz.workbench import Bench, copy_inputs


def refuses(bench: Bench, target: Target, purpose: str, message: str) -> bool:
    """The answer of `_refuses`, kept with the bench: it may cost a compilation."""
    if (target, message) not in bench.refusals:
        bench.refusals[target, message] = _refuses(bench, target, purpose)
    return bench.refusals[target, message]


def _refuses(bench: Bench, target: Target, purpose: str) -> bool:
    """Whether `target`, which has just raised, runs on the same inputs once unusual attribute values are the defaults.

    A value that is usual for the operator has to work: an exception there is a defect.
    """
    specs = dict(bench.contract.attributes)
    attributes = {
        name: value if value == specs[name].default or value in specs[name].usual else specs[name].default
        for name, value in bench.problem.attributes
    }
    if attributes == dict(bench.problem.attributes):
        return False
    try:
        plain = Bench(structs.replace(bench.problem, attributes=tuple(sorted(attributes.items()))))
        copy_inputs(bench.rung(target.dtype, purpose).arena.arrays, plain.rung(target.dtype).arena.arrays)
        with Arithmetic():
            plain.prepared(target).call()
    except Exception:  # noqa: BLE001  # whatever a library raises
        return False
    return True
