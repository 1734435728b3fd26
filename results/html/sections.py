"""The sections of a campaign, in the order of the page. A section that has nothing to say is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from results.accuracy import EXHAUSTIVE
from results.contents import accuracy, closer, findings, operators, rates, setting, variants, why
from results.contents.table import Table
from results.growth_words import explained
from results.growths import growths, tell
from results.html import escape, points
from results.html.colours import colours, legend
from results.html.distribution import curves, ecdf, shares
from results.html.findings import cards
from results.html.forest import forest
from results.html.growth import MOST_PLOTS, plot
from results.html.ladder import ladder
from results.html.reading import how_to_read
from results.html.scatter import caption, scatter
from results.html.tables import notes, paragraphs, table
from results.html.worst import worst_table
from results.report_search import SEARCH
from results.tallies import verdict_counts

if TYPE_CHECKING:
    from results.known import Sorted
    from results.reading import Results


class Section(Struct, frozen=True):
    """A heading and the HTML below it."""

    name: str
    """For links."""
    title: str
    body: str


def sections(results: Results, known: Sorted | None, scripts: Mapping[str, findings.Script]) -> list[Section]:
    """What the page says about one campaign; sections without content are left out."""
    lines = operators.lines(results)
    colour = _colours(results, lines)
    found = findings.found(results, known, scripts)
    exhaustive = results.plan == EXHAUSTIVE
    made = [
        Section("issues", "Operators with accuracy issues", _issues(lines)),
        Section("accuracy", "Accuracy at every number", table(accuracy.accuracy(results)) if exhaustive else ""),
        Section("champions", "Champions: the worst inputs that were found", _champions(results)),
        Section("decision", "The decision that was asked for", _table(why.decisions(results))),
        Section("operators", "Operators and targets", _operators(results, lines)),
        Section("pairs", "Targets against each other", _table(why.pairs(results))),
        Section("closer", closer.TITLE, _closer(results)),
        Section("variants", "Variants: called in another way", _variants(results)),
        Section("scatter", "Error against amplification", _scatter(results, colour)),
        Section("rates", "How often, with intervals", _rates(results, colour)),
        Section("ladder", "The ladder of relative errors", _ladder(lines)),
        Section("rho", "How rho is distributed", _ecdf(results, colour)),
        Section("growth", "How the error grows", _growth(results, colour)),
        Section("findings", f"Findings ({len(found.new)})", cards(found, setting.command(results, "findings"))),
        Section("undecided", "Not decided", paragraphs(setting.not_decided(results))),
        Section("targets", "What ran", table(setting.targets(results)) + paragraphs(setting.missing(results))),
        Section("bits", "Identical bits", paragraphs(why.equal_bits(results))),
        Section("environment", "Environment", _environments(results)),
        Section("reading", "How to read this", how_to_read(_occurred(results))),
    ]
    return [section for section in made if section.body]


def _closer(results: Results) -> str:
    content = closer.closer(results)
    if content is None:
        return ""
    return table(content) if content.rows else notes(content.notes)


def _colours(results: Results, lines: Sequence[operators.Line]) -> dict[str, str]:
    """Targets with an output get the first colours."""
    return colours(sorted({line.target for line in lines if line.trials}))


def _variants(results: Results) -> str:
    content = variants.variants(results)
    if content is None:
        return ""
    said, *others = variants.sentences(results)
    return paragraphs((said,)) + table(content) + paragraphs(tuple(others))


def _issues(lines: Sequence[operators.Line]) -> str:
    content = operators.issues(lines)
    healthy = operators.healthy_sentence(lines)
    rest = f"<p>{escape.text(healthy)}</p>" if healthy else ""
    if content.rows:
        return table(content, "data issues") + rest
    if not any(line.trials for line in lines):
        return "<p>Nothing was measured: no target gave an output.</p>"
    return f"<p>None: nothing exceeds what rounding and conditioning explain.</p>{rest}"


def _champions(results: Results) -> str:
    return _table(why.champions_table(results)) if results.plan == SEARCH else ""


def _table(content: Table | None) -> str:
    return "" if content is None or not content.rows else table(content)


def _operators(results: Results, lines: Sequence[operators.Line]) -> str:
    refused = why.no_rate(results)
    shares = "counts, with their share of the trials that were measured"
    said = f"{shares}. These are no rates: {refused}." if refused else f"{shares}; intervals are below."
    return table(operators.everything(results, lines)) + notes((said[0].upper() + said[1:],))


def _scatter(results: Results, colour: Mapping[str, str]) -> str:
    parts = []
    for sample in points.samples(results):
        if not sample.points:
            continue
        shown = {point.target for point in sample.points}
        parts.append(
            f"<figure><figcaption>{escape.text(sample.dtype)}</figcaption>{legend(colour, shown)}"
            f'<div class="box">{scatter(sample, colour)}</div>'
            f'<p class="note">{escape.text(caption(sample))}</p>'
            f"<details><summary>the worst of them</summary>{worst_table(results, sample)}</details></figure>"
        )
    if not parts:
        return ""
    outliers = paragraphs(why.outlier_lines(results))
    lead = f"<h3>How the outliers arise (relative error above 1e-1)</h3>{outliers}" if outliers else ""
    said = (
        "Each dot is an element of an output: its relative error against how much it amplifies one rounding. On the "
        "solid line the error is u times the amplification (rho = 1); above the dashed red one (rho = 2) it is more "
        "than rounding explains. Large dots are outliers. Point at a dot for its trial and the command that repeats it."
    )
    return f"<p>{said}</p>{''.join(parts)}{lead}"


def _rates(results: Results, colour: Mapping[str, str]) -> str:
    found = rates.rates(results)
    published = paragraphs(why.published_lines(results))
    if found.refused:
        return f"<p>No rates: {escape.shortened(found.refused)}.</p>{published}"
    return forest(found, colour) + notes(found.notes) + published


def _ladder(lines: Sequence[operators.Line]) -> str:
    drawn = ladder(lines)
    if not drawn:
        return ""
    return (
        "<p>Which relative errors occur: the ladder of tolerances (rtol, with atol 0) that a test would fail, and the "
        f"share of trials that fail it. It measures the inputs as much as the implementation.</p>{drawn}"
    )


def _ecdf(results: Results, colour: Mapping[str, str]) -> str:
    found = curves(results)
    if not found:
        return ""
    shown = {curve.target for curve in found}
    told = tuple(f"{shares(curve)}." for curve in found)
    return (
        f'<figure>{legend(colour, shown)}<div class="box">{ecdf(found, colour)}</div></figure>'
        f"<p>The share of results whose largest rho is at most the value on the axis. Results right of the dashed line "
        f"(rho = 2) are flagged, but where subnormal numbers read as zero explain them; exact ones (rho = 0) are at "
        f"the left edge.</p>{paragraphs(told)}"
    )


def _growth(results: Results, colour: Mapping[str, str]) -> str:
    parts = []
    panels = growths(results)
    for growth in panels[:MOST_PLOTS]:
        shown = {series.target for series in growth.series}
        title = f"{growth.title}: with {growth.axis}"
        told = paragraphs(tuple(tell(series, growth) for series in growth.series))
        parts.append(
            f"<figure><figcaption>{escape.shortened(title)}</figcaption>{legend(colour, shown)}"
            f'<div class="box">{plot(growth, colour)}</div>{told}</figure>'
        )
    if not parts:
        return ""
    more = (f"And {len(panels) - MOST_PLOTS} more.",) if len(panels) > MOST_PLOTS else ()
    return f'{paragraphs(explained(panels))}<div class="plots">{"".join(parts)}</div>{paragraphs(more)}'


def _environments(results: Results) -> str:
    parts = []
    for facts in setting.environments(results):
        rows = "".join(
            f'<tr><th scope="row">{escape.text(name)}</th><td>{escape.shortened(value)}</td></tr>'
            for name, value in facts.values
        )
        listed = f'<div class="box"><table class="facts"><tbody>{rows}</tbody></table></div>'
        parts.append(f"<h3>{escape.text(facts.name)}</h3>{listed}")
    return "".join(parts)


def _occurred(results: Results) -> set[str]:
    return {name for counts in verdict_counts(results).values() for name in counts}
