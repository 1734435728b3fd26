"""A campaign directory of as many rows as wanted, plausible in every column, written in minutes instead of days.

    python benchmarks/rows.py FOLDER [--rows 10000000] [--trials 8192] [--seed 0]

A fixed plan goes round every operator of ulpfuzz in three dtypes on seven targets, one of which has a third of the
operators only. Two targets are compared with each other; one problem in five runs a variant. Most problems are healthy,
some have badly conditioned inputs, one in eight has a target with a defect in a share of its trials. Each problem is a
shard. Nothing is computed but the figures of the rows: errors have the tails of cancellation, targets agree bit for bit
as often as libraries do, details, regions and digests are as long as those of campaigns. The same seed gives the same
rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fuzz.operators import OPERATORS
from results.arrow import arrow_schema
from results.columns import COLUMNS, ELEMENT_COLUMNS, RUNGS, SCHEMA_VERSION, rung_column
from results.findings_file import write_findings
from results.reading import open as open_results
from results.store import Store

TARGETS = ("numpy:cpu", "scipy:cpu", "torch:cpu", "jax:cpu", "jax:cpu[mode=eager]", "tvm:llvm", "tvm:llvm[mcpu=host]")
PAIR = ("tvm:llvm", "torch:cpu")
VARIANT = ("torch:cpu", "batch[8]")
SHARES = (1.0, 0.9, 0.55, 0.3, 0.3, 0.5, 0.45)
"""How often a target gives the bits of the first one."""
UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "float64": 2.0**-53}
RECIPES = ("normal(0,1)", "uniform(-1,1)", "log-uniform(-126,127)", "offset(1000,1)", "special(normal(0,1),0.01)")
ENVIRONMENT = "39295b4c1b49570b"
KEPT = 64
"""One trial in so many has its worst and some random elements kept."""


class Defect(NamedTuple):
    """What is wrong with one target in one problem."""

    verdict: str
    share: float
    """Of the trials."""
    rho: float
    """Typical size."""
    region: str
    detail: str


DEFECTS = (
    Defect("unstable", 0.04, 30.0, "any length, cancelling", "rho {rho:.3g} (float32 {rho:.3g}, float64 34.9)"),
    Defect("wrong", 0.3, 1e5, "x in (0, 1]", "the error does not shrink with precision: rho {rho:.3g}, s = 0.57"),
    Defect("subnormals_flushed", 0.1, 1e6, "subnormal", "rho {rho:.3g}, with subnormals read as zero 0.5"),
    Defect("nonfinite_mismatch", 0.002, 8.0, "overflow", "{rho:.0f} elements are NaN or infinite on one side only"),
    Defect("indeterminate", 0.01, 5.0, "", "rho {rho:.3g}, but no second precision to tell why"),
)


class Problem(NamedTuple):
    """One shard."""

    number: int
    operator: str
    outputs: tuple[str, ...]
    home: str
    dims: str
    attributes: str
    recipes: str
    hard: bool
    """Whether its inputs are badly conditioned."""
    exact: bool
    """Whether its results are correctly rounded throughout."""
    defect: Defect | None
    bad: int
    """Position of the target with the defect."""

    @property
    def id(self) -> str:
        return _hash(self.operator, self.attributes, self.dims, self.home, self.recipes)


def generate(folder: Path, rows: int = 10_000_000, trials: int = 8192, seed: int = 0) -> int:
    """Write the campaign; the number of its rows, at least `rows` and less than a problem more."""
    folder.mkdir(parents=True)
    store = Store(folder)
    written, number = 0, 0
    problems = _problems(seed)
    while written < rows:
        problem = next(problems)
        table = _table(problem, trials, seed)
        store.commit_table(number, table, _elements(table, problem, seed))
        written, number = written + table.num_rows, number + 1
    _write_manifest(folder, trials, seed)
    write_findings(open_results(folder, verify=False), folder)  # as a run does in the end
    return written


def _problems(seed: int) -> Iterator[Problem]:
    """Operators and dtypes in turn, for ever, each time with other sizes and inputs."""
    rng = np.random.default_rng([seed, 1])
    number = 0
    while True:
        for home in UNITS:
            for name, operator in OPERATORS.items():
                contract = operator.contract
                sizes = rng.choice([7, 16, 31, 64, 127, 256, 1024], len(contract.dims))
                dims = ",".join(f"{d}={n}" for d, n in sorted(zip(contract.dim_names, sizes, strict=True)))
                inputs = ",".join(spec.name for spec in contract.inputs)
                kind = rng.random()
                yield Problem(
                    number,
                    name,
                    tuple(spec.name for spec in contract.outputs),
                    home,
                    dims,
                    json.dumps({"axis": -1, "eps": float(10.0 ** -int(rng.integers(3, 8)))}),
                    f"{inputs}~{RECIPES[int(rng.integers(len(RECIPES)))]}*{number + 1}",
                    kind > 0.85,
                    kind < 0.3,
                    DEFECTS[int(rng.integers(len(DEFECTS)))] if rng.random() < 1 / 8 else None,
                    int(rng.integers(2, len(TARGETS))),
                )
                number += 1


def _table(problem: Problem, trials: int, seed: int) -> pa.Table:
    """All rows of a problem, trial by trial."""
    rng = np.random.default_rng([seed, 2, problem.number])
    kinds = [(target, "", "truth") for target in TARGETS] + [(PAIR[0], "", PAIR[1])]
    kinds += [(VARIANT[0], VARIANT[1], "truth")] if problem.number % 5 == 0 else []
    outputs, each = len(problem.outputs), len(kinds)
    shape = (trials, outputs, each)
    index, output, kind = (axis.ravel() for axis in np.indices(shape))
    missing = (kind == 1) & (problem.number % 3 > 0)
    figures = _figures(problem, rng, shape, kind)
    of_pair = kind == len(TARGETS)
    names = _names(problem, kinds, index, output, kind, missing)
    verdicts = _verdicts(problem, figures, missing)
    digests = _digests(problem, rng, shape, kind)
    cells: dict[str, pa.Array] = {**names, **verdicts, **digests}
    for name, values in figures.items():
        cells[name] = pa.array(values.ravel(), mask=missing)
    rms = figures["abs_rms"].reshape(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (rms[..., [TARGETS.index(side)]] for side in PAIR)
        ratio = np.where(first == second, 1.0, first / second) + np.zeros(shape)
    cells["rms_ratio"] = pa.array(ratio.ravel(), mask=~of_pair)
    schema = arrow_schema(COLUMNS)
    arrays = [cells[f.name] if f.name in cells else pa.nulls(len(index), f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _figures(problem: Problem, rng: np.random.Generator, shape: tuple[int, ...], kind: Any) -> dict[str, Any]:
    """Errors: what the inputs of a trial do to all targets, times what each target adds."""
    trials, outputs, _ = shape
    unit = UNITS[problem.home]
    base = (1.0 if problem.exact else 3.0 / rng.random((trials, outputs, 1)) ** (1.0 if problem.hard else 0.3)) * 4
    amplification = (base * rng.uniform(0.7, 1.4, shape)).ravel()
    rho = (rng.beta(4, 6, shape).astype(np.float32).astype(float) * (not problem.exact)).ravel()
    hit = np.zeros(rho.shape, bool)
    if problem.defect is not None:
        hit = (np.broadcast_to(rng.random((trials, 1, 1)) < problem.defect.share, shape).ravel()) & (
            kind == problem.bad
        )
        rho[hit] = 2 + problem.defect.rho * rng.lognormal(0, 1, int(hit.sum()))
    relative = unit * amplification * rho
    value = rng.standard_normal(shape).astype(np.float32).astype(float).ravel()
    truth = value / (1 + np.minimum(relative, 0.5))
    size = int(16 * 2 ** (problem.number % 11))
    place = rng.integers(0, size, shape).ravel()
    found: dict[str, Any] = {
        "elements": np.full(rho.shape, size),
        "reduction_length": np.full(rho.shape, problem.number % 4 * 64),
        "abs_max": np.abs(value - truth),
        "abs_rms": np.abs(value - truth) / 3,
        "abs_mean": (value - truth) / 50,
        "rel_max": relative,
        "rel_index": place,
        "rel_value": value,
        "rel_truth": truth,
        "rel_amplification": amplification,
        "ulp_max": relative / unit,
        "ulp_index": place,
        "rho_max": rho,
        "rho_index": size - 1 - place,
        "rho_value": np.roll(value, 1),
        "rho_truth": np.roll(truth, 1),
        "rho_amplification": np.roll(amplification, 1),
        "rho_ideal": rho * 1.25,
        "rho_tree": rho,
        "rho_sequential": rho / 8,
        "rho_mean": rho * rng.uniform(-0.1, 0.1, shape).ravel(),
        "flagged": np.where(hit, 1 + place % 7, 0),
        "nan_count": np.zeros(rho.shape, int),
        "inf_count": np.zeros(rho.shape, int),
        "nonfinite_mismatch": np.where(hit & _is(problem, "nonfinite_mismatch"), 3, 0),
        "overflow_explained": np.zeros(rho.shape, int),
        "seconds": rng.gamma(4, 1e-5, shape).ravel(),
    }
    with np.errstate(over="ignore"):
        for rung in RUNGS:
            beyond = np.sqrt(np.minimum(relative * 10.0**rung, 1e12))
            found[rung_column(rung)] = np.minimum(np.where(beyond > 1, beyond, 0), size).astype(np.int64)
    return found


def _verdicts(problem: Problem, figures: Mapping[str, Any], missing: Any) -> dict[str, pa.Array]:
    """What a judge would say, with its sentence."""
    unit = UNITS[problem.home]
    rho, relative, amplification = figures["rho_max"], figures["rel_max"], figures["rel_amplification"]
    hit = rho > 2
    defect = problem.defect or DEFECTS[0]
    names = ["exact", "rounding", "ill_conditioned", defect.verdict, "unsupported"]
    code = np.select([missing, hit, rho == 0, relative > unit**0.5], [4, 3, 0, 2], 1)
    details = np.full(len(rho), "every element is the correctly rounded truth", object)
    for at in np.flatnonzero(code == 1):
        details[at] = f"rho {rho[at]:.2g}"
    for at in np.flatnonzero(code == 2):
        details[at] = (
            f"relative error {relative[at]:.2g} where the result amplifies rounding {amplification[at]:.2g} times; "
            f"rho {rho[at]:.2g}"
        )
    for at in np.flatnonzero(code == 3):
        details[at] = defect.detail.format(rho=rho[at])
    details[missing] = f"scipy has no {problem.operator}"
    return {
        "verdict": _chosen(code, names),
        "detail": pa.array(details, pa.string()),
        "region": pa.array(np.where(hit & (defect.region != ""), defect.region, None), pa.string()),
        "error": pa.array(np.where(missing, f"scipy has no {problem.operator}", None), pa.string()),
    }


def _digests(problem: Problem, rng: np.random.Generator, shape: tuple[int, ...], kind: Any) -> dict[str, pa.Array]:
    """One of the inputs a trial; of the outputs that of the first target, or another."""
    trials, outputs, each = shape
    inputs = np.repeat(_hexadecimal(rng, trials), outputs * each, axis=0)
    own = _hexadecimal(rng, trials * outputs * each).reshape(*shape, 32)
    same = rng.random(shape) < np.array([*SHARES, 0.0, 0.99][:each])
    same |= problem.exact
    chosen = np.where(same[..., None], own[:, :, :1], own).reshape(-1, 32)
    no_bits = (kind >= len(TARGETS)) | ((kind == 1) & (problem.number % 3 > 0))
    return {"input_digest": _strings(inputs), "output_digest": _strings(chosen, no_bits)}


def _names(
    problem: Problem, kinds: list[tuple[str, str, str]], index: Any, output: Any, kind: Any, missing: Any
) -> dict[str, pa.Array]:
    """Who, what, where."""
    rows = len(index)
    backends = [target.partition(":")[0] for target, _, _ in kinds]
    constant = {
        "problem_id": problem.id,
        "draw_id": _hash(problem.dims, problem.home, problem.recipes),
        "operator": problem.operator,
        "attributes": problem.attributes,
        "dims": problem.dims,
        "recipes": problem.recipes,
        "home": problem.home,
        "dtype": problem.home,
        "environment": ENVIRONMENT,
        "profile": "measured",
        "known_by": "float64",
    }
    by_kind = {
        "target": [target for target, _, _ in kinds],
        "variant": [variant for _, variant, _ in kinds],
        "against": [against for _, _, against in kinds],
        "backend": backends,
        "device": [target.partition(":")[2].partition("[")[0] for target, _, _ in kinds],
        "options": [target.partition("[")[2].rstrip("]") for target, _, _ in kinds],
        "implementation": [{"tvm": "topi", "numpy": "formula"}.get(name, name) for name in backends],
        "provenance": [{"numpy": "composed"}.get(name, "library") for name in backends],
    }
    trials = [f"{problem.id[:8]}-{number}" for number in range(int(index[-1]) + 1)]
    return {
        **{name: pa.array([value]).take(pa.array(np.zeros(rows, np.int32))) for name, value in constant.items()},
        **{name: _chosen(kind, values) for name, values in by_kind.items()},
        "output": _chosen(output, list(problem.outputs)),
        "trial": _chosen(index, trials),
        "seed": pa.array(np.zeros(rows, np.int64)),
        "index": pa.array(index),
    }


def _elements(table: pa.Table, problem: Problem, seed: int) -> pa.Table:
    """The worst element of one trial in KEPT against the truth, and two others."""
    rng = np.random.default_rng([seed, 3, problem.number])
    chosen = (table.column("index").to_numpy() % KEPT == 0) & table.column("rho_max").is_valid().to_numpy()
    chosen &= np.array(table.column("against").to_numpy(zero_copy_only=False) == "truth")
    rows = table.filter(pa.array(chosen))
    places = pa.array(np.repeat(np.arange(rows.num_rows), 3))
    several = rows.take(places)
    count = several.num_rows
    share = np.where(np.arange(count) % 3 == 0, 1.0, rng.random(count))
    truth, unit = several.column("rel_truth").to_numpy(), UNITS[problem.home]
    amplification, rho = several.column("rel_amplification").to_numpy(), several.column("rho_max").to_numpy() * share
    cells = {
        "kind": _chosen(np.minimum(np.arange(count) % 3, 1), ["worst", "random"]),
        "element": pa.array(rng.integers(0, 16, count)),
        "value": pa.array(truth * (1 + unit * amplification * rho)),
        "truth": pa.array(truth),
        "bound": pa.array(np.abs(truth) * amplification),
        "amplification": pa.array(amplification),
        "rho": pa.array(rho),
        "inputs": pa.array([f'[["x",[{at}],{value:.17g}]]' for at, value in enumerate(truth)]),
    }
    schema = arrow_schema(ELEMENT_COLUMNS)
    arrays = [cells[f.name] if f.name in cells else several.column(f.name).combine_chunks() for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _write_manifest(folder: Path, trials: int, seed: int) -> None:
    manifest = {
        "format": "ulpfuzz campaign",
        "schema_version": SCHEMA_VERSION,
        "title": "synthetic rows",
        "plan": "fixed",
        "seed": seed,
        "trials": trials,
        "shard_trials": trials,
        "targets": list(TARGETS),
        "pairs": [list(PAIR)],
    }
    versions = {"numpy": "2.4.6", "scipy": "1.17.1", "torch": "2.13.0", "jax": "0.10.2", "apache-tvm": "0.27.0"}
    (folder / "campaign.json").write_text(json.dumps(manifest, indent=1))
    (folder / "environments.json").write_text(json.dumps({ENVIRONMENT: {"cpu": "synthetic", "versions": versions}}))


def _is(problem: Problem, verdict: str) -> bool:
    return problem.defect is not None and problem.defect.verdict == verdict


def _chosen(codes: Any, values: list[str]) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(codes))


def _hexadecimal(rng: np.random.Generator, count: int) -> Any:
    """Random digests of 128 bits, 32 characters each."""
    octets = np.frombuffer(rng.bytes(16 * count), np.uint8).reshape(count, 16)
    digits = np.stack([octets >> 4, octets & 15], -1).reshape(count, 32)
    return np.frombuffer(b"0123456789abcdef", np.uint8)[digits]


def _strings(characters: Any, null: Any = None) -> pa.Array:
    """Rows of equally many characters as strings."""
    count, width = characters.shape
    offsets = np.arange(count + 1, dtype=np.int32) * width
    whole = pa.Array.from_buffers(
        pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters))]
    )
    return whole if null is None else whole.take(pa.array(np.arange(count), mask=null))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a campaign directory of synthetic rows.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--trials", type=int, default=8192, help="trials of a problem")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"{generate(given.folder, given.rows, given.trials, given.seed):,} rows in {given.folder}")
