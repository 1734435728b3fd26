"""Findings as cards: what, how often, what it was shrunk to, the commands and the script."""

from __future__ import annotations

from results.contents.findings import Found, Item
from results.html import escape
from results.html.tables import code, paragraphs


def cards(found: Found, everything: str) -> str:
    """All findings by verdict; `everything` is the command that lists those left out."""
    title = "new " if found.by_file else ""
    parts = [_group(found.new) or f"<p>No {title}findings.</p>"]
    if found.known:
        parts += ["<h3>Known findings</h3>", _group(found.known)]
    if found.notes:
        parts += ["<h3>The file of known findings</h3>", paragraphs(found.notes)]
    if found.composed:
        parts += ["<h3>Composed from primitives by ulpfuzz: not blamed on the library</h3>", _group(found.composed)]
    if found.more:
        parts.append(f'<p class="note">And {found.more:,} more:</p>{code(everything)}')
    return "".join(parts)


def _group(items: tuple[Item, ...]) -> str:
    """Findings with what their verdict means, said once."""
    parts, before = [], None
    for item in items:
        if item.verdict != before:
            parts.append(f'<p class="note"><b>{escape.text(item.verdict)}</b>: {escape.text(item.sentence)}</p>')
            before = item.verdict
        parts.append(_card(item))
    return "".join(parts)


def _card(item: Item) -> str:
    kind = "composed" if item.composed else "known" if item.known else "new"
    body = [
        f'<h3><span class="verdict">{escape.text(item.verdict)}</span> {escape.shortened(item.title)}</h3>',
        f"<p>{escape.text(item.often)}</p>",
    ]
    if item.known:
        body.append(f"<p>Known: {escape.shortened(item.known)}</p>")
    if item.detail:
        body.append(f"<p>{escape.shortened(item.detail)}</p>")
    if item.shrunk:
        body.append(f'<p class="shrunk">{escape.shortened(item.shrunk)}</p>')
    body.append(code(f"{item.repeat}  # finding {item.id}"))
    body.append(_script(item))
    return f'<article class="card {kind}" id="finding-{escape.text(item.id)}">{"".join(body)}</article>'


def _script(item: Item) -> str:
    """The script behind a click; or why it is not here, and what writes it."""
    text = item.script.text
    if text:
        lines = text.count("\n")
        return (
            f'<details class="program"><summary>stand-alone script, {lines} lines</summary>{code(text, lines=True)}'
            '<p class="note">Made of the shrunk case for this page and not run by it; this command writes it and runs '
            f"it once:</p>{code(item.write)}</details>"
        )
    why = item.script.why_not or "this page was written without scripts"
    said = escape.prose(why) if len(why) <= escape.LONG else escape.shortened(why)
    told = f'<p class="note">No script here: {said}. To write one, and run it once:</p>'
    return told + code(item.write)
