"""Shrink one finding: where its candidates run, the first look, the search, a last look in a fresh process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from fuzz.campaigns.environment import environment, environment_id
from fuzz.errors import UserError
from fuzz.reproduction.specimen import OF_PROCESS, Specimen, kinds_of
from fuzz.reproduction.subject import Subject, specimen
from fuzz.shrinking.engine import Engine
from fuzz.shrinking.isolation import Isolated
from fuzz.shrinking.journal import Journal, digest
from fuzz.shrinking.looking import Looking
from fuzz.shrinking.phases import shrink
from fuzz.shrinking.search import USUAL, Found, Limits, Search, guard_of
from fuzz.shrinking.seen import Aim, Seen
from results.verdicts import VERDICTS


class Shrunk(Struct, frozen=True):
    """What a search came to."""

    first: Found
    best: Found
    ladder: bool
    evaluations: int
    accepted: tuple[Found, ...]
    """Every case on the way, the first one and the best included."""
    complete: bool
    """Nothing was found to be simpler; else its time was over, and more of it may lead further."""


def aim_of(subject: Subject) -> Aim:
    """What a candidate has to show."""
    whole = subject.group is not None and not subject.group.output
    return Aim(subject.verdict, "" if whole else str(subject.row["output"]))


@contextlib.contextmanager
def looking_for(subject: Subject, aim: Aim, check: Callable[[], None] = lambda: None) -> Iterator[Isolated | Engine]:
    """Where the candidates of a subject run: in a process of their own. `check` is called often, and may raise."""
    files = tuple(str(path.resolve()) for path in subject.extensions)
    of_process = kinds_of(aim.verdict)[0] in OF_PROCESS
    backend = subject.target.backend
    place = Engine(aim, subject.detail, backend, files, check) if of_process else Isolated(aim, backend, files, check)
    with place:
        yield place


def shrink_subject(
    subject: Subject,
    looking: Looking,
    limits: Limits = USUAL,
    journal: Path | None = None,
    progress: Callable[[Search], None] = lambda search: None,
) -> Shrunk:
    """The smallest case found. UserError where the finding does not show again."""
    aim = aim_of(subject)
    start = specimen(subject)
    about = {"first": digest(start), "aim": [aim.verdict, aim.output], "environment": environment_id(environment())}
    answers = Journal(journal, about)
    try:
        seen, ladder = first_look(looking, start, aim, answers)
        if seen is None:
            raise UserError(
                f"{subject.row['trial']} does not fail here: it was {subject.verdict} in the campaign (environment "
                f"{subject.row['environment']}); `ulpfuzz repro` shows what it gives now"
            )
        search = Search(looking, Found(start, seen), ladder, limits, answers, progress)
        shrink(search, subject.cell.problem, subject.seed, subject.index)
        best = _confirmed(search, looking, ladder)
    finally:
        answers.close()
    return Shrunk(search.accepted[0], best, ladder, search.evaluations, tuple(search.accepted), not search.cut_off)


def first_look(looking: Looking, start: Specimen, aim: Aim, answers: Journal) -> tuple[Seen | None, bool]:
    """What the inputs give as they were, and whether it takes the other precision to see it.

    Their verdict by value may be another than by draw, where a probe draws shorter problems: then that one is kept.
    """
    found: list[tuple[Seen, bool]] = []
    for ladder in (False, True):
        key = f"first {ladder}"
        if key not in answers:
            answers.add(key, looking.look(start, ladder))
        seen = answers[key]
        if seen is not None and seen.verdict == aim.verdict:
            return seen, ladder
        if seen is not None and VERDICTS[seen.verdict].finding:
            found.append((seen, ladder))
    return found[0] if found else (None, False)


def _confirmed(search: Search, looking: Looking, ladder: bool) -> Found:
    """The last case that fails as the first one did in a process that has run nothing else."""
    guard = guard_of(search.accepted[0])
    renew = getattr(looking, "renew", None)
    if renew is None:
        return search.best
    for found in reversed(search.accepted[1:]):
        renew()
        if guard.holds(looking.look(found.specimen, ladder)):
            return found
    return search.accepted[0]
