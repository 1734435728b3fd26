"""Rows of trials under variants: planted faults get the right verdict, healthy kernels none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import planted_variants as planted
import pytest
from trial_cases import Lab

from fuzz.backends import BACKENDS
from fuzz.variants import expanded
from results.columns import Row
from results.verdicts import VERDICTS

ALL = expanded(["all"])
DIMS = {"M": 40, "K": 64, "N": 12}


BACKENDS.pop("planted")  # its functions are used here one by one


def _rows(
    kernel: Callable[..., Any], variants: Sequence[str] = ALL, operator: str = "matmul", trials: int = 1, **setting: Any
) -> list[Row]:
    dims = setting.pop("dims", DIMS if operator == "matmul" else None)
    with Lab() as lab:
        target = lab.target(operator, kernel, dtype=setting.get("dtype", "float32"))
        problem = lab.problem(operator, dims=dims, **setting)
        found: list[Row] = []
        for index in range(trials):
            found += lab.trial(problem, target, index=index, ladder=index == 0, variants=tuple(variants)).rows
        return found


def _findings(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Verdicts that count, by variant."""
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.get("verdict") is not None and VERDICTS[str(row["verdict"])].finding:
            found.setdefault(str(row["verdict"]), set()).add(str(row["variant"]))
    return found


def test_a_healthy_kernel_has_no_finding_under_any_variant() -> None:
    rows = _rows(planted.healthy, trials=3)
    assert not _findings(rows)
    assert {row["variant"] for row in rows if row["against"] != "truth"} >= {
        "batch[1]",
        "layout[F]",
        "permuted[reversed]",
    }


def test_a_row_against_the_truth_and_one_against_the_own_call() -> None:
    plain, *rest = _rows(planted.healthy, ["batch[8]", "repeat[2]"])
    assert plain["variant"] == ""
    assert [(row["variant"], row["against"]) for row in rest] == [
        ("batch[8]", "truth"),
        ("batch[8]", "lab:cpu[impl=kernel]"),
        ("repeat[2]", "truth"),
        ("repeat[2]", "lab:cpu[impl=kernel]"),
    ]
    same, own = rest[2:]
    assert same["output_digest"] == plain["output_digest"]
    assert same["rho_max"] == plain["rho_max"]
    assert (own["verdict"], own["abs_max"], own["detail"]) == ("exact", 0.0, "bitwise equal")
    assert all(row["input_digest"] == plain["input_digest"] for row in rest)


def test_rows_without_variant_are_those_of_a_trial_without_variants() -> None:
    for kernel in (planted.healthy, planted.half_precision_for_large_batches):
        alone, varied = _rows(kernel, ()), _rows(kernel)
        timeless = [{key: value for key, value in row.items() if key != "seconds"} for row in (*alone, varied[0])]
        assert len(alone) == 1
        assert timeless[0] == timeless[1]
        assert not [row for row in varied[1:] if not row["variant"]]


def test_a_precision_that_depends_on_the_batch() -> None:
    """The unwrapped batch is the bad one here, and pieces of it are right."""
    found = _findings(_rows(planted.half_precision_for_large_batches))
    assert found["batch_variant"] == {f"batch[{size}]" for size in (1, 2, 3, 4, 8, 16)}
    assert found["position_variant"] == {"length[17]"}
    assert set(found) - {"batch_variant", "position_variant"} <= {"wrong", "low_precision"}


def test_a_precision_that_single_rows_get() -> None:
    found = _findings(_rows(planted.half_precision_for_single_rows))
    assert found == {"batch_variant": {"batch[1]", "batch[3]", "batch[n-1]"}, "position_variant": {"length[1]"}}


def test_memory_read_as_if_it_had_no_gaps() -> None:
    found = _findings(
        _rows(planted.reads_memory_as_if_it_had_no_gaps, ["layout[strided]", "layout[F]", "layout[offset]"])
    )
    assert found == {"layout_variant": {"layout[strided]", "layout[F]"}}


def test_a_refusal_of_strided_arrays_is_no_defect() -> None:
    rows = _rows(planted.refuses_strides, expanded(["layout"]), trials=2)
    assert not _findings(rows)
    refused = [row for row in rows if row["verdict"] == "unsupported" and "refused" in str(row["detail"])]
    assert {row["variant"] for row in refused} == {"layout[strided]", "layout[F]", "layout[negative]"}
    assert {row["index"] for row in refused} == {0}, "said once a problem"


def test_a_call_that_fails_for_single_rows_only() -> None:
    def kernel(a: Any, b: Any) -> Any:
        if len(a) == 1:
            raise ValueError("empty reduction")
        return np.matmul(a, b)

    (row,) = [row for row in _rows(kernel, ["batch[1]", "batch[2]"]) if row.get("verdict") == "raised"]
    assert (row["variant"], row["against"], row["region"]) == ("batch[1]", "truth", "ValueError, batch")


