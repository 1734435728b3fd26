"""The accuracy table: what is counted together, how numbers are written, and the three forms it takes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from synthetic_rows import make_row

import results
from results.accuracy import Line, decimal, hexadecimal, lines, rounded_up
from results.accuracy_files import CSV_COLUMNS, accuracy_csv, accuracy_markdown
from results.columns import Row
from results.errors import ResultsError
from results.report import report
from results.report_accuracy import print_accuracy, share

OPTIONS = 'mcpu=host,note="a|b"'
TINY = 2.0**-24


def row(index: int = 0, target: str = "numpy:cpu", operator: str = "exp", **cells: Any) -> Row:
    """A block of 32,768 float16 numbers."""
    return make_row(
        index,
        target,
        **{
            "problem_id": (operator + "0" * 16)[:16],
            "operator": operator,
            "attributes": "{}",
            "recipes": "x=bits(0)",
            "home": "float16",
            "dtype": "float16",
            "options": "",
            "elements": 32768,
            "ulp_max": 0.5,
            "ulp_input": 1.5,
            "ulp_value": 4.5,
            "ulp_truth": 4.48,
            "ulp_normal_max": 0.5,
            "ulp_normal_input": 1.5,
            "correctly_rounded": 32768,
            "rounding_undecided": 0,
            "flagged": 0,
        }
        | cells,
    )


ROWS = [
    row(0),
    row(1, ulp_max=0.50002, ulp_input=-0.1, ulp_normal_max=0.50002, ulp_normal_input=-0.1, correctly_rounded=32767),
    row(0, "torch:cpu", ulp_max=1024.0, ulp_input=-TINY, flagged=40, nonfinite_mismatch=2, nonfinite_input=math.nan,
        verdict="nonfinite_mismatch", correctly_rounded=16384, rounding_undecided=3),
    row(1, "torch:cpu", correctly_rounded=16384),
    row(0, f"tvm:llvm[{OPTIONS}]", options=OPTIONS, provenance="composed"),
    row(0, "jax:cpu", verdict="unsupported", elements=32768, ulp_max=None, ulp_input=None, ulp_normal_max=None,
        correctly_rounded=None, rounding_undecided=None, flagged=None, nonfinite_mismatch=None),
    row(0, operator="elu", attributes='{"alpha":0.5,"beta":1.0}'),
    row(1, operator="elu", attributes='{"alpha":0.5,"beta":1.0}'),
]  # fmt: skip


def table_of(found: Sequence[Line], width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_accuracy(found, console)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


GOLDEN_WIDE = """
Accuracy in float16, some of its 65,536 numbers
  function           target                ulp  inputs             x              x exactly  rounded  NaN/inf  flagged
  ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
  elu(alpha=0.5,     numpy:cpu          0.5000  all              1.5               0x1.8p+0    100 %        0        0
  beta=1)
  exp                numpy:cpu          0.5001  all             -0.1  -0x1.999999999999ap-4  99.99 %        0        0
                     torch:cpu            1024  all      -5.9605e-08               -0x1p-24  50.00 %        2       40
                       normal           0.5000                   1.5               0x1.8p+0
                     tvm:llvm[mcpu=hos  0.5000  50.00 %          1.5               0x1.8p+0    100 %        0        0
                     t,note="a|b"]*
  jax:cpu, unsupported: exp

  ulp: largest error in units in the last place of the exact result, rounded up, and x where it occurs.
  normal: the same without subnormal inputs and results, where that makes a difference.
  rounded: results that are the number nearest to the exact value, of all inputs, NaN included.
  NaN/inf: inputs where result or truth alone is NaN or infinite. flagged: rho above 2, more than rounding.
  *: the library does not offer the function; composed from its primitives.
  exp on torch:cpu in float16: 3 results undecided, not counted as rounded"""

GOLDEN_NARROW = """
Accuracy in float16, every one of its 65,536 numbers
  function             target        ulp            x  rounded  NaN/inf  flagged
  ──────────────────────────────────────────────────────────────────────────────
  elu(alpha=0.5,       numpy:cpu  0.5000          1.5    100 %        0        0
  beta=1)
  exp                  numpy:cpu  0.5001         -0.1  99.99 %        0        0
                       torch:cpu    1024  -5.9605e-08  50.00 %        2       40
                         normal   0.5000          1.5
  jax:cpu, unsupported: exp
