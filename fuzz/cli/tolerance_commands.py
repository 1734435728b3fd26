"""`ulpfuzz tolerance DIR... [--flake P]`."""

from __future__ import annotations

import json as json_module
import math
from collections.abc import Sequence
from pathlib import Path

from fuzz.errors import UserError


def tolerance(directories: Sequence[Path], flake: float = 1e-6, json: bool = False) -> int:
    """Print the tolerances that healthy results keep with probability 1 - `flake`; 0, or 1 where none keeps it.

    UserError for a flake rate that is no probability, NotPermitted for a plan that supports no tolerance.
    """
    from fuzz.terminal import console
    from results.reading import open as open_results
    from results.tolerance.advice import tolerances
    from results.tolerance.text import as_json, print_tolerances

    if not 0 < flake < 1 or math.isnan(flake):
        raise UserError(f"--flake {flake:g}: give a probability between 0 and 1, for example 1e-6")
    found = tolerances(open_results(*directories), flake)
    if json:
        print(json_module.dumps(as_json(found), indent=2))
    else:
        print_tolerances(found, console())
    return 0
