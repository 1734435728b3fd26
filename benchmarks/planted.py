"""Planted faults: what share of trials is flagged, and what share of those gets the right class.

    python benchmarks/planted.py [--trials 20] [--operators softmax,conv2d] [--write]

Prints a Markdown table; `--write` puts it into docs/planted-faults.md. Exit code 1 if a fault is missed (flagged in
less than 95 % of trials) or misnamed (in more than 10 % of flagged trials), or if a harmless variant is accused.
"""

# ruff: noqa: E402

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "quality"))

from fuzz.workers.supervisor import limit_threads

limit_threads()

from planted_table import ALL, FLAGGED_SHARE, NAMED_SHARE, Score, score

PAGE = ROOT / "docs" / "planted-faults.md"

INTRODUCTION = """# Planted faults

    python benchmarks/planted.py --trials {trials} --write

{faults} kernels with one fault each, in {operators} operators, ran {trials} trials on inputs that show the fault. *flagged* is the
share of trials that are findings, *named* the share of these with the verdict due; at least {flagged:.0%} and
{named:.0%} are wanted. Harmless variants, whose verdict due accuses nobody, must not be flagged at all. *rho* is the
largest error in error bounds, on either rung of the precision ladder.

What the classes cannot tell apart:

* A float32 constant inside float64 (`short_pi`, `12_bit_estimate`) is a wrong constant and a silent downcast at once:
  either verdict is due.
* Overflow of `x * x` inside `norm` is excused: the reference is the textbook formula.
* A relative error of 1e-6 in a 16-bit kernel with float32 inside stays below the rounding of its result, and in float32
  it is a matter of the float32 kernel's own rows: 16-bit faults here are 1e-4 and more.
* Where the effect is 1/n (`n_minus_1`, `ddof`) or constant (1e-6), conditioning hides it for large n: n is small here.
"""  # noqa: E501


def lines(scores: Sequence[Score]) -> Iterator[str]:
    """A row of the table for each fault, dtypes with the same answer together."""
    yield "| operator | fault | inputs | dtype | verdict due | flagged | named | seen | rho |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for one in scores:
        d = one.defect
        inputs = ", ".join(sorted(set(d.inputs.values())))
        named = f"{one.named / one.flagged:.0%}" if one.flagged and not one.harmless else "-"
        seen = ", ".join(f"{verdict} {count}" for verdict, count in one.seen.most_common())
        yield (
            f"| {d.operator} | {d.name} | `{inputs}` | {d.dtype} | {' or '.join(d.verdicts)} | "
            f"{one.flagged / one.trials:.0%} | {named} | {seen} | {one.largest:.2g} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20, help="trials of each fault (default 20)")
    parser.add_argument("--operators", default="", help="comma-separated (default all)")
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    wanted = set(filter(None, arguments.operators.split(",")))
    scores = [score(fault, arguments.trials) for fault in ALL if not wanted or fault.operator in wanted]
    operators = {one.defect.operator for one in scores}
    due = [one for one in scores if not one.harmless]
    trials, flagged = sum(one.trials for one in due), sum(one.flagged for one in due)
    summary = (
        f"{len(scores)} faults in {len(operators)} operators, {sum(one.trials for one in scores)} trials: "
        f"{flagged / trials:.2%} of {trials} flagged, "
        f"{sum(one.named for one in due) / flagged:.2%} of these named right; "
        f"{len(scores) - len(due)} harmless variants, {sum(one.flagged for one in scores if one.harmless)} flagged"
    )
    missed = [one for one in scores if not one.passed]
    table = "\n".join([*lines(scores), "", summary])
    print(table)
    for one in missed:
        print(f"MISSED: {one.defect.operator} {one.defect.name} {one.defect.dtype}: {dict(one.seen)}; {one.other}")
    if arguments.write:
        head = INTRODUCTION.format(
            trials=arguments.trials,
            faults=len(scores),
            operators=len(operators),
            flagged=FLAGGED_SHARE,
            named=NAMED_SHARE,
        )
        PAGE.write_text(f"{head}\n{table}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
