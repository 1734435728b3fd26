"""Cases that findings were shrunk to: DIR/shrunk/<finding>.json, as `ulpfuzz shrink` writes them."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = "shrunk"


def path_of(directory: Path, finding: str) -> Path:
    """Where the case of a finding lies, or would lie."""
    return directory / FOLDER / f"{finding}.json"


def summary(directory: Path, finding: str) -> str:
    """What it was shrunk to, in a line; empty where it was not, or the file cannot be read."""
    try:
        data = json.loads(path_of(directory, finding).read_text(encoding="utf-8"))
        return str(data["shrunk"]["summary"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
