"""Shrinking: how small findings become, what it costs, whether they stay the failures they were.

    python benchmarks/shrinking.py [--slippage 50] [--schedules]

Prints Markdown. `--schedules` adds what TVM miscompiles (needs the extra `tvm`, a minute each). Exit code 1 where a
size, an effort or the guard is not what docs/shrinking.md promises.
"""

# ruff: noqa: E402

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "quality"))

from fuzz.workers.supervisor import limit_threads

limit_threads()

from planted_defects import NORMAL, Defect, gelu_by_tanh, sum_in_bfloat16
from planted_table import ALL, identify
from shrinking_setting import Result, shrunk
from test_shrinking import IMAGE, LONG, wrong_eps

from fuzz.shrinking.record import summary_of
from fuzz.shrinking.search import Limits

SCHEDULES = {
    "rfactor after a split": ("sum", "rows=13,n=9", "2.0.5.13.0.0.4"),
    "empty lanes": ("sum", "rows=13,n=9", "13.0.15.1.3.0.2.1.4"),
    "an unguarded split": ("sum", "rows=13,n=37", "2.0.13.1"),
}
"""What is miscompiled, with moves that have nothing to do with it."""
MOST_EVALUATIONS, MOST_SECONDS, MOST_TERMS = 1000, 10.0, 32
MOST_PRIMITIVES, MOST_SIZE = 3, 16
SECONDS = "300s"


def cases() -> Iterator[tuple[str, Defect, int, int]]:
    """Name, fault, seed, most elements."""
    for seed in range(5):
        yield (
            f"batch_norm 2 x 32 x 28 x 28, wrong eps, seed {seed}",
            Defect("batch_norm", "eps_1e3_image", wrong_eps, {}, ("wrong",), IMAGE),
            seed,
            5,
        )
    for seed in range(3):
        yield (
            f"sum of 1,024 in bfloat16, seed {seed}",
            Defect("sum", "bfloat16_1024", sum_in_bfloat16, {"x": NORMAL}, ("low_precision",), LONG),
            seed,
            MOST_TERMS,
        )
    yield (
        "gelu, tail of the tanh form",
        Defect("gelu", "tanh_form", gelu_by_tanh, {"x": NORMAL}, ("wrong",), {"n": 512}),
        0,
        1,
    )


def sizes() -> bool:
    """The table of sizes; whether all are as promised."""
    print("| finding | shrunk to | evaluations | CPU s |\n|---|---|---|---|")
    good = True
    for name, defect, seed, most in cases():
        found = shrunk(defect, seed)
        assert found is not None
        evaluations = found.search.evaluations
        print(f"| {name} | {_text(found)} | {evaluations} | {found.seconds:.1f} |", flush=True)
        good &= found.elements <= most and evaluations <= MOST_EVALUATIONS and found.seconds <= MOST_SECONDS
    return good


def slippage(wanted: int) -> bool:
    """Planted faults of all kinds, looked at again; whether all are what the campaign had seen."""
    seen = slipped = elements = 0
    step = max(1, len(ALL) // (2 * wanted))
    for defect in (*ALL[::step], *(d for n, d in enumerate(ALL) if n % step)):
        if seen == wanted:
            break
        found = shrunk(defect, limits=Limits(seconds=60))
        if found is None:
            continue
        seen, elements = seen + 1, elements + found.elements
        if found.slipped():
            slipped += 1
            print(f"{identify(defect)}: {found.campaign} became {found.again()}")
    print(f"\nslippage: {slipped} of {seen} (elements left: {elements / max(seen, 1):.1f} on average)")
    return not slipped


def schedules() -> bool:
    """What TVM miscompiles, through the command; whether few primitives and small dims are left."""
    from fuzz.reproduction.case import read_case

    print("\n| miscompiled | shrunk to | primitives | largest dim |\n|---|---|---|---|")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, (operator, dims, moves) in SCHEDULES.items():
            directory = Path(folder) / name.replace(" ", "_")
            target = f"tvm:llvm[unsafe_schedule={moves}]"
            options = ("--targets", target, "--trials", "1", "--no-shrink", "--fail-on", "none")
            _command("run", operator, "--dims", dims, *options, "--out", str(directory))
            _command("shrink", str(directory), "--time", SECONDS)
            for path in sorted((directory / "shrunk").glob("*.json")):
                case = read_case(path)
                assert case.shrunk is not None
                primitives, largest = len(case.shrunk.primitives), max(case.problem["dims"].values())
                print(f"| {name} | {case.shrunk.summary} | {primitives} | {largest} |", flush=True)
                good &= 1 <= primitives <= MOST_PRIMITIVES and largest <= MOST_SIZE
    return good


def _text(found: Result) -> str:
    return summary_of(found.specimen).removeprefix("shrunk to ")


def _command(*arguments: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "fuzz.cli", *arguments], capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        sys.exit(ran.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slippage", type=int, default=50, help="cases that are looked at again")
    parser.add_argument("--schedules", action="store_true", help="with what TVM miscompiles")
    wanted = parser.parse_args()
    good = sizes()
    good &= slippage(wanted.slippage) if wanted.slippage else True
    good &= schedules() if wanted.schedules else True
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
