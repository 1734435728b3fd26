"""Random TVM schedules: are they legal, do they keep the bits they have to keep, what does TVM miscompile?

    python benchmarks/schedules.py [--schedules 1000] [--operators softmax,conv2d] [--seed 0]
    python benchmarks/schedules.py --meta 120
    python benchmarks/schedules.py --unsafe 100

The schedules are spread over the operators and each runs one trial in this process. Exit code 1 if one does not compile
or is accused of anything. `--meta` does the same with samples of the design space of TVM's meta_schedule, which may
refuse some. With `--unsafe`, campaigns with `--unsafe-schedules` look for what TVM miscompiles, and the table says
after how many schedules of an operator each kind was found; exit code 1 if one kind was not.
"""

# ruff: noqa: E402

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "quality"))

from fuzz.workers.supervisor import limit_threads

limit_threads()

from random_schedules import HEADINGS, OPERATORS, Tally, tally
from unsafe_schedules import KINDS, search


def safe(schedules: int, operators: list[str], seed: int, kind: str = "schedule") -> int:
    """Print the table of legal schedules; 1 where one was not. `kind` is the option of the target that they are."""
    print(f"| {' | '.join(HEADINGS)} |")
    print("|---" * len(HEADINGS) + "|")
    tallies: list[Tally] = []
    for name in operators:
        found = tally(name, -(-schedules // len(operators)), seed, kind=kind)
        tallies.append(found)
        print(found.line(), flush=True)
        for alarm in found.alarms:
            print(f"ALARM: {alarm}", flush=True)
    total = sum(found.schedules for found in tallies)
    alarms = sum(len(found.alarms) for found in tallies)
    primitives = sum((found.primitives for found in tallies), start=Counter[str]())
    due, equal = sum(found.due for found in tallies), sum(found.equal for found in tallies)
    refused = sum(found.refused for found in tallies)
    sampled = f"{total + refused} samples, {refused} refused, {total} compiled"
    what = f"{total} schedules" if kind == "schedule" else sampled
    print(f"\n{what}, {alarms} alarms; bits due in {due}, equal in {equal}")
    print("primitives: ", end="")
    print(", ".join(f"{name} {count}" for name, count in primitives.most_common()))
    return 1 if alarms else 0


def unsafe(schedules: int, seed: int) -> int:
    """Print what was found first of each kind of miscompilation; 1 where one was not found."""
    found = search(schedules, seed)
    print("| kind | schedules until found | operator | verdict | schedule | primitives |")
    print("|---|---|---|---|---|---|")
    for kind, first in found.items():
        print(f"| {kind} | {first.line() if first else f'not in {schedules} | | | |'} |")
    return 0 if all(found.values()) and set(found) == set(KINDS) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=1000, help="legal schedules over all operators (default 1000)")
    parser.add_argument("--operators", default="", help="comma-separated (default all)")
    parser.add_argument("--meta", type=int, default=0, metavar="N", help="N samples of meta_schedule instead")
    parser.add_argument("--unsafe", type=int, default=0, metavar="N", help="N unsafe schedules an operator instead")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.unsafe:
        return unsafe(arguments.unsafe, arguments.seed)
    names = [name for name in arguments.operators.split(",") if name] or list(OPERATORS)
    if arguments.meta:
        return safe(arguments.meta, names, arguments.seed, "meta_schedule")
    return safe(arguments.schedules, names, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
