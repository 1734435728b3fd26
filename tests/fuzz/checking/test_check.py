"""What a check says of functions: verdict, sentence, figures. Run in this process where that is enough."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from kept_here import HERE, here

import fuzz
from fuzz.checking.places import told_apart
from fuzz.checking.result import Result
from fuzz.errors import UserError


def tanh(x: Any) -> Any:
    return np.tanh(x)


def checked(tmp_path: Path, *functions: Callable[..., Any], **options: Any) -> Result:
    given = {"inputs": {"x": "normal(0,1)[40]"}, "trials": 10} | options
    return fuzz.check(*map(here, functions), out=tmp_path / "campaign", **given)


def gelu_exact(x: Any) -> Any:
    return F.gelu(x)


def gelu_tanh(x: Any) -> Any:
    return F.gelu(x, approximate="tanh")


def test_two_formulas_are_different_functions(tmp_path: Path) -> None:
    result = checked(tmp_path, gelu_exact, gelu_tanh, inputs={"x": "uniform(-3,3)[2000]"}, trials=3)
    assert result.verdict == "wrong"
    line = result.lines[1]
    assert line.abs_max == pytest.approx(4.73e-4, rel=0.02)
    assert line.rung_abs == pytest.approx(4.73e-4, rel=0.02)
    assert line.slope == pytest.approx(1.0, abs=0.05)
    assert abs(float(line.where.removeprefix("x = "))) == pytest.approx(2.7, abs=0.1)
    assert "different functions" in result.sentence
    assert "does not shrink with precision" in result.sentence
    assert not result.ok


def test_a_traced_function_has_a_bound_and_its_rivals_are_judged_by_it(tmp_path: Path) -> None:
    def torch_tanh(x: Any) -> Any:
        return torch.tanh(x)

    result = checked(tmp_path, torch_tanh, tanh)
    assert (result.truth, result.known_by) == ("tanh", "float64")
    assert result.ok
    assert result.pairs[0].trials == 10
    assert "rounding" in result.sentence or "bit for bit" in result.sentence


def test_equal_functions_agree_bit_for_bit(tmp_path: Path) -> None:
    def also(x: Any) -> Any:
        return np.tanh(x)

    assert "bit for bit in all 10 trials" in checked(tmp_path, tanh, also).sentence


def test_a_truth_of_the_users_own(tmp_path: Path) -> None:
    def fast(x: Any) -> Any:
        return x / (1 + np.abs(x))

    result = fuzz.check(here(fast), inputs=["normal(0,1)[40]"], truth=here(tanh), trials=5, out=tmp_path / "c")
    assert (result.verdict, result.truth) == ("wrong", "tanh")
    assert result.sentence.startswith("fast is wrong: it is off by 0.")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_with_one_precision_inside_is_found(tmp_path: Path, dtype: str) -> None:
    def narrow(x: Any) -> Any:
        return np.tanh(x.astype(np.float32)).astype(x.dtype)

    assert checked(tmp_path, tanh, narrow, dtype=dtype).verdict == "silent_downcast"


def test_another_dtype_than_that_of_the_inputs(tmp_path: Path) -> None:
    def narrow(x: Any) -> Any:
        return np.tanh(x).astype(np.float32)

    result = checked(tmp_path, tanh, narrow, dtype="float64")
    assert result.verdict == "dtype_mismatch"
    assert any("narrow returns float32 for float64 inputs" in note for note in result.notes)


def test_the_sentence_names_where_rounding_explains_least(tmp_path: Path) -> None:
    """log(1 + exp x) is 0 in the left tail; its largest absolute error lies on the right, and is rounding."""

    def stable(x: Any) -> Any:
        return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))

    def naive(x: Any) -> Any:
        return np.log(1 + np.exp(x))

    result = checked(tmp_path, stable, naive, inputs={"x": "uniform(-18,12)[400]"})
    assert result.verdict == "unstable"
    told = re.search(r"at the largest rho x = (\S+) gives (\S+) instead of (\S+);", result.sentence)
    assert told is not None, result.sentence
    place, value, truth = told.groups()
    assert float(place) < -16
    assert (float(value), float(truth)) == (0, pytest.approx(np.exp(float(place)), rel=0.1))
    assert float(result.lines[1].where.removeprefix("x = ")) > 0
    assert not result.lines[0].furthest


def test_two_numbers_show_that_they_differ() -> None:
    assert told_apart(0.0, 5.9581e-08) == ("0", "5.96e-08")
    assert told_apart(1.0000001, 1.0) == ("1.0000001", "1")
    assert told_apart(float("nan"), 1.0) == ("nan", "1")


def test_a_result_prints_in_a_terminal_and_a_notebook(tmp_path: Path) -> None:
    def also(x: Any) -> Any:
        return np.tanh(x) * (1 + 1e-3)

    result = checked(tmp_path, tanh, also)
    text, page = str(result), result._repr_html_()
    assert text.startswith(f"wrong: {result.sentence}")
    assert "10/10" in text
    assert "max |error|" in text
    assert "mean (signed)" in text
    assert f"ulpfuzz repro {tmp_path / 'campaign'}" in text
    assert "<table>" in page
    assert "&lt;" not in page


def test_a_check_is_a_campaign(tmp_path: Path) -> None:
    result = checked(tmp_path, tanh, gelu_tanh)
    assert result.results().sql("SELECT count(*) AS n FROM trials").to_pylist() == [{"n": 20}]
    assert {"campaign.json", "parts", "findings.parquet"} <= {path.name for path in (tmp_path / "campaign").iterdir()}


def test_nothing_stays_registered(tmp_path: Path) -> None:
    from fuzz.backends import BACKENDS
    from fuzz.operators import OPERATORS

    checked(tmp_path, tanh)
    assert "tanh" not in BACKENDS
    assert "check_tanh" not in OPERATORS


def test_all_nan_is_nothing_to_compare(tmp_path: Path) -> None:
    def nothing(x: Any) -> Any:
        return np.tanh(x) * np.nan

    def either(x: Any) -> Any:
        return np.tanh(x) + np.nan

    result = checked(tmp_path, nothing, either)
    assert result.verdict == "indeterminate"
    assert not result.ok
    assert any("there is nothing to compare" in note for note in result.notes)


def two_outputs(x: Any) -> Any:
    return {"low": np.tanh(x), "high": np.exp(x)}


def swapped_outputs(x: Any) -> Any:
    return {"high": np.exp(x), "low": np.tanh(x)}


def test_outputs_with_names_are_compared_by_name(tmp_path: Path) -> None:
    result = checked(tmp_path, two_outputs, swapped_outputs)
    assert result.ok
    assert {row["output"] for row in result.results().sql("SELECT DISTINCT output FROM trials").to_pylist()} == {
        "low",
        "high",
    }


def test_arguments_go_by_name_where_names_agree(tmp_path: Path) -> None:
    def first(x: Any, w: Any) -> Any:
        return np.matmul(x, w)

    def second(w: Any, x: Any) -> Any:
        assert HERE
        return torch.matmul(x, w)

    inputs = {"x": "normal(0,1)[8,8]", "w": "normal(0,1)[8,8]"}
    result = fuzz.check(first, second, inputs=inputs, trials=3, out=tmp_path / "c")
    assert result.ok
    assert any("first takes (x, w) and second (w, x): they were passed by name" in note for note in result.notes)


def broadcast(x: Any) -> Any:
    return np.tanh(x)[:, None]


def nothing_at_all(x: Any) -> Any:
    return None


def refuses(x: Any) -> Any:
    raise ValueError("no\nnot today")


def text(x: Any) -> Any:
    return "text"


def sparse(x: Any) -> Any:
    return torch.tanh(x).to_sparse()


def complex_(x: Any) -> Any:
    return np.tanh(x) + 0j


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (broadcast, r"NumPy would broadcast them to \[40, 40\]"),
        (nothing_at_all, "returned None: return an array"),
        (refuses, "ValueError: no not today"),
        (text, r"text called with x\[40\] \(by name, float32\): returned str: return an array"),
        (sparse, "returned sparse tensor of torch: return an array"),
        (complex_, "returned complex64"),
        (two_outputs, "tanh returns 1 arrays and two_outputs 2"),
    ],
)
def test_functions_that_cannot_be_compared_are_refused_in_a_line(
    tmp_path: Path, function: Callable[..., Any], words: str
) -> None:
    with pytest.raises(UserError, match=words) as caught:
        checked(tmp_path, tanh, function)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"trials": 0}, "trials is 0"),
        ({"dtype": "float33"}, "dtype is 'float33'"),
        ({"seed": -1}, "seed is -1"),
        ({"inputs": {}}, "a check needs inputs"),
        ({"inputs": {"x": "normal(0,1)"}}, r"input x has no shape: write x=normal\(0,1\)\[8,128\]"),
        ({"inputs": {"x": "normal(0,1)[3,a]"}}, "is no shape"),
        ({"inputs": {"x": "normal(0,1)[0]"}}, "no elements"),
        ({"inputs": {"x": "norml(0,1)[3]"}}, "norml"),
        ({"inputs": {"x": object()}}, "input x is of type object"),
        ({"names": ["a", "b"]}, "2 names for 1 functions"),
        ({"names": ["numpy"]}, "is the name of a backend"),
        ({"names": [1]}, r"names is \[1\]: give a list of texts"),
        ({"names": "tanh"}, "names is 'tanh': give a list"),
        ({"trials": "10"}, "trials is '10': use a whole number from 1 on"),
        ({"trials": True}, "trials is True"),
        ({"seed": "1"}, r"seed is '1': use a whole number from 0 to 2\^63 - 1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"workers": 0}, "workers is 0: use a whole number from 1 on"),
        ({"workers": "2"}, "workers is '2'"),
        ({"shrink": "5s"}, "shrink is '5s': use a number of seconds from 0 on"),
        ({"shrink": -1}, "shrink is -1"),
        ({"call_timeout": "5"}, "call_timeout is '5': use a number of seconds above 0"),
        ({"call_timeout": float("nan")}, "call_timeout is nan"),
        ({"variants": 3}, "variants is 3: name them"),
        ({"inputs": {1: "normal(0,1)[3]"}}, "1 is no name of an input"),
    ],
)
def test_bad_requests_are_refused_in_a_line(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        checked(tmp_path, tanh, **options)


def test_inputs_without_names_fill_what_goes_by_position(tmp_path: Path) -> None:
    """The first parameter of a ufunc cannot be named; `out` can, and is none of the inputs."""
    options: dict[str, Any] = {"inputs": "normal(0,1)[8]", "variants": None, "seed": np.int64(1)}
    assert checked(tmp_path, tanh).ok
    assert fuzz.check(np.tanh, trials=2, shrink=0, out=tmp_path / "u", call_timeout=float("inf"), **options).ok


def test_one_function_that_is_exact_is_not_called_rounding(tmp_path: Path) -> None:
    def twice(x: Any) -> Any:
        return x + x

    assert (
        checked(tmp_path, twice).sentence
        == "twice is right: every result is the number of float32 nearest to the truth."
    )


def test_results_that_change_now_and_then_are_noticed_before_anything_is_called_wrong(tmp_path: Path) -> None:
    calls = iter(range(10**9))

    def sometimes(x: Any) -> Any:
        return np.tanh(x) + np.float32(next(calls) % 7 == 6)

    result = checked(tmp_path, tanh, sometimes)
    assert result.verdict == "nondeterministic"
    assert any("sometimes gives other results when it is called again" in note for note in result.notes)


def test_what_is_longer_than_float64_is_another_dtype_and_not_random(tmp_path: Path) -> None:
    def long(x: Any) -> Any:
        return np.tanh(x.astype(np.longdouble))

    result = checked(tmp_path, tanh, long)
    assert result.verdict == "dtype_mismatch"
    assert not any("when it is called again" in note for note in result.notes)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(UserError, match="a check needs functions"):
        fuzz.check(inputs={"x": "normal(0,1)[3]"})
    with pytest.raises(UserError, match="int is no function"):
        fuzz.check(3, inputs={"x": "normal(0,1)[3]"})  # type: ignore[arg-type]


def test_functions_run_in_processes_of_their_own(tmp_path: Path) -> None:
    """By value: a closure over an array, in a worker, shrunk."""
    scale = np.float32(1.001)

    def scaled(x: Any) -> Any:
        return np.tanh(x) * scale

    result = fuzz.check(tanh, scaled, inputs={"x": "normal(0,1)[40]"}, trials=5, out=tmp_path / "c", shrink=20)
    assert result.verdict == "wrong"
    assert result.example.startswith("shrunk to 1 element: x = ")
    assert not any("ran in this one" in note for note in result.notes)


def test_gradients_are_compared_too(tmp_path: Path) -> None:
    def detached(x: Any) -> Any:
        return torch.tanh(x) * x.detach()

    def whole(x: Any) -> Any:
        return torch.tanh(x) * x

    result = checked(tmp_path, whole, detached, gradients=True)
    assert result.verdict == "wrong"
    assert {line.label: line.verdict for line in result.lines if line.gradient} == {
        "gradient of whole": "rounding",
        "gradient of detached": "wrong",
    }
    assert [pair.gradient for pair in result.pairs] == [False, True]
    assert result.sentence.startswith("whole and gradient of detached are different functions")


def test_a_gradient_that_is_cut_off_says_what_cuts_it(tmp_path: Path) -> None:
    def cut(x: Any) -> Any:
        return torch.tanh(x.detach())

    result = checked(tmp_path, cut, gradients=True)
    assert result.verdict == "raised"
    assert "no gradient flows from the outputs to the inputs" in result.sentence
    assert "detach(), no_grad(), NumPy or integers inside" in result.sentence


def tanh_1(x: Any) -> Any:
    return np.tanh(x)


def tanhx1(x: Any) -> Any:
    return np.tanh(x) * x.dtype.type(1.001)


def test_places_are_of_the_very_function(tmp_path: Path) -> None:
    """An underscore in a name stands for no other letter."""
    healthy, wrong = checked(tmp_path, tanh_1, tanhx1, truth=tanh).lines
    assert (healthy.name, healthy.furthest) == ("tanh_1", "")
    assert "gives" in wrong.furthest


def test_an_output_without_gradient_does_not_hide_that_of_another(tmp_path: Path) -> None:
    def both(x: Any) -> Any:
        return torch.tanh(x), x.detach() * 2

    assert checked(tmp_path, both, gradients=True).ok


def test_the_gradient_of_a_traced_truth_has_its_bound(tmp_path: Path) -> None:
    def of_numpy(x: Any) -> Any:
        return x * np.exp(x)

    def of_torch(x: Any) -> Any:
        return x * torch.exp(x)

    result = checked(tmp_path, of_numpy, of_torch, gradients=True, inputs={"x": "uniform(0,3)[40]"})
    assert result.ok
    assert [line.label for line in result.lines] == ["of_numpy", "of_torch", "gradient of of_torch"]
    assert "nothing differentiates of_numpy here" in result.notes
    assert 0 < (result.lines[2].rho_max or 0) < 1


def test_functions_are_called_in_other_ways(tmp_path: Path) -> None:
    def switching(x: Any) -> Any:
        return np.tanh(x.astype(np.float16) if len(x) > 16 else x).astype(x.dtype)

    result = checked(tmp_path, tanh, switching, variants="batch,repeat")
    assert result.verdict == "wrong" or result.verdict == "low_precision"
    assert [tally.variant for tally in result.varied if tally.worst == "batch_variant"]
    healthy = fuzz.check(here(tanh), inputs=["normal(0,1)[40]"], trials=5, variants=["batch"], out=tmp_path / "h")
    assert healthy.ok
    assert healthy.varied[0].equal == healthy.varied[0].trials > 0
    assert any("bit" in line for line in healthy.bits)


def test_a_variant_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown variant 'batches'"):
        checked(tmp_path, tanh, variants="batches")
