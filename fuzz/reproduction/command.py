"""`ulpfuzz repro --script/--markdown/--pytest/--json`, `ulpfuzz repro case.json` and `ulpfuzz replay`."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.errors import FOUND, InternalError, UserError
from fuzz.reproduction.case import read_case
from fuzz.reproduction.replay import MOVED, NOT_RUN, STILL, cases_in, replay
from fuzz.reproduction.subject import find
from fuzz.reproduction.variant_writing import writing_of
from fuzz.reproduction.writing import Wanted
from fuzz.say import say, tell
from fuzz.workers.worker_process import joined, start
from results.errors import ResultsError


def write(directory: Path, name: str, wanted: Wanted, extensions: Sequence[Path] = ()) -> int:
    """Write what is wanted of the finding or trial `name`, in a fresh process; 1 where the finding is there."""
    wanted.require_folders()
    process = start(multiprocessing.get_context("spawn"), _child, directory, name, wanted, tuple(extensions))
    code = joined(process)
    if code < 0:
        raise InternalError(f"the process that looked at {name} died (signal {-code}): a kernel that it ran ended it")
    if wanted.json is not None and code == FOUND:
        (outcome,) = replay([read_case(wanted.json)])
        say(f"{wanted.json}: {outcome.line}")
    return code


def show_case(path: Path, extensions: Sequence[Path] = ()) -> int:
    """Run a case file: 1 where it gives what it gave, or something else that counts against the kernel."""
    (outcome,) = replay(cases_in([path], tuple(extensions)))
    case, answer = outcome.case, outcome.answer
    say(case.title)
    if answer.value:
        say(f"value {answer.value}")
        say(f"truth {answer.truth}")
    if answer.detail:
        say(f"{answer.verdict}: {answer.detail}")
    say(outcome.line)
    if outcome.status == NOT_RUN:
        raise UserError(f"the case cannot be run here: {answer.reason}")
    return FOUND if outcome.status in (STILL, MOVED) else 0


def replay_all(places: Sequence[Path], extensions: Sequence[Path] = ()) -> int:
    """Run every finding of these campaigns and case files again, a line each; 1 where one is still there or moved."""
    if not places:
        raise UserError("name a campaign directory or a case file: `ulpfuzz replay DIR`")
    counts: dict[str, int] = {}
    cases = cases_in(places, tuple(extensions))
    if len(cases) > 1:
        tell(f"{len(cases)} findings to run again")
    for outcome in replay(cases):
        say(outcome.line)
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    print(", ".join(f"{count} {status}" for status, count in counts.items()) or "no findings to run again")
    return FOUND if counts.get(STILL) or counts.get(MOVED) else 0


def _child(directory: Path, name: str, wanted: Wanted, extensions: tuple[Path, ...]) -> None:
    """Entry point of the fresh process: errors become one line here too."""
    try:
        code = writing_of(find(directory, name, extensions), wanted).run()
        sys.stdout.flush()
    except (UserError, ResultsError, InternalError) as error:
        tell(f"ulpfuzz: {error}")
        code = error.exit_code
    sys.exit(code)