"""


@pytest.fixture
def found(campaign: Callable[..., Path]) -> list[Line]:
    return lines(results.open(campaign(ROWS, plan="exhaustive")))


def test_blocks_are_added_up_and_the_worst_of_them_is_shown(found: list[Line]) -> None:
    by = {(line.operator, line.target): line for line in found}
    numpy, torch = by["exp", "numpy:cpu"], by["exp", "torch:cpu"]
    assert (numpy.inputs, numpy.of_inputs, numpy.complete, numpy.rounded) == (65536, 65536, True, 65535)
    assert numpy.worst == numpy.normal
    assert numpy.worst is not None
    assert (numpy.worst.ulp, numpy.worst.x) == (0.50002, -0.1)
    assert torch.worst is not None
    assert torch.normal is not None
    assert (torch.worst.ulp, torch.worst.x, torch.normal.ulp) == (1024.0, -TINY, 0.5)
    assert (torch.flagged, torch.nonfinite, torch.undecided, torch.verdict) == (40, 2, 3, "nonfinite_mismatch")
    assert math.isnan(torch.nonfinite_input or 0.0)
    assert not by["exp", f"tvm:llvm[{OPTIONS}]"].complete
    assert by["exp", "jax:cpu"].worst is None
    assert by["elu", "numpy:cpu"].function == "elu(alpha=0.5, beta=1)"


def test_the_same_blocks_in_two_directories_count_once(campaign: Callable[..., Path]) -> None:
    one, two = campaign(ROWS, plan="exhaustive"), campaign(ROWS[:2], plan="exhaustive")
    assert repr(lines(results.open(one, two))) == repr(lines(results.open(one)))


def test_other_machines_get_lines_of_their_own(campaign: Callable[..., Path]) -> None:
    other = campaign([row(0, environment="f" * 16)], plan="exhaustive")
    found = lines(results.open(campaign(ROWS[:2], plan="exhaustive"), other))
    assert [(line.environment[0], line.inputs) for line in found] == [("e", 65536), ("f", 32768)]
    assert "environment" in table_of(found, 110)
    assert "| `ffffffff` |" in accuracy_markdown(results.open(other), found, "T")


def test_drawn_inputs_have_no_table(campaign: Callable[..., Path]) -> None:
    with pytest.raises(ResultsError, match="no campaign over all numbers of a format"):
        lines(results.open(campaign([make_row()])))


def test_the_wide_table(found: list[Line]) -> None:
    assert table_of(found, 118) == GOLDEN_WIDE


def test_the_narrow_table_fits_into_80_columns(found: list[Line]) -> None:
    shown = table_of([line for line in found if not line.options], 80)
    assert shown.startswith(GOLDEN_NARROW)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_function_that_nobody_offers_has_no_table(found: list[Line]) -> None:
    shown = table_of([line for line in found if line.worst is None], 110)
    assert "jax:cpu, unsupported: exp" in shown
    assert "Accuracy" not in shown


def test_the_report_of_such_a_campaign_shows_it(campaign: Callable[..., Path]) -> None:
    console = Console(file=io.StringIO(), width=118)
    report(results.open(campaign(ROWS, plan="exhaustive", trials=2)), console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "Accuracy in float16" in shown
    assert "Each target against the truth: how often" not in shown
    assert "Findings" in shown


def test_csv_holds_every_figure_and_survives_commas_and_quotes(found: list[Line]) -> None:
    read = list(csv.DictReader(io.StringIO(accuracy_csv(found), newline="")))
    assert tuple(read[0]) == CSV_COLUMNS
    by = {(line["function"], line["target"]): line for line in read}
    assert by["exp", f"tvm:llvm[{OPTIONS}]"]["options"] == OPTIONS
    assert by["elu", "numpy:cpu"]["attributes"] == '{"alpha":0.5,"beta":1.0}'
    torch = by["exp", "torch:cpu"]
    assert float(torch["x"]) == float.fromhex(torch["x_hex"]) == -TINY
    assert (torch["nonfinite_x"], torch["rounding_undecided"], torch["ulp_normal_max"]) == ("nan", "3", "0.5")
    jax = by["exp", "jax:cpu"]
    assert (jax["inputs"], jax["ulp_max"], jax["x_hex"], jax["correctly_rounded"]) == ("0", "", "", "")
    assert jax["worst_verdict"] == "unsupported"


def test_markdown_is_a_page(campaign: Callable[..., Path], found: list[Line]) -> None:
    page = accuracy_markdown(results.open(campaign(ROWS)), found, "Accuracy")
    assert page.startswith("# Accuracy\n\nEnvironment `eeeeeeee`.\n")
    assert "| exp | numpy:cpu | 0.5001 | -0.1 `-0x1.999999999999ap-4` |" in page
    assert r"| exp | tvm:llvm[mcpu=host,note=" in page
    assert r'note="a\|b"] \*' in page
    assert "| 100 % | 0 | 0 | all |" in page
    assert "* jax:cpu, unsupported: exp" in page
    assert "* \\*: the library does not offer the function" in page
    widths = {line.count(" | ") for line in page.splitlines() if line.startswith("| ")}
    assert widths == {9}


@pytest.mark.parametrize(
    ("ulp", "shown"),
    [(0.0, "0"), (0.5, "0.5000"), (0.50002, "0.5001"), (0.49993, "0.5000"), (2.0434, "2.044"), (8388607.2, "8.389e6"),
     (9999.9, "1.000e4"), (math.inf, "inf"), (1e-5, "1.001e-5")],
)  # fmt: skip
def test_errors_are_rounded_up(ulp: float, shown: str) -> None:
    assert rounded_up(ulp) == shown


@pytest.mark.parametrize(
    ("k", "n", "shown"),
    [(7, 7, "100 %"), (65535, 65536, "99.99 %"), (0, 5, "0.00 %"), (1, 3, "33.33 %"), (0, 0, "100 %")],
)
def test_only_all_is_100_per_cent(k: int, n: int, shown: str) -> None:
    assert share(k, n) == shown


@pytest.mark.parametrize(
    ("x", "shown"),
    [(-6.5, "-0x1.ap+2"), (0.0, "0x0p+0"), (-0.0, "-0x0p+0"), (1.0, "0x1p+0"), (math.inf, "inf"), (math.nan, "nan")],
)
def test_hexadecimal_numbers_have_no_useless_zeros(x: float, shown: str) -> None:
    assert hexadecimal(x) == shown


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_both_forms_of_an_input_name_it(x: float) -> None:
    assert float.fromhex(hexadecimal(x)) == x
    assert np.float32(decimal(x, "float32")) == np.float32(x)
