"""Lists in a [[problem]] table stand for every combination."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.campaigns.grid import grid
from fuzz.campaigns.spec import read_toml, resolve
from fuzz.errors import UserError

TABLE = """
dtype = ["float32", "float64"]
targets = ["numpy"]
trials = 3
[[problem]]
operator = ["tanh", "exp"]
dims = { n = [5, 6] }
inputs = { x = ["normal(0,1)", "uniform(0,1)", "normal(3,1)"] }
[[problem]]
operator = "sum"
dims = { rows = 2, n = 3 }
"""


def test_every_combination_once(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TABLE)
    spec, _ = read_toml(tmp_path / "a.toml")
    assert len(spec.problems) == 2 * 2 * 3 + 1
    assert len({(p.operator, p.dims["n"], p.inputs.get("x")) for p in spec.problems}) == 13
    assert len(resolve(spec).cells) == 26


def test_a_plain_table_is_itself_and_the_original_is_left_alone() -> None:
    plain = {"operator": "sum", "dims": {"n": 3}}
    assert grid(plain) == [plain]
    listed = {"operator": "sum", "dims": {"n": [3, 4]}}
    assert grid(listed) == [{"operator": "sum", "dims": {"n": 3}}, {"operator": "sum", "dims": {"n": 4}}]
    assert listed == {"operator": "sum", "dims": {"n": [3, 4]}}


@pytest.mark.parametrize("value", ["[]", "[[3]]", '["three"]'])
def test_values_that_are_no_sizes(tmp_path: Path, value: str) -> None:
    (tmp_path / "a.toml").write_text(f'[[problem]]\noperator = "tanh"\ndims = {{ n = {value} }}\n')
    with pytest.raises(UserError, match=r"a\.toml: problem"):
        read_toml(tmp_path / "a.toml")
