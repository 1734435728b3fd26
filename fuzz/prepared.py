"""A kernel on its buffers: what a backend prepared, and the guarded outputs it may write into."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from fuzz.backends.base import Array, Backend, Kernel, Request
from fuzz.buffers import GuardedArray
from strategies.contract import Shape


class Prepared:
    """`request` without outputs, given some of `shapes`. Raises what the backend raises."""

    def __init__(self, found: Backend, request: Request, shapes: Sequence[Shape], forensic: bool) -> None:
        self.implementation = request.implementation
        self.guarded = [GuardedArray(shape, request.dtype, forensic) for shape in shapes]
        outputs = tuple(guarded.array for guarded in self.guarded)
        self.kernel: Kernel = found.prepare(structs.replace(request, outputs=outputs))
        self.same_bits: tuple[str, ...] = getattr(self.kernel, "same_bits", ())  # kernels of extensions need not know

    def call(self) -> tuple[Array, ...]:
        """Run once; engine-owned outputs are poisoned first."""
        if self.kernel.engine_owned:
            for guarded in self.guarded:
                guarded.poison()
        return self.kernel()

    def overrun(self) -> bool:
        """Whether an engine-owned output was written past its end."""
        overruns = [guarded.overrun() for guarded in self.guarded]  # each canary is restored
        return any(overruns)

    def told(self) -> str:
        """What the last call has to say of itself: nothing."""
        return ""
