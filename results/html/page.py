"""The whole page: headline first, then the sections of each campaign."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from results.contents.findings import Script
from results.contents.setting import place, what_ran
from results.findings import findings
from results.html import escape
from results.html.sections import Section, sections
from results.html.tables import paragraphs
from results.reading import Results
from results.report import answer

if TYPE_CHECKING:
    from results.known import Sorted


LONG = 240
"""Characters of a headline that is set in smaller type."""


def page(
    results: Results,
    known: Sequence[Sorted | None] = (),
    scripts: Sequence[Mapping[str, Script]] = (),
) -> str:
    """The HTML of the campaigns in `results`, one after the other.

    `known` holds the findings of each by what is known of them, `scripts` the texts of stand-alone scripts by id of a
    finding; both in the order of the directories, or empty.
    """
    number = len(results.directories)
    campaigns = []
    for position, directory in enumerate(results.directories):
        one = results if number == 1 else Results([directory], verify=False)
        sorted_ = known[position] if known else None
        texts = scripts[position] if scripts else {}
        campaigns.append(_campaign(one, sorted_, texts, position))
    title = _title(results)
    style, script = _asset("style.css"), _asset("script.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<meta{escape.attributes(http_equiv='Content-Security-Policy', content=policy)}>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape.text(title)}</title>\n<style>{style}</style>\n</head>\n'
        f"<body>\n<main>\n{''.join(campaigns)}</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _campaign(results: Results, known: Sorted | None, scripts: Mapping[str, Script], position: int) -> str:
    groups = findings(results)
    kind = "bad" if groups else "good"
    made = sections(results, known, scripts)
    prefix = f"c{position + 1}-"
    links = "".join(f'<a href="#{prefix}{section.name}">{escape.text(section.title)}</a>' for section in made)
    body = "".join(_section(section, prefix) for section in made)
    said, *more = answer(results, groups).split("\n")
    kind += " long" if len(said) > LONG else ""
    headline = escape.shortened(said, 2000)
    items = "".join(f"<li>{escape.shortened(line, 2000)}</li>" for line in more)
    headline += f'</h1><ul class="said">{items}</ul>' if more else "</h1>"
    return (
        f"<article{escape.attributes(class_='campaign', data_place=place(results))}>\n"
        f'<header><p class="title">{escape.shortened(_title(results))}</p><h1 class="{kind}">{headline}'
        f"{paragraphs(what_ran(results))}</header>\n<nav>{links}</nav>\n{body}</article>\n"
    )


def _section(section: Section, prefix: str) -> str:
    return (
        f'<section id="{prefix}{section.name}" class="{section.name}">'
        f"<h2>{escape.text(section.title)}</h2>{section.body}</section>\n"
    )


def _title(results: Results) -> str:
    if len(results.directories) > 1:
        return f"ulpfuzz: {len(results.directories)} campaigns"
    given = results.manifest.get("title")
    return f"{given or results.directories[0].name}: ulpfuzz report"


def _asset(name: str) -> str:
    return resources.files("results.html").joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    """What a browser compares an inline script with before it runs it: text from a campaign can never be one."""
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"
