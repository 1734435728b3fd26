"""The rows of one trial under variants, as `ulpfuzz repro` shows them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from results.columns import Row
from results.layout import short
from results.variant_words import AS_UNWRAPPED
from results.verdicts import VERDICTS


def show_variants(out: Console, rows: Sequence[Row]) -> None:
    """A line a variant and output: what it differs by from the unwrapped call, and why that is or is not rounding."""
    against_own = [row for row in rows if row["variant"] and row["against"] != "truth"]
    without = [row for row in rows if row["variant"] and row["against"] == "truth" and row.get("error")]
    if not against_own and not without:
        return
    out.print()
    out.print(Text("Called in other ways, against the unwrapped call", style="bold"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("target", "variant", "largest", "rho", "verdict", "why"):
        table.add_column(heading, overflow="fold")
    several = len({row["output"] for row in against_own}) > 1
    for row in (*against_own, *without):
        verdict = str(row.get("verdict") or AS_UNWRAPPED)
        found = verdict in VERDICTS and VERDICTS[verdict].finding
        output = f" ({row['output']})" if several else ""
        table.add_row(
            f"{row['target']}{output}",
            str(row["variant"]),
            short(_number(row.get("abs_max"))),
            short(_number(row.get("rho_max"))),
            Text(verdict, style="red" if found else ""),
            Text(str(row.get("detail") or "")),
        )
    out.print(table)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
