"""A check as the engine sees it: one operator, and a backend for each function. Registered for as long as it lasts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from fuzz.backends import BACKENDS
from fuzz.backends import register as register_backend
from fuzz.backends.base import (
    EVERY_FLOAT,
    Array,
    Backend,
    Derivative,
    Implementation,
    Kernel,
    Request,
    SimpleKernel,
    Unsupported,
)
from fuzz.backends.spelling import Spelling, Wanted
from fuzz.checking.adapters import ADAPTERS
from fuzz.checking.called import Called
from fuzz.checking.sources import Source, restored
from fuzz.operators import OPERATORS
from fuzz.operators import register as register_operator
from fuzz.operators.base import Operator
from fuzz.oracle.opaque import Opaque, program_of
from fuzz.oracle.program import Program
from fuzz.oracle.trace import TraceError
from strategies.contract import Contract, Cost, DimSpec, Scalar, Shape, Spec

DOC = "a function under check"


class Subject(Struct, frozen=True):
    """One function of a check."""

    name: str
    library: str
    source: Source
    by_name: bool
    """Whether its inputs are passed by name."""
    mark: str = ""
    """A verdict that was reached when it was first called: input_modified, nondeterministic. It gets copies of its
    inputs then, so that its results can be compared all the same."""
    contradicts: bool = False
    """Whether its results in two precisions differ by more than rounding."""


class Made(Struct, frozen=True):
    """Everything a worker needs to know of a check; JSON in the campaign."""

    operator: str
    dims: tuple[tuple[str, int], ...]
    inputs: tuple[tuple[str, tuple[str | int, ...]], ...]
    outputs: tuple[tuple[str, tuple[str | int, ...]], ...]
    named_outputs: bool
    subjects: tuple[Subject, ...]
    truth: Subject
    traced: bool
    """Whether the truth is a NumPy function with a program; else its float64 results stand for it."""
    independent: tuple[tuple[int, ...], ...]
    """Per input, the axes along which outputs depend on what lies at their own place alone."""
    dtype: str = "float32"
    """Of the check."""
    integers: tuple[bool, ...] = ()
    """By output: whether all functions return integers or truth values."""

    def contract(self) -> Contract:
        names = dict.fromkeys(d for _, dims in self.inputs for d in dims if isinstance(d, str))
        dims = tuple(DimSpec(name, batch=self._independent(name), minimum=1) for name in names)
        return Contract(
            operator=self.operator,
            doc=f"{', '.join(subject.name for subject in self.subjects)} under check",
            dims=dims,
            inputs=tuple(Spec(name, shape) for name, shape in self.inputs),
            outputs=tuple(Spec(name, shape) for name, shape in self.outputs),
            cost=Cost(((1.0, tuple(names)),)),
            nonfinite="that of the function whose results stand for the truth",
        )

    def _independent(self, dim: str) -> bool:
        places = zip(self.inputs, self.independent, strict=True)
        own = [axis in axes for (_, dims), axes in places for axis, name in enumerate(dims) if name == dim]
        return bool(own) and all(own)

    def json(self) -> str:
        return msgspec.json.encode(self).decode()


class CalledOperator(Operator, frozen=True, kw_only=True):
    """An operator whose truth is a function that cannot be looked into."""

    truth: Called
    independent: tuple[tuple[int, ...], ...]
    outputs: Callable[[Mapping[str, Shape]], Sequence[Shape]]
    """Shapes of the outputs for those of the inputs."""

    def program(self, shapes: Mapping[str, Shape], attributes: Mapping[str, Scalar]) -> Program:
        call = Opaque(self.truth.name, self.truth, self.independent, self.truth.shaken)
        return program_of(call, shapes, self.outputs(shapes))

    def vjp(
        self,
        shapes: Mapping[str, Shape],
        attributes: Mapping[str, Scalar],
        wrt: Sequence[str],
        cotangents: Mapping[int, tuple[str, Shape]],
    ) -> Program:
        """The library's own differentiation, in float64."""
        if ADAPTERS[self.truth.library].vjp is None:
            raise TraceError(f"{self.truth.name} has no gradient: it is neither traced nor of torch or jax")
        names = list(shapes)
        derivative = Derivative(_UNNAMED, len(names), tuple(names.index(name) for name in wrt), tuple(cotangents))
        elementwise = all(len(own) == len(shape) for own, shape in zip(self.independent, shapes.values(), strict=True))
        every = dict(shapes) | dict(cotangents.values())
        axes = [tuple(range(len(shape))) for shape in every.values()] if elementwise else []
        call = Opaque(
            f"the gradient of {self.truth.name}", lambda arrays: self.truth.gradients(arrays, derivative), axes
        )
        return program_of(call, every, [shapes[name] for name in wrt])


_UNNAMED = Implementation("", "", "user", "", lambda: None)


