"""What has to be known of functions before trials: whose arrays they take, what they return, whether they trace.

Runs the user's code, so it runs in a process of its own where it can (`fuzz.checking.probing`). What would fool whoever
compares outputs, is refused here in one line or noted: shapes that would broadcast against each other, results that
are no arrays, values that are NaN before anything is compared, inputs that a function changes, an order of arguments.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, structs

from fuzz.backends.base import Array, last_line, whole_text
from fuzz.checking.adapters import ADAPTERS, library_of, outputs_of
from fuzz.checking.callables import hint
from fuzz.checking.called import FOREIGN, Called, Unusable, places_of, takes_by_name
from fuzz.checking.consistency import elected, of_contradictions, own_rho
from fuzz.checking.faults import of_formula, of_orders, of_values, same_outputs
from fuzz.checking.independence import independent
from fuzz.checking.known import Known, inputs_dtype
from fuzz.checking.leaves import narrow_leaves
from fuzz.checking.library import candidates, hinted
from fuzz.checking.made import traceable
from fuzz.checking.orders import misplaced, swapped
from fuzz.errors import UserError
from fuzz.oracle.program import OPAQUE
from fuzz.oracle.rules import COMPARISONS
from fuzz.oracle.trace import TraceError, trace
from strategies.precision import PRECISIONS

Function = Callable[..., Any]
OTHER = "gives other results"
CALLS, CALL_SECONDS = 16, 0.25
"""Further calls on one input, as many as this or for so long: 16 find what happens once in five calls 97 times in 100.
What is rarer the variant repeat[k] finds."""
Tell = Callable[[str], None]
"""Hears what is about to be called, so that a process that dies is known to have died of it."""


class Prepared(Struct, frozen=True):
    """What was found out about all functions of a check."""

    functions: tuple[Known, ...]
    truth: Known
    traced: bool
    independent: dict[str, tuple[int, ...]]
    integers: tuple[bool, ...]
    """By output: whether all functions return integers or truth values."""
    notes: tuple[str, ...]
    """What the reader should know before the figures, a line each."""


def prepare(
    functions: Sequence[tuple[str, Function]],
    truth: tuple[str, Function] | None,
    inputs: Mapping[str, Array],
    tell: Tell = lambda what: None,
) -> Prepared:
    """Call every function on `inputs`, one draw of them. UserError, in one line, where no comparison is possible."""
    known = [_known(name, function, inputs, tell) for name, function in functions]
    by_name = dict(functions)
    same_outputs(known)
    integers = tuple(
        all(np.dtype(d).kind in "iub" for d in dtypes) for dtypes in zip(*(k.dtypes for k in known), strict=True)
    )
    notes = [note for one in known for note in one.notes]
    if truth is not None:
        tell(f"calling {truth[0]}")
        reference = _known(*truth, inputs, tell)
        same_outputs([known[0], reference])
        by_name[truth[0]] = truth[1]
        notes += [note for note in reference.notes if note not in notes]
        reference, traced, why = reference, *_traces(_called(reference, by_name[reference.name], inputs), inputs)
    else:
        reference, traced, why = _first_traced(known, by_name, inputs, tell)
    called = _called(reference, by_name[reference.name], inputs)
    if truth is None:
        known = _compared(known, by_name, inputs, tell, integers)
        reference = next(one for one in known if one.name == reference.name)
    if truth is None and not traced:
        reference = elected(known)
        called = _called(reference, by_name[reference.name], inputs)
        notes += of_contradictions(known, reference)
    if why:
        notes.append(f"{why}: its float64 results stand for the truth, without a bound")
    if not traced and inputs_dtype(inputs) == "float32" and not _widens(called, inputs):
        notes.append(
            f"{reference.name} takes no float64 inputs, so nothing stands for the truth: give a function that does, or "
            "a NumPy function, as truth="
        )
    notes += of_values(called, inputs)
    if traced:
        notes += of_formula(called, inputs)
    axes = independent(called, inputs, reference.shapes, tell)
    notes += of_orders(functions, known)
    notes += swapped(called, [_called(one, by_name[one.name], inputs) for one in known if one != reference], inputs)
    return Prepared(tuple(known), reference, traced, axes, integers, tuple(dict.fromkeys(notes)))


def _first_traced(
    known: Sequence[Known], functions: Mapping[str, Function], inputs: Mapping[str, Array], tell: Tell
) -> tuple[Known, bool, str]:
    """The first NumPy function that has a program; else the first function, and why it has none if it is NumPy's."""
    reasons: dict[str, str] = {}
    for one in known:
        if one.library == "numpy":
            tell(f"tracing {one.name}")
            traced, reasons[one.name] = _traces(_called(one, functions[one.name], inputs), inputs)
            if traced:
                return one, True, ""
    return known[0], False, reasons.get(known[0].name, "")


