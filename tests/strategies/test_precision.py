"""Formats as values, rounding to them, and inputs in 16-bit ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from strategies import draw, extra_low_bits
from strategies.given import STORE
from strategies.precision import PRECISIONS
from strategies.sampling import raw, stream


def exactly_rounded(value: float, name: str) -> float:
    """Round half to even in rational arithmetic."""
    p = PRECISIONS[name]
    if value == 0:
        return value
    exponent = max(int(np.frexp(value)[1]) - 1, p.minimum_exponent)
    unit = Fraction(2) ** (exponent - p.digits + 1)
    rounded = round(Fraction(value) / unit) * unit
    return float(rounded) if abs(rounded) <= p.largest else float(np.copysign(np.inf, value))


def near_midpoints() -> st.SearchStrategy[float]:
    """Numbers within a float64 ulp or two of the midpoints of both 16-bit formats, and anything else."""
    return st.builds(
        lambda bits, digits, nudge, scale: float(
            np.ldexp((2 * bits + 1) * 2.0**-digits * (1 + nudge * 2.0**-52), scale)
        ),
        st.integers(0, 2**11),
        st.sampled_from([8, 11]),
        st.integers(-2, 2),
        st.integers(-140, 127),
    )


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
@given(value=near_midpoints() | st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_rounding_happens_once(name: str, value: float) -> None:
    assert float(PRECISIONS[name].round(value)) == exactly_rounded(value, name)


def test_ml_dtypes_alone_rounds_twice() -> None:
    """When this fails, `Precision.round` needs no exception for bfloat16 any more."""
    value = 1 + 2.0**-8 + 2.0**-40
    assert float(np.dtype("bfloat16").type(value)) == 1.0
    assert float(PRECISIONS["bfloat16"].round(value)) == 1 + 2.0**-7


@pytest.mark.parametrize("name", PRECISIONS)
def test_rounding_keeps_what_is_not_finite(name: str) -> None:
    values = PRECISIONS[name].round(np.array([np.inf, -np.inf, np.nan, -0.0]))
    assert np.array_equal(values.astype(float), [np.inf, -np.inf, np.nan, 0.0], equal_nan=True)
    assert np.signbit(values[3])


@pytest.mark.parametrize("name", PRECISIONS)
def test_numbers_of_a_format_agree_with_its_arithmetic(name: str) -> None:
    p, kind = PRECISIONS[name], PRECISIONS[name].numpy.type
    one, inf = kind(1), kind(np.inf)
    assert float(np.nextafter(one, inf)) == 1 + 2 * p.unit_roundoff
    assert float(np.nextafter(inf, one)) == p.largest
    assert float(np.nextafter(kind(0), one)) == p.smallest_subnormal


def test_which_format_holds_which() -> None:
    held = {(wide, name) for wide, p in PRECISIONS.items() for name, q in PRECISIONS.items() if p.holds(q)}
    wider = {("float32", "float16"), ("float32", "bfloat16"), ("float64", "float32")}
    assert held == wider | {("float64", "float16"), ("float64", "bfloat16")} | {(name, name) for name in PRECISIONS}


@pytest.mark.parametrize(
    ("home", "digest"),
    [("float16", "251b42f648df701bee85443c51e12d14"), ("bfloat16", "b89fa04ffa5e6b05952756a55a1d3056")],
)
def test_golden_digest_of_a_trial(batch_norm, problem_of, empty_arrays, home: str, digest: str) -> None:
    problem = problem_of(batch_norm, {"N": 2, "C": 3, "H": 4, "W": 5}, home)
    assert draw(problem, batch_norm, 0, 0, empty_arrays(batch_norm, problem)) == digest


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_bytes_of_an_array_are_those_of_its_buffer(name: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, name)
    assert xxhash.xxh3_64(raw(array)).digest() == xxhash.xxh3_64(array.tobytes()).digest()


@pytest.mark.parametrize("home", ["bfloat16", "float16"])
def test_extra_low_bits_round_back_to_a_narrow_format(home: str) -> None:
    bits = stream("a test", 0, 0, 0).integers(0, 2**16, size=20_000, dtype=np.uint16)
    values = bits.view(home)[np.isfinite(bits.view(home))]
    fine = extra_low_bits(values.astype(float), "a draw", 0, 0, "x", PRECISIONS[home].digits).astype(np.float32)
    assert np.array_equal(PRECISIONS[home].round(fine), values)
    normal = np.abs(values.astype(float)) >= PRECISIONS[home].smallest_normal
    assert np.mean(fine[normal] != values[normal].astype(np.float32)) > 0.99


def test_a_given_bfloat16_array_is_drawn_as_it_is() -> None:
    array = np.array([1.5, -2.0, 3.140625], "bfloat16")
    recipe = STORE.add(array, "x")
    out = np.zeros(3, "bfloat16")
    recipe.draw(stream("a test", 0, 0, 0), [out])
    assert np.array_equal(out, array)
