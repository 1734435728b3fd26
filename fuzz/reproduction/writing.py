"""From a finding to files: the smallest script that fails in a fresh process, a report, a test, a case file."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from fuzz.errors import FOUND, StorageError, UserError
from fuzz.reproduction.case import Case, case_by_draw, case_by_value, run_case, to_json, with_expectation
from fuzz.reproduction.composing import compose
from fuzz.reproduction.facts import facts
from fuzz.reproduction.report import markdown
from fuzz.reproduction.running import Ran, try_out
from fuzz.reproduction.saving import save, save_beside
from fuzz.reproduction.script import Text
from fuzz.reproduction.specimen import (
    OF_PROCESS,
    RAISED,
    Examiner,
    Failing,
    Specimen,
    Stage,
    kinds_of,
)
from fuzz.reproduction.subject import Subject, specimen
from fuzz.say import say
from fuzz.shrinking.looking import Looker
from fuzz.shrinking.record import specimen_of, stored
from fuzz.shrinking.shrinker import aim_of, shrink_subject


class Wanted(Struct, frozen=True):
    """Which files to write."""

    script: Path | None = None
    markdown: Path | None = None
    pytest: Path | None = None
    json: Path | None = None

    @property
    def beside(self) -> Path:
        """The file whose name that of arrays too large for a script is made of."""
        return self.script or self.pytest or self.markdown or Path("script.py")

    def require_folders(self) -> None:
        """StorageError where a file cannot be written because its folder does not exist."""
        for path in (self.script, self.markdown, self.pytest, self.json):
            if path is not None and not path.parent.is_dir():
                raise StorageError(f"{path} cannot be written: there is no folder {path.parent}: name another file")

    def __bool__(self) -> bool:
        return any((self.script, self.markdown, self.pytest, self.json))


class Writing:
    """Finds the smallest script that fails, then writes the files. In this process: kernels run here."""

    def __init__(self, subject: Subject, wanted: Wanted) -> None:
        self._subject, self._wanted = subject, wanted
        self._examiner = Examiner()
        self._kinds = kinds_of(subject.verdict)
        self._shrunk = None if subject.group is None else stored(subject.directory, subject.group.id)
        """The case that the finding was shrunk to, where it was."""

    def run(self) -> int:
        if self._subject.variant and self._wanted.json is not None:
            save(self._wanted.json, to_json(case_by_draw(self._subject)))
            if not any((self._wanted.script, self._wanted.markdown, self._wanted.pytest)):
                return FOUND
        found = self.stages()
        if any((self._wanted.script, self._wanted.markdown, self._wanted.pytest)):
            self._write_texts(found)
        if self._wanted.json is not None:
            self._write_case(found)
        return FOUND

    def stages(self) -> list[Stage]:
        """Specimens that fail, as found and smaller ones. UserError where the trial does not fail any more."""
        self._subject.require_plain("no script written")
        if self._subject.verdict == "out_of_memory" and "raised " not in self._subject.detail:
            raise UserError(
                f"{self._subject.row['trial']} was ended for its memory ({self._subject.detail}): a script that runs "
                "without that limit does not show it; `--json` writes no file either"
            )
        first = specimen(self._subject)
        if self._kinds[0] in OF_PROCESS:
            small = None if self._shrunk is None else specimen_of(self._shrunk)
            return _of_process(first, self._subject, self._kinds[0], small)
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
        found = [Stage(first, failing)]
        for smaller in self._smaller():
            failing = self._examiner.examine(smaller, self._kinds, output)
            if failing is not None:
                found.append(Stage(smaller, failing))
        return found

    def _smaller(self) -> list[Specimen]:
        """What the finding was shrunk to; where it was not, the last case with many digits, and the last one."""
        if self._shrunk is not None:
            return [specimen_of(self._shrunk)]
        if self._subject.target.endangers():  # smaller schedules may end this process: `ulpfuzz shrink` has workers
            return []
        shrunk = shrink_subject(self._subject, Looker(aim_of(self._subject)))
        dims = shrunk.best.specimen.problem.dims
        longer = next(found.specimen for found in shrunk.accepted if found.specimen.problem.dims == dims)
        return [longer, shrunk.best.specimen]

    def smallest(self, found: list[Stage], path: Path | None = None) -> tuple[Stage, Text, Ran]:
        """The smallest specimen whose script fails in a fresh process; the script is kept at `path`.

        UserError where no script fails: then none is kept.
        """
        beside = f"{(path or self._wanted.beside).stem}.npz"
        tried: list[str] = []
        for one_thread in (False, True):
            for stage in reversed(found):
                text = compose(self._subject, self._examiner, stage, beside, one_thread)
                ran = try_out(text, path)
                if ran.failed:
                    return stage, text, ran
                tried.append(ran.why)
        raise UserError(
            f"no script written: the finding shows in the campaign's process only, scripts of it end with {tried[-1]}"
        )

    def untried(self) -> Text:
        """The script of the smallest specimen that fails in this process; nobody has run the script itself."""
        return compose(self._subject, self._examiner, self.stages()[-1], f"{self._wanted.beside.stem}.npz")

    def _write_texts(self, found: list[Stage]) -> None:
        script, test, report = self._wanted.script, self._wanted.pytest, self._wanted.markdown
        stage, text, ran = self.smallest(found, script)
        if script is not None:
            say(f"{script}: exits 1, the defect is there ({_shown(ran)})")
        if test is not None:
            save(test, text.test())
            save_beside(text, test)
            say(f"{test}: a test that fails while the defect is there")
        if report is not None:
            known = facts(self._examiner, *stage) if stage.failing.position >= 0 else None
            save(report, markdown(self._subject, stage.specimen, text, known, ran))
            save_beside(text, report)
            say(f"{report}: a report with the script's output")

    def _write_case(self, found: list[Stage]) -> None:
        """By value where that has the same verdict, else by draw."""
        path = self._wanted.json
        assert path is not None
        if self._shrunk is not None:
            save(path, to_json(self._shrunk))
            return
        case = case_by_draw(self._subject)
        if self._kinds[0] not in OF_PROCESS:
            case = self._by_value(found) or case
        save(path, to_json(case))

    def _by_value(self, found: list[Stage]) -> Case | None:
        for stage in reversed(found):
            for ladder in (True, False):
                case = case_by_value(self._subject, stage.specimen, ladder)
                answer = run_case(case)
                if answer.verdict == self._subject.verdict:
                    return with_expectation(case, answer)
        return None


def _of_process(first: Specimen, subject: Subject, kind: str, small: Specimen | None) -> list[Stage]:
    """What ends processes is not examined in this one: the inputs as they were, then what they were shrunk to, or else
    the least of every dim."""
    from fuzz.operators import operator

    if subject.detail.startswith("raised "):
        kind = RAISED
    failing = Failing(kind, 0, -1, float("inf"), subject.detail)
    found = [Stage(first, failing)]
    if small is not None:
        return [*found, Stage(small, failing)]
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
