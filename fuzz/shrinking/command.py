"""`ulpfuzz shrink DIR [FINDING]`, and what a run does at its end."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.campaigns import duration
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.errors import Interrupted, UserError
from fuzz.interrupts import Interrupt, gentle_interrupts
from fuzz.reproduction.subject import Subject, every_group, find_group, open_campaign, subject_of
from fuzz.say import tell
from fuzz.schedules import OPTIONS
from fuzz.shrinking.isolation import explained
from fuzz.shrinking.record import case_of, store, stored
from fuzz.shrinking.search import SECONDS, Limits, Search
from fuzz.shrinking.shrinker import Shrunk, aim_of, looking_for, shrink_subject
from fuzz.shrinking.telling import Progress
from results.reading import open as open_results
from results.shrunk import FOLDER

if TYPE_CHECKING:
    from results.findings import FindingGroup

_ENDED_FOR_MEMORY = "out_of_memory"


def shrink(directory: Path, name: str | None, each: str | None, together: str | None) -> int:
    """Shrink one finding, or all of a campaign, the most severe first; a line each. 0 where that could be done."""
    if name is not None and not name.strip():
        raise UserError("no finding has an empty name: leave it out for all, or `ulpfuzz findings DIR` lists them")
    seconds = SECONDS if each is None else duration.seconds(each)
    total = None if together is None else duration.seconds(together)
    campaign, extensions = open_campaign(directory)
    try:
        _locked(campaign, extensions, name, seconds, total)
    except KeyboardInterrupt:
        again = shlex.join(["ulpfuzz", "shrink", str(directory), *([name] if name else [])])
        raise Interrupted(f"interrupted: `{again}` goes on where it stopped") from None
    return 0


def shrink_after_run(campaign: Campaign, seconds: float) -> None:
    """Shrink the findings of a campaign that has just ended in this process, in so many seconds together."""
    _locked(campaign, campaign.directory.extensions(), None, seconds, seconds)


def _locked(
    campaign: Campaign, extensions: tuple[Path, ...], name: str | None, each: float, together: float | None
) -> None:
    """Shrink while nobody else writes the directory. KeyboardInterrupt where that was asked for."""
    campaign.directory.lock()
    interrupt = Interrupt()
    try:
        with gentle_interrupts(interrupt):
            _findings(campaign, extensions, name, each, together, interrupt)
    finally:
        campaign.directory.unlock()


def _findings(
    campaign: Campaign,
    extensions: tuple[Path, ...],
    name: str | None,
    each: float,
    together: float | None,
    interrupt: Interrupt,
) -> None:
    place, directory = campaign.directory, campaign.directory.path
    results = open_results(directory)
    groups = [find_group(every_group(results), name, directory)] if name else list(results.findings)
    end = None if together is None else time.monotonic() + together
    for number, group in enumerate(groups):
        interrupt.check()
        known = stored(directory, group.id)
        if known is not None and known.shrunk is not None and known.shrunk.complete:
            _say(group, known.shrunk.summary)
            continue
        seconds = each
        if end is not None:
            left = end - time.monotonic()
            if left <= 0:
                _out_of_time(groups[number:])
                return
            seconds = min(each, left / (len(groups) - number))
        try:
            subject = subject_of(campaign, extensions, results, group)
            _one(subject, group, place, Limits(seconds=seconds), interrupt)
        except UserError as error:
            if name is not None:
                raise
            _say(group, f"not shrunk: {error}")


def _one(subject: Subject, group: FindingGroup, place: CampaignDirectory, limits: Limits, interrupt: Interrupt) -> None:
    subject.require_plain("there is no smaller case of it")
    if group.against != "truth":
        raise UserError("it compares two targets, and a case has one")
    if subject.verdict == _ENDED_FOR_MEMORY and "raised " not in subject.detail:
        raise UserError("it was ended for its memory, which depends on what ran before")
    folder = subject.directory / FOLDER
    with place.writing():
        folder.mkdir(exist_ok=True)
    journal = folder / f"{group.id}.journal"
    progress = Progress(group.subject)

    def told(search: Search) -> None:
        interrupt.check()
        place.heartbeat()
        progress.show(search)

    with looking_for(subject, aim_of(subject), interrupt.check) as looking, progress:
        shrunk = shrink_subject(subject, looking, limits, journal, told)
    case = case_of(subject, shrunk, _primitives(subject, shrunk))
    store(subject.directory, group.id, case)
    if shrunk.complete:
        journal.unlink(missing_ok=True)
    assert case.shrunk is not None
    _say(group, case.shrunk.summary)


def _primitives(subject: Subject, shrunk: Shrunk) -> tuple[str, ...]:
    """What the schedule of the result does; nothing where it has none."""
    specimen = shrunk.best.specimen
    if not {name for name, _ in specimen.target.options} & set(OPTIONS.values()):
        return ()
    files = tuple(str(path.resolve()) for path in subject.extensions)
    return explained(specimen, files)


def _say(group: FindingGroup, what: str) -> None:
    tell(f"{group.id}  {group.title}: {what}")


def _out_of_time(groups: Sequence[FindingGroup]) -> None:
    what = "1 finding" if len(groups) == 1 else f"{len(groups)} findings"
    print(f"no time left to shrink {what}: `ulpfuzz shrink` goes on", file=sys.stderr)
