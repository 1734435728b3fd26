"""Try what makes jax keep float64, in this process: `python -m fuzz.cli.doctor_x64_probe` prints the dtypes as JSON.

The order matters: jax.config.update comes last, since it holds for the rest of the process.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from typing import Any

from fuzz.cli.doctor_x64 import VARIABLE, Facts


def facts() -> Facts:
    """The dtype of what comes of a float64 NumPy array, way by way."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    given = np.arange(3.0) + 0.1

    def made() -> str:
        return str(jnp.asarray(given).dtype)

    def in_thread() -> str:
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(made()))
        thread.start()
        thread.join()
        return found[0]

    enable_x64: Any = getattr(jax, "enable_x64", None)
    if enable_x64 is None:  # before jax 0.8
        enable_x64 = importlib.import_module("jax.experimental").enable_x64
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = made()
    before, set_before = jnp.asarray(given), os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    late = made()
    if set_before is None:
        del os.environ[VARIABLE]
    with enable_x64(True):
        context, thread = made(), in_thread()
    over = made()
    jax.config.update("jax_enable_x64", True)
    both = before + jnp.asarray(given)
    return Facts(
        plain=plain,
        warned=bool(caught),
        variable_late=late,
        context=context,
        context_over=over,
        thread=thread,
        update=made(),
        update_before=str(both.dtype),
        update_kept=str(before.dtype),
    )


def main() -> int:
    """Print the facts; errors end the process with their traceback."""
    from msgspec import json

    sys.stdout.write(json.encode(facts()).decode() + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
