"""Settings of options: flat, independent, shrinking to the defaults."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import find

from strategies import ContractError, independent, options
from strategies.option_settings import count

TABLE = {"order": ("C", "F"), "axis": ("given", "first", "last")}


def test_every_setting_is_equally_likely() -> None:
    seen = Counter(independent(options(TABLE), 3, 0, 600))
    assert len(seen) == count(TABLE) == 6
    assert max(seen.values()) < 2 * min(seen.values())
    assert () in seen


def test_only_what_differs_is_named_in_sorted_order() -> None:
    assert (("axis", "last"), ("order", "F")) in set(independent(options(TABLE), 3, 0, 100))
    assert all(value != TABLE[name][0] for one in independent(options(TABLE), 3, 0, 100) for name, value in one)


def test_it_shrinks_to_the_defaults() -> None:
    assert find(options(TABLE), lambda _: True) == ()
    assert find(options(TABLE), lambda one: "axis" in dict(one)) == (("axis", "first"),)


def test_no_options_have_one_setting() -> None:
    assert find(options({}), lambda _: True) == ()
    assert count({}) == 1


@pytest.mark.parametrize("values", [(), ("on", "on")])
def test_a_table_without_values_is_refused(values: tuple[str, ...]) -> None:
    with pytest.raises(ContractError, match="option fma has the values"):
        options({"fma": values})
