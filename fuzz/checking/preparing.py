"""What has to be known of functions before trials: whose arrays they take, what they return, whether they trace.

Runs the user's code, so it runs in a process of its own where it can (`fuzz.checking.probing`). What would fool whoever
compares outputs, is refused here in one line or noted: shapes that would broadcast against each other, results that
are no arrays, values that are NaN before anything is compared, inputs that a function changes, an order of arguments.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.backends.base import Array, last_line
from fuzz.checking.adapters import ADAPTERS, outputs_of
from fuzz.checking.called import FOREIGN, Called, parameters_of, takes_by_name
from fuzz.checking.leaves import narrow_leaves
from fuzz.checking.library import candidates, hinted
from fuzz.checking.made import traceable
from fuzz.errors import UserError
from fuzz.oracle.lint import FORMULATION_LIMIT, lint
from fuzz.oracle.program import OPAQUE
from fuzz.oracle.trace import TraceError, trace
from strategies.contract import Shape

Function = Callable[..., Any]
Tell = Callable[[str], None]
"""Hears what is about to be called, so that a process that dies is known to have died of it."""


class Known(Struct, frozen=True):
    """What was found out about one function."""

    name: str
    library: str
    by_name: bool
    outputs: tuple[str, ...]
    """Names; empty texts where it returns a tuple or one array."""
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    wide: tuple[str, ...]
    """dtypes of its outputs on float64 inputs; empty where it does not take any."""
    notes: tuple[str, ...] = ()


class Prepared(Struct, frozen=True):
    """What was found out about all functions of a check."""

    functions: tuple[Known, ...]
    truth: Known
    traced: bool
    independent: tuple[int, ...]
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
    _same_outputs(known)
    notes = [note for one in known for note in one.notes]
    if truth is not None:
        tell(f"calling {truth[0]}")
        reference = _known(*truth, inputs, tell)
        _same_outputs([known[0], reference])
        by_name[truth[0]] = truth[1]
        notes += [note for note in reference.notes if note not in notes]
    else:
        reference = next((one for one in known if one.library == "numpy"), known[0])
    called = _called(reference, by_name[reference.name], inputs)
    tell(f"tracing {reference.name}")
    traced, why = _traces(called, inputs)
    if truth is None and not traced:
        reference = known[0]
        called = _called(reference, by_name[reference.name], inputs)
    if why and reference.library == "numpy":
        notes.append(
            f"{reference.name} cannot be traced ({why}): its float64 results stand for the truth, without a bound"
        )
    notes += _of_values(called, inputs)
    if traced:
        notes += _of_formula(called, inputs)
    independent = () if traced else _independent(called, inputs, reference.shapes, tell)
    notes += _of_orders(functions, known)
    return Prepared(tuple(known), reference, traced, independent, tuple(dict.fromkeys(notes)))


def _called(known: Known, function: Function, inputs: Mapping[str, Array]) -> Called:
    names = known.outputs if any(known.outputs) else ()
    return Called(known.name, lambda: function, known.library, list(inputs), known.by_name, names)


def _known(name: str, function: Function, inputs: Mapping[str, Array], tell: Tell) -> Known:
    by_name = takes_by_name(function, list(inputs))
    failures: list[str] = []
    tried = candidates(function)
    for library in tried:
        called = Called(name, lambda: function, library, list(inputs), by_name)
        tell(f"calling {name}")
        arrays = [array.copy() for array in inputs.values()]
        try:
            names, values = _run(called, arrays)
        except FOREIGN as error:  # whatever the user's code raises
            failures.append(f"{type(error).__name__}: {last_line(error)}")
            continue
        changed = [n for n, a, b in zip(inputs, arrays, inputs.values(), strict=True) if not _same(a, b)]
        notes = [f"{name} changes its input {', '.join(changed)}: the caller's data is modified"] if changed else []
        notes += _repeats(called, inputs, values)
        wide, remarks = _widened(called, inputs, tell)
        shapes, dtypes = tuple(v.shape for v in values), tuple(v.dtype.name for v in values)
        return Known(name, library, by_name, tuple(names), shapes, dtypes, wide, tuple(notes + remarks))
    first = hinted(function)
    reason = failures[tried.index(first[0])] if first else failures[0]
    shapes_text = ", ".join(f"{n}{list(a.shape)}" for n, a in inputs.items())
    how = "by name" if by_name else "in this order"
    raise UserError(f"{name} does not take {shapes_text} ({how}, as {inputs_dtype(inputs)}): {reason}")


def inputs_dtype(inputs: Mapping[str, Array]) -> str:
    """Of all inputs, as a word."""
    return next((array.dtype.name for array in inputs.values()), "no arrays")


def _run(called: Called, arrays: Sequence[Array]) -> tuple[list[str], tuple[Array, ...]]:
    """Names and values of the outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter = ADAPTERS[called.library]
        dtype = arrays[0].dtype.name if arrays else "float32"
        with adapter.scope(dtype), np.errstate(all="ignore"):
            function = adapter.at(called.function, dtype)
            result = called.passed(function, [adapter.send(array) for array in arrays])
            if result is None:
                raise TypeError("returned None: return an array, or a tuple or dict of arrays")
            values = tuple(array.copy() for array in called.collected(result))
            names, _ = outputs_of(result)
    for value in values:
        if value.dtype.kind not in "fiub" and value.dtype.name != "bfloat16":
            raise TypeError(f"returned {value.dtype}: complex numbers and objects cannot be judged yet")
    if not values:
        raise TypeError("returned nothing: return an array, or a tuple or dict of arrays")
    return names, values