def _widens(called: Called, inputs: Mapping[str, Array]) -> bool:
    """Whether it has float64 results with float64 copies of what it holds: they stand for the truth."""
    wide = Called(called.name, lambda: called.function, called.library, list(inputs), called.by_name, widen=True)
    try:
        wide([array.astype(np.float64) for array in inputs.values()])
    except FOREIGN:
        return False
    return True


def _called(known: Known, function: Function, inputs: Mapping[str, Array], **how: Any) -> Called:
    names = known.outputs if any(known.outputs) else ()
    return Called(known.name, lambda: function, known.library, list(inputs), known.by_name, names, **how)


def _compared(
    known: Sequence[Known],
    functions: Mapping[str, Function],
    inputs: Mapping[str, Array],
    tell: Tell,
    integers: Sequence[bool],
) -> list[Known]:
    """With each function's results in two precisions compared, where there is a choice of the truth."""
    if len(known) == 1:
        return list(known)
    found = []
    for one in known:
        wide = _called(one, functions[one.name], inputs, widen=True, integers=integers)
        axes = independent(wide, inputs, one.shapes, tell)
        tell(f"comparing {one.name} with itself in float64")
        plain = _called(one, functions[one.name], inputs, integers=integers)
        found.append(structs.replace(one, own_rho=own_rho(plain, wide, tuple(axes[name] for name in inputs), inputs)))
    return found


def _known(name: str, function: Function, inputs: Mapping[str, Array], tell: Tell) -> Known:
    by_name = takes_by_name(function, list(inputs))
    seen = _tried(name, function, inputs, by_name, tell)
    called = Called(name, lambda: function, seen.library, list(inputs), by_name)
    changed = [n for n, a, b in zip(inputs, seen.inputs, inputs.values(), strict=True) if not _same(a, b)]
    notes = [f"{name} changes its input {', '.join(changed)}: the caller's data is modified"] if changed else []
    varies = _repeats(called, inputs, seen.outputs)
    notes += varies
    mark = "input_modified" if changed else "nondeterministic" if any(OTHER in note for note in varies) else ""
    notes += _mode(name, function)
    if not by_name:
        notes += misplaced(name, places_of(function), list(inputs))
    wide, remarks = _widened(called, inputs, tell)
    shapes, dtypes = tuple(v.shape for v in seen.outputs), tuple(v.dtype.name for v in seen.outputs)
    return Known(name, seen.library, by_name, tuple(seen.names), shapes, dtypes, wide, tuple(notes + remarks), mark)


class _Seen(Struct, frozen=True):
    """One call: with arrays of which library, what became of its inputs, and what it returned."""

    library: str
    inputs: list[Array]
    names: list[str]
    outputs: tuple[Array, ...]
    home: str
    """The library whose arrays it returned."""


def _tried(name: str, function: Function, inputs: Mapping[str, Array], by_name: bool, tell: Tell) -> _Seen:
    """The first library whose arrays the function takes; given those of NumPy it may return those of its own."""
    failures: dict[str, str] = {}
    foreign: list[str] = []
    """NumPy, where the function raised what one raises that is given arrays of a library which is not its own."""

    def seen(library: str) -> _Seen | None:
        tell(f"calling {name}")
        arrays = [array.copy() for array in inputs.values()]
        try:
            return _run(Called(name, lambda: function, library, list(inputs), by_name), arrays)
        except Unusable as error:
            failures[library] = str(error)
        except FOREIGN as error:  # whatever the user's code raises
            failures[library] = f"{type(error).__name__}: {whole_text(error)}"
            if library == "numpy" and isinstance(error, AttributeError | TypeError):
                foreign.append(library)
        return None

    for library in candidates(function):
        if library not in sys.modules and "numpy" in failures and not foreign:
            break  # arrays of another library would not help, and its import takes seconds
        if (found := seen(library)) is not None:
            other = None if found.home in (library, *failures) else seen(found.home)
            return other or found
    first = (hinted(function) or ["numpy"])[0]
    shapes = ", ".join(f"{n}{list(a.shape)}" for n, a in inputs.items())
    how = "by name" if by_name else "in this order"
    reason = failures.get(first) or next(iter(failures.values()))
    raise UserError(f"{name} called with {shapes} ({how}, {inputs_dtype(inputs)}): {reason}{hint(function)}")


