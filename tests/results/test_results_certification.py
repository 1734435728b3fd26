"""One line of the report says how much of the oracle was checked, and by what."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_rows import make_row

import results
from results.certification import INSTALL, certification

ENVIRONMENT = "e" * 16


def line(directory: Path, certifier: str | None) -> str:
    record = {} if certifier is None else {"certifier": certifier}
    (directory / "environments.json").write_text(json.dumps({ENVIRONMENT: record}))
    return certification(results.open(directory), (ENVIRONMENT,))


@pytest.mark.parametrize(
    ("cells", "certifier", "says"),
    [
        ([8, None, 7], "Arb (256 bits)", "the oracle was certified by Arb (256 bits) at 15 elements of 2 trials"),
        ([8, 0, 0], "mpmath (200 bits)", "at 8 elements of 1 trial; 2 outputs skipped"),
        ([None, None], "Arb (256 bits)", "not certified: no output was flagged"),
        ([None, None], "", f"the oracle was not certified: neither Arb nor mpmath is installed: {INSTALL}"),
    ],
)
def test_the_line(campaign: Callable[..., Path], cells: list[int | None], certifier: str, says: str) -> None:
    directory = campaign([make_row(i, certified=n) for i, n in enumerate(cells)])
    assert says in line(directory, certifier)


def test_campaigns_of_before_say_nothing(campaign: Callable[..., Path]) -> None:
    assert not line(campaign([make_row()]), None)
