"""Growth with a dim that varies alone: which problems belong together, in what unit, and what is said without a law."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_rows import make_row

import results
from results.columns import Row
from results.contents.growth import growth
from results.growths import growths, tell
from results.markdown.page import page
from results.report_growth import print_growth

DEPTHS = (1, 2, 5, 10, 20, 40)


def rows(
    depths: tuple[int, ...] = DEPTHS, exponent: float = 0.5, trials: int = 12, size: int = 64, scale: float = 1.0
) -> Iterator[Row]:
    """Errors relative to the results that grow like a power of the depth; the results have any size."""
    for depth in depths:
        for n in range(trials):
            yield make_row(
                n,
                operator="dense_chain",
                attributes="{}",
                recipes="x~normal(0,1)",
                dims=f"M={size},depth={depth},n=16",
                problem_id=f"{size * 1000 + depth:016x}",
                reduction_length=16,
                rho_ideal=0.5,
                truth_mean=scale * 3.0**depth,
                abs_rms=scale * 3.0**depth * 1e-7 * depth**exponent * (1.1 if n % 2 else 1 / 1.1),
            )


def printed(directory: Path) -> str:
    console = Console(file=io.StringIO(), width=120)
    print_growth(results.open(directory), console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize(("exponent", "law"), [(0.0, "constant"), (0.5, "square root"), (1.0, "linear")])
def test_the_slope_of_the_relative_error_against_a_dim(
    campaign: Callable[..., Path], exponent: float, law: str
) -> None:
    (panel,) = growths(results.open(directory := campaign(list(rows(exponent=exponent)))))
    assert (panel.dim, panel.fixed, panel.sizes) == ("depth", "M=64,n=16", 6)
    found = panel.series[0].law
    assert found is not None
    assert found.slope == pytest.approx(exponent, abs=1e-9)
    assert found.law == law
    assert f"grows like depth^{exponent:.2f}" in tell(panel.series[0], panel)
    assert law in printed(directory)
    assert f"| {exponent:.2f} |" in page(results.open(directory))


def test_problems_that_differ_in_another_dim_are_kept_apart(campaign: Callable[..., Path]) -> None:
    """In one fit the larger errors of the other batch would bend the law."""
    both = [*rows(size=64), *rows(size=128, scale=1e3, exponent=1.0)]
    panels = growths(results.open(campaign(both)))
    depths = {panel.fixed: panel.series[0].law for panel in panels if panel.dim == "depth"}
    slopes = {fixed: law.slope for fixed, law in depths.items() if law}
    assert slopes == {"M=64,n=16": pytest.approx(0.5), "M=128,n=16": pytest.approx(1.0)}
    assert {panel.dim for panel in panels} == {"depth", "M"}
    assert all(panel.series[0].law is None for panel in panels if panel.dim == "M")  # two sizes


@pytest.mark.parametrize(("depths", "trials"), [(DEPTHS[:3], 12), (DEPTHS, 9)])
def test_too_few_sizes_or_trials_are_said(campaign: Callable[..., Path], depths: tuple[int, ...], trials: int) -> None:
    (panel,) = growths(results.open(directory := campaign(list(rows(depths, trials=trials)))))
    assert panel.series[0].law is None
    assert "a slope with an interval needs 4 sizes of 10 trials" in tell(panel.series[0], panel)
    content = growth(results.open(directory))
    assert content is not None
    assert content.rows[0][8].text == "too few sizes or trials"
    assert any("needs 4 sizes of 10 trials" in note for note in content.notes)


def test_one_size_has_no_growth_and_chosen_problems_have_no_law(campaign: Callable[..., Path]) -> None:
    assert growths(results.open(one := campaign(list(rows((10,)))))) == []
    assert growth(results.open(one)) is None
    assert printed(one) == ""
    assert growths(results.open(campaign(list(rows()), plan="explore"))) == []
