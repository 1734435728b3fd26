"""Which elements of a trial are kept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from trial_cases import Lab

from fuzz.trial import Session


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def test_elements_are_kept_where_something_is_flagged(lab: Lab) -> None:
    lab.session = Session("test")
    problem, target = lab.problem("exp"), lab.target("exp", np.exp)
    bad = lab.target("exp", lambda x: np.exp(x) * x.dtype.type(1.01), "bad")
    assert not lab.trial(problem, target, index=17).elements
    kept = lab.trial(problem, bad, index=17).elements
    assert {element["kind"] for element in kept} == {"worst", "relative", "absolute", "random"}
    assert kept[0]["rho"] > 2
    assert lab.trial(problem, target, index=64).elements
