"""The built-in backends as a fixture."""

from __future__ import annotations

import pytest
from backend_cases import LIBRARIES

from fuzz.backends import BACKENDS


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    """The name of each built-in backend; skipped where it is not installed."""
    name: str = request.param
    if line := BACKENDS[name].missing():
        pytest.skip(f"{name} is not installed: {line}")
    return name
