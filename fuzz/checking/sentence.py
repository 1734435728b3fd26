"""The answer of a check in a sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz.checking.made import Made
from fuzz.checking.result import Line, PairLine
from results.variants import VariantTally
from results.verdicts import NO_VALUE, VERDICTS, worst

UNDECIDED = "which of them is right, only a truth= can say"


def sentence(
    lines: Sequence[Line],
    pairs: Sequence[PairLine],
    made: Made,
    dtype: str,
    varied: Sequence[VariantTally] = (),
) -> tuple[str, str]:
    """The verdict of the whole check, and why."""
    verdict = worst([*(line.verdict for line in lines), *(tally.worst for tally in varied if tally.worst)])
    if all(line.empty for line in lines):
        return "indeterminate", "Every result is NaN or infinite: there is nothing to compare."
    guilty = [line for line in lines if line.verdict == verdict]
    if VERDICTS[verdict].finding or verdict in ("indeterminate", "unsupported"):
        told = [_accusation(line, made, dtype) for line in guilty]
        told += [_varies(tally) for tally in varied if tally.worst == verdict]
        return verdict, " ".join(told)
    return verdict, _agreement(lines, pairs, made, dtype)


def _undecided(line: Line, made: Made) -> bool:
    """Whether the truth is one of the rivals and neither contradicts itself: they differ, and nobody knows who errs."""
    subjects = {subject.name: subject for subject in made.subjects}
    if made.truth.name not in subjects or line.name == made.truth.name:
        return False
    return not subjects[line.name].contradicts or subjects[made.truth.name].contradicts


def _accusation(line: Line, made: Made, dtype: str) -> str:
    undecided = _undecided(line, made)
    truth = made.truth.name
    place = f" (at {line.where})" if line.where else ""
    if line.verdict == "wrong":
        who = (
            f"{truth} and {line.label} are different functions: they differ"
            if undecided
            else (f"{line.label} is wrong: it is off")
        )
        there = "" if line.rung_abs is None else f" and by {_size(line.rung_abs)} in {line.rung_dtype}"
        what = "difference" if undecided else "error"
        told = (
            f"{who} by {_size(line.abs_max)} in {dtype}{place}{there}: the {what} does not shrink "
            f"with precision{_slope(line)}"
        )
        return f"{told}; {UNDECIDED}." if undecided else f"{told}."
    if line.verdict == "nonfinite_mismatch" and undecided:
        return f"{truth} and {line.label} differ in NaN or infinities: {line.detail}; {UNDECIDED}."
    if line.verdict in NO_VALUE or line.verdict in ("dtype_mismatch", "indeterminate", "nonfinite_mismatch"):
        return f"{line.label}: the result {VERDICTS[line.verdict].sentence}: {line.detail}."
    if line.verdict in ("input_modified", "nondeterministic"):
        return f"{line.label}: the result {VERDICTS[line.verdict].sentence}: {line.detail}."
    largest = f"; largest error {_size(line.abs_max)}{place}" if line.abs_max is not None else ""
    furthest = f"; at the largest rho {line.furthest}" if line.furthest else ""
    return f"{line.label}: the result {VERDICTS[line.verdict].sentence} ({line.detail}){furthest}{largest}."


def _varies(tally: VariantTally) -> str:
    name = tally.target.partition(":")[0]
    return (
        f"{name}, called otherwise ({tally.variant}): the result {VERDICTS[tally.worst].sentence}, in "
        f"{tally.found:,} of {tally.trials:,} trials, by up to {_size(tally.largest)}."
    )


def _slope(line: Line) -> str:
    return "" if line.slope is None else f" (s = {line.slope:.2f})"


def _agreement(lines: Sequence[Line], pairs: Sequence[PairLine], made: Made, dtype: str) -> str:
    names = _list([line.name for line in lines if not line.gradient])
    trials = max(line.trials for line in lines)
    if pairs and all(pair.equal == pair.trials for pair in pairs):
        return f"{names} agree bit for bit in all {trials:,} trials."
    apart = max(
        (pair.abs_max or 0.0 for pair in pairs), default=max((line.abs_max or 0.0 for line in lines), default=0)
    )
    several = len({line.name for line in lines}) > 1
    what = "they differ by up to" if several else "it is off by up to"
    whole = f"{names} {'agree' if several else 'is right'}: {what} {_size(apart)} in {dtype}, which is rounding"
    if all(line.verdict == "exact" for line in lines) and not several:
        whole = f"{names} is right: every result is the number of {dtype} nearest to the truth"
    rung = max((line.rung_abs for line in lines if line.rung_abs), default=None)  # a truth has no error against itself
    other = next((line.rung_dtype for line in lines if line.rung_dtype), None)
    if rung is not None and other is not None:
        whole += f" (errors in {other}: {_size(rung)})"
    if any(line.verdict == "ill_conditioned" for line in lines):
        relative = max(line.rel_max or 0.0 for line in lines)
        whole += f"; relative errors up to {_size(relative)} come from the inputs, not from any function"
    if explained := sum(line.explained for line in lines):
        whole += f"; {explained:,} results are NaN or infinite on one side only, because of the inputs or the range"
    return whole + "." + "".join(_order(line, lines) for line in lines)


def _order(line: Line, lines: Sequence[Line]) -> str:
    """What a long chain of additions costs, against the best of the others."""
    if line.verdict != "accumulation_order" or line.abs_max is None:
        return ""
    others = [other for other in lines if other.verdict != "accumulation_order" and other.abs_max is not None]
    best = min(others, key=lambda other: other.abs_max or 0.0, default=None)
    beside = "" if best is None else f", {_size(best.abs_max)} in {best.name}"
    return (
        f" {line.name} adds one term after the other: errors up to {_size(line.abs_max)}{beside}; "
        "a choice that costs digits, and no wrong formula."
    )


def _size(value: float | None) -> str:
    return "an unknown amount" if value is None else f"{value:.2g}" if value else "0"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
