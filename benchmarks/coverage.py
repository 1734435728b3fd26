"""How often the intervals of results.statistics hold the truth, and how often its tests raise a false alarm: simulated.

    python benchmarks/coverage.py [--repetitions 2000] [--only tails biases] [--write]

Minutes. Seeds are fixed: two runs print the same. `--write` puts the table, and that of what plans permit, into
docs/statistics.md. Exit code 1 when a figure lies outside its bound by more than three standard errors of simulation.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import coverage_rates  # noqa: F401 its simulations register themselves
import coverage_sizes  # noqa: F401 its simulations register themselves
from coverage_lines import SIMULATIONS, Line, lines

from results.permitted import markdown

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"


def table(found: Iterable[Line]) -> str:
    """As Markdown; contrasts in italics."""
    head = ["| function | simulated | measure | figure | bound |", "|---|---|---|---:|---|"]
    rows = [
        f"| {_name(line)} | {line.case} | {line.measure} | {line.figure:.3f} | {line.bound}"
        f"{'' if line.kept else ' **not kept**'} |"
        for line in found
    ]
    return "\n".join([*head, *rows])


def _name(line: Line) -> str:
    if line.contrast:
        return f"*not so: {line.function}*"
    name, _, how = line.function.partition(", ")
    return f"`{name}`, {how}" if how else f"`{name}`"


def write(name: str, text: str) -> None:
    """Put the text between the markers of that name on the page."""
    page = PAGE.read_text()
    marked = re.compile(rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
    if not marked.search(page):
        raise SystemExit(f"{PAGE} has no markers <!-- {name}: begin --> and end")
    PAGE.write_text(marked.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--only", nargs="+", choices=sorted(SIMULATIONS), default=list(SIMULATIONS))
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE}")
    options = parser.parse_args()
    if options.write and options.only != list(SIMULATIONS):
        parser.error("--write needs every simulation: leave out --only")
    found = [line for name in options.only for line in lines(name, options.repetitions)]
    failed = [line for line in found if not line.kept]
    print(table(found))
    print(f"\n{len(found)} lines of {options.repetitions:,} repetitions, {len(failed)} outside their bounds")
    if options.write:
        command = f"python benchmarks/coverage.py --repetitions {options.repetitions} --write"
        write("coverage", f"Made by `{command}`.\n\n{table(found)}")
        write("permitted", markdown())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
