"""The tolerances of a campaign: for what, from which rows, and when there are none."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from synthetic_rows import make_row

import results
from results.columns import ALLOWANCES, Row, allowance_column
from results.errors import NotPermitted
from results.tolerance.advice import Advice, Tolerances, tolerances, within_both
from results.tolerance.text import as_json, passes, print_tolerances

Write = Callable[..., Path]
U = 2.0**-24
NEEDED = [allowance_column(k) for k in ALLOWANCES]


def cells(needed: float, **more: Any) -> Row:
    """A trial that needs atol `needed` with rtol = 0, the less the larger rtol is; typical results are 1."""
    return {
        "abs_max": needed,
        **{name: max(0.0, needed - k * U / 10) for k, name in zip(ALLOWANCES, NEEDED, strict=True)},
        "truth_mean": 1.0,
    } | more


def trials(n: int, targets: Iterable[str] = ("numpy:cpu", "torch:cpu"), seed: int = 0, **more: Any) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [make_row(i, target, **cells(float(4 * U * rng.gamma(3)), **more)) for i in range(n) for target in targets]


def one(found: Tolerances) -> Advice:
    assert len(found.advice) == 1
    return found.advice[0]


def text(found: Tolerances) -> str:
    out = io.StringIO()
    print_tolerances(found, Console(file=out, width=110))
    json.dumps(as_json(found), allow_nan=False)
    return " ".join(out.getvalue().split())


def test_a_trial_needs_what_its_worst_target_needs(campaign: Write) -> None:
    rows = [
        make_row(i, t, **cells((i + (t == "torch:cpu")) * U)) for i in range(1000) for t in ("numpy:cpu", "torch:cpu")
    ]
    found = tolerances(results.open(campaign(rows)), 1e-2)
    advice = one(found)
    assert advice.pair is not None
    assert advice.pair.level.k == 4
    assert advice.pair.rtol == 0
    assert 995 * U < advice.pair.level.value <= 1.1 * 996 * U
    assert (advice.trials, advice.problems, advice.targets) == (1000, 1, ("numpy:cpu", "torch:cpu"))
    assert found.of == "the problems of this plan"
    printed = text(found)
    assert "batch_norm float32" in printed
    assert "C=32,H=28,N=2,W=28" in printed
    assert advice.pair.call in printed


def test_targets_with_findings_are_named_and_left_out(campaign: Write) -> None:
    rows = trials(400) + [
        make_row(i, "tvm:llvm", **cells(1e-2), verdict="wrong" if i == 7 else "rounding") for i in range(400)
    ]
    found = tolerances(results.open(campaign(rows)), 1e-2)
    advice = one(found)
    assert advice.pair is not None
    assert advice.pair.atol < 1e-4
    assert advice.targets == ("numpy:cpu", "torch:cpu")
    left_out = found.excluded[0]
    assert (left_out.target, left_out.verdicts, left_out.trials) == ("tvm:llvm", ("wrong",), 1)
    printed = text(found)
    assert "Left out, because of findings" in printed
    assert "tvm:llvm" in printed


def test_where_all_have_findings_there_is_none(campaign: Write) -> None:
    advice = one(tolerances(results.open(campaign(trials(400, verdict="unstable"))), 1e-2))
    assert (advice.pair, advice.why) == (None, "every target has findings")


def test_a_finding_in_one_dtype_says_nothing_about_another(campaign: Write) -> None:
    rows = trials(400) + trials(400, ["torch:cpu"], dtype="float16", verdict="wrong", problem_id="q" * 16)
    found = tolerances(results.open(campaign(rows)), 1e-2)
    assert [(a.group.dtype, a.kept) for a in found.advice] == [("float16", False), ("float32", True)]
    assert found.advice[1].targets == ("numpy:cpu", "torch:cpu")


def test_sizes_and_outputs_are_apart_and_sorted(campaign: Write) -> None:
    rows = [
        row
        for number, (size, output) in enumerate([("n=64", "y"), ("n=8", "y"), ("n=8", "z")])
        for row in trials(300, seed=number, dims=size, output=output, problem_id=size.ljust(16, "p"))
    ]
    found = tolerances(results.open(campaign(rows)), 1e-2)
    assert [(a.group.size, a.group.output) for a in found.advice] == [("n=8", "y"), ("n=64", "y"), ("n=8", "z")]
    assert "batch_norm (z) float32" in text(found)


def test_problems_of_one_size_share_a_pair(campaign: Write) -> None:
    rows = trials(300) + trials(300, seed=1, problem_id="q" * 16, recipes="x~wide")
    rows[600:] = [row | cells(3 * float(row["abs_max"])) for row in rows[600:]]  # type: ignore[arg-type]
    advice = one(tolerances(results.open(campaign(rows)), 1e-2))
    assert advice.pair is not None
    assert (advice.problems, advice.trials, advice.pair.inputs) == (2, 600, "x~wide")
    alone = one(tolerances(results.open(campaign(rows[:600])), 1e-2))
    assert alone.pair is not None
    assert alone.pair.atol < advice.pair.atol


def test_two_implementations_need_twice_as_much_unless_they_were_compared(campaign: Write) -> None:
    rows = trials(400)
    advice = one(tolerances(results.open(campaign(rows)), 1e-2))
    assert advice.pair is not None
    assert advice.between is not None
    assert advice.between.measured is None
    assert advice.between.atol == pytest.approx(2 * advice.pair.atol, rel=0.1)
    pairs = [make_row(i, "numpy:cpu", against="torch:cpu", **cells(5 * U), verdict="rounding") for i in range(400)]
    compared = one(tolerances(results.open(campaign(rows + pairs)), 1e-2))
    assert compared.pair == advice.pair
    assert compared.between is not None
    assert compared.between.measured is not None
    assert compared.between.atol == pytest.approx(5 * U, rel=0.1)
    other = [row | {"against": "tvm:llvm"} for row in pairs]  # a side of which nothing is known
    unknown = one(tolerances(results.open(campaign(rows + other)), 1e-2)).between
    assert unknown == advice.between


def test_twice_the_pair_passes_whatever_lies_within_it() -> None:
    rng = np.random.default_rng(0)
    for rtol, atol in ((1e-7, 1e-6), (0.3, 1e-3), (0.01, 0.0)):
        truth = rng.standard_normal(4000) * 10.0 ** rng.uniform(-6, 3, 4000)
        allowed = atol + rtol * np.abs(truth)
        one_, other = (truth + rng.choice([-1, 1], 4000) * allowed for _ in range(2))
        both = within_both(rtol, atol)
        np.testing.assert_allclose(one_, other, rtol=both[0] * (1 + 1e-9), atol=both[1] * (1 + 1e-9))


@pytest.mark.parametrize("plan", ["explore", "search", "mystery", None])
def test_plans_that_are_no_sample_are_refused_with_the_reason(campaign: Write, plan: str | None) -> None:
    with pytest.raises(NotPermitted, match="no tolerance can be read off this campaign"):
        tolerances(results.open(campaign(trials(20), plan=plan)), 1e-2)


def test_campaigns_of_different_plans_are_refused(campaign: Write) -> None:
    both = results.open(campaign(trials(20)), campaign(trials(20), plan="survey"))
    with pytest.raises(NotPermitted, match="different plans"):
        tolerances(both, 1e-2)


def test_two_campaigns_of_one_plan_add_up_and_the_same_draws_count_once(campaign: Write) -> None:
    rows = trials(300)
    same = one(tolerances(results.open(campaign(rows), campaign(rows)), 1e-2))
    assert same.trials == 300
    more = one(tolerances(results.open(campaign(rows), campaign([r | {"seed": 8} for r in rows])), 1e-2))
    assert more.trials == 600


def test_a_survey_is_about_its_population(campaign: Write) -> None:
    rows = [row | {"problem_id": f"{row['index']:016d}", "dims": f"n={row['index']}"} for row in trials(400)]
    found = tolerances(results.open(campaign(rows, plan="survey", trials_per_problem=1)), 1e-2)
    advice = one(found)
    assert (found.of, advice.group.size, advice.trials) == ("the population of the survey", "", 400)
    assert advice.kept
    repeated = [row | {"problem_id": f"{int(row['index']) // 4:016d}"} for row in rows]  # type: ignore[call-overload]
    with pytest.raises(NotPermitted, match="several trials share a problem"):
        tolerances(results.open(campaign(repeated, plan="survey")), 1e-2)


def test_every_input_there_is_needs_no_bound(campaign: Write) -> None:
    rows = [row | {"elements": 2**14, "home": "float16", "dtype": "float16"} for row in trials(4, ["numpy:cpu"])]
    found = tolerances(results.open(campaign(rows, plan="exhaustive")), 1e-6)
    advice = one(found)
    assert advice.pair is not None
    assert (advice.pair.level.basis, advice.pair.level.at_most, advice.kept) == ("every input", 0.0, True)
    assert "every input" in text(found)
    part = one(tolerances(results.open(campaign(rows[:3], plan="exhaustive")), 1e-6))
    assert (part.pair, part.why) == (None, "not every input has run yet: `ulpfuzz resume` runs the rest")


def test_a_campaign_that_its_rates_ended_has_wider_bounds_and_no_tail(campaign: Write) -> None:
    rows = trials(1500)
    until = {"event": "flagged > 0", "threshold": 0.01}
    for flake, kept in ((1e-2, True), (1e-6, False)):
        plain = one(tolerances(results.open(campaign(rows)), flake))
        ended = one(tolerances(results.open(campaign(rows, until=until)), flake))
        assert (plain.kept, ended.kept) == (True, kept)
    assert "decided by what they showed" in ended.why


def test_rows_of_an_older_schema(campaign: Write) -> None:
    rows = [{k: v for k, v in row.items() if k not in (*NEEDED, "truth_mean")} for row in trials(400)]
    found = tolerances(results.open(campaign(rows)), 1e-2)
    advice = one(found)
    assert found.old
    assert advice.pair is not None
    assert (advice.pair.rtol, advice.pair.atol_eps) == (0.0, None)
    assert "older ulpfuzz" in text(found)
    mixed = tolerances(results.open(campaign(rows[:400] + trials(400)[400:])), 1e-2)
    pair = one(mixed).pair
    assert pair is not None
    assert (pair.rtol, pair.atol, pair.level) == (0.0, advice.pair.atol, advice.pair.level)


def test_single_rows_and_rows_without_results(campaign: Write) -> None:
    single = tolerances(results.open(campaign(trials(1, ["numpy:cpu"]), shards=1)), 1e-6)
    advice = one(single)
    assert advice.pair is not None
    assert (advice.kept, advice.pair.level.at_most) == (False, pytest.approx(0.95))
    assert "1 trial is too few to extrapolate" in text(single)
    empty = [make_row(i, abs_max=None, verdict="unsupported") for i in range(4)]
    assert one(tolerances(results.open(campaign(empty)), 1e-6)).why == "no target has a result to measure"
    lost = [make_row(i, **cells(np.nan), verdict="indeterminate") for i in range(4)]
    assert one(tolerances(results.open(campaign(lost)), 1e-6)).why == "no target has a result to measure"
    infinite = [row | {"overflow_explained": 3} for row in trials(40)]
    assert "no tolerance passes them" in text(tolerances(results.open(campaign(infinite)), 1e-6))
    unknown = trials(4, dtype="float8")
    assert "nothing is known about the dtype 'float8'" in text(tolerances(results.open(campaign(unknown)), 1e-6))


def test_a_multiple_of_the_oracles_bound(campaign: Write) -> None:
    rows = [make_row(i, **cells(U), rho_max=(i + 1) / 1000) for i in range(1000)]
    advice = one(tolerances(results.open(campaign(rows)), 1e-2))
    assert advice.bound_eps == pytest.approx(0.996 / 2, rel=0.02)
    assert one(tolerances(results.open(campaign([r | {"rho_max": None} for r in rows])), 1e-2)).bound_eps is None


@pytest.mark.parametrize("flake", [0.0, 1.0, -1e-3, float("nan")])
def test_a_flake_rate_is_a_probability(campaign: Write, flake: float) -> None:
    with pytest.raises(ValueError, match="the flake rate is"):
        tolerances(results.open(campaign(trials(2))), flake)


def test_probabilities_next_to_1_are_shown_as_their_distance() -> None:
    assert [passes(fails) for fails in (0.0, 1e-6, 1.23e-9, 0.0051, 0.95)] == [
        "1",
        "1 - 1e-06",
        "1 - 1.3e-09",
        "1 - 0.0051",
        "0.05",
    ]
