"""`ulpfuzz plan`: how many trials a comparison or a claim needs."""

from __future__ import annotations

from fuzz.errors import UserError

_EXAMPLES = "e.g. --rate 0.0076 --against 0.0152, or --below 0.001"


def plan(rate: float | None, against: str | None, power: float, tests: int, below: float | None, as_json: bool) -> int:
    """Print the trials that tell `rate` from `against`, or that exclude a rate of `below`; 0.

    UserError for a combination that asks nothing, and for numbers that are no rates.
    """
    from fuzz.terminal import console
    from results.comparison.plain import planned_json
    from results.comparison.plans import Planned, to_exclude, to_tell
    from results.comparison.report_plans import print_planned

    if rate is None and against is None and below is None:
        raise UserError(f"nothing to plan: give --rate and --against, or --below, {_EXAMPLES}")
    if (rate is None) != (against is None):
        given, missing = ("--rate", "--against") if against is None else ("--against", "--rate")
        raise UserError(f"{given} without {missing}: give the two rates that shall be told apart, {_EXAMPLES}")
    told = excluded = None
    try:
        if rate is not None and against is not None:
            other, published = _against(against)
            told = to_tell(_rate("--rate", rate), other, power, tests, published)
        if below is not None:
            excluded = to_exclude(_rate("--below", below))
    except ValueError as error:
        raise UserError(f"cannot plan: {error}") from None
    found = Planned(told, excluded)
    if as_json:
        print(planned_json(found))
    else:
        print_planned(found, console())
    return 0


def _against(text: str) -> tuple[float, tuple[int, int] | None]:
    """A rate, or a published count K/N with its rate."""
    from results.manifest import published_counts

    if "/" in text:
        counts = published_counts({"published": text})
        assert counts is not None
        return counts[0] / counts[1], counts
    try:
        return _rate("--against", float(text)), None
    except ValueError:
        raise UserError(
            f"--against {text!r} is no rate: give a number, e.g. 0.0152, or a published count 38/5000"
        ) from None


def _rate(option: str, rate: float) -> float:
    if not 0 < rate < 1:
        raise UserError(f"{option} {rate!r} is no rate: give a number between 0 and 1, e.g. 0.0076")
    return rate
