"""What a variant is: the same target on the same data, called in another way, with outputs in original coordinates.

A family registers in a table how it wraps a kernel. It makes no kernels itself: it asks for those of other shapes,
layouts or options, and moves data into their buffers and out of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from fuzz.backends.base import Array, OptionSpec, Request
from fuzz.variants.parts import Parts
from strategies.contract import Contract, Criterion, Shape

UNIQUE = frozenset({Criterion.CORRECTLY_ROUNDED, Criterion.EXACT})
"""Criteria under which every result is one certain number: no way of calling may change it."""


class Around(Struct, frozen=True):
    """What a kernel is wrapped for: a target on a problem shape."""

    contract: Contract
    dims: Mapping[str, int]
    request: Request
    """Of the call as it is, without outputs. Its inputs are those of the trial, in the arena they are drawn into."""
    shapes: tuple[Shape, ...]
    """Of the outputs."""
    shapes_at: Callable[[Mapping[str, int]], tuple[Shape, ...]]
    """Those of the outputs at other dims."""
    formula: Callable[[Sequence[Array]], tuple[Array, ...]]
    """The operator's reference in float64, plainly, on inputs of these shapes."""
    backend: str
    target: str
    """Its spelling, dtype included."""
    declared: tuple[OptionSpec, ...]
    """Options of the backend."""
    layouts: tuple[str, ...]
    """Memory layouts that its kernels take."""
    extensions: Callable[[], tuple[str, ...]]
    """Files that register operators and backends beyond those of ulpfuzz."""
    parts: Parts
    """Kernels of other forms of the same call."""
    plain: Callable[[], tuple[Array, ...]]
    """The kernel as it is; its outputs are valid until the next call."""


def nothing() -> str:
    """What a call that cannot vary has to say of itself."""
    return ""


class Wrapped(Struct, frozen=True):
    """A kernel called in another way. `call` gives outputs in original coordinates, valid until it is called again."""

    call: Callable[[], tuple[Array, ...]]
    told: Callable[[], str] = nothing
    """What there is to say of the last call, for the detail of its rows; mostly nothing."""


class Family(Struct, frozen=True):
    """Variants of one kind."""

    name: str
    doc: str
    """One line: what is done, and what the value stands for."""
    verdict: str
    """Of a result that depends on it beyond rounding (results.verdicts)."""
    values: tuple[str, ...]
    """What the bare name of the family stands for; empty where a value has to be named."""
    canonical: Callable[[str], str]
    """The canonical spelling of a value; ContractError, one line, for what is none."""
    wrap: Callable[[Around, str], Wrapped]
    """The kernel called in this way; Unsupported says in one line why that is not possible here."""
    in_all: bool = True
    """Whether `all` has it: not what costs seconds a call."""
    refusable: bool = False
    """Whether a kernel may refuse such a call with an exception, which then is no defect."""


class Variant(Struct, frozen=True):
    """One way of calling: a family and, mostly, a value."""

    family: Family
    value: str

    @property
    def id(self) -> str:
        """Canonical spelling, e.g. batch[8]."""
        return f"{self.family.name}[{self.value}]" if self.value else self.family.name

    @property
    def verdict(self) -> str:
        return self.family.verdict

    def bitwise(self, contract: Contract) -> bool:
        """Whether it may not change a number: where the operator leaves no choice between results."""
        return contract.criterion in UNIQUE

    def wrap(self, around: Around) -> Wrapped:
        """The kernel called in this way; Unsupported says in one line why that is not possible here."""
        return self.family.wrap(around, self.value)
