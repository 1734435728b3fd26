"""Kernels of other forms of one call: other shapes, layouts, options. Each is compiled once and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from fuzz.backends.base import Array, Backend, Request
from fuzz.buffers import GuardedArray
from fuzz.prepared import Prepared
from fuzz.variants.memory import CONTIGUOUS, Memory
from strategies.contract import Scalar, Shape


class Part:
    """A kernel on buffers of its own: `fill` its inputs, `call` it."""

    def __init__(
        self,
        found: Backend,
        request: Request,
        inputs: Mapping[str, Shape],
        outputs: Sequence[Shape],
        memory: Memory,
        forensic: bool,
    ) -> None:
        self._shapes = tuple(outputs)
        self._guarded = {
            name: GuardedArray(memory.raw(shape), request.dtype, forensic, reading=True)
            for name, shape in inputs.items()
        }
        for guarded in self._guarded.values():
            guarded.poison()  # what lies between the elements, or beside them, is no number
        self._inputs = {name: memory.view(guarded.array, inputs[name]) for name, guarded in self._guarded.items()}
        views = {name: memory.view(guarded.view, inputs[name]) for name, guarded in self._guarded.items()}
        self._prepared = Prepared(found, structs.replace(request, inputs=views), outputs, forensic)

    def fill(self, name: str, values: Array) -> None:
        """Set one input."""
        np.copyto(self._inputs[name], values)

    def call(self) -> tuple[Array, ...]:
        """Run once; results are valid until the next call. ValueError where they have other shapes than are due."""
        results = self._prepared.call()
        found = tuple(value.shape if isinstance(value, np.ndarray) else type(value).__name__ for value in results)
        if found != self._shapes:
            due = ", ".join(map(str, self._shapes))
            raise ValueError(f"returned {', '.join(map(str, found)) or 'nothing'}, {due} is due")
        return results

    def overrun(self) -> bool:
        """Whether bytes around an input or output changed."""
        beside = [guarded.overrun() for guarded in self._guarded.values()]
        return self._prepared.overrun() or any(beside)


class Parts:
    """The parts that variants of one target on one problem shape have asked for."""

    def __init__(self, found: Backend, request: Request, forensic: bool) -> None:
        self._backend, self._request, self._forensic = found, request, forensic
        self._made: dict[Any, Part] = {}
        self._used: dict[Any, Part] = {}

    def __len__(self) -> int:
        return len(self._made)

    def lent(self) -> Parts:
        """The same kernels for one variant, which answers for those that it uses."""
        borrowed = Parts(self._backend, self._request, self._forensic)
        borrowed._made = self._made
        return borrowed

    def get(
        self,
        inputs: Mapping[str, Shape],
        outputs: Sequence[Shape],
        *,
        attributes: Mapping[str, Scalar] | None = None,
        options: Mapping[str, str] | None = None,
        memory: Memory = CONTIGUOUS,
    ) -> Part:
        """The kernel on inputs of these shapes, compiled on first use. Raises what the backend raises."""
        changed = (tuple((attributes or {}).items()), tuple((options or {}).items()))
        key = (tuple(inputs.items()), tuple(outputs), *changed, memory.name)
        if key not in self._made:
            request = structs.replace(
                self._request,
                attributes={**self._request.attributes, **(attributes or {})},
                options={**self._request.options, **(options or {})},
            )
            self._made[key] = Part(self._backend, request, inputs, outputs, memory, self._forensic)
        self._used[key] = self._made[key]
        return self._made[key]

    def overrun(self) -> bool:
        """Whether a kernel that was used wrote outside its buffers."""
        overruns = [part.overrun() for part in self._used.values()]  # each canary is restored
        return any(overruns)
