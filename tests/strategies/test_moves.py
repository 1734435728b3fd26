"""Schedules as vectors of numbers: one spelling each, whatever is typed or drawn."""

from __future__ import annotations

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from strategies import ContractError, independent, schedules
from strategies.moves import LARGEST, MOST, MOVES, WIDTH, canonical_schedule, parsed, spelled

NUMBERS = st.lists(st.integers(0, LARGEST), max_size=WIDTH * MOST)


@given(NUMBERS)
def test_a_spelling_is_canonical_and_keeps_the_moves(numbers: list[int]) -> None:
    text = spelled(numbers)
    assert canonical_schedule(text) == text
    whole = [tuple(numbers[i : i + WIDTH]) for i in range(0, len(numbers) - WIDTH + 1, WIDTH)]
    wanted = [(what % len(MOVES), where, how) for what, where, how in whole if what % len(MOVES)]
    assert list(parsed(text))[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("", ""),
        ("0", ""),
        ("0.0.0", ""),
        ("0.5.7.2.1", "2.1"),
        ("2.01.005", "2.1.5"),
        ("2.1.0.0.0.0", "2.1"),
        (f"{len(MOVES) + 2}.1", "2.1"),
    ],
)
def test_other_spellings_mean_the_same(typed: str, canonical: str) -> None:
    assert canonical_schedule(typed) == canonical


@pytest.mark.parametrize("text", ["x", "1.", ".1", "1..2", "-1", "1,2", "1000", " 1", "1.2 ", ".".join("1" * 49)])
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ContractError) as refused:
        parsed(text)
    assert "\n" not in str(refused.value)


@settings(max_examples=50)
@given(schedules())
def test_drawn_schedules_are_canonical(text: str) -> None:
    assert canonical_schedule(text) == text


def test_they_shrink_to_the_program_as_it_is_and_to_single_moves() -> None:
    assert find(schedules(), lambda text: True) == ""
    assert find(schedules(), lambda text: any(what == 13 for what, _, _ in parsed(text))) == "13"
    assert find(schedules(), lambda text: any(how >= 5 for _, _, how in parsed(text))) == "1.0.5"


def test_independent_draws_are_repeatable_and_differ() -> None:
    drawn = independent(schedules(least=1), 7, 0, 50)
    assert drawn == independent(schedules(least=1), 7, 0, 50)
    assert drawn[20:40] == independent(schedules(least=1), 7, 1, 20)
    assert len(set(drawn)) == 50
    assert "" not in drawn
    assert {what for text in drawn for what, _, _ in parsed(text)} == set(range(1, len(MOVES)))


@pytest.mark.parametrize("bounds", [{"least": -1}, {"least": 3, "most": 2}, {"most": MOST + 1}])
def test_bounds_that_do_not_fit_are_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(ContractError, match="use bounds from 0 to"):
        schedules(**bounds)
