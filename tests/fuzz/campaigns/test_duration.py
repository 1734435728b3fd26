"""Times as people write them."""

from __future__ import annotations

import pytest

from fuzz.campaigns.duration import seconds, text
from fuzz.errors import UserError


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("8h", 28800),
        ("1h30m", 5400),
        ("90 s", 90),
        ("1.5h", 5400),
        (45, 45),
        ("0.5", 0.5),
        ("2d 1h", 176400),
        ("5min", 300),
    ],
)
def test_read(written: str | float, value: float) -> None:
    assert seconds(written) == value


@pytest.mark.parametrize("written", ["", "8x", "h", "-3", "0", "0s", "nan", "inf", "3h and more", float("nan")])
def test_refused(written: str | float) -> None:
    with pytest.raises(UserError, match="cannot read the time"):
        seconds(written)


def test_told() -> None:
    assert [text(value) for value in (45, 185, 7800, 273600)] == ["45 s", "3 min 05 s", "2 h 10 min", "3 d 04 h"]
