"""What a backend is to the engine: options, implementations with provenance, and kernels on persistent buffers.

A backend module never imports its library at module level: `ulpfuzz list` and `--help` must work without it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field, structs
from numpy.typing import NDArray

from strategies.contract import Contract, Scalar
from strategies.precision import precision

if TYPE_CHECKING:
    from fuzz.backends.spelling import Spelling, Wanted

Array: TypeAlias = NDArray[Any]
Provenance: TypeAlias = Literal["library", "composed", "user"]


BFLOAT16 = precision("bfloat16").numpy
EVERY_FLOAT = ("bfloat16", "float16", "float32", "float64")
ALL_BUT_BFLOAT16 = EVERY_FLOAT[1:]
"""What implementations accept, where it is not float32 and float64 only. Entered after running them."""


class Unsupported(Exception):
    """The backend does not offer this operator in this dtype, device or option. Becomes a row, not an error."""


class Lazy:
    """A module imported when an attribute is first asked for, so that a backend can be listed without its library.

    Attributes are kept, so a hot kernel pays for the import machinery once.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy, inspect and pickle probe for these: no reason to import a library
            raise AttributeError(name)
        value = getattr(importlib.import_module(self._module), name)
        setattr(self, name, value)
        return value


class Implementation(Struct, frozen=True):
    """A named formulation of an operator. Only `library` ones are blamed on the library.

    `function` takes the inputs in the contract's order as the backend's own arrays and the attributes as keywords,
    and returns one array or a tuple of arrays in the contract's output order.
    """

    operator: str
    name: str
    provenance: Provenance
    source: str
    """The library call it stands for, or the formula it composes."""
    function: Callable[..., Any]
    dtypes: tuple[str, ...] = ("float32", "float64")
    """Those it accepts. Two implementations of one name may share the dtypes between them."""
    derivative: Derivative | None = None
    """Set where it is the library's own automatic differentiation of another implementation."""


class Derivative(Struct, frozen=True):
    """What is differentiated, with respect to what. `function` of the implementation is then the forward one's."""

    forward: Implementation
    inputs: int
    """How many inputs the forward function has; the cotangents follow."""
    wrt: tuple[int, ...]
    """Numbers of the inputs whose gradients are the outputs."""
    outputs: tuple[int, ...]
    """Numbers of the outputs that have cotangents."""


def anywhere(contract: Contract, implementation: Implementation) -> bool:
    """Of options that may matter to every operator."""
    return True


def multiplies(contract: Contract, implementation: Implementation) -> bool:
    """Of options about products of matrices and convolutions: two inputs share a dim that is summed over, or a kernel
    lies within an image."""
    reduced = {dim.name for dim in contract.dims if dim.reduced}
    shared = any(sum(name in spec.dims for spec in contract.inputs) > 1 for name in reduced)
    return shared or (len(contract.inputs) > 1 and any(dim.within for dim in contract.dims))


class OptionSpec(Struct, frozen=True):
    """A declared option of a target.

    `scope` "call": set around each call, so that targets that differ in it share a worker. "process" would be fixed at
    the start of a worker; no option needs it, and `fuzz.backends.register` refuses it.
    """

    name: str
    default: str
    doc: str
    choices: tuple[str, ...] = ()
    scope: Literal["call", "process"] = "call"
    canonical: Callable[[str], str] | None = None
    """For values that are not one of a few: the canonical spelling; ContractError, one line, for what is no value."""
    example: str = ""
    """Of such a value."""
    drawn: tuple[str, ...] | None = None
    """Values that random settings take, the default first. None: the choices. Empty: none, it has to be named."""
    suits: Callable[[Contract, Implementation], bool] = anywhere
    """Whether it can matter: random settings of other operators leave it at its default."""

    @property
    def values(self) -> tuple[str, ...]:
        """What random settings take, the default first."""
        found = self.choices if self.drawn is None else self.drawn
        return (self.default, *(value for value in found if value != self.default))


class Request(Struct, frozen=True):
    """Everything `Backend.prepare` may know. Arrays are C-contiguous, 64-byte aligned and keep their addresses; inputs
    have another layout where a variant asks for one of `Backend.layouts`.

    The engine refills `inputs` in place before each call. Their pages are read-only although NumPy
    calls them writeable. `outputs` have the right shapes and dtype; a kernel may write its results there, and some
    leave elements as they were (TVM, a sum over no terms): whoever calls fills `outputs` with NaN first.
    """

    implementation: Implementation
    attributes: Mapping[str, Scalar]
    device: str
    dtype: str
    options: Mapping[str, str]
    """All declared options with their values (defaults filled in)."""
    inputs: Mapping[str, Array]
    outputs: tuple[Array, ...]


class Kernel(Protocol):
    """A compiled or bound call. Returned arrays are C-ordered NumPy views, valid until the next call.

    `engine_owned`: the results are written into `Request.outputs`, so out-of-bounds writes are detectable.
    `facts`: what was resolved (real mcpu, thread count, ...), stored with the campaign.
    """

    engine_owned: bool
    facts: Mapping[str, str]

    def __call__(self) -> tuple[Array, ...]: ...


class SimpleKernel(Struct):
    """A kernel made of a closure."""

    call: Callable[[], tuple[Array, ...]]
    engine_owned: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    same_bits: tuple[str, ...] = ()
    """Options of the request that may not change a single bit of the results."""

    def __call__(self) -> tuple[Array, ...]:
        return self.call()


