"""Independent and explored values of Hypothesis strategies, and the internals that they rely on."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.internal import observability
from scipy import stats

from strategies import iid
from strategies.iid import HypothesisChanged, NotIndependent, explored, independent

PAIRS = st.tuples(st.integers(0, 7), st.sampled_from("abcd"))


def test_the_internals_are_those_this_module_was_written_for() -> None:
    """Fails after an upgrade of Hypothesis that moved something: see `iid.INTERNALS`, `iid.HOOKS`, and where used."""
    providers = iid.internals()
    assert providers.HypothesisProvider.lifetime == "test_case"
    assert providers.AVAILABLE_PROVIDERS["hypothesis"].endswith("HypothesisProvider")
    assert set(providers.PrimitiveProvider.__abstractmethods__) == set(iid.HOOKS[:5])
    assert type(providers.CONSTANTS_CACHE)(3) is not None
    assert isinstance(observability._callbacks, dict)
    assert isinstance(observability._callbacks_all_threads, list)


def test_every_internal_that_is_used_is_named() -> None:
    """Each attribute taken from a module or class of hypothesis.internal is in INTERNALS, OBSERVERS or HOOKS."""
    source = Path(iid.__file__).read_text()
    used = set(re.findall(r"\bproviders\.(\w+)", source.replace("conjecture.providers", ""))) | set(
        re.findall(r"\bobservability\.(_?\w+)", source)
    )
    named = {*iid.INTERNALS, *iid.OBSERVERS}
    assert used - {"HypothesisProvider"} <= named
    assert {"HypothesisProvider", "PrimitiveProvider", "_callbacks", "_callbacks_all_threads"} <= named & used
    elsewhere = [
        path.name
        for path in Path(iid.__file__).parent.glob("*.py")
        if path.name != "iid.py" and "hypothesis.internal" in path.read_text()
    ]
    assert elsewhere == []


@pytest.mark.parametrize("name", iid.OBSERVERS)
def test_a_hypothesis_with_other_observers_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delattr(observability, name)
    with pytest.raises(HypothesisChanged, match=rf"Hypothesis {hypothesis.__version__} lacks observability.{name}"):
        independent(PAIRS, 0, 0, 1)


def test_observers_are_not_told_about_our_values_and_are_back_afterwards() -> None:
    told: list[str] = []

    def here(case: object) -> None:
        told.append("here")

    def everywhere(case: object, thread: int) -> None:
        told.append("everywhere")

    own = hypothesis.settings(max_examples=2, database=None)(hypothesis.given(st.booleans())(lambda value: None))
    with (
        observability.with_observability_callback(here),
        observability.with_observability_callback(everywhere, all_threads=True),
    ):
        explored(PAIRS, 0, 0, 5)
        with pytest.raises(ZeroDivisionError):
            independent(PAIRS.map(lambda value: 1 // 0), 0, 0, 5)
        assert told == []
        own()
        assert set(told) == {"here", "everywhere"}
    assert not observability.observability_enabled()


@pytest.mark.parametrize("name", [*iid.INTERNALS])
def test_a_hypothesis_without_them_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delattr(iid.internals(), name)
    with pytest.raises(HypothesisChanged, match=rf"Hypothesis {hypothesis.__version__} lacks providers.{name}"):
        independent(PAIRS, 0, 0, 1)


def test_a_hypothesis_that_demands_more_of_a_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = iid.internals().PrimitiveProvider
    monkeypatch.setattr(provider, "__abstractmethods__", frozenset({*iid.HOOKS, "draw_complex"}))
    with pytest.raises(HypothesisChanged, match="demands draw_complex"):
        independent(PAIRS, 0, 0, 1)


def test_chunks_are_slices_of_one_stream() -> None:
    whole = independent(PAIRS, 7, 0, 60)
    assert [value for chunk in (0, 1, 2) for value in independent(PAIRS, 7, chunk, 20)] == whole
    assert independent(PAIRS, 7, 5, 10) == whole[50:]
    assert independent(PAIRS, 8, 0, 60) != whole
    assert independent(PAIRS, 7, 0, 0) == []


def test_values_are_uniform_and_neighbours_independent() -> None:
    values = independent(PAIRS, 1, 0, 8000)
    cells = Counter(values)
    assert len(cells) == 32
    assert stats.chisquare(list(cells.values())).pvalue > 1e-3
    numbers = np.array([number for number, _ in values])
    pairs = np.zeros((8, 8))
    np.add.at(pairs, (numbers[1:], numbers[:-1]), 1)
    assert stats.chi2_contingency(pairs).pvalue > 1e-3


def test_the_simplest_value_that_opens_every_run_is_not_among_them() -> None:
    assert 0 not in independent(st.integers(0, 2**60), 1, 0, 50)


def test_a_strategy_of_few_values_is_not_cut_short() -> None:
    assert Counter(independent(st.booleans(), 1, 0, 400)).keys() == {False, True}
    assert len(independent(st.booleans(), 1, 0, 400)) == 400
    assert independent(st.just("one"), 1, 3, 5) == ["one"] * 5


@pytest.mark.parametrize(("strategy", "width"), [(st.floats(-2, 6), 8), (st.integers(-2, 10**6), 10**6 + 2)])
def test_floats_and_wide_integers_are_uniform(strategy: st.SearchStrategy[float], width: float) -> None:
    """Hypothesis itself would draw the ends of a wide range 128 times too often."""
    assert stats.kstest(independent(strategy, 1, 0, 3000), stats.uniform(-2, width).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (st.integers(), "an unbounded integer"),
        (st.integers(min_value=0), "an unbounded integer"),
        (st.floats(), "an unbounded float"),
        (st.text(min_size=1), "text"),
        (st.binary(min_size=1), "bytes"),
        (st.integers(0, 99).filter(lambda value: value % 20 == 0), "replace filter"),
    ],
)
def test_what_cannot_be_drawn_independently_is_refused(strategy: st.SearchStrategy[object], message: str) -> None:
    with pytest.raises(NotIndependent, match=message) as caught:
        independent(strategy, 1, 0, 50)
    assert "\n" not in str(caught.value)


def test_a_mistake_in_a_strategy_is_shown_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        independent(st.integers(0, 5).map(lambda value: 1 // (value - value)), 1, 0, 5)


def test_explored_values_are_a_pure_function_and_reach_the_ends() -> None:
    source = st.integers(0, 10**6)
    values = explored(source, 3, 1, 200)
    assert values == explored(source, 3, 1, 200)
    assert values != explored(source, 3, 2, 200)
    assert len(set(values)) == len(values) == 200
    assert 0 in values
    assert sorted(explored(st.integers(0, 4), 0, 0, 100)) == [0, 1, 2, 3, 4]


def constants(providers: object) -> object:
    return providers.Constants(  # type: ignore[attr-defined]
        integers=providers.SortedSet([123456]),  # type: ignore[attr-defined]
        floats=providers.SortedSet(key=providers.float_to_int),  # type: ignore[attr-defined]
        bytes=providers.SortedSet(),  # type: ignore[attr-defined]
        strings=providers.SortedSet(),  # type: ignore[attr-defined]
    )


def test_explored_values_ignore_the_constants_that_other_tests_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis remembers, per process and kind of choice, constants found in source files."""
    source = st.integers(0, 10**6)
    before = explored(source, 3, 1, 200)
    providers = iid.internals()
    monkeypatch.setattr(providers, "_get_local_constants", lambda: constants(providers))
    monkeypatch.setattr(providers, "CONSTANTS_CACHE", type(providers.CONSTANTS_CACHE)(10))
    seen: list[int] = []
    own = hypothesis.settings(max_examples=500, database=None)(
        hypothesis.given(source)(lambda value: seen.append(value))
    )
    own()
    assert 123456 in seen
    assert explored(source, 3, 1, 200) == before


