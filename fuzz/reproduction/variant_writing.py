"""Files about a finding that only another way of calling shows: a script that calls both ways and compares them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.backends import backend
from fuzz.backends.base import Array
from fuzz.backends.spelling import Spelling, Unspellable, Wanted
from fuzz.errors import UserError
from fuzz.execution import CAMPAIGN, Outcome, Ran, execute
from fuzz.judging.second_look import NONDETERMINISTIC
from fuzz.reproduction import checks
from fuzz.reproduction.composing import source_of, through_ulpfuzz
from fuzz.reproduction.facts import facts
from fuzz.reproduction.running import Ran as ScriptRan
from fuzz.reproduction.running import try_out
from fuzz.reproduction.script import Text, safe_names
from fuzz.reproduction.specimen import VARIES, Failing, Specimen, Stage
from fuzz.reproduction.subject import Subject, specimen
from fuzz.reproduction.variant_text import Around, lines
from fuzz.reproduction.writing import Wanted as WantedFiles
from fuzz.reproduction.writing import Writing
from fuzz.thresholds import FLAG
from results.verdicts import NO_VALUE


def writing_of(subject: Subject, wanted: WantedFiles) -> Writing:
    """Who writes files about a finding: of a plain call, or under a variant."""
    return (VariantWriting if subject.variant else Writing)(subject, wanted)


class VariantWriting(Writing):
    """The same for findings under a variant."""

    def stages(self) -> list[Stage]:
        """The inputs as they were, and the element that differs most. UserError where there is no script of it."""
        subject = self._subject
        if subject.verdict == NONDETERMINISTIC:
            subject.require_plain("no script of what changes from run to run")
        if subject.verdict in NO_VALUE or subject.row["against"] == "truth":
            subject.require_plain("no script of a call that fails")
        first = specimen(subject)
        bench = self._examiner.bench(first)
        output = [spec.name for spec in bench.contract.outputs].index(str(subject.row["output"]))
        plain, varied = (self._values(first, variant, output) for variant in ("", subject.variant))
        found = bench.pair(output, bench.rung(first.target.dtype).bound.wide).compare(
            varied, plain, bench.rung(first.target.dtype).yardsticks[output]
        )
        if not (found.rho.largest > FLAG or found.nonfinite_mismatch):
            raise UserError(
                f"{subject.row['trial']} does not differ by more than rounding here: `ulpfuzz repro` shows what it is"
            )
        at = found.first_mismatch if found.nonfinite_mismatch else found.rho.index
        return [Stage(first, Failing(VARIES, output, at, found.rho.largest))]

    def _values(self, first: Specimen, variant: str, output: int) -> Array:
        bench = self._examiner.bench(first)
        outcome: Outcome = execute(bench, first.target, CAMPAIGN, lambda stage: None, lambda: None, variant)
        if not isinstance(outcome, Ran):
            raise UserError(f"{self._subject.row['trial']} gives no output here: {outcome.error}")
        return outcome.values[output].copy()

    def smallest(self, found: list[Stage], path: Path | None = None) -> tuple[Stage, Text, ScriptRan]:
        """The script with the library alone, or one through ulpfuzz where that does not show the difference."""
        beside = f"{(path or self._wanted.beside).stem}.npz"
        why = ""
        for own in (True, False):
            try:
                text = self._text(found[0], beside, own)
            except Unspellable:
                continue
            ran = try_out(text, path)
            if ran.failed:
                return found[0], text, ran
            why = ran.why
        raise UserError(
            f"no script written: the finding shows in the campaign's process only, a script ends with {why}"
        )

    def untried(self) -> Text:
        """The script with the library alone, or through ulpfuzz where it has no text; nobody has run it."""
        (stage,) = self.stages()
        beside = f"{self._wanted.beside.stem}.npz"
        try:
            return self._text(stage, beside, True)
        except Unspellable:
            return self._text(stage, beside, False)

    def _text(self, stage: Stage, beside: str, own: bool) -> Text:
        """`own`: as text of the library's own calls. Unspellable where that does not exist."""
        first, failing = stage
        bench, target, subject = self._examiner.bench(first), first.target, self._subject
        names = safe_names(list(first.arrays))
        implementation = target.implementation(bench.contract.operator)
        wanted = Wanted(
            implementation=implementation,
            attributes=dict(bench.problem.attributes),
            device=target.device,
            dtype=target.dtype,
            options=target.all_options(),
            inputs={names[name]: shape for name, shape in bench.input_shapes.items()},
            outputs=dict(zip((spec.name for spec in bench.contract.outputs), bench.output_shapes, strict=True)),
            output=failing.output,
            one_thread=True,
        )
        spelling: Spelling
        if own:
            ranks = {name: array.ndim for name, array in first.arrays.items()}
            around = Around(names, ranks, bench.batch(target), failing.output)
            other = lines(subject.variant, around)
            spelling = backend(target.backend).spell(wanted)
        else:
            spelling = through_ulpfuzz(subject, wanted, names, subject.target)
            other = through_ulpfuzz(subject, wanted, names, subject.target, subject.variant).body
        source = source_of(target.backend, implementation)
        known = facts(self._examiner, first, failing)
        assert known is not None
        check = checks.of_variant(
            bench.contract, source, target.dtype, subject.verdict, failing, known, subject.variant
        )
        return Text(
            f"{source}: {subject.verdict.replace('_', ' ')} in {target.dtype}",
            spelling,
            {names[name]: np.asarray(values) for name, values in first.arrays.items()},
            target.dtype,
            check,
            beside,
            other,
            "" if own else "The call has no text of its own: the script makes it through ulpfuzz.",
            about=f"The same, called in another way: {subject.variant}.",
        )