def _same(a: Array, b: Array) -> bool:
    return a.tobytes() == b.tobytes()


def _repeats(called: Called, inputs: Mapping[str, Array], first: Sequence[Array]) -> list[str]:
    """Whether a second call gives the same bits."""
    _, again = _run(called, [array.copy() for array in inputs.values()])
    if all(a.shape == b.shape and _same(a, b) for a, b in zip(first, again, strict=False)) and len(first) == len(again):
        return []
    with np.errstate(all="ignore"):
        gaps = [np.abs(a.astype(np.float64) - b) for a, b in zip(first, again, strict=False) if a.shape == b.shape]
    largest = max((float(np.nanmax(gap, initial=0.0)) for gap in gaps), default=float("nan"))
    return [
        f"{called.name} gives other results when it is called again on the same input (they differ by up to "
        f"{largest:.2g}): is there a random generator or dropout inside?"
    ]


def _widened(called: Called, inputs: Mapping[str, Array], tell: Tell) -> tuple[tuple[str, ...], list[str]]:
    """dtypes of the outputs on float64 inputs, and what is to be said of them."""
    if any(array.dtype.name not in ("float32", "float64") for array in inputs.values()):
        return (), []
    tell(f"calling {called.name} in float64")
    try:
        _, values = _run(called, [array.astype(np.float64) for array in inputs.values()])
    except FOREIGN:  # it has one precision only: the ladder will say so
        return (), []
    notes = []
    leaves = narrow_leaves(called.function, called.library)
    narrow = [value.dtype.name for value in values if value.dtype.name not in ("float64", "int64", "bool")]
    if leaves:
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


def _same_outputs(known: Sequence[Known]) -> None:
    first = known[0]
    for other in known[1:]:
        if len(other.shapes) != len(first.shapes):
            raise UserError(
                f"{first.name} returns {len(first.shapes)} arrays and {other.name} {len(other.shapes)}: "
                "wrap them so that both return the same"
            )
        for number, (a, b) in enumerate(zip(first.shapes, other.shapes, strict=True)):
            if a != b:
                raise UserError(
                    f"{_which(first, number)}{first.name} returns shape {list(a)} and {other.name} "
                    f"{list(b)}: {_broadcast(a, b)}"
                )


def _which(known: Known, number: int) -> str:
    if len(known.shapes) == 1:
        return ""
    return f"output {known.outputs[number] or number}: "


def _broadcast(a: Shape, b: Shape) -> str:
    """Why arrays of these shapes must not be compared."""
    try:
        shape = list(np.broadcast_shapes(a, b))
    except ValueError:
        return "they cannot be compared"
    return (
        f"NumPy would broadcast them to {shape} and compare elements that have nothing to do with each other; "
        "reshape one of them"
    )


def _traces(called: Called, inputs: Mapping[str, Array]) -> tuple[bool, str]:
    """Whether a function has a program, and why not."""
    if called.library != "numpy":
        return False, ""
    shapes = {name: array.shape for name, array in inputs.items()}
    try:
        program = trace(traceable(called), shapes)
    except TraceError as error:
        return False, str(error)
    except Exception as error:  # noqa: BLE001  # tracers are no arrays to it
        return False, f"{type(error).__name__}: {last_line(error)}"
    if not any(node.primitive != OPAQUE for node in program.nodes[len(program.inputs) :]):
        return False, "it computes nothing"
    return True, ""


