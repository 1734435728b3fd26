"""Every finding of a campaign: its script run, and its truth computed once more with mpmath.

    python benchmarks/proofs.py DIR [--processes 2]

For each finding `ulpfuzz repro DIR ID --script --json` is run, which shrinks it first where that was not done, then the
script, in a process of its own. The truth at the script's element is computed from the case's inputs by mpmath: by its
own function of that name where there is one, else by the operator's reference. Where the truth is no finite number,
mpmath has nothing to add to the rule that the script quotes.

Exit code 1 where a script does not exit with 1, or mpmath does not confirm the truth to the last digit of the script's.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
from quality_truths import TRUTHS, mp

from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import MpmathArithmetic
from fuzz.oracle.element import SliceTooLarge, evaluate
from fuzz.oracle.trace import trace
from fuzz.reproduction.case import Case, read_case, restored
from strategies.given import STORE
from strategies.precision import precision
from strategies.problem import problem_from_plain
from strategies.sampling import draw

CLOSE = mpmath.mpf(2) ** -70
"""Relative difference of two computations of one truth; a script states 25 digits, float64 has 53 bits."""
FEW = 8
_CONSTANT = r"^{name} = (?P<value>.+?)(  # .*)?$"


class Proof(NamedTuple):
    """A finding; what its script printed; the truth by mpmath, where both are numbers."""

    finding: str
    title: str
    inputs: str
    value: str
    truth: str
    by: str
    code: int
    confirmed: bool | None


def constant(script: str, name: str) -> Any:
    """The value of a constant of a script; None where it has none of that name."""
    found = re.search(_CONSTANT.format(name=name), script, re.MULTILINE)
    return None if found is None else ast.literal_eval(found["value"])


def inputs_of(case: Case) -> dict[str, Any]:
    """The inputs of a case in its target's dtype: given arrays, or drawn as its trial drew them."""
    contract = OPERATORS[str(case.problem["operator"])].contract
    for array in case.given.values():
        STORE.add(restored(array), "x")
    problem = problem_from_plain(case.problem, contract)
    shapes = contract.shapes(dict(problem.dims))
    arrays = {spec.name: np.empty(shapes[spec.name], precision(problem.home).numpy) for spec in contract.inputs}
    draw(problem, contract, case.seed, case.index, arrays)
    return {name: array.astype(precision(case.target.dtype).numpy) for name, array in arrays.items()}


def told(arrays: dict[str, Any]) -> str:
    """Few numbers as they are, more by their shape."""
    few = sum(array.size for array in arrays.values()) <= FEW
    return "; ".join(f"{n} = {a.reshape(-1).tolist()}" if few else f"{n}: {a.shape}" for n, a in arrays.items())


def by_mpmath(case: Case, at: tuple[int, ...]) -> tuple[Any, str]:
    """The truth, and by what in mpmath; None where it has nothing to say."""
    found = OPERATORS[str(case.problem["operator"])]
    arrays = inputs_of(case)
    name = found.contract.operator
    if name in TRUTHS and len(arrays) == 1 and not case.problem.get("attributes"):
        (x,) = arrays.values()
        return TRUTHS[name](mp.mpf(float(x[at]))), f"mpmath, {name}"
    program = trace(found.reference, {n: a.shape for n, a in arrays.items()}, dict(case.problem["attributes"]))
    output = [spec.name for spec in found.contract.outputs].index(case.output) if case.output else 0
    wide = [np.asarray(array, np.float64) for array in arrays.values()]
    try:
        return evaluate(program, output, at, wide, MpmathArithmetic()).value, "mpmath, reference"
    except (SliceTooLarge, ZeroDivisionError, ValueError, OverflowError) as error:
        return None, f"{type(error).__name__}: {error}"


def proof(directory: Path, group: dict[str, Any], folder: Path) -> Proof:
    """Write the script and the case of a finding, run the one, compute the other."""
    name = group["id"]
    script, file = folder / f"{name}.py", folder / f"{name}.json"
    command = [
        sys.executable,
        "-m",
        "fuzz.cli",
        "repro",
        str(directory),
        name,
        "--script",
        str(script),
        "--json",
        str(file),
    ]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    title = f"{group['title']}"
    if not (script.exists() and file.exists()):
        return Proof(name, title, "", "", (made.stderr.strip().splitlines() or [""])[-1], "", -1, None)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=folder)
    text, case = script.read_text(), read_case(file)
    at, truth = constant(text, "AT"), constant(text, "TRUTH")
    value = re.search(r"^(?:value|dtype|raised|differ|changed) +(.+?)(  \(.*)?$", ran.stdout, re.MULTILINE)
    shown = value[1] if value else (ran.stdout.strip().splitlines() or [""])[-1]
    by, confirmed = "", None
    if at is not None and truth is not None and math.isfinite(float(truth)):
        exact, by = by_mpmath(case, at)
        if exact is not None:
            stated = mp.mpf(truth)
            confirmed = bool(abs(exact - stated) <= CLOSE * abs(exact)) or mp.mpf(exact) == stated
    return Proof(name, title, told(inputs_of(case)), shown, str(truth), by, ran.returncode, confirmed)


def line(one: Proof) -> str:
    """A line of the table."""
    by = one.by if one.confirmed is None else f"{one.by}: {'yes' if one.confirmed else 'NO'}"
    cells = (one.finding, one.title, one.inputs, one.value, one.truth, by or "rule for NaN and infinities", one.code)
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    listed = subprocess.run(
        [sys.executable, "-m", "fuzz.cli", "findings", str(options.directory), "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    groups = json.loads(listed.stdout)["findings"]
    print("| finding | what | smallest inputs | value | truth | truth confirmed by | exit code |")
    print("|---|---|---|---|---|---|---|", flush=True)
    proofs = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        for one in pool.map(lambda group: proof(options.directory, group, Path(folder)), groups):
            proofs.append(one)
            print(line(one), flush=True)
    failing = [one.finding for one in proofs if one.code != 1 or one.confirmed is False]
    confirmed = sum(one.confirmed is True for one in proofs)
    print(
        f"\n{len(proofs)} findings, {sum(one.code == 1 for one in proofs)} scripts exit with 1, {confirmed} truths "
        f"confirmed by mpmath, failing: {failing}"
    )
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
