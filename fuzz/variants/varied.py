"""A kernel under a variant, as the engine calls it."""

from __future__ import annotations

from fuzz.backends.base import Array
from fuzz.prepared import Prepared
from fuzz.variants.base import Around, Variant


class Varied:
    """`plain` called in the way of a variant. Raises Unsupported, in one line, where that is not possible."""

    def __init__(self, variant: Variant, around: Around, plain: Prepared) -> None:
        self.implementation = plain.implementation
        self._plain, self._parts = plain, around.parts
        self._wrapped = variant.wrap(around)

    def call(self) -> tuple[Array, ...]:
        """Outputs in original coordinates, valid until the next call."""
        return self._wrapped.call()

    def told(self) -> str:
        """What the last call has to say of itself; mostly nothing."""
        return self._wrapped.told()

    def overrun(self) -> bool:
        """Whether a kernel wrote outside its buffers."""
        overruns = [self._plain.overrun(), self._parts.overrun()]
        return any(overruns)
