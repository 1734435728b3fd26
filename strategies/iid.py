"""Values of a Hypothesis strategy, repeatable: independent or explored. The only module that touches its internals.

Hypothesis' own engine mutates and de-duplicates: its examples are neither independent nor from the distribution that
the strategy spells, so no rate may be read off them. Its provider interface lets another source answer the strategy's
choices: here uniform and independent ones. Nothing is registered with Hypothesis outside of a call.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeVar

import hypothesis
from hypothesis.strategies import SearchStrategy

from strategies.precision import PRECISIONS

Value = TypeVar("Value")

STREAM = "hypothesis-iid-1"
"""Name of the rule (seed, number of the value) -> answers to a strategy's choices. A new rule gets a new name."""

INTERNALS = (
    "AVAILABLE_PROVIDERS",
    "CONSTANTS_CACHE",
    "Constants",
    "HypothesisProvider",
    "PrimitiveProvider",
    "SortedSet",
    "float_to_int",
)
"""What is used of hypothesis.internal.conjecture.providers."""
OBSERVERS = ("_callbacks", "_callbacks_all_threads")
"""What is used of hypothesis.internal.observability: whom it tells about every value, by thread and of all threads."""
HOOKS = ("draw_boolean", "draw_integer", "draw_float", "draw_string", "draw_bytes", "per_test_case_context_manager")
"""Methods of PrimitiveProvider that are overridden; the first five are its abstract ones."""

FORCED_SEED = "global_force_seed"
"""What is used of hypothesis.core: where pytest's --hypothesis-seed is kept."""

CONSTANTS_CACHED = 1024
"""Kinds of choice whose constants are remembered during a call; a bound on memory, without effect on values."""

_numbers = itertools.count()


class HypothesisChanged(RuntimeError):
    """The installed Hypothesis has not the internals this module was written for."""


class NotIndependent(ValueError):
    """The strategy cannot be sampled independently. One line that says which choice is to blame."""


def independent(strategy: SearchStrategy[Value], seed: int, chunk: int, size: int) -> list[Value]:
    """Values number chunk*size, ..., chunk*size + size - 1 of one stream of independent draws of `strategy`.

    A pure function of its arguments, in every process. Integers are uniform on their range (without Hypothesis' liking
    for the ends of wide ones), sampled_from on its elements, floats on their interval. The simplest value, with which
    Hypothesis opens every run, is not among them.
    Raises NotIndependent for unbounded choices, text, bytes, and strategies that give up a draw (assume, or a filter
    that fails three times): the numbers of all later values would shift.
    """
    providers = internals()
    if size < 1:
        return []
    source = _Source(seed, chunk * size)
    values: list[Value] = []
    simplest: list[Value] = []

    def collect(value: Value) -> None:
        (values if source.drawing else simplest).append(value)

    backend = f"ulpfuzz-iid-{next(_numbers)}"
    with _registered(providers, backend, _provider(providers, source)):
        try:
            _run(strategy, collect, backend, size + 1, "")  # one more for the simplest value
        except Exception:
            if source.refusal is None:
                raise
    if source.refusal is not None:
        raise NotIndependent(source.refusal)
    if simplest and source.next == chunk * size:  # Hypothesis knows that there is no other value, and stops
        return simplest * size
    if len(values) != size or source.next != chunk * size + size:
        raise NotIndependent(
            f"the strategy kept {len(values)} of {source.next - chunk * size} draws (wanted {size}): "
            "replace filter() and assume() by choices that always fit"
        )
    return values


def explored(strategy: SearchStrategy[Value], seed: int, chunk: int, size: int) -> list[Value]:
    """Up to `size` values that Hypothesis' own engine tries: boundary-seeking, mutated, never repeated. Not for rates.

    A pure function of its arguments (`size` included) and of the Hypothesis version. The engine also tries constants
    found in the source files of imported modules; they are left out here, because they depend on the process. While
    it runs, tests that other threads start go without those constants too. Fewer values: there are no others.
    """
    providers = internals()
    none = providers.Constants(
        integers=providers.SortedSet(),
        floats=providers.SortedSet(key=providers.float_to_int),
        bytes=providers.SortedSet(),
        strings=providers.SortedSet(),
    )
    values: list[Value] = []
    with (
        _replaced(providers.HypothesisProvider, "_local_constants", none),
        _replaced(providers, "CONSTANTS_CACHE", type(providers.CONSTANTS_CACHE)(CONSTANTS_CACHED)),
    ):
        _run(strategy, values.append, "hypothesis", size, f"{seed}|{chunk}")
    return values


