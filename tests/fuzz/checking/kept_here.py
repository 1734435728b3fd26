"""Functions that cannot be sent to another process: a check calls them in this one, which takes a tenth of the time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

HERE = threading.Lock()


def here(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, kept in this process by a lock that it holds."""

    def kept(x: Any) -> Any:
        assert HERE is not None
        return function(x)

    kept.__name__ = kept.__qualname__ = function.__name__
    kept.lock = HERE  # type: ignore[attr-defined]
    return kept
