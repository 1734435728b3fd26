"""Scripts of targets with options and schedules compute what the kernel did, and fail while the defect is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproductions import run_script, written
from running import Cli

import results
from fuzz.backends import BACKENDS
from fuzz.backends.base import Request
from fuzz.backends.spelling import Wanted
from fuzz.buffers import Arena, GuardedArray
from fuzz.operators import OPERATORS
from fuzz.reproduction.writing import Writing
from fuzz.targets import parse_target
from fuzz.workbench import Bench
from strategies import independent, make_problem, parse_recipe, schedules

DIMS = {
    "sum": {"rows": 5, "n": 37},
    "softmax": {"rows": 4, "n": 19},
    "cumsum": {"rows": 4, "n": 7},
    "matmul": {"M": 7, "K": 13, "N": 5},
    "batch_norm_training": {"N": 3, "C": 2, "H": 3, "W": 5},
    "batch_norm": {"N": 3, "C": 2, "H": 3, "W": 5},
    "conv2d": {"N": 2, "C": 3, "H": 6, "W": 7, "O": 4, "KH": 3, "KW": 3},
    "gelu": {"n": 33},
    "var": {"rows": 3, "n": 24},
    "argmax": {"rows": 5, "n": 9},
}


def agrees(spelled: str, operator: str, output: int = 0, **attributes: Any) -> bool:
    """Whether the text of a target's kernel computes the bits that the kernel does."""
    contract, target = OPERATORS[operator].contract, parse_target(spelled, "float32")
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    bench = Bench(make_problem(contract, dims=DIMS[operator], home="float32", recipes=recipes, attributes=attributes))
    arena = Arena(bench.input_shapes, "float32")
    random = np.random.default_rng(3)
    for array in arena.arrays.values():
        array[...] = np.abs(random.standard_normal(array.shape))
    outputs = tuple(GuardedArray(shape, "float32").array for shape in bench.output_shapes)
    backend, implementation = BACKENDS[target.backend], target.implementation(operator)
    given = dict(bench.problem.attributes)
    options = target.all_options()
    kernel = backend.prepare(Request(implementation, given, target.device, "float32", options, arena.views, outputs))
    shapes = dict(zip((spec.name for spec in contract.outputs), bench.output_shapes, strict=True))
    wanted = Wanted(implementation, given, target.device, "float32", options, bench.input_shapes, shapes, output)
    spelling = backend.spell(wanted)
    body = "\n".join(f"    {line}" for line in spelling.body)
    head = [line for line in spelling.definitions if not re.match(r"torch\.|jax\.config", line)]
    text = "\n".join([*spelling.imports, *head, f"def compute({', '.join(bench.input_shapes)}):\n{body}\n"])
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)  # the text under test
    found = scope["compute"](*(array.copy() for array in arena.arrays.values()))
    due = kernel()[output]
    assert found.shape == due.shape
    return bool(np.array_equal(found, due))


@pytest.mark.parametrize("operator", ["sum", "softmax", "cumsum", "argmax"])
@pytest.mark.parametrize("options", ["order=F", "reduce_axis=first", "reduce_axis=last", "order=F,reduce_axis=first"])
@pytest.mark.parametrize("axis", [0, -1])
def test_the_text_of_numpy_has_its_options(operator: str, options: str, axis: int) -> None:
    assert agrees(f"numpy:cpu[{options}]", operator, axis=axis)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("target", "operator", "output"),
    [
        ("torch:cpu[memory_format=channels_last]", "conv2d", 0),
        ("torch:cpu[memory_format=channels_last]", "batch_norm_training", 1),
        ("torch:cpu[compile=inductor]", "gelu", 0),
        ("jax:cpu[batch=vmap]", "matmul", 0),
        ("jax:cpu[batch=map]", "conv2d", 0),
        ("jax:cpu[batch=map,mode=eager]", "softmax", 0),
        ("jax:cpu[batch=map]", "batch_norm_training", 2),
    ],
)
def test_the_text_of_a_library_has_its_options(target: str, operator: str, output: int) -> None:
    pytest.importorskip(target.partition(":")[0])
    assert agrees(target, operator, output)


@pytest.mark.heavy
@pytest.mark.parametrize("operator", ["sum", "softmax", "matmul", "gelu", "argmax"])
def test_the_text_of_a_schedule_is_the_schedule(operator: str) -> None:
    """gelu is one of relax's operators."""
    pytest.importorskip("tvm")
    vector = independent(schedules(least=6), 5, 0, 1)[0]
    assert agrees(f"tvm:llvm[schedule={vector}]", operator), vector


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("operator", "seed"), [("sum", 1), ("softmax", 1), ("matmul", 2), ("gelu", 0), ("argmax", 1), ("var", 1)]
)
def test_the_text_of_a_sample_of_meta_schedule_is_the_sample(operator: str, seed: int) -> None:
    """Without meta_schedule: what it did is in the text."""
    pytest.importorskip("tvm")
    assert agrees(f"tvm:llvm[meta_schedule={seed}]", operator)


def _scripted(folder: Path, finding: str) -> str:
    """The script of a finding, written and run in processes of their own: what an extension plants stays there."""
    Cli(folder).ok("repro", "run", finding, "--script", "s.py")
    assert run_script(folder / "s.py").returncode == 1
    return (folder / "s.py").read_text()


