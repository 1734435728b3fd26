"""The answer in one sentence: bug or rounding?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from results.findings import Accusation
from results.outliers import Blame
from results.verdicts import NO_VALUE, VERDICTS

FLUSHED = "subnormals_flushed"
NAMED = 6
"""Targets that are accused by name where the accusation is one sentence; more are counted."""
LONG = 240
"""Characters up to which an accusation is one sentence; a longer one has a line for each target."""


def headline(groups: Sequence[Accusation], blame: Blame, targets: int, undecided: int, measured: int) -> str:
    """One plain sentence, or two; what is too long for that has lines of its own below the first.

    `groups` are the findings by target, verdict and operator, `blame` the outliers, `targets` the number of targets
    that ran, `undecided` the trials judged `indeterminate`, `measured` the rows with an output.
    """
    flushed = [group for group in groups if group.verdict == FLUSHED]
    if len(flushed) < len(groups):
        others = [group for group in groups if group.verdict != FLUSHED]
        first, accused = _accusation(others, targets)
        return _joined(first, accused, _flushed(flushed), _remaining(blame))
    if flushed:
        first = "No implementation loses more than rounding explains."
        return _joined(first, {}, _flushed(flushed), _remaining(blame))
    if measured == 0:
        return "Nothing was measured: no target gave an output for these problems."
    caveat = f" {_trials(undecided)} could not be decided." if undecided else ""
    if blame.composed_trials:
        return (
            f"No library is to blame: what exceeds rounding, in {_trials(blame.composed_trials)}, are formulations "
            f"that ulpfuzz composed from primitives.{f' {rest}' if (rest := _remaining(blame)) else ''}{caveat}"
        )
    if blame.outliers == 0:
        return (
            f"No implementation is to blame: in {_trials(blame.trials)} nothing exceeds what rounding explains, "
            f"and no relative error exceeds 1e-1.{caveat}"
        )
    if blame.undecided:
        return (
            f"No implementation is to blame for what could be decided: {blame.explained:,} of {blame.outliers:,} "
            f"trials with errors above 1e-1 {_cause(blame)}.{caveat}"
        )
    return f"No implementation is to blame: {_outliers(blame.outliers)} above 1e-1 {_cause(blame)}.{caveat}"


def _joined(first: str, accused: Mapping[str, list[str]], *more: str) -> str:
    """All of it as one text where it is short, else `first` and a line for everything else."""
    rest = [sentence for sentence in more if sentence]
    named = [f"{target} ({', '.join(reasons)})" for target, reasons in list(accused.items())[:NAMED]]
    if len(accused) > NAMED:
        named.append(f"and {len(accused) - NAMED} more")
    whole = " ".join([f"{first.removesuffix('.')}: {'; '.join(named)}." if named else first, *rest])
    lines = [f"{target}: {'; '.join(reasons)}" for target, reasons in accused.items()]
    return whole if len(whole) <= LONG else "\n".join([first, *lines, *rest])


def _accusation(groups: Sequence[Accusation], targets: int) -> tuple[str, dict[str, list[str]]]:
    """The sentence, and what each target is accused of, the worst first."""
    by_target: dict[str, list[Accusation]] = {}
    for group in groups:
        by_target.setdefault(group.target, []).append(group)
    numeric = [g for g in groups if g.verdict not in NO_VALUE]
    blamed = len(by_target)
    if len(numeric) == len(groups):
        does = "loses more than rounding explains" if blamed == 1 else "lose more than rounding explains"
    elif not numeric:
        does = "fails to give a result" if blamed == 1 else "fail to give a result"
    else:
        does = (
            "fails or loses more than rounding explains" if blamed == 1 else "fail or lose more than rounding explains"
        )
    ordered = sorted(by_target.items(), key=lambda item: -max(VERDICTS[g.verdict].severity for g in item[1]))
    sentence = f"{blamed} of {targets} {'target' if targets == 1 else 'targets'} {does}."
    return sentence, {target: _reasons(found) for target, found in ordered}


def _flushed(groups: Sequence[Accusation]) -> str:
    """A policy of the backend rather than an inaccurate operator: said apart."""
    if not groups:
        return ""
    by_target: dict[str, list[Accusation]] = {}
    for group in groups:
        by_target.setdefault(group.target, []).append(group)
    named = "; ".join(
        f"{target} in {_where({g.operator: g.trials for g in found}, {g.operator: g.of_trials for g in found})}"
        for target, found in by_target.items()
    )
    return f"Subnormal numbers are read or written as zero by {named}."


def _reasons(groups: Sequence[Accusation]) -> list[str]:
    by_verdict: dict[str, dict[str, int]] = {}
    for group in groups:
        operators = by_verdict.setdefault(group.verdict, {})
        operators[group.operator] = max(operators.get(group.operator, 0), group.trials)
    runs = {group.operator: group.of_trials for group in groups}
    return [f"{verdict} in {_where(operators, runs)}" for verdict, operators in by_verdict.items()]


def _where(operators: Mapping[str, int], runs: Mapping[str, int]) -> str:
    if len(operators) == 1:
        ((operator, trials),) = operators.items()
        return f"{trials:,} of {runs[operator]:,} trials of {operator}"
    names = sorted(operators, key=lambda operator: (-operators[operator], operator))
    shown = ", ".join(names[:4])
    return f"{len(names)} operators: {shown}" + (", ..." if len(names) > 4 else "")


def _remaining(blame: Blame) -> str:
    rest = blame.explained
    if rest <= 0:
        return ""
    other = "other " if rest < blame.outliers else ""
    return f"The {other}{rest:,} {'trial' if rest == 1 else 'trials'} with errors above 1e-1 {_cause(blame)}."


def _outliers(count: int) -> str:
    return "the one trial with errors" if count == 1 else f"all {count:,} trials with errors"


def _cause(blame: Blame) -> str:
    text = "has an ill-conditioned input" if blame.explained == 1 else "have ill-conditioned inputs"
    return f"{text} or, in {_trials(blame.ordered)}, the order of summation" if blame.ordered else text


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count:,} trials"
