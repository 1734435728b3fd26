"""The questions ulpfuzz exists for, asked through the command line on the real libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import results
from results.columns import rung_column

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
pytestmark = pytest.mark.heavy


def ulpfuzz(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fuzz.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_batch_norm_outliers_are_ill_conditioned_and_nobody_is_blamed(tmp_path: Path) -> None:
    """1,000 trials; bounds are the 99.9 % binomial ranges around 0.60 % and 6.4 %."""
    ran = ulpfuzz("run", EXAMPLES / "batch_norm_outliers.toml", "--trials", 1000, "--out", tmp_path / "s0")
    assert ran.returncode == 0, ran.stderr
    assert "No implementation is to blame" in ran.stdout
    assert "as far as 1000 trials can tell" in ran.stdout
    campaign = results.open(tmp_path / "s0")
    pair = "from measurements where target = 'torch:cpu' and against = 'tvm:llvm'"
    counts = campaign.records(f"select sum((above_1e01>0)::int) a, sum((above_1e02>0)::int) b, count(*) n {pair}")[0]
    assert counts["n"] == 1000
    assert 0 <= counts["a"] <= 16
    assert 40 <= counts["b"] <= 92
    outliers = campaign.records("select verdict, rel_amplification from trials where above_1e01 > 0")
    assert outliers
    assert {row["verdict"] for row in outliers} == {"ill_conditioned"}
    assert min(row["rel_amplification"] for row in outliers) >= 3e6
    worst = campaign.records("select max(rho_max) rho, sum(flagged) flagged from trials")[0]
    assert worst["rho"] <= 1.0
    assert worst["flagged"] == 0


INDEPENDENT_MATMUL = """
import json, sys, numpy as np, torch, jax.numpy as jnp, tvm
from tvm import te
data = np.load(sys.argv[1]); a, b = data["a"], data["b"]
A = te.placeholder(a.shape, "float32", name="A"); B = te.placeholder(b.shape, "float32", name="B")
k = te.reduce_axis((0, a.shape[1]), name="k")
C = te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
host = {"kind": "llvm", "mcpu": json.loads(str(tvm.target.Target.from_device("cpu")))["mcpu"]}
with open("/proc/cpuinfo") as about:  # LLVM goes by the model: a virtual machine may have its AVX-512 switched off
    if "avx512f" not in about.read():
        host["mattr"] = ["-avx512f"]
out = {"numpy": a @ b, "torch": (torch.tensor(a) @ torch.tensor(b)).numpy(), "jax": np.asarray(jnp.matmul(a, b))}
for name, target in (("generic", {"kind": "llvm"}), ("host", host)):
    c = tvm.runtime.empty(C.shape, "float32")
    module = tvm.IRModule({"main": te.create_prim_func([A, B, C])})
    tvm.compile(module, target=tvm.target.Target(target))["main"](tvm.runtime.tensor(a), tvm.runtime.tensor(b), c)
    out[name] = c.numpy()
