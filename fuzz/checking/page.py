"""A check's result for a notebook."""

from __future__ import annotations

from html import escape

from fuzz.checking.result import Result
from fuzz.checking.text import closer_table, pair_table, table, variant_table


def html(result: Result) -> str:
    """Verdict, sentence, notes and tables, without scripts."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    parts = [f"<p><b>{escape(result.verdict)}</b>: {escape(result.sentence)}</p>"]
    parts += [f"<ul>{notes}</ul>"] if notes else []
    parts += [_table(table(result))]
    parts += [_table(pair_table(result))] if result.pairs else []
    parts += [_table(closer_table(result))] if result.closer else []
    if result.varied:
        parts += [_table(variant_table(result)), *(f"<p>{escape(line)}</p>" for line in result.bits)]
    parts += [f"<p>example: {escape(result.example)}</p>"] if result.example else []
    parts += [f"<p>truth: {escape(result.known_by)}; again: <code>{escape(result.reproduce)}</code></p>"]
    return "".join(parts)


def _table(rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
