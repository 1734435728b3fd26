"""The errors of elementary functions that the profiles allow, against each other."""

from __future__ import annotations

from fuzz.oracle.constants import PROFILES
from fuzz.thresholds import FLAG


def test_no_documented_accuracy_is_ever_flagged() -> None:
    """Not even that of the least accurate good library: `strict` errors have rho 2 at most."""
    measured, strict = PROFILES["measured"], PROFILES["strict"]
    assert measured.keys() == strict.keys() == PROFILES["opencl"].keys()
    assert {name for name in measured if strict[name] > FLAG * measured[name]} == set()
