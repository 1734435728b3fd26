"""Sensitivity in all operator families: planted faults are flagged, and called what they are."""

from __future__ import annotations

import pytest
from planted_defects import Defect
from planted_table import ALL, NEW, identify, score

from fuzz.operators import OPERATORS

TRIALS = 4
"""`benchmarks/planted.py` runs twenty of each."""


@pytest.mark.parametrize("fault", NEW, ids=identify)
def test_a_planted_fault_is_found_and_named(fault: Defect) -> None:
    found = score(fault, TRIALS)
    assert found.passed, f"{dict(found.seen)}, {fault.verdicts} is due; {found.other}"


def test_every_operator_has_a_planted_fault() -> None:
    assert {fault.operator for fault in ALL} == set(OPERATORS)
