"""Delta debugging on lists whose answer is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzz.shrinking.ddmin import ddmin


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), max_size=5))))
def test_exactly_what_is_needed_is_left(case: tuple[int, set[int]]) -> None:
    size, needed = case
    kept = ddmin(range(size), lambda items: needed <= set(items))
    assert set(kept) == needed or (not needed and len(kept) == 1)
    assert kept == sorted(kept)


@given(st.integers(1, 300), st.integers(1, 300))
def test_a_number_of_items_is_all_that_matters(size: int, least: int) -> None:
    least = min(size, least)
    assert len(ddmin(range(size), lambda items: len(items) >= least)) == least


def test_one_carrier_costs_two_questions_a_halving() -> None:
    asked: list[int] = []

    def holds(items: list[int]) -> bool:
        asked.append(len(items))
        return 777 in items

    assert ddmin(range(1024), holds) == [777]
    assert len(asked) <= 20


def test_what_is_too_short_is_not_tried() -> None:
    asked: list[int] = []

    def holds(items: list[int]) -> bool:
        asked.append(len(items))
        return True

    assert len(ddmin(range(40), holds, least=7)) == 7
    assert min(asked) >= 7