def test_one_call_in_five_hundred_is_found_by_repeated_calls() -> None:
    rows = _rows(planted.is_off_once_in_a_while, ["repeat[8]"], trials=70)
    found = _findings(rows)
    assert set(found) <= {"nondeterministic", "unstable", "wrong"}
    assert found["nondeterministic"] == {"repeat[8]"}


def test_a_kernel_that_changes_by_itself_is_not_blamed_on_the_batch() -> None:
    rows = _rows(planted.is_off_once_in_a_while, ["batch[1]"], trials=15)
    assert set(_findings(rows)) <= {"nondeterministic", "unstable", "wrong"}
    (row,) = [row for row in rows if row.get("verdict") == "nondeterministic"][:1]
    assert "once more, it differs" in str(row["detail"])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_an_unstable_formula_is_not_blamed_on_the_way_it_is_called(dtype: str) -> None:
    rows = _rows(planted.sum_that_cancels, operator="sum", dims={"rows": 3, "n": 65}, trials=6, dtype=dtype)
    assert not {name for name in _findings(rows) if name.endswith("_variant") or name == "nondeterministic"}


def test_an_unstable_formula_that_is_right_by_luck_is_not_blamed_on_the_order() -> None:
    """It is off by a few bounds, sometimes by less than one: another order is right where the given one is not."""

    def kernel(x: Any, axis: int) -> Any:
        offset = x.dtype.type(30)
        return (np.sum(x + offset, axis=axis) - offset * x.dtype.type(x.shape[axis])).astype(x.dtype)

    rows = _rows(kernel, ["permuted[reversed]"], operator="sum", dims={"rows": 1, "n": 6}, trials=30)
    assert not [name for name in _findings(rows) if name.endswith("_variant")]
    lucky = [row for row in rows if "inputs nearby" in str(row["detail"])]
    assert lucky
    assert {row["verdict"] for row in lucky} == {"indeterminate"}


def test_rounding_of_another_order_is_rounding() -> None:
    def kernel(x: Any, axis: int) -> Any:
        """Adds one after the other where rows are few, pairwise where they are many."""
        summed = np.add.accumulate(x, axis=axis).take(-1, axis=axis) if len(x) < 4 else x.sum(axis=axis)
        return summed.astype(x.dtype)

    rows = _rows(kernel, ["batch[1]"], operator="sum", dims={"rows": 6, "n": 257}, trials=3)
    (verdicts,) = [{row["verdict"] for row in rows if row["against"] != "truth"}]
    assert verdicts == {"rounding"}


def test_a_result_that_may_be_one_number_only_may_not_change_a_bit() -> None:
    def kernel(x: Any) -> Any:
        root = np.sqrt(x)
        return root if len(x) > 8 else np.nextafter(root, np.inf, dtype=x.dtype)

    found = _findings(_rows(kernel, ["batch[8]", "length[17]"], operator="sqrt", dims={"n": 30}))
    assert found == {"batch_variant": {"batch[8]"}}


def test_zeros_of_another_sign_are_no_finding() -> None:
    def kernel(x: Any) -> Any:
        zeros = np.maximum(x, 0) * 0
        return zeros if len(x) > 8 else -zeros

    rows = _rows(kernel, ["batch[8]"], operator="relu", dims={"n": 30}, inputs={"x": "constant(0)"})
    assert not _findings(rows)
    assert [row["detail"] for row in rows if row["against"] != "truth"] == ["zeros of another sign"]


def test_what_is_wrong_either_way_is_the_targets_own() -> None:
    rows = _rows(lambda a, b: np.matmul(a, b) * a.dtype.type(1 + 0.01 * len(a)), ["batch[8]"])
    assert set(_findings(rows)) == {"wrong"}
    (own,) = [row for row in rows if row["against"] != "truth"]
    assert own["verdict"] is None
    assert "whichever way it is called" in str(own["detail"])


def test_nothing_is_varied_where_the_target_gives_nothing() -> None:
    def kernel(a: Any, b: Any) -> Any:
        raise ValueError("never")

    rows = _rows(kernel, ["batch[8]"])
    assert [row["variant"] for row in rows] == [""]


def test_writes_outside_a_piece_are_seen() -> None:
    def kernel(a: Any, b: Any, out: Any) -> None:
        np.matmul(a, b, out=out)
        if len(out) == 1:
            np.lib.stride_tricks.as_strided(out, (1, out.shape[1] + 1))[0, -1] = 7

    with Lab() as lab:
        target = lab.target("matmul", kernel)
        problem = lab.problem("matmul", dims={"M": 5, "K": 8, "N": 3})
        rows = lab.trial(problem, target, variants=("batch[2]",)).rows
    assert _findings(rows) == {"out_of_bounds_write": {"batch[2]"}}
