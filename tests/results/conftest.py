"""The fixture that writes campaigns of synthetic rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from synthetic_rows import write_campaign

from results.columns import Row


@pytest.fixture
def campaign(tmp_path: Path) -> Callable[..., Path]:
    """Write a campaign of the given rows under a fresh directory."""

    def write(rows: Sequence[Row], **manifest: Any) -> Path:
        return write_campaign(tmp_path / f"campaign-{len(list(tmp_path.iterdir()))}", rows, **manifest)

    return write
