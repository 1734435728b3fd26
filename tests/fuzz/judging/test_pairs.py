"""Rows of two targets against each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from trial_cases import Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def test_pairs_are_sized_in_bounds_of_both(lab: Lab) -> None:
    problem = lab.problem("exp")
    targets = [
        lab.target("exp", np.exp, "one"),
        lab.target("exp", lambda x: np.nextafter(np.exp(x), np.float32(9)), "next"),
        lab.target("exp", lambda x: np.exp(x) * np.float32(1.001), "far"),
        lab.target("exp", lambda x: 1 / 0, "none"),
    ]
    pairs = ((0, 0), (1, 0), (2, 0), (3, 0))
    rows = lab.trial(problem, *targets, pairs=pairs).rows[4:]
    assert [row.get("verdict") for row in rows] == ["exact", "rounding", None, None]
    assert [row["against"] for row in rows] == ["lab:cpu[impl=one]"] * 4
    assert "see either side against the truth" in rows[2]["detail"]
    assert rows[2]["rel_max"] == pytest.approx(1e-3, rel=1e-2)
    assert rows[3]["detail"] == "one side has no output"


def test_targets_of_two_precisions_share_the_inputs(lab: Lab) -> None:
    problem = lab.problem("exp")
    narrow = lab.target("exp", np.exp)
    wide = narrow.__class__("lab", "cpu", "float64", narrow.options)
    rows = lab.trial(problem, narrow, wide, pairs=((0, 1),)).rows
    assert {row["verdict"] for row in rows} <= {"rounding", "exact"}  # NumPy's exp depends on the processor
    assert rows[1]["target"] == "lab:cpu[dtype=float64,impl=kernel]"
    assert rows[1]["rung_dtype"] == "float32"
    assert len({row["input_digest"] for row in rows}) == 1


def test_a_pair_says_which_is_closer_to_the_truth(lab: Lab) -> None:
    targets = [
        lab.target("exp", np.exp, "one"),
        lab.target("exp", lambda x: np.exp(x) * np.float32(1.001), "far"),
        lab.target("exp", lambda x: np.exp(x) * np.float32(np.inf), "infinite"),
        lab.target("exp", lambda x: 1 / 0, "none"),
    ]
    pairs = ((1, 0), (0, 1), (1, 1), (2, 0), (3, 0))
    *truth, far, near, same, infinite, none = lab.trial(lab.problem("exp"), *targets, pairs=pairs).rows
    assert far["rms_ratio"] == truth[1]["abs_rms"] / truth[0]["abs_rms"] > 1000
    assert near["rms_ratio"] == pytest.approx(1 / far["rms_ratio"])
    assert same["rms_ratio"] == 1.0
    assert (infinite["rms_ratio"], none["rms_ratio"]) == (None, None)
    assert all(row.get("rms_ratio") is None for row in truth)