MISCOMPILED = {
    "2.0.5.13": {"out_of_bounds_write"},
    "13.0.15": {"nonfinite_mismatch", "wrong", "unstable"},
}
"""Two of the three that docs/schedules.md shows of sum."""


@pytest.mark.heavy
@pytest.mark.long
def test_what_tvm_miscompiles_has_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """glibc fills new memory for us: by chance it may hold zeros, and then 13.0.15 is right by chance."""
    pytest.importorskip("tvm")
    monkeypatch.setenv("MALLOC_PERTURB_", str(0x84))  # new bytes are 0x7b: float32 numbers of 1.3e36
    targets = ",".join(f"tvm:llvm[unsafe_schedule={vector}]" for vector in MISCOMPILED)
    asked = ("run", "sum", "--dims", "rows=13,n=9", "--targets", targets, "--trials", 1, "--fail-on", "none")
    Cli(tmp_path).ok(*asked, "--out", "run")
    found = {group.target: group for group in results.open(tmp_path / "run").findings}
    for vector, verdicts in MISCOMPILED.items():
        group = found[f"tvm:llvm[unsafe_schedule={vector}]"]
        assert group.verdict in verdicts
        source = _scripted(tmp_path, group.id)
        assert not re.search(r"^\s*(from|import) (fuzz|results|strategies)\b", source, re.MULTILINE)
        assert "sch = s_tir.Schedule(function)" in source


PLANTED = """
import numpy as np
from fuzz.backends import numpy_options, tvm_moves
from fuzz.extend import FunctionBackend, register

split = tvm_moves.TABLE["split"][1]


def swapped(program, place, how):
    "A reordered reduction that is not counted as one."
    nest, at = place
    split(program, place, how)
    outer, inner = nest.loops[at : at + 2]
    if outer.kind == "R":
        program.schedule.reorder(inner.handle, outer.handle)
        nest.loops[at : at + 2] = [inner, outer]
        inner.key, outer.key = outer.key, inner.key


tvm_moves.TABLE["split"] = (tvm_moves.TABLE["split"][0], swapped)
numpy_options.EXACT["sum"] = "planted: it is not"
register(FunctionBackend("planted"))
"""
VARIANTS = [
    pytest.param("tvm:llvm[schedule=2.1]", "sch.reorder(", marks=pytest.mark.long),
    ("numpy:cpu[order=F]", "np.asfortranarray(x)"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("target", "words"), VARIANTS)
def test_a_difference_to_the_default_options_has_a_script(tmp_path: Path, target: str, words: str) -> None:
    pytest.importorskip("tvm")
    (tmp_path / "planted.py").write_text(PLANTED)
    asked = ("run", "sum", "--dims", "rows=16,n=300", "--targets", target, "--extension", "planted.py")
    Cli(tmp_path).ok(*asked, "--trials", 2, "--fail-on", "none", "--out", "run")
    (group,) = results.open(tmp_path / "run").findings
    assert group.verdict == "schedule_variant"
    source = _scripted(tmp_path, group.id)
    assert words in source.partition("def unchanged")[0]
    assert words not in source.partition("def unchanged")[2]
    mended = source.replace("= compute(", "= unchanged(")
    (tmp_path / "mended.py").write_text(mended)
    assert run_script(tmp_path / "mended.py").returncode == 0


REAL = """
trials = 1
fail_on = "none"
targets = [
    "torch:cpu[threads=3,mkldnn=off,matmul_precision=medium]",
    "jax:cpu[batch=vmap,mode=eager,precision=highest]", "tvm:llvm[mcpu=host,fma=off]"
]

[[problem]]
operator = "gelu"
dims = {n=24}
inputs = {x="uniform(-6,-5)"}
[[problem]]
operator = "exp"
dims = {n=16}
inputs = {x="uniform(-100,-90)"}
"""
WORDS = {
    ("gelu", "matmul_precision=medium,mkldnn=off,threads=3"): (
        "set_num_threads(3)",
        "mkldnn.enabled = False",
        "set_float32_matmul_precision('medium')",
    ),
    ("gelu", "fma=off,mcpu=host"): ("'-fma'", "from_device"),
    ("exp", "batch=vmap,mode=eager,precision=highest"): ("jax.vmap(", "\"jax_default_matmul_precision\", 'highest'"),
}
"""gelu of torch and TVM loses digits for negative inputs, exp of jax flushes subnormals, under these options, too."""


@pytest.mark.heavy
@pytest.mark.long
def test_a_defect_under_options_has_a_script_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As found: shrinking leaves out options that the failure does not need."""
    monkeypatch.setattr(Writing, "_smaller", lambda self: [])
    for library in ("torch", "jax", "tvm"):
        pytest.importorskip(library)
    (tmp_path / "c.toml").write_text(REAL)
    Cli(tmp_path).ok("run", "c.toml", "--out", "run")
    found = {(group.operator, group.options): group for group in results.open(tmp_path / "run").findings}
    for key, words in WORDS.items():
        assert key in found, list(found)
        assert written(tmp_path / "run", found[key].id, tmp_path / "s.py")[1].failed
        source = (tmp_path / "s.py").read_text()
        assert [word for word in words if word not in source] == []
