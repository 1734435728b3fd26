"""`bits`: every number of a format once, in blocks that are functions of their number alone."""

from __future__ import annotations

import numpy as np
import pytest

from strategies.contract import ContractError
from strategies.expressions import parse_recipe
from strategies.patterns import blocks, patterns
from strategies.recipe import Recipe
from strategies.recipes import Bits, ParameterError, recipe_from_plain
from strategies.sampling import stream

WORDS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}


def block(recipe: Recipe, index: int, home: str = "float16", size: int = 1000, seed: int = 0) -> np.ndarray:
    """The bit patterns of one draw."""
    out = np.zeros(size, home)
    recipe.check(home, [out.shape])
    recipe.at(index, home, [out.shape]).draw(stream("a test", seed, index, 0), [out])
    return out.view(WORDS[home])


def bits(start: int = 0) -> Bits:
    return Bits(("x",), start)


@pytest.mark.parametrize("home", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", [65536, 4096])
def test_the_blocks_of_a_format_hold_every_pattern_once(home: str, size: int) -> None:
    drawn = np.concatenate([block(bits(), k, home, size) for k in range(blocks(home, size))])
    assert np.array_equal(np.sort(drawn), np.arange(2**16))


def test_a_size_that_does_not_divide_the_format_repeats_its_first_patterns() -> None:
    count = blocks("float16", 1000)
    drawn = np.concatenate([block(bits(), k) for k in range(count)])
    assert count == 66
    assert np.array_equal(drawn, np.arange(66_000) % 2**16)


def test_the_first_blocks_of_float32_spread_over_the_format() -> None:
    starts = [int(block(bits(), k, "float32", 2**16)[0]) for k in range(4)]
    assert starts == [0, 2**31, 2**30, 2**31 + 2**30]
    assert blocks("float32", 2**16) == 2**16
    assert block(bits(), 2**16 - 1, "float32", 2**16)[-1] == 2**32 - 1


def test_blocks_do_not_depend_on_the_seed_and_come_round_again() -> None:
    assert np.array_equal(block(bits(), 3, seed=1), block(bits(), 3, seed=2))
    assert np.array_equal(block(bits(), 3), block(bits(), 3 + blocks("float16", 1000)))


def test_a_window_begins_at_start_and_wraps_round() -> None:
    assert block(bits(0x3C00), 0, size=3).tolist() == [0x3C00, 0x3C01, 0x3C02]
    assert block(bits(2**16 - 1), 0, size=3).tolist() == [2**16 - 1, 0, 1]
    assert block(bits(0x3FF0000000000000 >> 12), 0, "float64", 2).tolist() == [0x3FF0000000000, 0x3FF0000000001]


def test_infinities_and_every_nan_belong_to_it() -> None:
    values = block(bits(), 0, size=65536).view(np.float16)
    assert np.isinf(values).sum() == 2
    assert np.isnan(values).sum() == 2 * (2**10 - 1)
    assert bits().support("float16") == (-np.inf, np.inf)


def test_arrays_of_any_shape_are_filled_in_c_order() -> None:
    out = np.zeros((3, 5), np.float32)
    bits(7).at(0, "float32", [out.shape]).draw(stream("a test", 0, 0, 0), [out])
    assert out.view(np.uint32).tolist() == [[7, 8, 9, 10, 11], [12, 13, 14, 15, 16], [17, 18, 19, 20, 21]]
    empty = np.zeros(0, np.float32)
    bits().at(5, "float32", [empty.shape]).draw(stream("a test", 0, 5, 0), [empty])


def test_modifiers_pass_the_number_of_the_draw_on() -> None:
    recipe = parse_recipe("sparse(bits(0),0)", ("x",))
    assert np.array_equal(block(recipe, 1, size=2**15), np.arange(2**15, 2**16))
    same = parse_recipe("abs(normal(0,1))", ("x",))
    assert same.at(1, "float16", [(3,)]) is same


def test_mistakes_are_named() -> None:
    with pytest.raises(ParameterError, match="start of bits is -1: use a bit pattern from 0"):
        bits(-1)
    with pytest.raises(ParameterError, match="bits fills one input, not x, y"):
        Bits(("x", "y"))
    with pytest.raises(
        ContractError, match=r"start of bits\(65536\) is no bit pattern of float16: use one below 2\*\*16"
    ):
        block(bits(65536), 0)
    assert patterns("bfloat16") == 65536


def test_it_survives_its_json() -> None:
    assert recipe_from_plain(bits(5).plain()) == bits(5)
    assert str(parse_recipe("bits()", ("x",))) == "bits(0)"
