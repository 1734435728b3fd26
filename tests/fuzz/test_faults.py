"""Planted faults are named on exactly the trials that have them, and no other row changes by one bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from running import Cli, Row, differing, rows_of

from fuzz.campaigns.directory import CampaignDirectory
from fuzz.operators import operator
from strategies.problem import problem_from_plain
from strategies.sampling import draw

RUN = "during run"
FAULTS = {
    "segv": ("crashed", f"SIGSEGV {RUN}"),
    "hang": ("timed_out", "run took longer than 1 s"),
    "past": ("out_of_bounds_write", f"SIGSEGV {RUN}; run again under observation, bytes outside a buffer changed"),
    "before": ("out_of_bounds_write", "bytes outside the output changed"),
    "pastinput": ("out_of_bounds_write", f"SIGSEGV {RUN}; run again under observation, bytes outside a buffer changed"),
    "modify": ("input_modified", f"SIGSEGV {RUN}; run again under observation, its input changed"),
    "exit3": ("crashed", f"exit code 3 {RUN}"),
    "abort": ("crashed", f"SIGABRT {RUN}"),
    "fpe": ("crashed", f"SIGFPE {RUN}"),
    "sysexit": ("raised", "SystemExit: 5"),
    "raise": ("raised", "RuntimeError: planted trouble"),
    "shape": ("raised", "returned shape (2,), (16,) is due"),
    "wide": ("dtype_mismatch", "returned float16, float32 is due"),
    "none": ("raised", "TypeError"),
    "list": ("raised", "TypeError"),
    "object": ("raised", "returned shape (), (16,) is due"),
    "odd": ("raised", "returned NoneType, a tuple of arrays is due"),
    "noise": ("", ""),
}
LIMITS = ("--call-timeout", 1, "--compile-timeout", 1)
"""Short, because hanging calls wait for them; long enough for an innocent call where CPUs are busy."""
PATIENT = ("--call-timeout", 5, "--compile-timeout", 60)


def campaign(
    ulpfuzz: Cli, planted: Path, targets: Sequence[str], *more: object, rows: int = 16, trials: int = 16
) -> tuple[Path, Path]:
    """The campaign with faults and the same one without."""
    for name, switch in (("faulty", "on"), ("clean", "off")):
        options = ("--extension", planted, "--dims", f"rows={rows},n=8", "--trials", trials, "--out", name)
        ulpfuzz.ok("run", "sum", "--targets", ",".join(["numpy", *targets]), *options, *LIMITS, *more, PLANTED=switch)
    return ulpfuzz.folder / "faulty", ulpfuzz.folder / "clean"


def triggered(directory: Path, trials: int) -> set[int]:
    """Trials whose first input element exceeds 1."""
    manifest = CampaignDirectory(directory).read_manifest()
    contract = operator("sum").contract
    problem = problem_from_plain(manifest.cells[0].problem, contract)
    x = {"x": np.empty(contract.shapes(dict(problem.dims))["x"], np.float32)}
    found = set()
    for index in range(trials):
        draw(problem, contract, manifest.seed, index, x)
        if x["x"].flat[0] > 1:
            found.add(index)
    return found


def by_trial(rows: dict[tuple[object, ...], Row], backend: str) -> dict[int, Row]:
    return {row["index"]: row for row in rows.values() if row["target"] == f"{backend}:cpu"}


def told(faulty: dict[tuple[object, ...], Row], clean: dict[tuple[object, ...], Row]) -> list[tuple[object, ...]]:
    """What the rows that differ say, in either campaign."""
    keys = sorted(differing(faulty, clean), key=repr)
    return [
        (key[4], key[2], *((side[key]["verdict"], side[key]["detail"]) for side in (faulty, clean))) for key in keys
    ]


def test_every_fault_is_named_where_it_is_and_nowhere_else(ulpfuzz: Cli, planted: Path) -> None:
    trials = 16
    faulty, clean = (rows_of(path) for path in campaign(ulpfuzz, planted, list(FAULTS), "--pair", "numpy/noise"))
    hit = triggered(ulpfuzz.folder / "clean", trials)
    assert 1 <= len(hit) <= 5
    expected = {(f"{name}:cpu", index) for name, (verdict, _) in FAULTS.items() if verdict for index in hit}
    assert {(key[4], key[2]) for key in differing(faulty, clean)} == expected, told(faulty, clean)
    for name, (verdict, detail) in FAULTS.items():
        for index in hit:
            row = by_trial({k: r for k, r in faulty.items() if r["against"] == "truth"}, name)[index]
            if verdict:
                assert (row["verdict"], row["detail"][: len(detail)]) == (verdict, detail), name
                assert row["error"] == row["detail"]
                assert row["rho_max"] is None


def test_a_write_into_the_tail_of_an_output_is_seen(ulpfuzz: Cli, planted: Path) -> None:
    """Three floats: the next multiple of 64 bytes leaves room that no guard page covers."""
    faulty, clean = (rows_of(path) for path in campaign(ulpfuzz, planted, ["past", "before"], rows=3, trials=12))
    hit = triggered(ulpfuzz.folder / "clean", 12)
    assert hit
    assert {(k[4], k[2]) for k in differing(faulty, clean)} == {
        (f"{n}:cpu", i) for n in ("past", "before") for i in hit
    }
    for name in ("past", "before"):
        rows = by_trial(faulty, name)
        assert {rows[i]["verdict"] for i in hit} == {"out_of_bounds_write"}


@pytest.mark.long
def test_faults_at_compilation(ulpfuzz: Cli, planted: Path) -> None:
    names = ["compilesegv", "compilehang", "compileraise"]
    faulty, clean = (rows_of(path) for path in campaign(ulpfuzz, planted, names, trials=3))
    assert {k[4] for k in differing(faulty, clean)} == {f"{name}:cpu" for name in names}
    details = {name: {row["detail"] for row in by_trial(faulty, name).values()} for name in names}
    assert details["compilesegv"] == {"SIGSEGV during compile"}
    assert details["compilehang"] == {"compile took longer than 1 s"}
    assert details["compileraise"] == {"RuntimeError: planted trouble"}


@pytest.mark.long
def test_faults_in_the_other_precision_only(ulpfuzz: Cli, planted: Path) -> None:
    """The float64 rung runs on the first trial; nothing else there is suspicious."""
    faulty, clean = (rows_of(path) for path in campaign(ulpfuzz, planted, ["rungsegv", "runghang"], trials=5))
    assert {(k[4], k[2]) for k in differing(faulty, clean)} == {("rungsegv:cpu", 0), ("runghang:cpu", 0)}
    assert by_trial(faulty, "rungsegv")[0]["detail"] == "SIGSEGV during run in the other precision"
    assert by_trial(faulty, "runghang")[0]["detail"] == "run in the other precision took longer than 1 s"


def test_a_target_that_keeps_killing_workers_is_quarantined(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "deadly.py").write_text(
        "import os\nfrom fuzz.extend import FunctionBackend, register\n"
        "d = FunctionBackend('deadly')\nd.operator('exp')(lambda x: os._exit(3))\nregister(d)\n"
    )
    options = ("--dims", "n=4", "--trials", 60, "--shard-trials", 30, "--extension", "deadly.py", "--out", "c")
    ran = ulpfuzz.ok("run", "exp", "--targets", "numpy,deadly", *options)
    assert "10 worker processes ended and were replaced" in ran.stderr
    rows = by_trial(rows_of(tmp_path / "c"), "deadly")
    assert [rows[i]["verdict"] for i in range(60)] == 2 * (5 * ["crashed"] + 25 * ["indeterminate"])
    assert rows[29]["detail"].startswith("not run: quarantined, this target ended a worker in 5 of the first 5 trials")
    assert {row["verdict"] for row in by_trial(rows_of(tmp_path / "c"), "numpy").values()} <= {"exact", "rounding"}


@pytest.mark.heavy
@pytest.mark.long
def test_faults_beside_the_heavy_libraries(ulpfuzz: Cli, planted: Path) -> None:
    """One worker holds torch, jax and tvm, whose handlers and threads must not hide what happened."""
    targets = ["torch", "jax", "tvm", "segv", "abort", "modify", "hang"]
    faulty, clean = (rows_of(path) for path in campaign(ulpfuzz, planted, targets, *PATIENT, trials=5))
    hit = triggered(ulpfuzz.folder / "clean", 5)
    assert hit
    expected = {(f"{name}:cpu", index) for name in targets[3:] for index in hit}
    assert {(key[4], key[2]) for key in differing(faulty, clean)} == expected, told(faulty, clean)
    verdicts = {name: {by_trial(faulty, name)[index]["verdict"] for index in hit} for name in targets[3:]}
    assert verdicts == {
        "segv": {"crashed"},
        "abort": {"crashed"},
        "modify": {"input_modified"},
        "hang": {"timed_out"},
    }