def test_a_users_own_tests_see_nothing_of_it() -> None:
    """Same examples before and after; nothing stays registered, also when a run fails; random is left alone."""

    def own() -> list[int]:
        seen: list[int] = []
        test = hypothesis.seed(1)(
            hypothesis.settings(max_examples=100, database=None)(
                hypothesis.given(st.integers())(lambda value: seen.append(value))
            )
        )
        test()
        return seen

    providers = iid.internals()
    registered, cache = dict(providers.AVAILABLE_PROVIDERS), providers.CONSTANTS_CACHE
    local = vars(providers.HypothesisProvider)["_local_constants"]
    before, state, legacy = own(), random.getstate(), np.random.get_state()[1].tolist()
    independent(PAIRS, 1, 0, 20)
    explored(PAIRS, 1, 0, 20)
    with pytest.raises(NotIndependent):
        independent(st.text(), 1, 0, 20)
    assert own() == before
    assert random.getstate() == state
    assert np.random.get_state()[1].tolist() == legacy
    assert registered == providers.AVAILABLE_PROVIDERS
    assert cache is providers.CONSTANTS_CACHE
    assert local is vars(providers.HypothesisProvider)["_local_constants"]


@hypothesis.settings(max_examples=5, deadline=None, suppress_health_check=[hypothesis.HealthCheck.nested_given])
@hypothesis.given(st.integers(0, 3))
def test_it_works_inside_a_hypothesis_test(seed: int) -> None:
    assert independent(PAIRS, seed, 0, 5) == independent(PAIRS, seed, 0, 10)[:5]