def _run(
    strategy: SearchStrategy[Value], collect: Callable[[Value], None], backend: str, count: int, seed: str
) -> None:
    """Let Hypothesis hand `count` values to `collect`: no database, no shrinking, no health checks, no time limits."""

    def test(value: Value) -> None:
        collect(value)

    run = hypothesis.settings(
        backend=backend,
        max_examples=count,
        phases=[hypothesis.Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )(hypothesis.given(strategy)(test))
    with _unobserved():
        hypothesis.seed(seed)(run)()


def internals() -> Any:
    """The module of Hypothesis that holds the providers; HypothesisChanged when it is not as expected."""
    try:
        from hypothesis.internal import observability
        from hypothesis.internal.conjecture import providers
    except ImportError as error:
        raise _changed("hypothesis.internal.conjecture.providers or .observability") from error
    for name in INTERNALS:
        if not hasattr(providers, name):
            raise _changed(f"providers.{name}")
    for name in OBSERVERS:
        if not hasattr(observability, name):
            raise _changed(f"observability.{name}")
    if not hasattr(providers.HypothesisProvider, "_local_constants"):
        raise _changed("HypothesisProvider._local_constants")
    for hook in HOOKS:
        if not callable(getattr(providers.PrimitiveProvider, hook, None)):
            raise _changed(f"PrimitiveProvider.{hook}")
    if unknown := sorted(set(providers.PrimitiveProvider.__abstractmethods__) - set(HOOKS)):
        raise HypothesisChanged(f"Hypothesis {hypothesis.__version__} demands {unknown[0]}() of a provider{_REMEDY}")
    return providers


class _Source:
    """Answers to the choices of one value after another; value number i depends on (seed, i) alone."""

    def __init__(self, seed: int, start: int) -> None:
        self.seed = seed
        self.next = start
        self.drawing = False
        self.random = Random(0)
        self.refusal: str | None = None

    @contextlib.contextmanager
    def value(self) -> Iterator[None]:
        """Around the drawing of the next value."""
        key = hashlib.blake2b(f"{STREAM}|{self.seed}|{self.next}".encode(), digest_size=32).digest()
        self.random = Random(int.from_bytes(key, "little"))
        self.next += 1
        self.drawing = True
        try:
            yield
        finally:
            self.drawing = False

    def refuse(self, what: str, instead: str) -> NotIndependent:
        self.refusal = f"{what} cannot be drawn independently: use {instead}"
        return NotIndependent(self.refusal)

    def integer(self, low: int | None, high: int | None) -> int:
        if low is None or high is None:
            raise self.refuse("an unbounded integer", "integers(low, high)")
        return self.random.randint(low, high)

    def real(self, low: float, high: float, least: float) -> float:
        if not (math.isfinite(low) and math.isfinite(high)) or high - low > PRECISIONS["float64"].largest:
            raise self.refuse("an unbounded float", "floats(low, high) or sampled_from")
        value = min(max(low + (high - low) * self.random.random(), low), high)
        return 0.0 if low <= 0 <= high and abs(value) < least else value


def _provider(providers: Any, source: _Source) -> type[Any]:
    """A provider class that asks `source`; Hypothesis instantiates it itself."""

    class Independent(providers.PrimitiveProvider):  # type: ignore[misc]
        lifetime = "test_function"

        def per_test_case_context_manager(self) -> contextlib.AbstractContextManager[None]:
            return source.value()

        def draw_boolean(self, p: float = 0.5) -> bool:
            return source.random.random() < p

        def draw_integer(
            self,
            min_value: int | None = None,
            max_value: int | None = None,
            *,
            weights: dict[int, float] | None = None,
            shrink_towards: int = 0,
        ) -> int:
            return source.integer(min_value, max_value)  # weights favour the ends of wide ranges: not here

        def draw_float(
            self,
            *,
            min_value: float = -math.inf,
            max_value: float = math.inf,
            allow_nan: bool = True,
            smallest_nonzero_magnitude: float,
        ) -> float:
            return source.real(min_value, max_value, smallest_nonzero_magnitude)

        def draw_string(self, *args: Any, **options: Any) -> str:
            raise source.refuse("text", "sampled_from")

        def draw_bytes(self, *args: Any, **options: Any) -> bytes:
            raise source.refuse("bytes", "sampled_from")

    return Independent


@contextlib.contextmanager
def _registered(providers: Any, name: str, provider: type[Any]) -> Iterator[None]:
    """Register `provider` under a name of its own, and remove it afterwards: a user's own tests never see it."""
    providers.AVAILABLE_PROVIDERS[name] = provider
    try:
        yield
    finally:
        del providers.AVAILABLE_PROVIDERS[name]


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """`owner.name` is `value` meanwhile. The engine draws through HypothesisProvider itself: a subclass is not enough.

    The process-wide cache of constants goes with them: it holds what other tests found, and must not get ours.
    """
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def _unobserved() -> Iterator[None]:
    """The user's observers are not told about the values of this thread meanwhile: they are no test cases of theirs."""
    from hypothesis.internal import observability

    here = threading.get_ident()

    def elsewhere(callback: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
        return lambda observation, thread: None if thread == here else callback(observation, thread)

    own = observability._callbacks.pop(here, None)
    others = [elsewhere(callback) for callback in observability._callbacks_all_threads]
    try:
        with _replaced(observability, "_callbacks_all_threads", others):
            yield
    finally:
        if own is not None:
            observability._callbacks[here] = own


@contextlib.contextmanager
def same_order() -> Iterator[None]:
    """Where Hypothesis' shrinker tries its steps in random order, that order is always the same meanwhile; and no
    observer of the user is told of them.

    The `random` of `hypothesis.find` would do, too, but switches the database off, and with it what is to be shrunk.
    """
    from hypothesis import core

    if not hasattr(core, FORCED_SEED):
        raise _changed(f"core.{FORCED_SEED}")
    with _unobserved(), _replaced(core, FORCED_SEED, 0):
        yield


_REMEDY = ": install a version that ulpfuzz was verified with (see constraints.txt)"


def _changed(what: str) -> HypothesisChanged:
    return HypothesisChanged(f"Hypothesis {hypothesis.__version__} lacks {what}{_REMEDY}")
