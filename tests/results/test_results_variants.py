"""Variants in results: counted apart from rates, the same from summaries and from rows, told in words."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from synthetic_rows import make_row

import results
from results.arrow import to_table
from results.columns import COLUMNS, Row
from results.contents import variants as contents
from results.findings import findings
from results.layout import TextConsole
from results.reading import Results
from results.report_variants import print_variants
from results.summary import added, packed, summarise, unpacked
from results.tallies import against_truth, verdict_counts
from results.tolerance.needs import excluded
from results.variant_words import answer, bits
from results.variants import UNWRAPPED, by_family, variant_bits, variant_tallies

OWN = "numpy:cpu"
NAMES = ["batch[1]", "batch[8]", "repeat[8]"]


def _call(index: int, variant: str, digest: str, verdict: str | None = "rounding", **cells: Any) -> list[Row]:
    """The two rows of a call under a variant."""
    truth = make_row(index, OWN, variant=variant, output_digest=digest)
    own = make_row(index, OWN, variant=variant, against=OWN, output_digest=None, verdict=verdict, **cells)
    return [truth, own]


def _trial(index: int, spoilt: bool = False) -> list[Row]:
    """Unwrapped and repeat[8] agree, and so do the two batches; or batch[8] is spoilt."""
    rows = [make_row(index, OWN, output_digest="whole")]
    rows += _call(index, "batch[1]", "parts", abs_max=2e-7, rho_max=0.25)
    batch = {"verdict": "batch_variant", "rho_max": 90.0} if spoilt else {"verdict": "rounding", "rho_max": 0.5}
    rows += _call(index, "batch[8]", "spoilt" if spoilt else "parts", abs_max=3e-7, **batch)
    rows += _call(index, "repeat[8]", "whole", "exact", abs_max=0.0, rho_max=0.0)
    return rows


def _unfit(index: int) -> list[Row]:
    reason = "the batch (N) has 2"
    cells = dict.fromkeys(("output_digest", "rho_max", "rel_max", "abs_max"))
    return [make_row(index, OWN, variant="batch[64]", verdict="unsupported", detail=reason, error=reason, **cells)]


@pytest.fixture
def opened(make_variants: Callable[..., Results]) -> Results:
    return make_variants([*_unfit(0), *_trial(0), *_trial(1)])


@pytest.fixture
def make_variants(campaign: Callable[..., Path]) -> Callable[..., Results]:
    """Open a campaign of one shard with these rows."""
    return lambda rows: results.open(campaign(rows, shards=1, variants=NAMES, pairs=[]))


def test_a_trial_counts_once_a_variant(opened: Results) -> None:
    found = {tally.variant: tally for tally in variant_tallies(opened)}
    assert list(found) == [*NAMES, "batch[64]"]
    one = found["batch[8]"]
    assert (one.trials, one.equal, one.largest, one.rho, one.verdicts) == (2, 0, 3e-7, 0.5, (("rounding", 2),))
    assert (found["repeat[8]"].equal, found["repeat[8]"].largest) == (2, 0.0)
    assert (found["batch[64]"].trials, found["batch[64]"].refused) == (0, "the batch (N) has 2")


def test_a_family_adds_its_variants(opened: Results) -> None:
    family = next(tally for tally in by_family(variant_tallies(opened)) if tally.family == "batch")
    assert (family.variant, family.trials, family.equal, family.rho) == ("batch", 4, 0, 0.5)


def test_ways_of_calling_are_grouped_by_equal_bits(opened: Results) -> None:
    (one,) = variant_bits(opened)
    assert one.classes.outputs == 2
    assert one.classes.always == (("", "repeat[8]"), ("batch[1]", "batch[8]"))
    assert bits([one]) == [f"Identical bits, {OWN}: {{{UNWRAPPED}, repeat[8]}} {{every batch}}, in all 2 outputs."]


def test_rates_and_verdicts_are_those_of_the_unwrapped_call(
    opened: Results, make_variants: Callable[..., Results]
) -> None:
    plain = make_variants([make_row(index, OWN, output_digest="whole") for index in range(2)])
    spoilt = make_variants([*_trial(0, spoilt=True), *_trial(1, spoilt=True)])
    for one in (opened, spoilt):
        assert against_truth(one) == against_truth(plain)
        assert verdict_counts(one) == verdict_counts(plain)
        assert excluded(one) == ()
        assert one.sql("SELECT count(*) AS n FROM trials").to_pylist() == [{"n": 2}]


def test_a_variant_that_is_to_blame_is_a_finding_with_its_name(make_variants: Callable[..., Results]) -> None:
    spoilt = make_variants([*_trial(0), *_trial(1, spoilt=True)])
    (group,) = findings(spoilt)
    assert (group.verdict, group.against, group.variants, group.trials, group.of_trials) == (
        "batch_variant",
        "target",
        "batch[8]",
        1,
        2,
    )
    (said,) = answer(variant_tallies(spoilt))
    assert said == f"Results change by more than rounding explains: {OWN} batch_norm batch_variant under batch[8]."
    (one,) = variant_bits(spoilt)
    assert one.classes.always == (("", "repeat[8]"),)


def test_summaries_of_parts_add_up_to_the_same_tables() -> None:
    rows = [*_unfit(0), *_trial(0), *_trial(1, spoilt=True), *_trial(2)]
    whole = summarise(to_table(rows, COLUMNS))
    parts = [summarise(to_table(some, COLUMNS)) for some in (rows[:8], rows[8:])]
    together = added(parts)
    for name in ("varied", "splits"):
        listed = [sorted(map(repr, one.tables[name].to_pylist())) for one in (whole, together)]
        assert listed[0] == listed[1]
        assert listed[0]
    kept = unpacked(packed(together, 10**6))
    assert kept is not None
    assert kept.tables["splits"].equals(together.tables["splits"])


def test_campaigns_without_variants_say_nothing_of_them(make_variants: Callable[..., Results]) -> None:
    plain = make_variants([make_row(0, OWN)])
    assert contents.variants(plain) is None
    assert contents.sentences(plain) == ()
    out = StringIO()
    print_variants(plain, TextConsole(file=out))
    assert out.getvalue() == ""


def test_an_error_that_both_calls_have_is_told_as_such(make_variants: Callable[..., Results]) -> None:
    rows = [make_row(0, OWN, output_digest="whole", verdict="unstable", rho_max=9.0)]
    rows += _call(0, "batch[1]", "parts", None, rho_max=7.0, detail="an error of the target whichever way")
    one = make_variants(rows)
    (tally,) = variant_tallies(one)
    assert (tally.verdicts, tally.found, tally.worst) == ((("", 1),), 0, "")
    out = StringIO()
    print_variants(one, TextConsole(file=out, width=120))
    assert "as unwrapped 1" in out.getvalue()
    assert "the unwrapped call is as far off itself" in " ".join(out.getvalue().split())
