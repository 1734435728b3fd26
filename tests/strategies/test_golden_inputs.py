"""Bytes and ids that must never change: stored campaigns name their inputs by them.

A failure means that a stream, a recipe or an id was redefined. If that is meant, give the rule a new name
(`strategies.sampling.STREAM`, `strategies.iid.STREAM`) and tell the users; if NumPy or Hypothesis did it, pin them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xxhash

import strategies
from fuzz.campaigns.drawing import EXPLORE, drawn
from strategies import draw, explored, extra_low_bits, independent, parse_recipe, problems, stream
from strategies.choices import POPULATION
from strategies.recipes import RECIPES
from strategies.sampling import raw

RECIPE_BYTES = {
    "normal(0,1)": ("a52386bfdb460c74", "7122d7318f5a6081"),
    "normal(-3,0.5)": ("079f57cebd0b3be9", "f3a9c18a30223e4b"),
    "offset(1e4)": ("e29354c99a526312", "5d0522a7ade86a40"),
    "uniform(-1,1)": ("3cfb292e3aa7d712", "b6622f5ff8d646ea"),
    "loguniform(1e-3,1e3)": ("cf65b91183c3bb9f", "c765213f6e276469"),
    "constant(0.1)": ("780ef6d1a68c8a3f", "b36e5eb8e753db8f"),
    "integers(-8,8)": ("54dfa66a461d3d0a", "b36cbe1ececb8ae4"),
    "integers(-16777216,16777216)": ("c4d698f62fcdd8e6", "bc382bbc5fc68c12"),
    "ramp(-4,4)": ("726cbb5cadd34c1b", "c95beaf1bbc5f6bb"),
    "subnormal()": ("e5dbd7e260c6ce30", "3f100640afeed861"),
    "abs(normal(1,1))": ("04c98480d421d4d1", "51cfcca5e7ceaf56"),
    "signed(loguniform(1e-3,1e3))": ("68eefaaa293f73e1", "7df3af93ec16dea2"),
    "sparse(normal(0,1),0.9)": ("ab2048bd0b9fa8b0", "cdd111226bc25a08"),
    "bits(1)": ("196569c9a57cc828", "b5f45a7856b37e62"),
    "special(normal(0,1),0.1)": ("b6ef3a42fc2d39ae", "7694996d3a43b379"),
    "alternating(normal(0,1),1e-3,0)": ("1d4db9c1f20ce072", "b304f9e8fbd32226"),
    "binades(2)": ("9343b8bcec4a1c17", "80a83917cae249e2"),
    "conditioned(1e4)": ("e6cb3f0004e9e683", "abde72d666cf08d1"),
    "edges(1)": ("c6047fb962b7c442", "e0a15280c8726e3f"),
    "grid(-8,8)": ("0e7de7f2d666cf76", "9758f6b07d6b7fcf"),
    "halves(-8,8)": ("ea8d054bbc7c152a", "81a0c410766ed819"),
    "near(1,4)": ("d33f2550727f2afa", "7a944ecce3661272"),
    "onehot(normal(0,1))": ("903131831bc40c15", "378756ae16e043e4"),
    "reciprocal_ties()": ("bddd223a99634c5c", "9ba13745746d993c"),
    "sqrt_ties(1000)": ("44b310a274695110", "cf324eb6ff05d589"),
    "student(1)": ("653cadcabd310f65", "82b2b3bae516cb83"),
    "student(3)": ("1c0776314e027f79", "62e129a7326a3d0d"),
}
"""xxh3-64 of a 7 x 143 array drawn from stream("golden", 20, 26, 0), at float32 and float64."""

NARROW_BYTES = {
    "normal(0,1)": ("f95fb65cb4d451c5", "c659b196db12ddf3"),
    "normal(-3,0.5)": ("1eb5bc16df33d974", "b0968612444b4024"),
    "offset(1e4)": ("c069a19793776393", "972debf6e3471719"),
    "uniform(-1,1)": ("e663a454dff3e08f", "bc4157a89d70f8a3"),
    "loguniform(1e-3,1e3)": ("a6f22972e42b0d47", "474773bc663cf9ca"),
    "constant(0.1)": ("b05b4531fece4d28", "303687f88fcc1741"),
    "integers(-8,8)": ("c0bf0cb0a063b98e", "d55cfacb902a237d"),
    "ramp(-4,4)": ("b9c607048c72202e", "1c4f0b13e8c9d90d"),
    "subnormal()": ("8afe3a8000cf570b", "c37f52292e4677fc"),
    "abs(normal(1,1))": ("8dace75437bd2963", "c4aa56278892c202"),
    "signed(loguniform(1e-3,1e3))": ("b719228965fefb9e", "b5af73cf38857c49"),
    "sparse(normal(0,1),0.9)": ("7fb195064bfa705d", "3d14a2ef79f56a18"),
    "bits(1)": ("377f161b31d065c6", "377f161b31d065c6"),
    "special(normal(0,1),0.1)": ("fa40404b8c178f3d", "3f0f60225d36825e"),
    "alternating(normal(0,1),1e-3,0)": ("f3b2878647461b3e", "73ce99f07b04b95f"),
    "binades(2)": ("efb12dbb57ed7f3d", "06908afcef25c864"),
    "conditioned(1e4)": ("bc5cd5a6790292b3", "29f11af34df021a2"),
    "edges(1)": ("2b1d024a8e6ae7b9", "48791a43772eac73"),
    "grid(-8,8)": ("e74da897c8b57b13", "79e8bad7a2c07a95"),
    "halves(-8,8)": ("9585a1049aba97a8", "4e375a39cc79c59d"),
    "near(1,4)": ("d9a1599cd6559856", "41c22481b4891da5"),
    "onehot(normal(0,1))": ("c85ed9985cea85bb", "b5f45410d99e6857"),
    "reciprocal_ties()": ("1e6dd4b7e2a5146b", "14875a3e355e5a2a"),
    "sqrt_ties(1000)": ("11c3bedad3c0487e", "062a711d2b43f7a9"),
    "student(1)": ("a2795341798e44ec", "5451f63d5dc79200"),
    "student(3)": ("b9cd3f23020ff4f6", "22a84de449efa3db"),
}
"""The same at float16 and bfloat16."""


JOINT_BYTES = {
    "alike(offset(1e4),1e-3)": ("5f7f8192fbdffd25", "666b5b50a166a39d", "4c4fab7edc494c23", "67dbde972a2b94e2"),
    "cancelling(normal(0,1),1e-3)": ("b0a3520d3103d6d3", "8cd591756fd73afb", "5b9bf3251911ccb5", "c4da000fd8c5b7a5"),
    "cancelling_terms(normal(0,1),1e-3)": (
        "9a5cd800a8fb62da",
        "a47bad7106fed482",
        "ae88292476f9f35f",
        "f31a11ba10114bd2",
    ),
    "quotient_ties(15)": ("55d148e81b49f0ec", "ecfe4e2f7ec793c2", "190a3c1977c87e4f", "b1b49af6893b9b3a"),
}
"""Two 12 x 12 arrays, one after the other, at bfloat16, float16, float32 and float64."""


def recipe_bytes(text: str, homes: tuple[str, ...] = ("float32", "float64")) -> tuple[str, ...]:
    joins = RECIPES[text.partition("(")[0]].joins
    digests = []
    for home in homes:
        outs = [np.empty((12, 12) if joins else (7, 143), home) for _ in range(joins or 1)]
        parse_recipe(text, ("x", "y")[: joins or 1]).draw(stream("golden", 20, 26, 0), outs)
        digests.append(xxhash.xxh3_64(b"".join(raw(out) for out in outs)).hexdigest())
    return tuple(digests)


@pytest.mark.parametrize("text", RECIPE_BYTES)
def test_recipe_bytes(text: str) -> None:
    assert recipe_bytes(text) == RECIPE_BYTES[text]


@pytest.mark.parametrize("text", NARROW_BYTES)
def test_recipe_bytes_of_narrow_formats(text: str) -> None:
    assert recipe_bytes(text, ("float16", "bfloat16")) == NARROW_BYTES[text]


@pytest.mark.parametrize("text", JOINT_BYTES)
def test_bytes_of_joint_recipes(text: str) -> None:
    assert recipe_bytes(text, ("bfloat16", "float16", "float32", "float64")) == JOINT_BYTES[text]


def test_every_kind_of_recipe_has_golden_bytes() -> None:
    kinds = {name for name, kind in RECIPES.items() if not kind.joins}
    assert {text.partition("(")[0] for text in RECIPE_BYTES} | {"given"} == kinds
    assert {text.partition("(")[0] for text in NARROW_BYTES} | {"given"} == kinds
    assert {text.partition("(")[0] for text in JOINT_BYTES} == set(RECIPES) - kinds


def test_chunks_do_not_depend_on_the_order_in_which_they_are_drawn(batch_norm) -> None:
    source = problems(batch_norm)
    first = [explored(source, 5, chunk, 30) for chunk in (0, 1, 2)]
    assert [explored(source, 5, chunk, 30) for chunk in (2, 1, 0)] == first[::-1]
    assert [explored(source, 5, chunk, 30) for chunk in (1, 0)] == first[1::-1]


def test_stream_words() -> None:
    assert stream("golden", 1, 2, 3).bit_generator.random_raw(2).tolist() == [
        16618892581585535125,
        10540393967106907475,
    ]


def test_problem_ids_and_inputs(batch_norm, s0, empty_arrays) -> None:
    assert s0.id == "d6bdc18b5ea55df9"
    assert s0.draw_id == "8149265b41717ef9"
    assert draw(s0, batch_norm, 0, 0, empty_arrays(batch_norm, s0)) == "a181ae87943196e61f3a367d2cc4795b"


def test_extra_low_bits_bytes(s0) -> None:
    fine = extra_low_bits(np.ones(1000), s0.draw_id, 0, 0, "x")
    assert xxhash.xxh3_64(fine.data).hexdigest() == "e552375413f27032"


def test_independent_problems(batch_norm) -> None:
    ids = [problem.id for problem in independent(problems(batch_norm), 1, 0, 3)]
    assert POPULATION == "problems-2"  # another population, another name
    assert ids == ["aa06622083334646", "3abb3c7e6f32aa43", "988e64b7b7e691fc"]


def everything(contract: strategies.Contract) -> list[object]:
    """What must not depend on the process. Explored problems may change with Hypothesis, so they are no golden ones."""
    source = problems(contract)
    return [
        [list(recipe_bytes(text)) for text in (*RECIPE_BYTES, *JOINT_BYTES)],
        [problem.id for problem in independent(source, 5, 3, 20)],
        [problem.id for problem in explored(source, 5, 3, 60)],
        [problem.id for block in (0, 3) for problem in drawn(EXPLORE, contract.operator, "float32", 5, block, 10)],
    ]


PROGRAM = """
import json, sys
sys.path[:0] = sys.argv[1:]
import constants_of_a_user, conftest, test_golden_inputs
print(json.dumps(test_golden_inputs.everything(conftest.batch_norm_contract())))
"""


def dispatched() -> str:
    """What NumPy found in this processor beyond its baseline: without these it computes as on an older one."""
    features = np._core._multiarray_umath.__cpu_features__
    return " ".join(name for name in np._core._multiarray_umath.__cpu_dispatch__ if features.get(name))


@pytest.mark.parametrize(("hash_seed", "disabled"), [("0", ""), ("12345", ""), ("1", dispatched())])
def test_another_process_draws_the_same(batch_norm, tmp_path: Path, hash_seed: str, disabled: str) -> None:
    """Whatever the hash seed, whatever constants Hypothesis finds in the modules imported there, on whatever vectors
    NumPy computes."""
    (tmp_path / "constants_of_a_user.py").write_text("SIZES = [5, 6, 11, 12, 13]\nBIG = 31\n")
    places = [str(tmp_path), str(Path(__file__).parent), str(Path(strategies.__file__).parents[1])]
    command = [sys.executable, "-c", PROGRAM, *places]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "NPY_DISABLE_CPU_FEATURES": disabled}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == everything(batch_norm)
