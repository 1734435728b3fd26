"""How to read the page: what rho, verdicts and rates are."""

from __future__ import annotations

from collections.abc import Collection

from results.html import escape
from results.verdicts import VERDICTS, Verdict

_TEXT = (
    (
        "rho",
        "For each element, E is the error, in units of the unit roundoff u, that a backward stable evaluation may "
        "have: one rounding of every input, one of every operation, the square root of n for a sum of n terms. "
        "rho = |error| / (u E). Up to 1 rounding and conditioning explain the error; up to 2 it is borderline; above 2 "
        "the element is flagged.",
    ),
    (
        "amplification",
        "E / |truth|: by how much the element magnifies one rounding. Where u times the amplification is near 1, no "
        "digit of the result is certain, whoever computed it: a large relative error there says nothing against an "
        "implementation.",
    ),
    (
        "flagged",
        "A flagged trial has an element of rho above 2, and more than subnormal numbers read as zero. It is run once "
        "more in another precision before it gets a verdict: what does not shrink with the precision is wrong, what "
        "does is unstable.",
    ),
    (
        "a rate",
        "The share of trials with an event, with an interval that holds the true rate in at least 95 of 100 campaigns. "
        "It is a rate of the inputs that this campaign draws (one problem of a fixed plan, the population of a "
        "survey): no rate of your data, and none of operators. Plans that look for failures have no rates.",
    ),
)


def how_to_read(occurred: Collection[str]) -> str:
    """Definitions, and the verdicts: those that occurred first, all others behind a click."""
    terms = "".join(f"<dt>{escape.text(term)}</dt><dd>{escape.text(said)}</dd>" for term, said in _TEXT)
    here = [verdict for verdict in VERDICTS.values() if verdict.name in occurred]
    others = [verdict for verdict in VERDICTS.values() if verdict.name not in occurred]
    return (
        f"<dl>{terms}</dl><h3>Verdicts, in order of severity</h3>"
        f"<dl>{''.join(_verdict(verdict) for verdict in here)}</dl>"
        f"<details><summary>verdicts that did not occur ({len(others)})</summary>"
        f"<dl>{''.join(_verdict(verdict) for verdict in others)}</dl></details>"
    )


def _verdict(verdict: Verdict) -> str:
    kind = "bad" if verdict.finding else ""
    counts = " Counts against the implementation." if verdict.finding else ""
    said = f"The result {escape.text(verdict.sentence)}.{counts}"
    return f'<dt><code class="{kind}">{verdict.name}</code></dt><dd>{said}</dd>'
