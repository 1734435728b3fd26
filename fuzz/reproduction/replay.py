"""`ulpfuzz replay`: run past findings again, each in a process that it may end, and say what became of them."""

from __future__ import annotations

import math
import resource
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from msgspec import Struct, structs

from fuzz.errors import InternalError, StorageError, UserError
from fuzz.reproduction.case import Answer, Case, case_by_draw, read_case, run_case
from fuzz.surroundings import default_signals
from fuzz.workers.child import Child
from results.errors import ResultsError
from results.verdicts import VERDICTS

FIXED, STILL, MOVED, NOT_RUN = "fixed", "still there", "moved", "not runnable here"
SECONDS = 120.0
"""A case may take as long, libraries and compilation included."""
_DEADLY = frozenset({"crashed", "input_modified", "out_of_bounds_write", "out_of_memory"})


class Outcome(Struct, frozen=True):
    """What became of a finding."""

    status: str
    case: Case
    answer: Answer

    @property
    def line(self) -> str:
        """For the terminal."""
        name = self.case.finding or self.case.trial
        return f"{self.status:<17} {name}  {self.case.title}{self._why()}"

    def _why(self) -> str:
        then, now = self.case.expected, self.answer
        if self.status == NOT_RUN:
            return f": {now.reason}"
        if self.status == FIXED:
            return f": now {now.verdict}{_rho(now.rho)}"
        if self.status == MOVED:
            return f": was {then.verdict}{_rho(then.rho)}, now {now.verdict}{_rho(now.rho)} ({now.detail[:120]})"
        return _rho(now.rho)


def cases_in(places: Sequence[Path], extensions: tuple[Path, ...]) -> list[Case]:
    """The findings of campaign directories and case files. UserError or ResultsError for what is neither."""
    found: list[Case] = []
    for place in places:
        if place.is_file():
            found.append(_with_replacements(read_case(place), extensions))
        else:
            found += _gathered(place, extensions)
    return found


def replay(cases: Sequence[Case]) -> Iterator[Outcome]:
    """Run the cases one after the other. A process serves cases with the same extensions until one ends it."""
    waiting = list(cases)
    while waiting:
        files = waiting[0].extensions
        batch = [case for case in waiting if case.extensions == files]
        waiting = [case for case in waiting if case.extensions != files]
        while batch:
            done = 0
            for answer in _answers(batch):
                yield judge(batch[done], answer)
                done += 1
            batch = batch[done:]


def judge(case: Case, answer: Answer) -> Outcome:
    """Fixed where nothing counts against the kernel any more; moved where the verdict or the decade of rho differs."""
    if answer.reason:
        return Outcome(NOT_RUN, case, answer)
    then = case.expected
    if answer.verdict == then.verdict:
        same = then.rho is None or answer.rho is None or abs(_decade(then.rho) - _decade(answer.rho)) <= 1.0
        return Outcome(STILL if same else MOVED, case, answer)
    if then.verdict in _DEADLY and answer.verdict == "crashed":
        return Outcome(STILL, case, answer)
    healthy = not VERDICTS[answer.verdict].finding and answer.verdict != "indeterminate"
    return Outcome(FIXED if healthy else MOVED, case, answer)


def _decade(rho: float) -> float:
    """Of a size; what is within the bound is one size."""
    return math.log10(max(rho, 1.0))


def _rho(rho: float | None) -> str:
    return "" if rho is None else f", rho {rho:.3g}"


def _gathered(directory: Path, extensions: tuple[Path, ...]) -> list[Case]:
    """The findings of a campaign, read in a process of its own: extensions of several campaigns may share names."""
    cases: list[Case] = []
    with Child(_of_campaign_sent, directory, extensions) as child:
        while True:
            try:
                found = child.receive(SECONDS)
            except TimeoutError:
                raise InternalError(f"a finding of {directory} was not read within {SECONDS:g} s") from None
            except EOFError:
                raise InternalError(f"the process that read {directory} ended with {child.cause()}") from None
            if found is None:
                return cases
            if isinstance(found, tuple):
                raise {2: UserError, 3: StorageError}.get(found[1], InternalError)(found[0])
            cases.append(found)


def _of_campaign_sent(connection: Connection, directory: Path, extensions: tuple[Path, ...]) -> None:
    """The cases one by one, then None; or a message with its exit code."""
    try:
        for case in _of_campaign(directory, extensions):
            connection.send(case)
        connection.send(None)
    except (UserError, ResultsError, InternalError) as error:
        connection.send((str(error), error.exit_code))


def _of_campaign(directory: Path, extensions: tuple[Path, ...]) -> Iterator[Case]:
    from fuzz.reproduction.subject import open_campaign, subject_of
    from results.reading import open as open_results

    campaign, files = open_campaign(directory, extensions)
    results = open_results(directory)
    for group in results.findings:
        yield case_by_draw(subject_of(campaign, files, results, group))


def _with_replacements(case: Case, replacements: tuple[Path, ...]) -> Case:
    by_name = {path.name: path for path in replacements}
    chosen = [str(by_name.get(_plain_name(Path(path)), Path(path)).resolve()) for path in case.extensions]
    return structs.replace(case, extensions=tuple(chosen))


def _plain_name(path: Path) -> str:
    """The name a file had before it was copied into a campaign as 000_name.py."""
    number, underscore, rest = path.name.partition("_")
    return rest if underscore and number.isdigit() else path.name


def _answers(cases: Sequence[Case]) -> Iterator[Answer]:
    """Answers from one fresh process, up to the first that it does not survive: what it died of is that answer."""
    with Child(_serve, tuple(cases)) as child:
        for _ in cases:
            try:
                answer = child.receive(SECONDS)
            except TimeoutError:
                yield Answer("timed_out", detail=f"did not end within {SECONDS:g} s")
                return
            except EOFError:
                yield Answer("crashed", detail=f"the process ended with {child.cause()}")
                return
            if isinstance(answer, str):
                raise InternalError(answer)
            yield answer


def _serve(connection: Connection, cases: tuple[Case, ...]) -> None:
    """Entry point of the process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are expected
    try:
        missing = _load(cases[0].extensions)
        for case in cases:
            try:
                answer = Answer(reason=missing) if missing else run_case(case)
            except (UserError, ResultsError) as error:
                answer = Answer(reason=str(error))
            except Exception as error:  # noqa: BLE001  # of a kernel it would be an answer
                told = f"{type(error).__name__}: {error}"
                answer = Answer(reason=f"the case is damaged, or ulpfuzz failed ({told}): write the case file anew")
            default_signals()
            connection.send(answer)
    except InternalError as error:
        connection.send(str(error))


def _load(files: Sequence[str]) -> str:
    """Load extensions; why one cannot be loaded, or nothing."""
    from fuzz.extensions import load_entry_points, load_extension

    try:
        load_entry_points()
        for path in files:
            load_extension(Path(path))
    except UserError as error:
        return str(error)
    return ""
