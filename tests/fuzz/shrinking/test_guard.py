"""What counts as the same failure."""

from __future__ import annotations

import math

import pytest

from fuzz.shrinking.seen import Guard, Seen, seen_of


@pytest.mark.parametrize(
    ("first", "now", "same"),
    [
        (Seen("wrong", 1e5, "x < 0"), Seen("wrong", 1.1e4, "x > 0"), True),
        (Seen("wrong", 1e5), Seen("wrong", 9.9e3), False),
        (Seen("wrong", 1e5), Seen("wrong", 1.1e6), False),
        (Seen("wrong", 1e5), Seen("unstable", 1e5), False),
        (Seen("wrong", 1e5), Seen("wrong", None), False),
        (Seen("wrong", 1e5), None, False),
        (Seen("nonfinite_mismatch", 0.1, "x is NaN"), Seen("nonfinite_mismatch", 1e9, "x is NaN"), True),
        (Seen("nonfinite_mismatch", 0.1, "x is NaN"), Seen("nonfinite_mismatch", 0.1, "x is inf"), False),
        (Seen("nonfinite_mismatch", 0.1, "huge data"), Seen("nonfinite_mismatch", 0, "one summand, huge data"), True),
        (Seen("crashed", None, "SIGSEGV, in run"), Seen("crashed", None, "SIGFPE, in run"), False),
        (Seen("crashed", None, "SIGSEGV, in run"), Seen("crashed", None, "SIGSEGV, in compile"), False),
        (Seen("raised", None, "RuntimeError"), Seen("raised", None, "ValueError"), False),
        (Seen("out_of_bounds_write", None, "SIGSEGV, in run"), Seen("out_of_bounds_write", None, "in run"), True),
        (Seen("out_of_bounds_write", None, "in compile"), Seen("out_of_bounds_write", None, "in run"), False),
        (Seen("out_of_bounds_write", None, "SIGSEGV, in run"), Seen("crashed", None, "SIGSEGV, in run"), True),
        (Seen("out_of_bounds_write", None, "in run"), Seen("crashed", None, "SIGBUS, in run"), True),
        (Seen("out_of_bounds_write", None, "SIGSEGV, in run"), Seen("crashed", None, "SIGSEGV, in compile"), False),
        (Seen("out_of_bounds_write", None, "SIGSEGV, in run"), Seen("crashed", None, "SIGFPE, in run"), False),
        (Seen("out_of_bounds_write", None, "SIGSEGV, in run"), Seen("timed_out", None, "in run"), False),
        (Seen("out_of_bounds_write", None, "SIGSEGV, in run"), Seen("input_modified", None, "in run"), False),
        (Seen("input_modified", None, "SIGSEGV, in run"), Seen("crashed", None, "SIGSEGV, in run"), False),
        (Seen("crashed", None, "SIGSEGV, in run"), Seen("out_of_bounds_write", None, "SIGSEGV, in run"), True),
        (Seen("wrong", 1e40), Seen("wrong", 1e12), True),
        (Seen("wrong", 1e40), Seen("wrong", 1e7), False),
        (Seen("wrong", 1e40), Seen("unstable", 1e12), True),
        (Seen("wrong", 1e40), Seen("nonfinite_mismatch", 1e12), False),
        (Seen("wrong", 1e8), Seen("wrong", 1e12), False),
        (Seen("wrong", math.inf, "ordinary data"), Seen("wrong", 5.0, "huge data"), False),
    ],
)
def test_the_same_failure(first: Seen, now: Seen | None, same: bool) -> None:
    assert Guard(first, 2.0**-24).holds(now) is same


def test_the_worst_row_of_the_output_counts() -> None:
    def row(output: str, verdict: str, rho: float) -> dict[str, object]:
        return {"against": "truth", "output": output, "verdict": verdict, "rho_max": rho, "rho_index": 3}

    rows = [row("y", "rounding", 0.5), row("mean", "wrong", 7.0), row("mean", "unstable", 90.0)]
    rows.append({**row("y", "crashed", 0.0), "against": "numpy:cpu"})
    assert seen_of(rows, "y") == Seen("rounding", 0.5, "", "y", 3)
    assert seen_of(rows, "") == Seen("wrong", 7.0, "", "mean", 3)
    assert seen_of(rows, "", position=8) == Seen("wrong", 7.0, "", "mean", 8)
    assert seen_of([], "") is None