def _run(called: Called, arrays: list[Array]) -> _Seen:
    """Call it; Unusable where it returns what cannot be judged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter = ADAPTERS[called.library]
        dtype = arrays[0].dtype.name if arrays else "float32"
        with adapter.scope(dtype), np.errstate(all="ignore"):
            function = adapter.at(called.function, dtype)
            result = called.passed(function, [adapter.send(array) for array in arrays])
            if result is None:
                raise Unusable("returned None: return an array, or a tuple or dict of arrays")
            values = tuple(array.copy() for array in called.collected(result, dtype))
            names, found = outputs_of(result)
    for value in values:
        if value.dtype.kind not in "fiub" and value.dtype.name != "bfloat16":
            raise Unusable(f"returned {value.dtype}: complex numbers and objects cannot be judged yet")
    if not values:
        raise Unusable("returned nothing: return an array, or a tuple or dict of arrays")
    return _Seen(called.library, arrays, names, values, library_of(found[0]))


def _mode(name: str, function: Function) -> list[str]:
    """A module in training mode is checked in evaluation mode: dropout and batch statistics would differ by draw."""
    training = hasattr(function, "parameters") and getattr(function, "training", False) is True
    return [f"{name} is in training mode: it was checked in evaluation mode, as eval() makes it"] if training else []


def _same(a: Array, b: Array) -> bool:
    """Whether all bits agree; of a longdouble those that count, since six of its bytes are not set."""
    if a.dtype == np.longdouble:
        return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))
    return a.tobytes() == b.tobytes()


def _repeats(called: Called, inputs: Mapping[str, Array], first: Sequence[Array]) -> list[str]:
    """Whether further calls give the same bits: one at least, more while they are fast."""
    began = time.monotonic()
    for number in range(CALLS):
        if number and time.monotonic() - began > CALL_SECONDS:
            break
        if found := _repeated(called, inputs, first):
            return found
    return []


def _repeated(called: Called, inputs: Mapping[str, Array], first: Sequence[Array]) -> list[str]:
    try:
        again = _run(called, [array.copy() for array in inputs.values()]).outputs
    except FOREIGN as error:
        return [f"{called.name} fails when it is called again: {type(error).__name__}: {whole_text(error)}"]
    if all(a.shape == b.shape and _same(a, b) for a, b in zip(first, again, strict=False)) and len(first) == len(again):
        return []
    with np.errstate(all="ignore"):
        both = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(first, again, strict=False)]
        gaps = [np.abs(a - b) for a, b in both if a.shape == b.shape]
    largest = max((float(np.nanmax(gap, initial=0.0)) for gap in gaps), default=float("nan"))
    if _within_rounding(gaps, first):
        return []
    return [
        f"{called.name} {OTHER} when it is called again on the same input (they differ by up to "
        f"{largest:.2g}): is there a random generator or dropout inside?"
    ]


def _within_rounding(gaps: Sequence[Array], first: Sequence[Array]) -> bool:
    """Whether two calls differ by no more than half of the digits of the largest result.

    Another order of additions, which parallel kernels do not keep, makes less.
    """
    if len(gaps) != len(first):
        return False
    return all(
        float(np.max(gap, initial=0.0)) <= _half(a) * float(np.max(np.abs(a.astype(np.float64)), initial=0.0))
        for gap, a in zip(gaps, first, strict=True)
    )


def _half(values: Array) -> float:
    """Relative error of half of the digits."""
    known = PRECISIONS.get(values.dtype.name)
    if values.dtype == np.longdouble:
        return float(np.finfo(values.dtype).eps ** 0.5)
    return 0.0 if known is None else float(known.unit_roundoff**0.5)


def _widened(called: Called, inputs: Mapping[str, Array], tell: Tell) -> tuple[tuple[str, ...], list[str]]:
    """dtypes of the outputs on float64 inputs, and what is to be said of them."""
    if any(array.dtype.name not in ("float32", "float64") for array in inputs.values()):
        return (), []
    tell(f"calling {called.name} in float64")
    try:
        values = _run(called, [array.astype(np.float64) for array in inputs.values()]).outputs
    except FOREIGN:  # it has one precision only: the ladder will say so
        return (), []
    notes = []
    leaves = narrow_leaves(called.function, called.library)
    narrow = [value.dtype.name for value in values if value.dtype.name not in ("float64", "int64", "bool")]
    if leaves and inputs_dtype(inputs) == "float64":  # elsewhere they are as narrow as the check
        notes.append(f"{called.name} holds float32 arrays: {_some(leaves)}")
    elif narrow and called.library == "jax":
        notes.append(
            f"{called.name} returns {narrow[0]} for float64 inputs even where x64 is in force: something inside "
            "asks for it, or was made before x64 was switched on"
        )
    elif narrow:
        notes.append(f"{called.name} returns {narrow[0]} for float64 inputs")
    return tuple(value.dtype.name for value in values), notes


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _traces(called: Called, inputs: Mapping[str, Array]) -> tuple[bool, str]:
    """Whether a function has a program, and why not, where it might have one."""
    if called.library != "numpy":
        return False, ""
    shapes = {name: array.shape for name, array in inputs.items()}
    try:
        program = trace(traceable(called), shapes)
    except TraceError as error:
        return False, f"{called.name} cannot be traced ({str(error).partition(': use ')[0]})"
    except Exception as error:  # noqa: BLE001  # tracers are no arrays to it
        return False, f"{called.name} cannot be traced ({type(error).__name__}: {last_line(error)})"
    if any(program.nodes[output].primitive in COMPARISONS for output in program.outputs):
        return False, f"{called.name} returns truth values"
    if not any(node.primitive != OPAQUE for node in program.nodes[len(program.inputs) :]):
        return False, f"{called.name} computes nothing"
    return True, ""