def _of_values(called: Called, inputs: Mapping[str, Array]) -> list[str]:
    """NaN and infinities, which make every comparison of closeness say whatever its author wanted."""
    wide = [array.astype(np.float64) for array in inputs.values()]
    try:
        values = called(list(wide))
    except FOREIGN:
        values = called([array.copy() for array in inputs.values()])
    total = sum(value.size for value in values)
    bad = sum(int(np.count_nonzero(~np.isfinite(value.astype(np.float64)))) for value in values)
    if not bad:
        return []
    if bad == total:
        return [
            f"every result of {called.name} is NaN or infinite, on float64 inputs, too: there is nothing to compare; "
            "scale inputs or weights down"
        ]
    return [f"{bad:,} of {total:,} results of {called.name} are NaN or infinite, on float64 inputs, too"]


def _of_formula(called: Called, inputs: Mapping[str, Array]) -> list[str]:
    """A formula that loses more digits than its inputs make it lose excuses too much."""
    arrays = list(inputs.values())
    program = trace(traceable(called), {name: array.shape for name, array in inputs.items()})
    dtype = inputs_dtype(inputs)
    if dtype not in ("float32", "float64"):
        return []
    found = lint(program, arrays, dtype)
    if found.ratio <= FORMULATION_LIMIT:
        return []
    return [
        f"the formula of {called.name} amplifies its own roundings {found.ratio:.2g} times more than its inputs' "
        "errors: an unstable formula excuses much as rounding; give a stable one as truth="
    ]


def _of_orders(functions: Sequence[tuple[str, Function]], known: Sequence[Known]) -> list[str]:
    """Parameters that two functions name alike and take in another order."""
    orders = [(name, parameters_of(function)) for name, function in functions]
    notes = []
    first, reference = orders[0]
    for (name, parameters), one in zip(orders[1:], known[1:], strict=True):
        shared = [p for p in parameters if p in reference]
        if len(shared) > 1 and shared != [p for p in reference if p in parameters]:
            how = "they were passed by name" if one.by_name and known[0].by_name else "they were passed by position"
            notes.append(
                f"{first} takes ({', '.join(p for p in reference if p in parameters)}) and {name} "
                f"({', '.join(shared)}): {how}"
            )
    return notes


def _independent(called: Called, inputs: Mapping[str, Array], shapes: Sequence[Shape], tell: Tell) -> tuple[int, ...]:
    """Axes, of those that all inputs and outputs share, along which a change stays in its place.

    Found by changing every second slice of all inputs and looking at the others, in float64 where it can.
    """
    tell(f"calling {called.name} on changed inputs")
    arrays = [array.astype(np.float64) for array in inputs.values()]
    try:
        before = called([array.copy() for array in arrays])
    except FOREIGN:
        arrays = [array.copy() for array in inputs.values()]
        before = called([array.copy() for array in arrays])
    return tuple(axis for axis in _shared(arrays, shapes) if _stays(called, arrays, before, axis))


def _shared(arrays: Sequence[Array], shapes: Sequence[Shape]) -> Iterator[int]:
    every = [array.shape for array in arrays] + list(shapes)
    for axis in range(min(len(shape) for shape in every)):
        sizes = {shape[axis] for shape in every}
        if len(sizes) == 1 and sizes.pop() > 1:
            yield axis


def _stays(called: Called, arrays: Sequence[Array], before: Sequence[Array], axis: int) -> bool:
    moved = []
    for array in arrays:
        changed = array.copy()
        odd = [slice(None)] * array.ndim
        odd[axis] = slice(1, None, 2)
        changed[tuple(odd)] = changed[tuple(odd)] * 1.25 + 0.5
        moved.append(changed)
    try:
        after = called(moved)
    except FOREIGN:
        return False
    for a, b in zip(before, after, strict=True):
        even = [slice(None)] * a.ndim
        even[axis] = slice(0, None, 2)
        if not np.allclose(a[tuple(even)], b[tuple(even)], rtol=1e-9, atol=0.0, equal_nan=True):
            return False
    return True
