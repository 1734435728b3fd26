"""A small generator of plausible campaigns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from results.columns import RUNGS, SCHEMA_VERSION, Row, rung_column
from results.store import Store

TARGETS = ("numpy:cpu", "torch:cpu", "jax:cpu[mode=eager]", "tvm:llvm[mcpu=host]")
U = 2.0**-24


def make_row(index: int = 0, target: str = "numpy:cpu", **cells: Any) -> Row:
    """A healthy row against the truth; `cells` replace any of its values."""
    backend, _, rest = target.partition(":")
    row: Row = {
        "problem_id": "p" * 16,
        "seed": 7,
        "index": index,
        "output": "y",
        "target": target,
        "variant": "",
        "against": "truth",
        "trial": f"batch_norm-{index}",
        "draw_id": "d" * 16,
        "operator": "batch_norm",
        "attributes": '{"eps":1e-05}',
        "dims": "C=32,H=28,N=2,W=28",
        "recipes": "x,mean,gamma,beta~normal(0,1); var~abs-normal(1,1)",
        "home": "float32",
        "backend": backend,
        "device": rest.partition("[")[0],
        "dtype": "float32",
        "implementation": "formula",
        "provenance": "library",
        "elements": 50176,
        "reduction_length": 0,
        "environment": "e" * 16,
        "verdict": "rounding",
        "profile": "measured",
        "known_by": "float64",
        "abs_max": 1e-6,
        "rel_max": 1e-5,
        "rel_amplification": 170.0,
        **{rung_column(k): int(k > 5) for k in RUNGS},
        "ulp_max": 160.0,
        "rho_max": 0.5,
        "rho_ideal": 0.5,
        "flagged": 0,
        "nan_count": 0,
        "inf_count": 0,
        "nonfinite_mismatch": 0,
        "input_digest": f"{index:032x}",
        "output_digest": f"{index * 10:032x}",
        "seconds": 1e-4,
    }
    return row | cells


def outlier(relative: float, **cells: Any) -> Row:
    """Cells of a row whose worst element has this relative error, explained by conditioning."""
    rungs = {rung_column(k): int(relative > 10.0**-k) * k for k in RUNGS}
    verdict = "ill_conditioned" if relative > U**0.5 else "rounding"
    return (
        {"rel_max": relative, "rel_amplification": relative / (0.5 * U), "ulp_max": relative / U, "verdict": verdict}
        | rungs
        | cells
    )


def batch_norm_rows(trials: int, targets: Sequence[str] = TARGETS, seed: int = 3) -> list[Row]:
    """Trials whose largest relative error has the tail c/r of cancellation: about 0.8 % of them above 0.1."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for index in range(trials):
        cause = 7.6e-4 / rng.random()
        for number, target in enumerate(targets):
            relative = float(cause * rng.uniform(0.7, 1.4))
            digest = index * 10 + (number if number != 3 else 0)
            rows.append(
                make_row(
                    index,
                    target,
                    **outlier(relative),
                    output_digest=f"{digest:032x}",
                    rho_max=float(rng.uniform(0.3, 0.95)),
                )
            )
        pair = outlier(float(cause * 1.3))
        rows.append(make_row(index, targets[0], against=targets[-1], **pair | {"rho_max": None, "verdict": None}))
    return rows


def write_campaign(directory: Path, rows: Sequence[Row], shards: int = 2, **manifest: Any) -> Path:
    """A campaign directory with `rows` spread over `shards` parts."""
    directory.mkdir(parents=True, exist_ok=True)
    targets = sorted({str(row["target"]) for row in rows})
    plain = {
        "format": "ulpfuzz campaign",
        "schema_version": SCHEMA_VERSION,
        "plan": "fixed",
        "seed": 7,
        "trials": len({(row["problem_id"], row["index"]) for row in rows}),
        "targets": targets,
        "pairs": sorted({(str(r["target"]), str(r["against"])) for r in rows if r["against"] != "truth"}),
    }
    (directory / "campaign.json").write_text(json.dumps(plain | manifest))
    store = Store(directory)
    step = -(-len(rows) // shards)
    for shard in range(shards):
        store.commit(shard, rows[shard * step : (shard + 1) * step])
    return directory
