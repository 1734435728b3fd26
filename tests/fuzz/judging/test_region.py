"""Regions: one defect is one region, two defects are two, and nothing but the row decides."""

from __future__ import annotations

import math
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trial_cases import Lab

from fuzz.execution import LADDER, RUN
from fuzz.judging.region import ANYWHERE, cell, elementwise, failure_region, region
from fuzz.operators import OPERATORS, operator
from fuzz.workers.blame import cause, doing
from fuzz.workers.breadcrumb import Place
from results.verdicts import VERDICTS
from strategies.precision import precision

FLOAT32 = precision("float32")
UNARY = [
    name for name in OPERATORS if elementwise(operator(name).contract) and len(operator(name).contract.inputs) == 1
]


def at(name: str, verdict: str, *values: float, element: int = 0, reduction_length: int = 0) -> str | None:
    """The region of an output of operator `name` for inputs that are arrays of one number each."""
    contract = operator(name).contract
    inputs = {spec.name: np.array([value], "float32") for spec, value in zip(contract.inputs, values, strict=True)}
    return region(contract, verdict, inputs, element, FLOAT32, reduction_length)


def of(name: str, verdict: str, reduction_length: int = 64, **arrays: object) -> str | None:
    """The region of an output of an operator that sums."""
    inputs = {key: np.asarray(value, "float32") for key, value in arrays.items()}
    return region(operator(name).contract, verdict, inputs, 0, FLOAT32, reduction_length)


@pytest.mark.parametrize("name", UNARY)
@given(value=st.floats(allow_nan=False))
def test_cells_tile_the_line(name: str, value: float) -> None:
    low, high = cell(operator(name).contract.inputs[0], value)
    assert low <= value < high or (value == high == math.inf)
    for inside in (low, np.nextafter(high, -math.inf)):
        if math.isfinite(inside):
            assert cell(operator(name).contract.inputs[0], float(inside)) == (low, high)


@pytest.mark.parametrize("name", UNARY)
def test_no_landmark_lies_on_an_edge(name: str) -> None:
    """Errors are largest at landmarks, on both sides of them: a cell around each, whole."""
    spec = operator(name).contract.inputs[0]
    for landmark in spec.landmarks:
        reach = abs(landmark.at) / 10 or 1e-3
        assert cell(spec, landmark.at - reach) == cell(spec, landmark.at + reach), landmark.what


def test_a_tail_is_one_region_and_the_middle_another() -> None:
    assert {at("gelu", "unstable", x) for x in (-13.0, -5.51, -5.49, -5.0, -3.0)} == {"x < -2.75"}
    assert {at("gelu", "unstable", x) for x in (-2.0, 0.0, 1.0, 30.0)} == {"x > -2.75"}
    assert {at("tanh", "unstable", x) for x in (-1e-9, 1e-40, 0.0, 1e-6, 0.5)} == {"any x"}


def test_both_ends_of_gradual_underflow_are_one_region() -> None:
    assert at("sigmoid", "wrong", -88.8) == at("sigmoid", "wrong", -87.0) == "-399.2 < x < -44.36"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "x is NaN"),
        (math.inf, "x is inf"),
        (-math.inf, "x is -inf"),
        (0.0, "x is zero"),
        (-1e-40, "x is subnormal"),
        (-6.0, "x < -2.75"),
    ],
)
def test_special_values_explain_nonfinite_results(value: float, said: str) -> None:
    assert at("gelu", "nonfinite_mismatch", value) == said


def test_two_operands_are_told_where_special() -> None:
    assert at("divide", "nonfinite_mismatch", 1.0, 0.0) == "y is zero"
    assert at("divide", "nonfinite_mismatch", math.nan, 1e-40) == "x is NaN, y is subnormal"
    assert at("divide", "unstable", 1.0, 0.0) == ANYWHERE


@pytest.mark.parametrize("name", ["gelu", "sum"])
@pytest.mark.parametrize(
    "verdict", ["subnormals_flushed", "not_correctly_rounded", "low_precision", "silent_downcast", "dtype_mismatch"]
)
def test_verdicts_about_a_kernel_have_one_region(name: str, verdict: str) -> None:
    assert at(name, verdict, -6.0) == at(name, verdict, 1e-42) == ANYWHERE


@pytest.mark.parametrize("verdict", [name for name, verdict in VERDICTS.items() if not verdict.finding])
def test_what_is_no_finding_has_none(verdict: str) -> None:
    assert at("gelu", verdict, -6.0) is None
    assert failure_region(verdict, "", [np.ones(3)]) is None


def test_an_element_that_is_not_known_could_be_anywhere() -> None:
    assert at("gelu", "wrong", -6.0, element=-1) == ANYWHERE


ORDINARY = np.random.default_rng(0).standard_normal((4, 64))


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (ORDINARY, "ordinary data"),
        (ORDINARY + 100, "data with an offset"),
        (np.full((4, 64), -3.0), "data with an offset"),
        (ORDINARY * 1e19, "huge data"),
        (np.sign(ORDINARY) * 3e18, "huge data"),  # the sum of 64 squares overflows, not one of them
        (ORDINARY * 1e-25, "tiny data"),
        (np.zeros((4, 64)), "tiny data"),
        (np.where(ORDINARY > 2, np.nan, ORDINARY), "data with NaN"),
        (np.where(ORDINARY > 2, -np.inf, ORDINARY), "data with infinities"),
    ],
)
def test_data_of_reductions_are_classed(x: np.ndarray, said: str) -> None:
    assert of("sum", "nonfinite_mismatch", x=x) == said
    finite = said if "NaN" not in said and "inf" not in said else "ordinary data"
    assert of("sum", "unstable", x=x) == finite


