"""Inputs that outlive the worker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuzz.search.record import Record, kept
from strategies.precision import precision


@pytest.mark.parametrize("home", ["bfloat16", "float32"])
def test_what_was_written_last_is_kept(tmp_path: Path, home: str) -> None:
    crumb = tmp_path / "worker-0.crumb"
    record = Record(crumb, {"x": (2, 3), "gamma": (3,)}, home)
    for value in (1.5, -2.0):
        record.write({"gamma": np.full(3, value, precision(home).numpy), "x": np.ones((2, 3), precision(home).numpy)})
    record.close()
    arrays = Record(tmp_path / "other.crumb", {"x": (2, 3), "gamma": (3,)}, home).arrays(kept(crumb))
    assert arrays["gamma"].dtype == home
    assert (arrays["gamma"] == -2).all()
    assert (arrays["x"] == 1).all()
    assert arrays["x"].shape == (2, 3)
