"""What differs in the setting of two campaigns: plan, options, problems; versions, machines, devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from results.comparison.design import Plans
from results.contents.setting import environments

if TYPE_CHECKING:
    from results.reading import Results

MISSING = "-"
_SETS = {"cpu flags"}
"""Facts that are long lists of words: what is in both tells nothing."""

Told: TypeAlias = Callable[[Mapping[str, Any]], str]


class Difference(Struct, frozen=True):
    """A fact that the campaigns do not share, in words; "-" where one does not say."""

    name: str
    first: str
    second: str
    environment: bool = False
    """Of the machine and its software rather than of the campaign."""


def _names(key: str) -> Told:
    return lambda manifest: ", ".join(sorted(str(name) for name in manifest.get(key) or ()))


def _value(key: str) -> Told:
    return lambda manifest: "" if manifest.get(key) is None else str(manifest[key])


def _pairs(manifest: Mapping[str, Any]) -> str:
    return ", ".join(sorted("/".join(map(str, pair)) for pair in manifest.get("pairs") or ()))


def _problems(manifest: Mapping[str, Any]) -> str:
    """How many, and a digest of which: their ids are long."""
    from hashlib import sha256

    ids = sorted(str(cell.get("problem_id")) for cell in manifest.get("cells") or ())
    if not ids:
        return ""
    return f"{len(ids)} ({sha256(' '.join(ids).encode()).hexdigest()[:8]})"


def _drawn(manifest: Mapping[str, Any]) -> str:
    return ", ".join(sorted(f"{one.get('operator')} in {one.get('home')}" for one in manifest.get("survey") or ()))


CAMPAIGN: dict[str, Told] = {
    "plan": _value("plan"),
    "seed": _value("seed"),
    "trials planned": _value("trials"),
    "time planned, s": _value("seconds"),
    "ended by a decision": lambda manifest: "yes" if manifest.get("until") else "",
    "kinds of inputs": _value("recipes"),
    "problems": _problems,
    "operators drawn": _drawn,
    "population": _value("population"),
    "trials a problem": _value("trials_per_problem"),
    "evaluations": _value("evaluations"),
    "targets": _names("targets"),
    "pairs": _pairs,
    "schema version": _value("schema_version"),
    "ulpfuzz": _value("version"),
}
"""What campaign.json says, by the name it is shown under."""


def differences(first: Results, second: Results) -> tuple[Difference, ...]:
    """What differs, of the campaigns first, then of their environments, in the order in which these are written."""
    found = [Difference(name, told(first.manifest), told(second.manifest)) for name, told in CAMPAIGN.items()]
    one, other = _environment(first), _environment(second)
    found += [_fact(name, one.get(name, ""), other.get(name, "")) for name in {**one, **other}]
    return tuple(
        Difference(item.name, item.first or MISSING, item.second or MISSING, item.environment)
        for item in found
        if item.first != item.second
    )


def plans(first: Results, second: Results) -> Plans:
    """What both have in common that decides how they may be compared."""
    both = (first.manifest, second.manifest)
    decided = [str(side.directories[0]) for side in (first, second) if side.manifest.get("until")]
    return Plans(
        plan=first.plan if first.plan == second.plan else "mixed",
        one_draw=all(manifest.get("trials_per_problem") == 1 for manifest in both),
        same_population=len({(_value("population")(manifest), _homes(manifest)) for manifest in both}) == 1,
        decided=" and ".join(decided),
    )


def _homes(manifest: Mapping[str, Any]) -> frozenset[str]:
    """Dtypes at which problems are drawn: those of float16 inputs are others than those of float32 ones."""
    return frozenset(str(one.get("home")) for one in manifest.get("survey") or ())


def _fact(name: str, first: str, second: str) -> Difference:
    if name not in _SETS or not first or not second:
        return Difference(name, first, second, True)
    one, other = first.split(), second.split()
    alone, others = ([word for word in a if word not in b] for a, b in ((one, other), (other, one)))
    return Difference(f"{name} of one only", " ".join(alone), " ".join(others), True)


def _environment(results: Results) -> dict[str, str]:
    """Each fact of the environments that rows refer to; several values where several machines took part."""
    values: dict[str, list[str]] = {}
    for facts in environments(results):
        for name, text in facts.values:
            values.setdefault(name, []).append(text)
    return {name: _joined(texts) for name, texts in values.items()}


def _joined(texts: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(texts))
