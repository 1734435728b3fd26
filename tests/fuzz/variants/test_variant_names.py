"""How users name variants."""

from __future__ import annotations

import pytest

from fuzz.errors import UserError
from fuzz.variants import FAMILIES, expanded, variant
from results.verdicts import VERDICTS


def test_a_family_stands_for_its_usual_variants_and_each_is_named_once() -> None:
    assert expanded(["batch", "batch[8]", "repeat[2]"]) == (
        *(f"batch[{size}]" for size in ("1", "2", "3", "4", "8", "16", "32", "64", "n-1", "vmap", "map")),
        "repeat[2]",
    )


def test_all_has_every_family_but_those_that_start_processes() -> None:
    families = {variant(name).family.name for name in expanded(["all"])}
    assert families == set(FAMILIES) - {"process"}
    assert expanded(["process"]) == ("process",)


@pytest.mark.parametrize("name", ["batch[8]", "layout[F]", "position[3]", "permuted[reversed]", "repeat[500]"])
def test_ids_are_canonical(name: str) -> None:
    assert variant(name).id == name
    assert expanded([name.replace("[", "[ ").replace("]", " ]")]) == (name,)


def test_numbers_lose_their_leading_zeros() -> None:
    assert expanded(["batch[008]"]) == ("batch[8]",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("btach", "batch"),
        ("batch[0]", "batch size"),
        ("batch[eight]", "batch size"),
        ("layout[G]", "strided, offset, F"),
        ("process[3]", "leave out the brackets"),
        ("batch[8", "write a family"),
        ("threads[1]", "from 2"),
    ],
)
def test_mistakes_are_one_line_that_says_what_is_allowed(name: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        expanded([name])
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_every_family_has_a_verdict_that_counts_against_the_implementation() -> None:
    assert all(VERDICTS[family.verdict].finding for family in FAMILIES.values())
