"""`ulpfuzz watch`: the view of a campaign from another terminal. Reads its directory only, changes nothing."""

from __future__ import annotations

import itertools
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs
from rich.console import Console
from rich.live import Live

from fuzz.campaigns import duration
from fuzz.campaigns.budget import DECIDED, OVER
from fuzz.campaigns.lock import alive, read_owner
from fuzz.campaigns.log import LOG, latest, snapshot_of
from fuzz.campaigns.snapshot import MOST_FINDINGS, Snapshot
from fuzz.cli.view import lines_of, plain, view
from fuzz.say import say
from fuzz.terminal import PATIENT_AFTER, PATIENT_SECONDS, PLAIN_SECONDS, can_move
from results.errors import StoreError
from results.layout import TextConsole
from results.manifest import MANIFEST, MORE_TIME, read_manifest, resume_command

STALE_SECONDS = 45.0
"""The engine logs a snapshot every ten seconds or so: four missing ones are a sign."""
INTERRUPTED, TERMINATED = 130, 143
PIPED_WIDTH = 110
_LOOK_SECONDS = 1.0
_STATES = ("snapshot", "start", "stop")
_DONE = "done"


class Sight(Struct, frozen=True):
    """What can be seen of a campaign from outside."""

    snapshot: Snapshot
    note: str = ""
    """What to say besides: that nobody seems to write any more, how to go on."""
    over: bool = False
    """Whether the run has ended, or has no writer that could be waited for."""


def watch(directory: Path, once: bool) -> int:
    """Show the campaign in `directory` until its run ends; the exit code. `once`: print one look.

    Raises ResultsError for a directory that is no campaign, StoreError when it vanishes.
    """
    read_manifest(directory)
    if once:
        _print(look(directory))
        return 0
    try:
        with _terminated_as_interrupted():
            if can_move(sys.stdout):
                _live(directory)
            else:
                _lines(directory)
    except _Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def look(directory: Path) -> Sight:
    """The campaign as its directory shows it now."""
    if not (directory / MANIFEST).exists():
        raise StoreError(f"{directory} has vanished: put it back, or watch it where it is now")
    states = (entry for entry in latest(directory) if entry["event"] in _STATES)
    last = next(states, None)
    if last is None:
        return _without_log(directory)
    snapshot = next(filter(None, map(snapshot_of, itertools.chain([last], states))), None) or _from_rows(directory)
    if last["event"] == "stop" and not _begins_again(directory):
        return _ended(directory, snapshot, str(last.get("reason") or _DONE))
    age = _silent_seconds(directory)
    snapshot = structs.replace(snapshot, ended="", elapsed=float(last["elapsed"]))
    owner = read_owner(directory)
    if owner is not None and owner.released and last["event"] != "stop":
        return _ended(directory, snapshot, "stopped")  # the log could not be written any more
    if age <= STALE_SECONDS and (owner is None or alive(directory)):
        return Sight(_aged(snapshot, age))
    snapshot = structs.replace(snapshot, ended="no sign of life")
    return Sight(snapshot, f"last sign of life {duration.text(age)} ago; {_go_on(directory)}")


def _ended(directory: Path, snapshot: Snapshot, reason: str) -> Sight:
    finished = snapshot.total is not None and snapshot.done >= snapshot.total
    note = (
        "" if finished or reason in (_DONE, DECIDED) else _go_on(directory, MORE_TIME if reason.endswith(OVER) else "")
    )
    return Sight(structs.replace(snapshot, ended=reason), note, over=True)


def _begins_again(directory: Path) -> bool:
    """Whether a process has taken the directory since its log was written, and lives."""
    owner = read_owner(directory)
    return owner is not None and owner.started > _logged_at(directory) and alive(directory)


def _silent_seconds(directory: Path) -> float:
    """Since the last line of the log or heartbeat of the lock."""
    owner = read_owner(directory)
    return max(0.0, time.time() - max(_logged_at(directory), owner.heartbeat if owner else 0.0))


def _logged_at(directory: Path) -> float:
    try:
        return (directory / LOG).stat().st_mtime
    except FileNotFoundError:  # vanished since it was read
        return 0.0


def _aged(snapshot: Snapshot, seconds: float) -> Snapshot:
    """The snapshot with its clocks moved on."""
    elapsed = None if snapshot.elapsed is None else snapshot.elapsed + seconds
    eta = None if snapshot.eta is None else max(0.0, snapshot.eta - seconds)
    return structs.replace(snapshot, elapsed=elapsed, eta=eta)


def _go_on(directory: Path, options: str = "") -> str:
    return f"{resume_command(directory, options)} goes on"


def _without_log(directory: Path) -> Sight:
    """A campaign that has not begun to log, or of a version that did not."""
    snapshot = _from_rows(directory)
    if snapshot.total is not None and snapshot.done >= snapshot.total:
        return Sight(structs.replace(snapshot, ended=_DONE), over=True)
    if alive(directory):
        return Sight(snapshot, "no log yet: counts from the trials on disk")
    return Sight(structs.replace(snapshot, ended="no sign of life"), f"no log; {_go_on(directory)}", over=True)


def _from_rows(directory: Path) -> Snapshot:
    """Counts of what is on disk; nothing is known of workers and time."""
    from fuzz.campaigns.counting import Counts, trials_on_disk

    manifest = read_manifest(directory)
    groups = manifest.get("cells") or manifest.get("survey") or []
    trials = manifest.get("trials")
    counts = Counts(manifest.get("targets") or ())
    counts.load(directory)
    findings = counts.findings()
    return Snapshot(
        title=str(manifest.get("title") or directory.name),
        directory=str(directory),
        plan=str(manifest.get("plan")),
        total=trials * len(groups) if isinstance(trials, int) else None,
        done=trials_on_disk(directory),
        elapsed=None,
        speed=None,
        eta=None,
        budget="",
        one_rate=len(groups) == 1 and (manifest.get("plan") == "fixed" or manifest.get("trials_per_problem") == 1),
        targets=counts.targets(),
        findings=tuple(findings[:MOST_FINDINGS]),
        findings_total=len(findings),
        workers=(),
        restarts=(),
        quarantined=0,
        free_bytes=None,
    )


def _print(sight: Sight) -> None:
    width = Console().width - 1 if sys.stdout.isatty() else PIPED_WIDTH
    for line in lines_of(sight.snapshot, width):
        say(line)
    if sight.note:
        say("")
        say(sight.note)


def _lines(directory: Path) -> None:
    """A line every few seconds, every minute once nobody waits for the next one; at the end everything."""
    started = time.monotonic()
    while not (sight := look(directory)).over:
        say("; ".join(filter(None, (plain(sight.snapshot), sight.note))))
        time.sleep(PLAIN_SECONDS if time.monotonic() - started <= PATIENT_AFTER else PATIENT_SECONDS)
    _print(sight)


def _live(directory: Path) -> None:
    """A screen of its own, so that the terminal may be resized; the last look stays behind."""
    console = TextConsole(highlight=False)
    with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while not (sight := look(directory)).over:
            live.update(view(sight.snapshot, console.width, console.height, sight.note), refresh=True)
            time.sleep(_LOOK_SECONDS)
    _print(sight)


class _Terminated(KeyboardInterrupt):
    """SIGTERM: the terminal is put back before the process ends."""


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    def terminate(*_: object) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