print(json.dumps(sorted(sorted(x for x in out if out[x].tobytes() == out[y].tobytes()) for y in out)))
"""


def test_matmul_passes_one_rung_and_fma_decides_the_bits(tmp_path: Path) -> None:
    """The classes of equal bits are those an independent script finds on the same inputs and machine."""
    import numpy as np

    from fuzz.campaigns.request import CampaignSpec, ProblemSpec
    from fuzz.campaigns.spec import resolve
    from fuzz.operators import operator
    from strategies.sampling import draw

    directory = tmp_path / "matmul"
    ran = ulpfuzz("run", EXAMPLES / "matmul_ladder.toml", "--trials", 300, "--out", directory)
    assert ran.returncode == 0, ran.stderr
    campaign = results.open(directory)
    generic = campaign.records(
        f"select sum({rung_column(6)}) six, sum({rung_column(7)}) seven from measurements "
        "where target = 'torch:cpu' and against = 'tvm:llvm'"
    )[0]
    assert generic["six"] == 0
    assert generic["seven"] > 0

    inputs = {"a": "uniform(0,1)", "b": "uniform(0,1)"}
    spec = CampaignSpec((ProblemSpec("matmul", {"M": 20, "K": 2, "N": 20}, {}, inputs),), targets=("numpy",))
    problem = resolve(spec).cells[0].problem
    arrays = {"a": np.empty((20, 2), "float32"), "b": np.empty((2, 20), "float32")}
    digest = draw(problem, operator("matmul").contract, 0, 0, arrays)
    np.savez(tmp_path / "inputs.npz", **arrays)
    script = tmp_path / "independent.py"
    script.write_text(INDEPENDENT_MATMUL)
    command = [sys.executable, str(script), str(tmp_path / "inputs.npz")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = {tuple(names) for names in json.loads(answer.stdout.splitlines()[-1])}

    rows = campaign.records('select target, output_digest, input_digest from trials where "index" = 0')
    short = {
        "numpy:cpu": "numpy",
        "torch:cpu": "torch",
        "jax:cpu": "jax",
        "tvm:llvm": "generic",
        "tvm:llvm[mcpu=host]": "host",
    }
    assert {row["input_digest"] for row in rows} == {digest}
    digests = {short[row["target"]]: row["output_digest"] for row in rows}
    found = {tuple(sorted(x for x in digests if digests[x] == digests[y])) for y in digests}
    assert found == expected


@pytest.mark.parametrize(
    ("operator", "recipe", "dims", "flagged"),
    [
        # so few elements that none lies below -13, where gelu is subnormal and XLA flushes it to zero
        ("gelu", "x=normal(0,3)", "n=1000", {"torch:cpu": {"unstable"}, "tvm:llvm": {"unstable"}}),
        ("tanh", "x=loguniform(1e-9,1)", "n=4096", {"tvm:llvm": {"unstable"}}),
        ("softplus", "x=uniform(-40,0)", "n=4096", {"tvm:llvm": {"unstable"}}),
        ("softplus", "x=loguniform(1e-9,1)", "n=4096", {}),
        ("layer_norm", "x=offset(1000,1)", "rows=16,n=768", {}),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.long)])
def test_known_defects_are_found_and_nothing_else(
    tmp_path: Path, operator: str, recipe: str, dims: str, flagged: dict[str, set[str]], dtype: str
) -> None:
    ran = ulpfuzz(
        "run", operator, "--dims", dims, "--input", recipe, "--dtype", dtype, "--trials", 20, "--out", tmp_path / "c"
    )
    assert ran.returncode == (1 if flagged else 0), ran.stderr + ran.stdout
    rows = results.open(tmp_path / "c").records(
        "select t.target, t.verdict from trials t join verdicts v on t.verdict = v.name where v.finding"
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["target"], set()).add(row["verdict"])
    assert found == flagged


def test_einsum_has_the_closer_gradient_and_all_is_rounding(tmp_path: Path) -> None:
    """60 trials: one formulation is closer in all of them with p = 2e-18 where the other is as good."""
    from results.closer import closer_lines

    ran = ulpfuzz("run", EXAMPLES / "einsum_gradients.toml", "--trials", 60, "--out", tmp_path / "s3")
    assert ran.returncode == 0, ran.stderr
    campaign = results.open(tmp_path / "s3")
    found = {(line.output, line.first): line for line in closer_lines(campaign).lines}
    free, fixed = "torch:cpu", "torch:cpu[opt_einsum=off]"
    for output in ("z", "d_x", "d_e", "d_s"):
        assert found[output, fixed].found.equal == 60
    if campaign.sql("SELECT 1 FROM measurements WHERE against <> 'truth' AND abs_max > 0 LIMIT 1").num_rows:
        assert found["z", free].closer == found["d_x", free].closer == ""
        assert found["d_e", free].closer == free
        assert found["d_e", free].adjusted is not None
        assert found["d_e", free].adjusted < 1e-10
        assert 0.4 < found["d_e", free].found.ratio < 0.8
