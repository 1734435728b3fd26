"""A function as an implementation of one of ulpfuzz's operators, in a Hypothesis test of its user's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fuzz.backends import BACKENDS, register
from fuzz.backends.base import EVERY_FLOAT, Array, Backend, Implementation, Kernel, Request, SimpleKernel
from fuzz.checking.adapters import ADAPTERS, NotAnArray, outputs_of, received
from fuzz.checking.called import Unusable
from fuzz.checking.naming import own_name
from fuzz.errors import UserError, unknown
from fuzz.operators import operator
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from results.columns import Row
from results.verdicts import VERDICTS
from strategies.problem import Problem

_COUNT = itertools.count(1)


class _Own(Backend):
    """One function as a backend."""

    def __init__(self, name: str, operator: str, library: str, function: Callable[..., Any]) -> None:
        super().__init__()
        self.name, self._library, self._function = name, library, function
        offered = Implementation(operator, name, "user", name, function, EVERY_FLOAT)
        self.implementations[operator] = (offered,)

    def prepare(self, request: Request) -> Kernel:
        adapter = ADAPTERS[self._library]
        inputs = tuple(request.inputs.values())

        def call() -> tuple[Array, ...]:
            with adapter.scope(request.dtype), np.errstate(all="ignore"):
                sent = [adapter.send(array.copy()) for array in inputs]
                _, values = outputs_of(self._function(*sent, **request.attributes))
                try:
                    return tuple(np.asarray(received(value), order="C") for value in values)
                except NotAnArray as kind:
                    raise Unusable(f"returned {kind}: return an array, or a tuple or dict of arrays") from None

        return SimpleKernel(call)


def tested(
    name: str, home: str, library: str, settings: Any, strategy: Mapping[str, Any]
) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """The decorator `fuzz.testing.implements`. UserError for a name that does not exist."""
    contract = operator(name).contract
    if library not in ADAPTERS:
        raise unknown("library", library, ADAPTERS)
    if settings is not None and not callable(settings):
        raise UserError(f"settings is {settings!r}: give hypothesis.settings(...), or leave it out")

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        import hypothesis

        import strategies

        called = own_name(function) or "function"
        backend = _Own(f"{called}-{next(_COUNT)}", name, library, function)
        session = Session("")

        def test(problem: Problem) -> None:
            __tracebackhide__ = True
            if backend.name not in BACKENDS:
                register(backend)
            _judge(problem, backend, session, called)

        for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(test, attribute, getattr(function, attribute, None))
        given = hypothesis.given(problem=strategies.problems(contract, home=home, **strategy))
        return (settings or hypothesis.settings(deadline=None))(given(test))  # a shape costs a compilation

    return decorate


def _judge(problem: Problem, backend: Backend, session: Session, called: str) -> None:
    __tracebackhide__ = True
    target = Target(backend.name, backend.default_device, problem.home)
    rows = run_trial(Cell(problem, (target,)), 0, 0, session, ladder=True).rows
    guilty = [row for row in rows if VERDICTS[str(row["verdict"])].finding]
    if guilty:
        row = max(guilty, key=lambda row: VERDICTS[str(row["verdict"])].severity)
        raise AssertionError(_told(row, called))


def _told(row: Row, called: str) -> str:
    verdict = str(row["verdict"])
    place = f"{row['operator']} with {row['dims']}, {row['attributes']}, {row['recipes']} in {row['dtype']}"
    worst = f"; largest error {row['abs_max']:.3g}" if row.get("abs_max") is not None else ""
    return f"{called}: {verdict}: the result {VERDICTS[verdict].sentence} ({row['detail']}){worst}\n  {place}"
