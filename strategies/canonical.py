"""Canonical JSON and hashes: the same value gives the same text, on every machine and in every version."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces; nan, inf and -inf as strings (JSON has none)."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def identity(value: Any) -> str:
    """Sixteen hexadecimal digits that name `value`."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def number(value: Any) -> float:
    """The float that `canonical` wrote, "nan", "inf" and "-inf" included."""
    return float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
