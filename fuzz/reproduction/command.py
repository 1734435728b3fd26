"""`ulpfuzz repro --script/--markdown/--pytest/--json`, `ulpfuzz repro case.json` and `ulpfuzz replay`."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from fuzz.errors import InternalError, StorageError, UserError
from fuzz.finding_commands import FOUND
from fuzz.reproduction.case import Case, case_by_draw, case_by_value, read_case, run_case, to_json, with_expectation
from fuzz.reproduction.composing import compose
from fuzz.reproduction.facts import facts
from fuzz.reproduction.reduction import Stage, stages
from fuzz.reproduction.replay import MOVED, NOT_RUN, STILL, cases_in, replay
from fuzz.reproduction.report import markdown
from fuzz.reproduction.running import Ran, run_file, try_out
from fuzz.reproduction.script import Text, save_large
from fuzz.reproduction.specimen import (
    OF_PROCESS,
    RAISED,
    Examiner,
    Failing,
    Specimen,
    kinds_of,
)
from fuzz.reproduction.subject import Subject, find, specimen
from fuzz.worker_process import start
from results.errors import ResultsError


class Wanted(Struct, frozen=True):
    """Which files to write."""

    script: Path | None = None
    markdown: Path | None = None
    pytest: Path | None = None
    json: Path | None = None

    def __bool__(self) -> bool:
        return any((self.script, self.markdown, self.pytest, self.json))


def write(directory: Path, name: str, wanted: Wanted, extensions: Sequence[Path] = ()) -> int:
    """Write what is wanted of the finding or trial `name`, in a fresh process; 1 where the finding is there."""
    process = start(multiprocessing.get_context("spawn"), _child, directory, name, wanted, tuple(extensions))
    try:
        process.join()
    except KeyboardInterrupt:  # a kernel may hang in a C call: the child gets no say
        process.kill()
        raise
    code = process.exitcode or 0
    if code < 0:
        raise InternalError(f"the process that looked at {name} died (signal {-code}): a kernel that it ran ended it")
    if wanted.json is not None and code == FOUND:
        (outcome,) = replay([read_case(wanted.json)])
        print(f"{wanted.json}: {outcome.line}")
    return code


def show_case(path: Path, extensions: Sequence[Path] = ()) -> int:
    """Run a case file: 1 where it gives what it gave, or something else that counts against the kernel."""
    (outcome,) = replay(cases_in([path], tuple(extensions)))
    case, answer = outcome.case, outcome.answer
    print(case.title)
    if answer.value:
        print(f"value {answer.value}\ntruth {answer.truth}")
    if answer.detail:
        print(f"{answer.verdict}: {answer.detail}")
    print(outcome.line)
    if outcome.status == NOT_RUN:
        raise UserError(f"the case cannot be run here: {answer.reason}")
    return FOUND if outcome.status in (STILL, MOVED) else 0


def replay_all(places: Sequence[Path], extensions: Sequence[Path] = ()) -> int:
    """Run every finding of these campaigns and case files again, a line each; 1 where one is still there or moved."""
    if not places:
        raise UserError("name a campaign directory or a case file: `ulpfuzz replay DIR`")
    counts: dict[str, int] = {}
    for outcome in replay(cases_in(places, tuple(extensions))):
        print(outcome.line, flush=True)
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    print(", ".join(f"{count} {status}" for status, count in counts.items()) or "no findings to run again")
    return FOUND if counts.get(STILL) or counts.get(MOVED) else 0


def _child(directory: Path, name: str, wanted: Wanted, extensions: tuple[Path, ...]) -> None:
    """Entry point of the fresh process: errors become one line here too."""
    try:
        code = _Writing(find(directory, name, extensions), wanted).run()
        sys.stdout.flush()
    except (UserError, ResultsError, InternalError) as error:
        print(f"ulpfuzz: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


class _Writing:
    """Finds the smallest script that fails, then writes the files."""

    def __init__(self, subject: Subject, wanted: Wanted) -> None:
        self._subject, self._wanted = subject, wanted
        self._examiner = Examiner()
        self._kinds = kinds_of(subject.verdict)

    def run(self) -> int:
        found = self._stages()
        if any((self._wanted.script, self._wanted.markdown, self._wanted.pytest)):
            stage, text, ran = self._failing(found)
            self._write_texts(stage, text, ran)
        if self._wanted.json is not None:
            self._write_case(found)
        return FOUND

    def _stages(self) -> list[Stage]:
        """Specimens that fail, as found and smaller ones. UserError where the trial does not fail any more."""
        first = specimen(self._subject)
        if self._kinds[0] in OF_PROCESS:
            return _of_process(first, self._subject, self._kinds[0])
        output = None
        if self._subject.group is None or self._subject.group.output:
            names = [spec.name for spec in self._examiner.bench(first).contract.outputs]
            output = names.index(str(self._subject.row["output"]))
        failing = self._examiner.examine(first, self._kinds, output)
        if failing is None:
            raise UserError(
                f"{self._subject.row['trial']} does not fail here: it was {self._subject.verdict} in the campaign "
                f"(environment {self._subject.row['environment']}); `ulpfuzz repro` shows what it gives now"
            )
        return stages(self._examiner, first, failing, self._kinds)

    def _failing(self, found: list[Stage]) -> tuple[Stage, Text, Ran]:
        """The smallest specimen whose script fails in a fresh process. UserError where no script does."""
        path = self._wanted.script or self._wanted.pytest or self._wanted.markdown
        assert path is not None
        beside = f"{path.stem}.npz"
        tried: list[str] = []
        for one_thread in (False, True):
            for stage in reversed(found):
                text = compose(self._subject, self._examiner, stage, beside, one_thread)
                ran = try_out(text)
                if ran.failed:
                    return stage, text, ran
                tried.append(ran.why)
        raise UserError(
            f"no script written: the finding shows in the campaign's process only, scripts of it end with {tried[-1]}"
        )

    def _write_texts(self, stage: Stage, text: Text, ran: Ran) -> None:
        script, test, report = self._wanted.script, self._wanted.pytest, self._wanted.markdown
        if script is not None:
            _save(script, text.script())
            _save_beside(text, script)
            again = run_file(script)
            if not again.failed:
                script.unlink()
                raise UserError(f"{script} is not kept: it ended with {again.why} where a copy of it had failed")
            print(f"{script}: exits 1, the defect is there ({_shown(again)})")
        if test is not None:
            _save(test, text.test())
            _save_beside(text, test)
            print(f"{test}: a test that fails while the defect is there")
        if report is not None:
            known = facts(self._examiner, *stage) if stage.failing.position >= 0 else None
            _save(report, markdown(self._subject, stage.specimen, text, known, ran))
            _save_beside(text, report)
            print(f"{report}: a report with the script's output")

    def _write_case(self, found: list[Stage]) -> None:
        """By value where that has the same verdict, else by draw."""
        path = self._wanted.json
        assert path is not None
        case = case_by_draw(self._subject)
        if self._kinds[0] not in OF_PROCESS:
            case = self._by_value(found) or case
        _save(path, to_json(case))

    def _by_value(self, found: list[Stage]) -> Case | None:
        for stage in reversed(found):
            case = case_by_value(self._subject, stage.specimen)
            answer = run_case(case)
            if answer.verdict == self._subject.verdict:
                return with_expectation(case, answer)
        return None


def _of_process(first: Specimen, subject: Subject, kind: str) -> list[Stage]:
    """What ends processes is not examined in this one: the inputs as they were, then the least of every dim."""
    from fuzz.operators import operator

    if subject.detail.startswith("raised "):
        kind = RAISED
    failing = Failing(kind, 0, -1, float("inf"), subject.detail)
    found = [Stage(first, failing)]
    contract = operator(first.problem.operator).contract
    sizes = dict(first.problem.dims)
    least = {dim.name: min(max(dim.minimum, 1), sizes[dim.name]) for dim in contract.dims}
    if least != sizes:
        arrays = {
            spec.name: first.arrays[spec.name][
                tuple(slice(0, least[dim] if isinstance(dim, str) else None) for dim in spec.dims)
            ].copy()
            for spec in contract.inputs
        }
        found.append(Stage(first.with_arrays(arrays, least), failing))
    return found


def _shown(ran: Ran) -> str:
    """The lines that say what was compared, in one."""
    lines = [" ".join(line.split()) for line in ran.output.splitlines()[1:-1]]
    return "; ".join(line for line in lines if line)[:200]


def _save_beside(text: Text, path: Path) -> None:
    with _storing(path):
        save_large(text, path.with_name(text.beside))


def _save(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with _storing(path):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _storing(path: Path) -> Iterator[None]:
    """An error of the disk as one line."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}: name another file") from None
