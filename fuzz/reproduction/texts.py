"""Scripts of shrunk findings for a report: composed in a process of their own, within a time limit, and not run."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz.campaigns.directory import CampaignDirectory
from fuzz.errors import InternalError, UserError
from fuzz.workers.worker_process import start
from results.contents.findings import Script
from results.errors import ResultsError
from results.findings import FindingGroup
from results.shrunk import path_of

MOST = 20
SECONDS = 20.0
LONGEST = 60_000
"""Characters of a script on a page."""

_FOREIGN = "the campaign has code of its own (--extension), which a report does not run"
_LATE = f"writing this page ends after {SECONDS:g} s"
_LARGE = "its inputs are too large for a page"


def script_texts(
    directory: Path, groups: Sequence[FindingGroup], seconds: float = SECONDS, most: int = MOST
) -> dict[str, Script]:
    """For each finding its script, or why it has none. Kernels run in another process, which `seconds` ends."""
    if CampaignDirectory(directory).extensions():
        return {group.id: Script(why_not=_FOREIGN) for group in groups}
    place = shlex.quote(str(directory))
    found: dict[str, Script] = {}
    wanted: list[str] = []
    for group in groups:
        if not path_of(directory, group.id).exists():
            found[group.id] = Script(why_not=f"it is not shrunk: `ulpfuzz shrink {place} {group.id}` does that")
        elif len(wanted) < most:
            wanted.append(group.id)
        else:
            found[group.id] = Script(why_not=f"{most} findings have theirs here")
    return found | (_elsewhere(directory, wanted, seconds) if wanted else {})


def _elsewhere(directory: Path, ids: Sequence[str], seconds: float) -> dict[str, Script]:
    """What a fresh process composes until the time is over. One that dies takes only what it has not sent along."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = start(context, _child, theirs, directory, tuple(ids))
    theirs.close()
    found: dict[str, Script] = {}
    end = time.monotonic() + seconds
    why = _LATE
    try:
        while len(found) < len(ids) and ours.poll(max(0.0, end - time.monotonic())):
            name, script = ours.recv()
            found[name] = script
    except (EOFError, OSError):
        why = "the process that composes scripts ended"
    finally:
        process.kill()
        process.join()
        ours.close()
    return {name: found.get(name, Script(why_not=why)) for name in ids}


def _child(connection: Connection, directory: Path, ids: Sequence[str]) -> None:
    """Entry point of the fresh process. What kernels print is nobody's concern."""
    silent = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for name in ids:
        connection.send((name, _script(directory, name)))
    connection.close()


def _script(directory: Path, name: str) -> Script:
    from fuzz.reproduction.subject import find
    from fuzz.reproduction.variant_writing import writing_of
    from fuzz.reproduction.writing import Wanted

    try:
        text = writing_of(find(directory, name), Wanted()).untried()
        script = text.script()
    except (UserError, ResultsError, InternalError) as error:
        return Script(why_not=str(error))
    return Script(why_not=_LARGE) if text.large or len(script) > LONGEST else Script(script)
