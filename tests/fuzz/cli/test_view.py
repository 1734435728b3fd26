"""Views of snapshots: what is shown, that it fits every terminal, and that only rates have intervals."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from rich.console import Console

from fuzz.campaigns.snapshot import FindingCount, Snapshot, TargetCounts, WorkerState
from fuzz.cli.view import MARGIN, lines_of, plain, view
from results.layout import percent
from results.statistics.sequential import confidence_sequence

TARGETS = (
    TargetCounts("jax:cpu", 1234, 1234, 7, 58),
    TargetCounts("numpy:cpu[dtype=float64]", 1234, 1234, 0, 0),
    TargetCounts("torch:cpu", 1234, 1200, 6, 65, 1200, (("crashed", 34),)),
    TargetCounts("tvm:llvm[mcpu=host]", 0),
)
WORKERS = (
    WorkerState("worker-0", 11, 412.4, "running", "9da529dd-14", "tvm:llvm", "compile", 12.3, 4),
    WorkerState("worker-1", 12, 398.0, "running", "9da529dd-15", "", "", 0.1, 3),
    WorkerState("worker-2", 13, 120.0, "idle", call_seconds=99.0),
)
FINDINGS = (
    FindingCount("gelu", "torch:cpu", "crashed", 34, "9da529dd-3"),
    FindingCount("gelu", "torch:cpu", "unstable", 1, "9da529dd-14", 1.6e5),
)
SNAPSHOT = Snapshot(
    title="gelu",
    directory="runs/gelu",
    plan="fixed",
    total=5000,
    done=1234,
    elapsed=70.2,
    speed=103.4,
    eta=36.4,
    budget="for 8 h 00 min",
    one_rate=True,
    targets=TARGETS,
    findings=FINDINGS,
    findings_total=2,
    workers=WORKERS,
    restarts=(("recycled", 5), ("worker_died", 34)),
    quarantined=1,
    free_bytes=12_345_678_901,
)


def changed(**fields: Any) -> Snapshot:
    return structs.replace(SNAPSHOT, **fields)


def shown(snapshot: Snapshot, width: int = 140, height: int = 40, note: str = "") -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, height=height, color_system=None, markup=False).print(
        view(snapshot, width, height, note)
    )
    return out.getvalue().splitlines()


def test_a_wide_terminal_has_everything() -> None:
    lines = shown(SNAPSHOT, note="a note")
    assert lines[0] == "gelu (fixed plan, for 8 h 00 min), running for 1 min 10 s"
    assert lines[2] == "1,234 of 5,000 trials, 103 trials/s, 36 s left"
    interval = confidence_sequence(7, 1234)
    cell = f"7 = 0.57 % [{percent(interval.low)}, {percent(interval.high)}]"
    (jax,) = [line for line in lines if line.startswith("jax")]
    assert jax.split("  ")[0] == "jax:cpu"
    assert cell in jax
    (torch,) = [line for line in lines if line.startswith("torch")]
    assert "1,200 = 100 % [99.35, 100]" in torch
    assert torch.endswith("34 crashed")
    (tvm,) = [line for line in lines if line.startswith("tvm")]
    assert tvm.split()[1:] == ["0", "-", "-", "-"]
    assert "  crashed: torch:cpu gelu, 34 trials (9da529dd-3)" in lines
    assert "  unstable: torch:cpu gelu, 1 trial, largest rho 1.6e5 (9da529dd-14)" in lines
    assert "3 workers, 930 MiB; disk 12.3 GB free" in lines
    assert "  replaced: 5 recycled, 34 died; 1 target quarantined" in lines
    assert "  worker-0 412 MiB running, 9da529dd-14, tvm:llvm compile, for 12 s" in lines
    assert "  worker-1 398 MiB running, 9da529dd-15" in lines
    assert "  worker-2 120 MiB idle" in lines
    assert lines[-1] == "a note"


def test_a_narrow_terminal_keeps_names_and_intervals() -> None:
    lines = shown(SNAPSHOT, 80)
    at = next(number for number, line in enumerate(lines) if line.startswith("numpy:cpu[dtype=float64]"))
    assert lines[at].count("0 = 0 %") == 3
    assert lines[at + 1].split("]")[0].strip() == f"[0, {percent(confidence_sequence(0, 1234).high)}"
    assert "torch:cpu failed: 34 crashed" in lines


def test_several_problems_have_shares_without_intervals() -> None:
    text = "\n".join(shown(changed(one_rate=False)))
    assert "7 = 0.57 %" in text
    assert "[0." not in text
    assert "no rates, so without intervals" in text


def test_with_many_workers_only_those_are_shown_that_hang() -> None:
    many = tuple(WorkerState(f"worker-{i}", i, 100.0, "running", f"a-{i}", call_seconds=i) for i in range(64))
    lines = shown(changed(workers=many))
    named = [line.split()[0] for line in lines if line.startswith("  worker-")]
    assert named == ["worker-63", "worker-62", "worker-61", "worker-60"]
    assert any(line.startswith("64 workers, 6,400 MiB") for line in lines)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"speed": None, "workers": ()}, "1,234 of 5,000 trials, starting workers"),
        ({"speed": None}, "1,234 of 5,000 trials, measuring speed"),
        ({"speed": 0.123, "eta": None}, "1,234 of 5,000 trials, 0.12 trials/s"),
        ({"total": None}, "1,234 trials, 103 trials/s, 36 s left"),
        ({"ended": "decided"}, "1,234 of 5,000 trials, ended: decided"),
    ],
)
def test_how_far(fields: dict[str, Any], line: str) -> None:
    assert line in shown(changed(**fields))


def test_plain_lines() -> None:
    start = "1234/5000 trials, 103 trials/s, 36 s left; jax:cpu 7>1e-1 58>1e-2 0 flagged; "
    assert plain(SNAPSHOT).startswith(start)
    assert "torch:cpu 6>1e-1 65>1e-2 1200 flagged 34 crashed; " in plain(SNAPSHOT)
    tail = "; 2 findings; worker-0 412 MiB running, 9da529dd-14, tvm:llvm compile, for 12 s"
    assert plain(SNAPSHOT).endswith(tail)
    assert plain(changed(total=None, ended="8 h are over")).startswith("1234 trials, 8 h are over in 1 min 10 s; ")
    assert plain(changed(done=5000)).startswith("5000/5000 trials, done in 1 min 10 s; ")


def test_lines_for_a_pipe_are_those_of_the_view() -> None:
    lines = list(lines_of(SNAPSHOT, 136))
    assert lines == [line for line in shown(SNAPSHOT) if not line.startswith("━")]
    assert lines[-1] == "  worker-2 120 MiB idle"
    assert max(map(len, lines_of(SNAPSHOT, 76))) <= 76


names = st.text("abc:[]=", min_size=1, max_size=60)
targets = st.builds(
    lambda name, n, ks: TargetCounts(name, n, n, *(min(k, n) for k in ks), (("timed_out", 3),) if n % 2 else ()),
    names,
    st.integers(0, 10**9),
    st.tuples(*[st.integers(0, 10**9)] * 3),
)
findings = st.builds(FindingCount, names, names, st.just("wrong"), st.integers(1, 10**6), names, st.floats(0, 1e300))
workers = st.builds(
    WorkerState, names, st.just(1), st.floats(0, 1e6), st.just("running"), names, names, names, st.floats(0, 1e6)
)
snapshots = st.builds(
    changed,
    title=names,
    targets=st.lists(targets, max_size=20).map(tuple),
    findings=st.lists(findings, max_size=20).map(tuple),
    workers=st.lists(workers, max_size=20).map(tuple),
    one_rate=st.booleans(),
    total=st.none() | st.integers(0, 10**9),
    eta=st.none() | st.floats(0, 1e7),
    elapsed=st.floats(0, 1e7),
)


@given(snapshots, st.sampled_from([40, 80, 100, 140, 300]), st.sampled_from([10, 16, 24, 50]))
def test_every_snapshot_fits_every_terminal(snapshot: Snapshot, width: int, height: int) -> None:
    lines = shown(snapshot, width, height, "note")
    assert max(map(len, lines)) <= width - MARGIN
    assert len(lines) < height
    assert lines[-1] == "note"
    assert "\n" not in plain(snapshot)
