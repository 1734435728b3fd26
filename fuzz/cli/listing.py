"""`ulpfuzz list`: what can be named on the command line. Needs none of the backends' libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fuzz.backends import BACKENDS
from fuzz.errors import unknown
from fuzz.extensions import load_entry_points, load_extension
from fuzz.operators import OPERATORS
from fuzz.terminal import console
from fuzz.variants import FAMILIES
from strategies.recipes import RECIPES


def show(what: str, extensions: Sequence[Path]) -> int:
    """Print one list; UserError for a list that does not exist."""
    if what not in _LISTS:
        raise unknown("list", what, _LISTS)
    load_entry_points()
    for path in extensions:
        load_extension(path)
    _LISTS[what](console())
    return 0


def _table(out: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)


def _operators(out: Console) -> None:
    rows = []
    for name, operator in OPERATORS.items():
        contract = operator.contract
        inputs = ", ".join(f"{spec.name}({','.join(map(str, spec.dims))})" for spec in contract.inputs)
        attributes = ", ".join(f"{key}={spec.default}" for key, spec in contract.attributes)
        offered = ", ".join(b.name for b in BACKENDS.values() if name in b.implementations)
        rows.append((name, inputs, attributes, offered, contract.doc))
    _table(out, ("operator", "inputs(dims)", "attributes", "backends", "what it computes"), rows)


def _backends(out: Console) -> None:
    rows = []
    for backend in BACKENDS.values():
        missing = backend.missing()
        options = "; ".join(f"{o.name}={'|'.join(o.choices) or o.example or o.default}" for o in backend.options)
        rows.append((backend.name, "installed" if missing is None else missing, options, backend.doc))
    _table(out, ("backend", "state", "options", "what it is"), rows)


def _options(out: Console) -> None:
    rows = []
    for backend in BACKENDS.values():
        for o in backend.options:
            values = ", ".join(o.choices) or f"e.g. {o.example}"
            random = ", ".join(o.values) if len(o.values) > 1 else "only by name"
            rows.append((backend.name, o.name, values, o.default, random, o.doc))
    _table(out, ("backend", "option", "values", "default", "drawn by --options", "what it does"), rows)


def _targets(out: Console) -> None:
    rows = []
    for backend in BACKENDS.values():
        if backend.missing() is not None:
            continue
        for device in backend.devices():
            for operator, offered in backend.implementations.items():
                for i in offered:
                    rows.append(
                        (f"{backend.name}:{device}", operator, i.name, i.provenance, " ".join(i.dtypes), i.source)
                    )
    _table(out, ("target", "operator", "formulation (impl=)", "provenance", "dtypes", "library call or formula"), rows)


def _recipes(out: Console) -> None:
    rows = [(entry.example, entry.doc) for entry in RECIPES.values()]
    _table(out, ("recipe", "population of one element"), rows)


def _variants(out: Console) -> None:
    rows = [
        (family.name, ", ".join(filter(None, family.values)) or "-", "yes" if family.in_all else "no", family.doc)
        for family in FAMILIES.values()
    ]
    _table(out, ("family", "values the name stands for", "in all", "what it does"), rows)


_LISTS: dict[str, Callable[[Console], None]] = {
    "operators": _operators,
    "backends": _backends,
    "options": _options,
    "targets": _targets,
    "recipes": _recipes,
    "variants": _variants,
}
