"""Every kind of misbehaviour in benchmarks/misbehaving.py once: named where it is, and no other row changes.

`benchmarks/faults.py` plants several hundred.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[2] / "benchmarks" / "faults.py"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_campaign_survives_whatever_foreign_code_does(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, FAULTS, "--short"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-2000:]
