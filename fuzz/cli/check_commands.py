"""`ulpfuzz check module:f module:g --input 'x=normal(0,1)[8,128]'`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fuzz.campaigns.run import Settings
from fuzz.checking.check import SHRINK_SECONDS, Asked, Wanted, names_of_sources, run_check
from fuzz.checking.request import of_texts
from fuzz.checking.result import Result
from fuzz.checking.sources import of_text
from fuzz.cli.progress import display
from fuzz.errors import FOUND, Interrupted, UserError
from fuzz.say import say
from fuzz.shrinking.budget import after_run
from results.verdicts import VERDICTS


def check(
    *,
    functions: Sequence[str],
    inputs: Sequence[str],
    truth: str | None,
    trials: int,
    dtype: str,
    seed: int,
    variants: str | None,
    gradients: bool,
    out: Path | None,
    as_json: bool,
    shrink: str | None,
    settings: Settings,
) -> int:
    """Check functions by name; 1 where something counts against one of them."""
    if not inputs:
        raise UserError("a check needs inputs: add --input 'x=normal(0,1)[8,128]' for each parameter")
    every = [*functions, *([] if truth is None else [truth])]
    sources = tuple(of_text(text) for text in every)
    asked = Asked(tuple(names_of_sources(sources)), (None,) * len(sources), sources)
    chosen = tuple(filter(None, (name.strip() for name in (variants or "").split(","))))
    what = Wanted(trials, dtype, seed, chosen, gradients)
    seconds = SHRINK_SECONDS if shrink is None else after_run(shrink, 0.0)
    wanted, has_truth = of_texts(inputs), truth is not None
    try:
        result = run_check(asked, has_truth, wanted, what, out, settings, seconds, display)
    except KeyboardInterrupt as stop:
        if not stop.args:  # there is nothing to keep yet
            raise
        raise Interrupted(f"{stop}; ulpfuzz resume runs the others") from None
    for line in (_json(result) if as_json else str(result)).split("\n"):
        say(line)
    return FOUND if VERDICTS[result.verdict].finding else 0


def _json(result: Result) -> str:
    plain = msgspec.to_builtins(result, enc_hook=str)
    return json.dumps(plain, indent=1, allow_nan=True)