class Backend:
    """Base of all backends; subclasses set the class attributes and implement `prepare`."""

    name: str
    doc: str = ""
    module: str = ""
    """Importable module that must be present."""
    install: str = ""
    """Line that installs it."""
    default_device: str = "cpu"
    options: tuple[OptionSpec, ...] = ()
    differentiates: str = ""
    """What differentiates automatically here, for the texts of reports; empty where nothing does."""
    layouts: tuple[str, ...] = ()
    """Memory layouts of inputs, besides contiguous ones, that its kernels take (fuzz.variants.memory)."""

    def __init__(self) -> None:
        self.implementations: dict[str, tuple[Implementation, ...]] = {}
        self._derived: dict[str, tuple[tuple[Implementation, ...], tuple[Implementation, ...]]] = {}

    def implementation(
        self,
        operator: str,
        name: str,
        source: str,
        provenance: Provenance = "library",
        dtypes: tuple[str, ...] = ("float32", "float64"),
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator that registers a formulation; the first one registered for an operator is its default."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            added = Implementation(operator, name, provenance, source, function, dtypes)
            self.implementations[operator] = (*self.implementations.get(operator, ()), added)
            return function

        return register

    def offered(self, operator: str) -> tuple[Implementation, ...]:
        """The formulations of `operator`, the default first. Those of a gradient follow from those of its operator."""
        if operator in self.implementations or not self.differentiates:
            return self.implementations.get(operator, ())
        from fuzz.operators.gradients import is_gradient  # imports scipy: backends are listed without it

        if not is_gradient(operator):
            return ()
        from fuzz.operators import gradient

        found = gradient(operator)
        forward = self.implementations.get(found.forward.name, ())
        if operator not in self._derived or self._derived[operator][0] is not forward:
            names = [spec.name for spec in found.forward.contract.inputs]
            wrt = tuple(names.index(name) for name in found.wrt)
            self._derived[operator] = (
                forward,
                tuple(
                    structs.replace(
                        one,
                        operator=operator,
                        source=f"{self.differentiates} of {one.source}",
                        derivative=Derivative(one, len(names), wrt, found.outputs),
                    )
                    for one in forward
                ),
            )
        return self._derived[operator][1]

    def lacks(self, operator: str) -> str:
        """Why nothing is offered for `operator`, in one line."""
        if self.differentiates or not operator.endswith(".grad"):
            return f"{self.name} has no {operator}"
        return f"{self.name} has no {operator}: it does not differentiate"

    def missing(self) -> str | None:
        """The line that installs the backend, or None when it is installed. Does not import it."""
        return None if not self.module or present(self.module) else self.install

    def devices(self) -> tuple[str, ...]:
        """Devices present on this machine, default first. May import the library."""
        return (self.default_device,)

    def versions(self) -> dict[str, str]:
        """Facts about the library for the environment record. May import the library."""
        return {}

    def warm_up(self) -> None:
        """Import what the worker will need and set process-wide state (threads). Called once per worker."""

    def prepare(self, request: Request) -> Kernel:
        """Compile or bind; raises Unsupported when the library lacks this form."""
        raise NotImplementedError

    def vjp(
        self, function: Callable[..., Any], *, inputs: int, wrt: Sequence[int], outputs: Sequence[int] = (0,)
    ) -> Callable[..., tuple[Any, ...]]:
        """A function of the `inputs` inputs of `function` (of the library's own arrays) and of the cotangents of its
        outputs number `outputs`, that gives the gradients with respect to the inputs number `wrt`.

        By the library's automatic differentiation; Unsupported where it has none.
        """
        raise Unsupported(f"{self.name} does not differentiate")

    def spell(self, wanted: Wanted) -> Spelling:
        """The kernel as text for a stand-alone script; fuzz.backends.extraction.Unspellable where there is none."""
        from fuzz.backends.extraction import Unspellable

        raise Unspellable(f"the backend {self.name} has no text for its kernels")

    def endangers(self, options: Mapping[str, str]) -> bool:
        """Whether a kernel with these options may write where it should not: it runs behind those of other targets."""
        return False

    def explain(self, request: Request) -> tuple[str, ...]:
        """What options that are not plain words amount to for this problem, a line each. Compiles nothing."""
        return ()

    def source(self, request: Request) -> str:
        """The program that such options lead to, for a reader; empty where there is none to show."""
        return ""


def present(module: str) -> bool:
    """Whether a top-level module could be imported. Does not import it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # an import hook refuses it; a half-initialised module without a spec
        return False


def last_line(error: BaseException, limit: int = 300) -> str:
    """The last non-empty line of an error's text, or its type: compilers print whole programs before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[-1] if lines else type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


def whole_text(error: BaseException, limit: int = 300) -> str:
    """An error's text as one line, shortened in its middle.

    For errors of code that somebody wrote: JAX says first what is wrong and last where to read about it.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines)
    if len(text) <= limit:
        return text or type(error).__name__
    first, last = lines[0], lines[-1]
    if len(lines) > 1 and len(first) + len(last) + 5 <= limit:
        return f"{first} ... {last}"
    return f"{first[: limit - 3]}..."


def as_tuple(result: Any) -> tuple[Any, ...]:
    """One array or a tuple of arrays, always as a tuple."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)