class CheckedBackend(Backend):
    """One function as a backend of its own."""

    doc = DOC

    def __init__(self, subject: Subject, operator: str, called: Called) -> None:
        super().__init__()
        self.name, self.library, self._called, self._subject = subject.name, subject.library, called, subject
        self.layouts = BACKENDS[subject.library].layouts
        self.differentiates = ADAPTERS[subject.library].differentiates
        self._copies = bool(subject.mark)
        self.module = subject.library
        self.install = f"pip install {subject.library}"
        offered = Implementation(operator, subject.name, "user", subject.source.text, called.function, EVERY_FLOAT)
        self.implementations[operator] = (offered,)

    def versions(self) -> dict[str, str]:
        return BACKENDS[self.library].versions()

    def warm_up(self) -> None:
        BACKENDS[self.library].warm_up()

    def spell(self, wanted: Wanted) -> Spelling:
        from fuzz.checking.spelled import spelled

        return spelled(wanted, self._subject, self._called.outputs)

    def prepare(self, request: Request) -> Kernel:
        if request.device != self.default_device:
            raise Unsupported(f"{self.name} runs where its function puts it: name no device")
        inputs = tuple(request.inputs.values())
        derivative = request.implementation.derivative

        def call() -> tuple[Array, ...]:
            given = [array.copy() for array in inputs] if self._copies else inputs
            found = self._called(given) if derivative is None else self._called.gradients(given, derivative)
            return tuple(np.asarray(array, order="C") for array in found)

        return SimpleKernel(call)


def called(subject: Subject, made: Made, function: Callable[..., Any] | None = None, *, widen: bool = False) -> Called:
    """A function of a check, ready to be called: `function`, or what its source gives."""
    outputs = [name for name, _ in made.outputs] if made.named_outputs else []
    inputs = [name for name, _ in made.inputs]

    def load() -> Callable[..., Any]:
        return restored(subject.source) if function is None else function

    return Called(
        subject.name, load, subject.library, inputs, subject.by_name, outputs, widen=widen, integers=made.integers
    )


def _by_position(called: Called) -> Callable[..., Any]:
    return lambda *arrays: called(arrays)


def register(made: Made, functions: Mapping[str, Callable[..., Any]] | None = None) -> list[str]:
    """Make operator and backends known. `functions` by the names of subjects, where they need not be restored."""
    given = dict(functions or {})
    register_operator(_operator(made, called(made.truth, made, given.get(made.truth.name), widen=True)))
    for subject in made.subjects:
        function = given.get(subject.name)
        # in a float32 check arrays that a function holds are float32 numbers; its float64 results are to be those of
        # the same numbers. In a float64 check they are what is checked
        found = called(subject, made, function, widen=made.dtype != "float64")
        register_backend(CheckedBackend(subject, made.operator, found))
    return [made.operator, *(subject.name for subject in made.subjects)]


def forget(made: Made) -> None:
    """Take back what `register` did."""
    OPERATORS.pop(made.operator, None)
    for subject in made.subjects:
        BACKENDS.pop(subject.name, None)


def restore(text: str) -> None:
    """What the file of a campaign calls in a process that opens it."""
    register(msgspec.json.decode(text.encode(), type=Made))


def file_text(made: Made) -> str:
    """The Python file that a campaign keeps as its extension."""
    doc = '"""The functions of a check, written by ulpfuzz."""'
    return f"{doc}\n\nfrom fuzz.checking.made import restore\n\nrestore({made.json()!r})\n"


def traceable(truth: Called) -> Callable[..., Any]:
    """A NumPy function as a reference: inputs by position, a tuple of results."""

    def reference(*inputs: Any) -> Any:
        from fuzz.checking.adapters import outputs_of

        names, values = outputs_of(truth.passed(truth.function, inputs))
        if any(names) and truth.outputs:
            found = dict(zip(names, values, strict=True))
            values = [found[name] for name in truth.outputs]
        return tuple(values)

    return reference


def _operator(made: Made, truth: Called) -> Operator:
    contract = made.contract()
    if made.traced:
        return Operator(contract, traceable(truth))
    known = contract.shapes(dict(made.dims)), tuple(_sizes(dims, made) for _, dims in made.outputs)

    def outputs(shapes: Mapping[str, Shape]) -> Sequence[Shape]:
        if dict(shapes) == known[0]:
            return known[1]
        try:
            return tuple(array.shape for array in truth([np.full(shape, 0.5) for shape in shapes.values()]))
        except Exception as error:
            raise TraceError(f"{truth.name} does not take these shapes: {type(error).__name__}: {error}") from error

    return CalledOperator(contract, truth, truth=truth, independent=made.independent, outputs=outputs)


def _sizes(dims: Sequence[str | int], made: Made) -> Shape:
    sizes = dict(made.dims)
    return tuple(d if isinstance(d, int) else sizes[d] for d in dims)
