"""`ulpfuzz tolerance DIR... [--flake P]`."""

from __future__ import annotations

import json as json_module
import math
from collections.abc import Sequence
from pathlib import Path

from fuzz.errors import FOUND, UserError


def tolerance(directories: Sequence[Path], flake: float = 1e-6, json: bool = False) -> int:
    """Print the tolerances that healthy results keep with probability 1 - `flake`; 0, or 1 where there is none.

    UserError for a flake rate that is no probability and for campaigns without a trial against the truth, NotPermitted
    for a plan that supports no tolerance.
    """
    from fuzz.terminal import console
    from results.reading import open as open_results
    from results.tolerance.advice import tolerances
    from results.tolerance.text import as_json, print_tolerances

    if not 0 < flake < 1 or math.isnan(flake):
        raise UserError(f"--flake {flake:g}: give a probability between 0 and 1, for example 1e-6")
    found = tolerances(open_results(*directories), flake)
    if not found.advice:
        named = ", ".join(map(str, directories))
        raise UserError(f"{named}: no trial was judged against the truth: `ulpfuzz report` says what ran")
    if json:
        print(json_module.dumps(as_json(found), indent=2))
    else:
        print_tolerances(found, console())
    return 0 if any(one.pair is not None for one in found.advice) else FOUND
