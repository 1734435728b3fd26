"""Sensitivity: planted defects are flagged, and called what they are."""

from __future__ import annotations

from collections import Counter

import pytest
from planted_defects import DEFECTS, Defect, run

from fuzz.thresholds import FLAG
from results.verdicts import VERDICTS

TRIALS = 10


def identify(defect: Defect) -> str:
    return f"{defect.operator}-{defect.name}-{defect.dtype}"


@pytest.mark.parametrize("defect", DEFECTS, ids=identify)
def test_a_planted_defect_is_found_and_named(defect: Defect) -> None:
    rows = run(defect, TRIALS)
    seen = Counter(str(row["verdict"]) for row in rows)
    named = sum(seen[verdict] for verdict in defect.verdicts)
    shown = [str(row["detail"]) for row in rows if row["verdict"] not in defect.verdicts][:3]
    assert named >= 0.9 * TRIALS, f"{dict(seen)}, {defect.verdicts} is due; {shown}"
    if VERDICTS[defect.verdicts[0]].finding:
        flagged = sum(VERDICTS[str(row["verdict"])].finding for row in rows)
        assert flagged >= 0.95 * TRIALS, dict(seen)
    else:
        assert not [row for row in rows if VERDICTS[str(row["verdict"])].finding]


@pytest.mark.parametrize(
    ("operator", "low", "high"), [("batch_norm", 0.05, 1e4), ("layer_norm", 0.2, 1e6)], ids=["batch_norm", "layer_norm"]
)
def test_a_wrong_eps_hidden_by_conditioning_shows_in_float64_only(operator: str, low: float, high: float) -> None:
    (defect,) = (d for d in DEFECTS if (d.operator, d.name) == (operator, "eps_1e6_offset"))
    for row in run(defect, 3):
        assert row["rho_max"] <= low
        assert row["rung_rho"] > high
        assert row["verdict"] == "wrong"


def test_without_the_ladder_that_defect_is_invisible() -> None:
    """The reason why the first trial of every problem climbs it."""
    (defect,) = (d for d in DEFECTS if (d.operator, d.name) == ("batch_norm", "eps_1e6_offset"))
    later = run(defect._replace(every=False), 4)[1:]
    assert all(row["rho_max"] < FLAG and not VERDICTS[str(row["verdict"])].finding for row in later)
