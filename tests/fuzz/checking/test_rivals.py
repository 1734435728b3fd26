"""Which of the rivals is blamed where nobody names the truth; steps, integers, NaN; functions that misbehave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kept_here import here

import fuzz
from fuzz.checking.result import Result
from fuzz.errors import UserError


def checked(tmp_path: Path, *functions: Callable[..., Any], **options: Any) -> Result:
    given = {"inputs": {"x": "normal(0,1)[40]"}, "trials": 3, "shrink": 0.0} | options
    return fuzz.check(*map(here, functions), out=tmp_path / "campaign", **given)


def tail(x: Any) -> Any:
    return 1 - torch.erf(x)


def healthy_tail(x: Any) -> Any:
    return torch.special.erfc(x)


def verdicts(result: Result) -> dict[str, str]:
    return {line.name: line.verdict for line in result.lines}


@pytest.mark.parametrize("order", [(tail, healthy_tail), (healthy_tail, tail)])
def test_a_function_that_contradicts_itself_is_not_the_truth(
    tmp_path: Path, order: tuple[Callable[..., Any], ...]
) -> None:
    result = checked(tmp_path, *order, inputs={"x": "uniform(0,8)[60]"})
    assert result.truth == "healthy_tail"
    assert verdicts(result)["tail"] == "unstable"
    assert verdicts(result)["healthy_tail"] in ("exact", "rounding", "ill_conditioned")


def test_two_that_do_not_are_called_different(tmp_path: Path) -> None:
    def ours(x: Any) -> Any:
        return torch.tanh(x)

    def theirs(x: Any) -> Any:
        return torch.tanh(x) * 1.001

    result = checked(tmp_path, ours, theirs)
    assert result.sentence.startswith("ours and theirs are different functions")
    assert "only a truth= can say" in result.sentence


def test_nan_of_one_function_excuses_no_number_of_the_other(tmp_path: Path) -> None:
    def undefined(x: Any) -> Any:
        return torch.where(x > 1, torch.nan, torch.tanh(x))

    def defined(x: Any) -> Any:
        return torch.tanh(x)

    result = checked(tmp_path, undefined, defined)
    assert result.verdict == "nonfinite_mismatch"
    assert result.sentence.startswith("undefined and defined differ in NaN or infinities")


def test_nan_that_the_rounding_of_the_inputs_decides_is_excused(tmp_path: Path) -> None:
    def forward(x: Any) -> Any:
        return torch.log(x[0] + x[1] + x[2])

    def backward(x: Any) -> Any:
        return torch.log(x[0] + x[2] + x[1])

    x = np.array([1e20, -1e20, 1.1], np.float32)
    result = checked(tmp_path, forward, backward, inputs={"x": x}, trials=1)
    assert result.ok
    assert "because of the inputs or the range" in result.sentence


def test_both_sides_of_a_jump_are_excused_and_no_other_value(tmp_path: Path) -> None:
    def step(x: Any) -> Any:
        return torch.floor(torch.cos(x))

    def other(x: Any) -> Any:
        return torch.floor(torch.cos(x.double())).to(x.dtype)

    def lower(x: Any) -> Any:
        return torch.floor(torch.cos(x) - 1)

    assert checked(tmp_path / "a", step, other, inputs={"x": "uniform(-1e-3,1e-3)[500]"}).ok
    assert checked(tmp_path / "b", step, lower).verdict == "wrong"


def test_integers_and_truth_values_are_compared_as_numbers(tmp_path: Path) -> None:
    def largest(x: Any) -> Any:
        return torch.argmax(x, -1)

    def numpy_largest(x: Any) -> Any:
        return np.argmax(np.asarray(x), -1)

    def smallest(x: Any) -> Any:
        return torch.argmin(x, -1)

    def both(x: Any) -> Any:
        return tuple(torch.max(x, -1))

    rows = {"x": "normal(0,1)[6,30]"}
    assert checked(tmp_path / "a", largest, numpy_largest, inputs=rows).ok
    assert checked(tmp_path / "b", largest, smallest, inputs=rows).verdict == "wrong"
    assert checked(tmp_path / "c", both, both, inputs=rows).ok


def test_a_float_of_python_has_the_dtype_of_the_inputs(tmp_path: Path) -> None:
    def total(x: Any) -> Any:
        return torch.sum(x)

    def number(x: Any) -> Any:
        return float(torch.sum(x))

    assert checked(tmp_path, total, number).ok


def test_arrays_that_a_function_holds_take_part_in_the_ladder(tmp_path: Path) -> None:
    w = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))

    def batch(x: Any) -> Any:
        return x @ w

    def rows(x: Any) -> Any:
        return torch.stack([row @ w for row in x])

    result = checked(tmp_path, batch, rows, inputs={"x": "normal(0,1)[6,30]"})
    assert result.ok
    assert all(line.rung_abs is not None for line in result.lines)


def test_what_changes_its_input_is_compared_all_the_same(tmp_path: Path) -> None:
    def inplace(x: Any) -> Any:
        return x.mul_(2).tanh_()

    def plain(x: Any) -> Any:
        return torch.tanh(2 * x)

    result = checked(tmp_path, plain, inplace)
    assert verdicts(result) == {"plain": "exact", "inplace": "input_modified"} or result.verdict == "input_modified"
    assert result.pairs[0].abs_max is not None


def test_what_varies_from_call_to_call_is_called_so_and_is_no_truth(tmp_path: Path) -> None:
    def dropping(x: Any) -> Any:
        return torch.dropout(x, 0.5, True)

    def plain(x: Any) -> Any:
        return torch.tanh(x)

    result = checked(tmp_path, dropping, plain)
    assert result.verdict == "nondeterministic"
    assert result.truth == "plain"
    assert verdicts(result)["plain"] in ("exact", "rounding")


def test_a_function_that_fails_now_and_then_is_counted(tmp_path: Path) -> None:
    calls: list[int] = []

    def now_and_then(x: Any) -> Any:
        calls.append(1)
        if len(calls) % 2 == 0:
            raise ValueError("every second time")
        return torch.tanh(x)

    def plain(x: Any) -> Any:
        return torch.tanh(x)

    result = checked(tmp_path, plain, now_and_then)
    assert result.verdict == "raised"
    assert "every second time" in result.sentence


def test_without_a_double_nothing_stands_for_the_truth(tmp_path: Path) -> None:
    def single(x: Any) -> Any:
        if x.dtype != torch.float32:
            raise TypeError("float32 only")
        return torch.tanh(x)

    result = checked(tmp_path, single, single)
    assert result.verdict == "indeterminate"
    assert any("nothing stands for the truth" in note for note in result.notes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inputs": {"x": [[1, 2], [3]]}}, "its rows differ in length"),
        ({"inputs": {"x": "normal(0,1)[1000000000000]"}}, "the inputs cannot be made"),
        ({"call_timeout": "soon"}, "call_timeout is 'soon'"),
        ({"call_timeout": 0}, "call_timeout is 0"),
    ],
)
def test_more_bad_requests_are_refused_in_a_line(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        checked(tmp_path, healthy_tail, **options)


def test_integer_inputs_are_named_where_a_function_refuses_them(tmp_path: Path) -> None:
    def indexed(x: Any) -> Any:
        return np.arange(10.0)[x]

    with pytest.raises(UserError, match="x was given as integers"):
        checked(tmp_path, indexed, inputs={"x": np.arange(5)})


def test_roundings_in_later_layers_are_excused_though_the_inputs_are_forgotten(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    layers = [torch.randn(48, 48, generator=generator) / 8 for _ in range(20)]

    def batch(x: Any) -> Any:
        for w in layers:
            x = torch.tanh(x @ w + 0.1)
        return x

    def rows(x: Any) -> Any:
        return torch.stack([batch(row) for row in x])

    result = checked(tmp_path, batch, rows, inputs={"x": "normal(0,1)[4,48]"}, trials=5)
    assert result.ok, str(result)
