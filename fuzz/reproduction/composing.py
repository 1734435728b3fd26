"""From a stage of the reduction to the text of its script."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import structs

from fuzz.backends import backend
from fuzz.backends.base import Implementation
from fuzz.backends.spelling import Spelling, Unspellable, Wanted
from fuzz.reproduction import checks, facts
from fuzz.reproduction.checks import RETURNED
from fuzz.reproduction.script import Text, safe_names
from fuzz.reproduction.specimen import DIFFERS, DTYPE, OVERRUNS, RAISED, Examiner, Stage
from fuzz.reproduction.subject import Subject
from fuzz.targets import Target

_NO_ARRAY = re.compile(r"TypeError: \S+ function .* returned (None|\d+ arrays):")


def compose(subject: Subject, examiner: Examiner, stage: Stage, beside: str, one_thread: bool = False) -> Text:
    """The text for one stage. `beside` is the name of the file for arrays too large for a script."""
    specimen, failing = stage
    bench = examiner.bench(specimen)
    contract, dtype = bench.contract, specimen.target.dtype
    names = safe_names(list(specimen.arrays))
    implementation = specimen.target.implementation(contract.operator)
    wanted = Wanted(
        implementation=implementation,
        attributes=dict(bench.problem.attributes),
        device=specimen.target.device,
        dtype=dtype,
        options=specimen.target.all_options(),
        inputs={names[name]: shape for name, shape in bench.input_shapes.items()},
        outputs=dict(zip((spec.name for spec in contract.outputs), bench.output_shapes, strict=True)),
        output=failing.output,
        one_thread=one_thread,
        guarded=failing.kind == OVERRUNS,
    )
    plain = examiner.without_options(specimen) if failing.kind == DIFFERS else None
    note, unchanged = "", tuple[str, ...]()
    shape = bench.output_shapes[failing.output] if failing.error.startswith(f"{RETURNED}shape ") else None
    try:
        spelling = backend(specimen.target.backend).spell(wanted)
        if failing.kind == DTYPE and spelling.dtype:
            raise Unspellable(f"its text passes {dtype} on as {spelling.dtype}")
        if plain is not None:
            unchanged = _unchanged(structs.replace(wanted, options=plain.all_options()), spelling, plain)
        if failing.kind == RAISED and shape is None and _of_the_result(failing.error):
            raise Unspellable("what is wrong is what it returns")
    except Unspellable as reason:
        note = f"The kernel has no text of its own ({reason}): the script calls it through ulpfuzz."
        spelling = through_ulpfuzz(subject, wanted, names, subject.target)
        unchanged = through_ulpfuzz(subject, wanted, names, plain).body if plain is not None else ()
        shape = None
        if failing.kind == OVERRUNS:
            failing = structs.replace(failing, kind=RAISED)
    known = facts.facts(examiner, specimen, failing)
    source = source_of(specimen.target.backend, implementation)
    check = checks.check(contract, source, dtype, subject.verdict, failing, known, shape)
    title = f"{source}: {subject.verdict.replace('_', ' ')} in {dtype}"
    inputs = {names[name]: values for name, values in specimen.arrays.items()}
    return Text(title, spelling, inputs, dtype, check, beside, unchanged, note)


def _unchanged(wanted: Wanted, spelling: Spelling, plain: Target) -> tuple[str, ...]:
    """Statements of the kernel without options, in a script that has the definitions of the one with them."""
    other = backend(plain.backend).spell(wanted)
    if other.definitions != spelling.definitions or not set(other.imports) <= set(spelling.imports):
        raise Unspellable("its options are settings of the whole process")
    return other.body


def _of_the_result(error: str) -> bool:
    """Whether the engine's message is about what a kernel returned: its text would make an array of that."""
    return error.startswith(RETURNED) or _NO_ARRAY.match(error) is not None


def source_of(backend_name: str, implementation: Implementation) -> str:
    """The call by the name its library has for it, for sentences."""
    shown = implementation.source if len(implementation.source) < 80 else implementation.name
    if shown.startswith(f"{backend_name}."):
        return shown
    if implementation.provenance == "library":
        return f"{backend_name} {shown}"
    return f"{backend_name} {implementation.operator} ({shown})"


def through_ulpfuzz(
    subject: Subject, wanted: Wanted, names: dict[str, str], whose: Target, variant: str = ""
) -> Spelling:
    """A call of `whose` target, under a variant where one is named, for a script that needs ulpfuzz."""
    inputs = ", ".join(f"{name!r}: {safe}" for name, safe in names.items())
    target = structs.replace(whose, dtype=wanted.dtype).spelling(wanted.dtype)
    files = [str(Path(path).resolve()) for path in subject.extensions]
    call = f"call({wanted.implementation.operator!r}, {target!r}, {{{inputs}}}, {dict(wanted.attributes)!r}, EXTENSIONS"
    call += f", {variant!r})" if variant else ")"
    return Spelling(
        imports=("from fuzz.extend import call",),
        definitions=(f"EXTENSIONS = {files!r}",),
        body=(f"result = {call}", f"return result[{wanted.output}]"),
        settings="through ulpfuzz",
        requires=("fuzz",),
    )
