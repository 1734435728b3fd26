"""Rates as bars on a logarithmic axis: a row of a table for each, so that long names wrap and figures can be read."""

from __future__ import annotations

from collections.abc import Mapping

from results.contents.rates import PUBLISHED, TARGET, RateLine, RatePanel, Rates
from results.html import escape, svg
from results.html.scale import LogScale, log_scale, percent_tick

WIDTH, HEIGHT, AXIS = 400.0, 26.0, 22.0
START, END = 30.0, 372.0


def forest(rates: Rates, colour: Mapping[str, str]) -> str:
    """All events on one axis, a row for each interval."""
    scale = axis([line for panel in rates.panels for line in panel.lines])
    bodies = "".join(_panel(panel, scale, colour) for panel in rates.panels)
    return (
        '<div class="box"><table class="forest"><thead><tr><th scope="col">whose</th>'
        '<th scope="col" class="n">trials</th><th scope="col" class="n">rate</th>'
        '<th scope="col" class="bar">95 % interval</th></tr></thead>'
        f'{bodies}<tfoot><tr><td colspan="3"></td><td class="bar">{_ticks(scale)}</td></tr></tfoot></table></div>'
    )


def axis(lines: list[RateLine]) -> LogScale:
    """From below the smallest interval that does not begin at 0 to 100 %."""
    intervals = [line.interval for line in lines]
    values = [value for own in intervals for value in (own.low, own.rate, own.high)]
    scale = log_scale([*values, 1.0], START, END)
    return LogScale(max(scale.low, -9), 0, START, END)


def _panel(panel: RatePanel, scale: LogScale, colour: Mapping[str, str]) -> str:
    published = next((line for line in panel.lines if line.kind == PUBLISHED), None)
    rows = "".join(_row(line, scale, colour, published) for line in panel.lines)
    more = f'<tr><td colspan="4" class="note">and {panel.more:,} more: see the tables</td></tr>' if panel.more else ""
    event = f'<tr class="event"><th scope="rowgroup" colspan="4">{escape.text(panel.event)}</th></tr>'
    return f"<tbody>{event}{rows}{more}</tbody>"


def _row(line: RateLine, scale: LogScale, colour: Mapping[str, str], published: RateLine | None) -> str:
    kind = colour.get(line.target, "other") if line.kind == TARGET else line.kind
    return (
        f'<tr class="{line.kind}"><th scope="row">{escape.shortened(line.name, escape.SHORT)}</th>'
        f'<td class="n">{line.counted}</td><td class="n">{line.text}</td>'
        f'<td class="bar">{_bar(line, scale, kind, published)}</td></tr>'
    )


def _bar(line: RateLine, scale: LogScale, kind: str, published: RateLine | None) -> str:
    """The interval, and the rate as a point; an arrow where the interval begins at 0."""
    middle = HEIGHT / 2
    low, high = scale.at(line.interval.low), scale.at(line.interval.high)
    parts = [svg.line(scale.decade(k), 0, scale.decade(k), HEIGHT, "grid") for k in scale.ticks(7)]
    if published is not None:
        band = scale.at(published.interval.low), scale.at(published.interval.high)
        parts.insert(0, svg.rectangle(band[0], 0, band[1] - band[0], HEIGHT, "band"))
        at = scale.at(published.interval.rate)
        parts.append(svg.line(at, 0, at, HEIGHT, "guide"))
    if line.interval.low > 0:
        parts += [svg.line(low, middle, high, middle, f"whisker {kind}")]
        parts += [svg.line(end, middle - 5, end, middle + 5, f"whisker {kind}") for end in (low, high)]
    else:
        tip = START - 8
        arrow = [(tip + 7, middle - 5), (tip, middle), (tip + 7, middle + 5)]
        parts += [svg.line(tip, middle, high, middle, f"whisker {kind}"), svg.polyline(arrow, f"whisker {kind}")]
        parts += [svg.line(high, middle - 5, high, middle + 5, f"whisker {kind}")]
    if line.interval.rate > 0:
        parts.append(svg.point(scale.at(line.interval.rate), middle, 4.5, f"rate {kind}"))
    said = f"{line.name}: {line.text}"
    return svg.drawing(WIDTH, HEIGHT, parts, label=said, name="plot strip-plot")


def _ticks(scale: LogScale) -> str:
    parts = [svg.label(scale.decade(k), 14, percent_tick(k), "tick", "middle") for k in scale.ticks(5)]
    return svg.drawing(WIDTH, AXIS, parts, label="axis of rates in per cent", name="plot strip-plot")
