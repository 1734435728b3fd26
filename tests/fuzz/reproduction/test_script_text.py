"""Names and quoting in the text of a script."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fuzz.backends.spelling import Spelling
from fuzz.reproduction.checks import Check
from fuzz.reproduction.facts import ulp_of
from fuzz.reproduction.script import Text, safe_names
from strategies.precision import precision


@pytest.mark.parametrize("odd", ["lambda", "np", "two words", "result", "1st"])
def test_names_that_cannot_be_parameters_are_numbered(odd: str) -> None:
    assert safe_names(["x", "gamma"]) == {"x": "x", "gamma": "gamma"}
    assert safe_names(["x", odd]) == {"x": "input0", odd: "input1"}


def test_odd_texts_are_quoted() -> None:
    odd = 'a "b" \\n {c} """ \''
    check = Check("odd name-1", odd, odd, "def examine():\n    return bool(compute({arguments}).size > 1)\n")
    spelling = Spelling((), ("return x",), extension=Path(f"/no/{odd}.py"))
    text = Text(odd, spelling, {"x": np.ones(1, np.float32)}, "float32", check)
    for source in (text.script(), text.test()):
        compile(source, "script", "exec")
    tree = ast.parse(text.script())
    assert odd in (ast.get_docstring(tree) or "")
    assigned = {ast.unparse(n.targets[0]): n.value for n in tree.body if isinstance(n, ast.Assign)}
    assert ast.literal_eval(assigned["EXTENSION"]) == f"/no/{odd}.py"
    assert "def test_odd_name_1():" in text.test()


@pytest.mark.parametrize(
    ("truth", "dtype", "ulp"),
    [
        ("1", "float32", Fraction(2) ** -23),
        ("-1.9", "float32", Fraction(2) ** -23),
        ("0", "float32", Fraction(2) ** -149),
        ("1e-310", "float64", Fraction(2) ** -1074),
        ("nan", "float16", Fraction(2) ** -24),
        ("300", "bfloat16", Fraction(2)),
    ],
)
def test_one_ulp(truth: str, dtype: str, ulp: Fraction) -> None:
    assert ulp_of(truth, precision(dtype)) == ulp
