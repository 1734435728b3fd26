"""Variants of one problem take the place of the campaign's, and are written down with it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fuzz.campaigns.manifest import Manifest, manifest_of
from fuzz.campaigns.spec import read_toml, resolve
from fuzz.errors import UserError

TOML = """
plan = "{plan}"
trials = 2
targets = ["numpy"]
variants = ["repeat"]
[[problem]]
operator = "exp"
dims = {{ n = 8 }}
[[problem]]
operator = "exp"
dims = {{ n = [9, 10] }}
variants = {variants}
"""


def written(folder: Path, variants: str, plan: str = "fixed") -> Path:
    path = folder / "one.toml"
    path.write_text(TOML.format(variants=variants, plan=plan))
    return path


@pytest.mark.parametrize(("variants", "own"), [('["batch[2]", "batch[4]"]', ("batch[2]", "batch[4]")), ("[]", ())])
def test_a_problem_has_its_own_variants(tmp_path: Path, variants: str, own: tuple[str, ...]) -> None:
    spec, _ = read_toml(written(tmp_path, variants))
    resolved = resolve(spec)
    (usual, *others) = [cell.variants for cell in resolved.cells]
    assert others == [own, own]
    assert usual == resolved.variants != own
    manifest = manifest_of(resolved, None)
    again = msgspec.convert(manifest.plain(), Manifest)
    assert [record.cell(again.variants).variants for record in again.cells] == [usual, own, own]
    assert [record.variants for record in again.cells] == [None, own, own]


def test_what_is_no_variant_is_refused(tmp_path: Path) -> None:
    spec, _ = read_toml(written(tmp_path, '["no_such"]'))
    with pytest.raises(UserError, match="no_such"):
        resolve(spec)


def test_drawn_problems_have_none_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text('plan = "survey"\ntargets = ["numpy"]\n[[problem]]\noperator = "exp"\nvariants = ["repeat"]\n')
    with pytest.raises(UserError, match="variants of one problem go with --plan fixed"):
        resolve(read_toml(path)[0])
