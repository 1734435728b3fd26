"""Inputs are a pure function of (draw_id, seed, index), and the streams behind them are independent."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SFC64, Generator
from scipy import stats

from strategies.contract import ContractError
from strategies.problem import make_problem
from strategies.sampling import _Words, draw, extra_low_bits, stream

DIMS = {"N": 2, "C": 3, "H": 5, "W": 7}


def test_a_stream_is_sfc64_started_from_its_words_and_a_counter_of_one() -> None:
    """The rule behind the name sfc64-1, written down through the generator's state."""
    words = np.array([3, 5, 7], np.uint64)
    bits = SFC64(0)
    state = bits.state
    state["state"]["state"] = np.array([3, 5, 7, 1], np.uint64)
    state["has_uint32"] = 0
    bits.state = state
    bits.random_raw(12)
    ours = Generator(SFC64(_Words(words)))  # type: ignore[arg-type]
    assert ours.bit_generator.random_raw(8).tolist() == bits.random_raw(8).tolist()


def test_streams_differ_in_every_argument_and_in_no_concatenation_of_them() -> None:
    keys = [
        ("a", 1, 2, 3),
        ("b", 1, 2, 3),
        ("a", 2, 2, 3),
        ("a", 1, 3, 3),
        ("a", 1, 2, 4),
        ("a", 12, 3, 3),
        ("a", 1, 23, 3),
    ]
    first = [stream(*key).bit_generator.random_raw() for key in keys]
    assert len(set(first)) == len(keys)
    assert first[0] == stream(*keys[0]).bit_generator.random_raw()


def test_seeds_may_be_large_or_negative() -> None:
    assert stream("a", 2**70, 0, 0).random() != stream("a", -1, 2**70, 0).random()


def test_first_draws_of_neighbouring_streams_are_independent_and_uniform() -> None:
    sample = np.array([stream("a", 0, index, 0).random() for index in range(20_000)])
    assert stats.kstest(sample, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(sample[1:], sample[:-1])[0, 1]) < 5 / np.sqrt(len(sample))


def test_the_same_trial_gives_the_same_bytes_and_another_index_or_seed_others(batch_norm, s0, empty_arrays) -> None:
    into = empty_arrays(batch_norm, s0)
    digests = [draw(s0, batch_norm, seed, index, into) for seed, index in ((0, 0), (0, 1), (1, 0), (0, 0))]
    assert digests[0] == digests[3]
    assert len(set(digests)) == 3
    assert all(np.isfinite(array).all() for array in into.values())


def test_attributes_and_operator_do_not_redraw(batch_norm, s0, empty_arrays) -> None:
    other = make_problem(batch_norm, dims=dict(s0.dims), home=s0.home, recipes=s0.recipes, attributes={"eps": 0.1})
    assert other.id != s0.id
    assert other.draw_id == s0.draw_id
    digests = [draw(p, batch_norm, 0, 0, empty_arrays(batch_norm, p)) for p in (s0, other)]
    assert digests[0] == digests[1]


def test_the_order_of_recipes_does_not_matter_but_their_input_does(batch_norm, s0) -> None:
    turned = make_problem(batch_norm, dims=dict(s0.dims), home=s0.home, recipes=s0.recipes[::-1])
    assert turned == s0
    assert turned.draw_id == s0.draw_id


def test_the_digest_covers_every_input(batch_norm, problem_of, empty_arrays) -> None:
    texts = {
        "x": "constant(1)",
        "mean": "constant(1)",
        "var": "constant(1)",
        "gamma": "constant(1)",
        "beta": "constant(1)",
    }
    digests = set()
    for name in (None, *texts):
        changed = texts if name is None else texts | {name: "constant(2)"}
        problem = problem_of(batch_norm, DIMS, **changed)
        digests.add(draw(problem, batch_norm, 0, 0, empty_arrays(batch_norm, problem)))
    assert len(digests) == 6


def test_the_digest_tells_shapes_and_dtypes_with_equal_bytes_apart(batch_norm, problem_of, empty_arrays) -> None:
    zeros = dict.fromkeys(("x", "mean", "var", "gamma", "beta"), "constant(0)")
    digests = set()
    for home, dims in (("float32", DIMS), ("float32", DIMS | {"H": 7, "W": 5}), ("float64", DIMS)):
        problem = problem_of(batch_norm, dims, home, **zeros)
        digests.add(draw(problem, batch_norm, 0, 0, empty_arrays(batch_norm, problem)))
    assert len(digests) == 3


@pytest.mark.parametrize("dims", [DIMS | {"C": 0}, DIMS | {"N": 0}, dict.fromkeys(DIMS, 1)])
def test_empty_and_single_element_inputs_are_drawn(batch_norm, problem_of, empty_arrays, dims) -> None:
    problem = problem_of(batch_norm, dims)
    into = empty_arrays(batch_norm, problem)
    assert len(draw(problem, batch_norm, 0, 0, into)) == 32
    assert all(np.isfinite(array).all() for array in into.values())


@pytest.mark.parametrize("fault", ["missing", "shape", "dtype", "order"])
def test_arrays_that_do_not_fit_are_refused(batch_norm, s0, empty_arrays, fault: str) -> None:
    into = empty_arrays(batch_norm, s0)
    if fault == "missing":
        del into["x"]
    else:
        x = into["x"]
        into["x"] = {"shape": x[:1], "dtype": x.astype(np.float64), "order": np.asfortranarray(x)}[fault]
    with pytest.raises(ContractError, match="'x'") as caught:
        draw(s0, batch_norm, 0, 0, into)
    assert "\n" not in str(caught.value)


def test_a_draw_writes_in_place_and_keeps_the_arrays(batch_norm, s0, empty_arrays) -> None:
    into = empty_arrays(batch_norm, s0)
    before = dict(into)
    draw(s0, batch_norm, 0, 0, into)
    assert all(into[name] is before[name] for name in before)


def test_extra_low_bits_fill_the_significand_and_round_back_to_float32() -> None:
    x = stream("a", 0, 0, 0).standard_normal(10_000, dtype=np.float32)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**10]
    fine = extra_low_bits(x.astype(np.float64), "a", 0, 0, "x")
    assert fine.dtype == np.float64
    assert np.array_equal(fine.astype(np.float32).view(np.uint32), x.view(np.uint32))
    assert np.signbit(fine[:2]).tolist() == [False, True]
    r = (fine[5:] / x[5:].astype(np.float64) - 1) * 2.0**24
    assert stats.kstest(r, stats.uniform(-0.5, 1).cdf).pvalue > 1e-3
    assert np.mean(fine[5:] == x[5:]) < 1e-3


def test_extra_low_bits_depend_on_the_trial_and_the_salt() -> None:
    x = np.ones(100)
    keys = [("a", 0, 0, "x"), ("a", 0, 0, "y"), ("a", 0, 1, "x"), ("a", 1, 0, "x"), ("b", 0, 0, "x"), ("a", 0, 0, 1)]
    assert len({extra_low_bits(x, *key).tobytes() for key in keys}) == len(keys)
    assert np.array_equal(extra_low_bits(x, *keys[0]), extra_low_bits(x, *keys[0]))
    assert np.array_equal(x, np.ones(100))


def test_extra_low_bits_share_nothing_with_the_streams_of_the_recipes() -> None:
    r = (extra_low_bits(np.ones(1000), "a", 0, 0, 0) - 1) * 2.0**24 + 0.5
    assert abs(np.corrcoef(r, stream("a", 0, 0, 0).random(1000))[0, 1]) < 0.2