def test_only_what_is_summed_counts() -> None:
    ones = np.ones(64)
    assert of("layer_norm", "unstable", x=ORDINARY, gamma=ones, beta=ones * 1e30) == "huge data"
    assert of("matmul", "unstable", a=ORDINARY, b=ORDINARY.T + 100) == "data with an offset"
    assert of("batch_norm", "unstable", 0, x=ORDINARY, mean=ones, var=ones, gamma=ones, beta=ones) != "ordinary data"


def test_one_summand_is_said() -> None:
    assert of("sum", "unstable", 1, x=ORDINARY[:, :1]) == "one summand, ordinary data"


def test_float64_data_near_the_largest_number_are_huge() -> None:
    x = np.full((2, 3), 1.7e308)
    with np.errstate(all="raise"):
        assert region(operator("sum").contract, "wrong", {"x": x}, 0, precision("float64"), 3) == "huge data"


@pytest.mark.parametrize(
    ("verdict", "error", "said"),
    [
        ("raised", "IndexError: select(): index 0 out of range", "IndexError"),
        ("raised", "returned shape (3,), (4,) is due", "an output of another kind"),
        ("crashed", "SIGSEGV during run", "SIGSEGV, in run"),
        ("crashed", "SIGABRT during compile", "SIGABRT, in compile"),
        ("crashed", "exit code 3 during run", "exit code 3, in run"),
        ("crashed", "in the other precision: SIGSEGV during run", "SIGSEGV, in run, other precision"),
        ("crashed", "SIGSEGV during run in the other precision", "SIGSEGV, in run, other precision"),
        ("input_modified", "SIGSEGV during run; run again under observation, it wrote", "SIGSEGV, in run"),
        ("timed_out", "run took longer than 60 s", "in run"),
        ("timed_out", "compile in the other precision took longer than 300 s", "in compile, other precision"),
        ("out_of_memory", "killed by the system 3 times during run", "in run"),
        ("out_of_bounds_write", "bytes outside the output changed", "in run"),
        ("dtype_mismatch", "returned float32, bfloat16 is due", ANYWHERE),
    ],
)
def test_failures_are_told_by_signal_and_stage(verdict: str, error: str, said: str) -> None:
    assert failure_region(verdict, error, [np.ones(3)]) == said


def test_no_text_of_a_library_is_read() -> None:
    texts = ("a", "SIGSEGV during run", "run took longer than", "in the other precision: SIGSEGV during run")
    assert {failure_region("raised", f"ValueError: {text}", [np.ones(1)]) for text in texts} == {"ValueError"}
    assert failure_region("out_of_memory", "raised MemoryError: SIGSEGV during compile", []) == "in run"


def test_an_empty_input_is_said() -> None:
    assert failure_region("raised", "IndexError: x", [np.ones(3), np.ones((0, 2))]) == "IndexError, empty input"


def test_the_engine_writes_what_is_read() -> None:
    """Its own messages, not copies of them."""
    place = Place(0, 0, 0, RUN, LADDER, 0.0)
    error = f"{cause(-signal.SIGILL)} during {doing(place)}"
    assert failure_region("crashed", error, []) == "SIGILL, in run, other precision"


def test_rows_have_regions() -> None:
    """Through a whole trial: an error of the kernel at one place, and an exception."""

    def doubled(x: np.ndarray) -> np.ndarray:
        y = 0.5 * x * np.vectorize(math.erfc, otypes="d")(-x / math.sqrt(2))
        return (y * np.where(x < -4, 2, 1)).astype(x.dtype)

    def refuses(x: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("no")

    with Lab() as lab:
        assert lab.run("gelu", doubled, {"x": "uniform(-6,0)"})["region"] == "x < -2.75"
        assert lab.run("gelu", doubled, {"x": "uniform(1,2)"})["region"] is None
        assert lab.run("tanh", refuses)["region"] == "ZeroDivisionError"


def test_the_element_at_fault_is_the_one_looked_at() -> None:
    """Not the first one, which lies in another cell: NaN in one place, or an error that only float64 shows."""

    def gelu(x: np.ndarray) -> np.ndarray:
        return 0.5 * x * np.vectorize(math.erfc, otypes="d")(-x / math.sqrt(2))

    def lost(x: np.ndarray) -> np.ndarray:
        return np.where(x > 4, np.nan, gelu(x)).astype(x.dtype)

    def coarse(x: np.ndarray) -> np.ndarray:
        return (gelu(x) * np.where(x > 4, 1 + 1e-9, 1)).astype(x.dtype)

    ramp = {"x": "ramp(-6,6)"}
    with Lab() as lab:
        row = lab.run("gelu", lost, ramp)
        assert (row["verdict"], row["region"]) == ("nonfinite_mismatch", "x > -2.75")
        row = lab.run("gelu", coarse, ramp)
        assert row["rho_max"] < 2
        assert (row["verdict"], row["region"]) == ("wrong", "x > -2.75")
