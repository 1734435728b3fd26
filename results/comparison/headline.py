"""The answer of a comparison in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from results.comparison.campaigns import Campaigns
from results.comparison.changes import Change, RateChange, RhoChange
from results.comparison.fates import Traced
from results.comparison.lines import Line
from results.layout import count, percent, short

_NAMED = 3
"""Changes and findings that the headline names."""


def headline(found: Campaigns) -> str:
    """Bitwise identical; or what changed; or that no difference was seen, and which could have been."""
    if changed := _changed(found):
        return " ".join(changed)
    if found.identical:
        return _identical(found)
    if not found.lines:
        return "Nothing to compare: no operator ran on the same target, or backend, in the same dtype on both sides."
    if not found.tests and not found.outputs:
        reasons = list(dict.fromkeys(line.why for line in found.lines if line.why))
        return f"Nothing could be tested: {reasons[0]}." if reasons else "Nothing could be tested: see the lines below."
    return " ".join([_seen_none(found), *_bits(found)])


def named(line: Line) -> str:
    """Operator, target and dtype, and the problem where lines are one a problem."""
    problem = f" ({line.problem[:8]})" if line.problem else ""
    return f"{line.pair.operator} on {line.pair.target} in {line.pair.dtype}{problem}"


def described(change: Change) -> str:
    """What changed, from what to what."""
    if isinstance(change, RateChange):
        before = percent(change.first_k / change.first_n) if change.first_n else "-"
        after = percent(change.second_k / change.second_n) if change.second_n else "-"
        return f"{change.event} {'rose' if change.worse else 'fell'} from {before} % to {after} % of the trials"
    assert isinstance(change, RhoChange)
    if change.superiority is not None:
        extra = f" (a trial of the second is larger with probability {change.superiority:.2f})"
    else:
        extra = f" (of {count(change.changed or 0)} that changed {count(change.rose or 0)} rose)"
    medians = f"median {short(change.first.median)} to {short(change.second.median)}"
    return f"rho tends to be {'larger' if change.worse else 'smaller'}, {medians}{extra}"


def _changed(found: Campaigns) -> list[str]:
    new, fixed = found.with_fate("new"), found.with_fate("fixed")
    sentences = [*_named_findings("New", new), *_named_findings("Fixed", fixed)]
    changes = found.differing
    for line, change in changes[:_NAMED]:
        sentences.append(f"{named(line)}: {described(change)} (adjusted p = {p_text(change.adjusted)}).")
    if (more := len(changes) - _NAMED) > 0:
        sentences.append(f"And {more} more differences.")
    return sentences


def _named_findings(word: str, items: Sequence[Traced]) -> list[str]:
    if not items:
        return []
    titles = "; ".join(item.group.title for item in items[:_NAMED])
    rest = f"; and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    chance = sum(item.chance is not None and item.chance >= 0.05 for item in items)
    note = f" Chance explains {chance} of them." if chance else ""
    noun = "finding" if len(items) == 1 else f"findings ({len(items)})"
    return [f"{word} {noun}: {titles}{rest}.{note}"]


def _identical(found: Campaigns) -> str:
    text = f"Bitwise identical: all {count(found.outputs)} outputs of {count(found.shared)} shared trials of targets."
    extra = [f"{word} has {count(more)} more" for word, side in (("A", 0), ("B", 1)) if (more := _extra(found, side))]
    return f"{text} {' and '.join(extra)}, which were not compared." if extra else text


def _extra(found: Campaigns, side: int) -> int:
    """Trials of a side that the other does not have; of lines by problem each counts its own."""
    return sum((line.first_trials, line.second_trials)[side] - line.shared for line in found.lines)


def _seen_none(found: Campaigns) -> str:
    """That nothing was seen, and which rise of the first event would have been, where the least can be told."""
    tests = "1 test" if found.tests == 1 else f"{count(found.tests)} tests"
    told = f"No difference seen in {tests}" if found.tests else "No difference seen in rates and rho"
    seen = [(line.rates[0], line) for line in found.lines if line.rates[0].detectable is not None]
    if not seen:
        return f"{told}."
    rate, line = max(seen, key=lambda one: _least(one[0]))
    where = f" ({named(line)}, where the least can be told)" if len(seen) > 1 else ""
    nothing = len(found.lines) - len(seen)
    rest = f" On {count(nothing)} of {count(len(found.lines))} lines no rate could have been told." if nothing else ""
    return f"{told}. A rate {rate.event} {_rise(rate)} would have been seen with probability 0.8{where}.{rest}"


def _before(rate: RateChange) -> float:
    """The rate from which a rise is counted: of pairs that of the first side, of two samples that of both together."""
    if rate.only_first is not None:
        return rate.first_k / rate.first_n
    return (rate.first_k + rate.second_k) / (rate.first_n + rate.second_n)


def _least(rate: RateChange) -> tuple[float, float]:
    """How many times as large a rate has to be; rates without an event by how large."""
    assert rate.detectable is not None
    before = _before(rate)
    return (rate.detectable / before if before else 0.0), rate.detectable


def _rise(rate: RateChange) -> str:
    assert rate.detectable is not None
    before = _before(rate)
    if not before:
        return f"of {percent(rate.detectable)} % instead of none"
    times = short(rate.detectable / before)
    return f"{times} times as large ({percent(rate.detectable)} % instead of {percent(before)} %)"


def _bits(found: Campaigns) -> list[str]:
    if not found.outputs:
        return []
    other = found.outputs - found.equal
    return [f"Of {count(found.outputs)} shared outputs {count(other)} have other bits."]


def p_text(p: float | None) -> str:
    """Two digits, or one where it is small; a dash where there is none."""
    if p is None:
        return "-"
    return f"{p:.2f}" if p >= 0.01 else f"{p:.1g}"
