"""Which batch sizes give the bits of the whole batch: a plain loop in each library against what a campaign recorded.

    ulpfuzz run examples/batch_size.toml --out DIR
    python benchmarks/batch_classes.py DIR [TRIALS]

The inputs are those of the campaign's first TRIALS draws (2); everything else is written here once more, without
ulpfuzz: networks in NumPy, PyTorch, JAX and TVM, slices of the batch, and which results have the same bytes. Run it on
the machine of the campaign: bits depend on the processor, the BLAS kernel and the versions. Exit code 1 where the
classes differ, or a largest difference by more than its last digits.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL", "TVM"):  # before anything is imported: as in a campaign's workers
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402

import results  # noqa: E402
from fuzz.operators import operator  # noqa: E402
from strategies import draw  # noqa: E402
from strategies.problem import problem_from_plain  # noqa: E402

Arrays = Mapping[str, Any]
Network = Callable[[Any, Any], Any]
LAST_DIGITS = 2.0**-11
"""Largest errors are stored rounded up to 12 bits."""


def numpy_network(operator: str) -> Network:
    """x through each layer of w."""

    def dense(x: Any, w: Any) -> Any:
        for layer in w:
            x = x @ layer
        return x

    def conv(x: Any, w: Any) -> Any:
        for layer in w:
            n, c, height, width = x.shape
            padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
            columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * 9, height * width)
            x = (layer.reshape(c, c * 9) @ columns).reshape(n, c, height, width)
        return x

    return {"dense_chain": dense, "conv_chain": conv}[operator]


def torch_network(operator: str) -> Network:
    """The same with torch.matmul and torch.nn.functional.conv2d, one thread."""
    import torch

    torch.set_num_threads(1)

    def run(x: Any, w: Any) -> Any:
        z, layers = torch.from_numpy(x), torch.from_numpy(w)
        with torch.inference_mode():
            for layer in layers:
                z = z @ layer if operator == "dense_chain" else torch.nn.functional.conv2d(z, layer, padding=1)
        return z.numpy()

    return run


def jax_network(operator: str) -> Network:
    """The same with jax.jit, float64 where the inputs are."""
    import jax
    import jax.numpy as jnp

    def chain(x: Any, w: Any) -> Any:
        for layer in range(w.shape[0]):
            if operator == "dense_chain":
                x = jnp.matmul(x, w[layer])
            else:
                x = jax.lax.conv_general_dilated(x, w[layer], (1, 1), ((1, 1), (1, 1)))
        return x

    compiled = jax.jit(chain)

    def run(x: Any, w: Any) -> Any:
        with jax.enable_x64(x.dtype == np.float64):
            return np.asarray(compiled(x, w))

    return run


def tvm_network(operator: str) -> Network:
    """The same with topi, compiled for each size of the batch."""
    import tvm
    from tvm import te, topi

    kernels: dict[Any, Any] = {}

    def compiled(x: Any, w: Any) -> Any:
        z, layers = te.placeholder(x.shape, x.dtype.name, name="x"), te.placeholder(w.shape, x.dtype.name, name="w")
        inputs = [z, layers]
        for number in range(w.shape[0]):
            layer = topi.reshape(topi.strided_slice(layers, [number], [number + 1], [1], [0]), w.shape[1:])
            z = topi.matmul(z, layer) if operator == "dense_chain" else topi.nn.conv2d(z, layer, 1, 1, 1)
        module = tvm.IRModule({"main": te.create_prim_func([*inputs, z]).with_attr("global_symbol", "main")})
        return tvm.compile(module, target="llvm")["main"]

    def run(x: Any, w: Any) -> Any:
        key = (x.shape, x.dtype.name)
        if key not in kernels:
            kernels[key] = compiled(x, w)
        out = tvm.runtime.tensor(np.empty_like(x))
        kernels[key](tvm.runtime.tensor(x), tvm.runtime.tensor(w), out)
        return out.numpy()

    return run


NETWORKS = {"numpy": numpy_network, "torch": torch_network, "jax": jax_network, "tvm": tvm_network}


def outputs(network: Network, x: Any, w: Any, sizes: Mapping[str, int]) -> dict[str, Any]:
    """The whole batch under "", and in pieces of each size."""
    found = {"": network(x, w)}
    for name, size in sizes.items():
        pieces = [np.ascontiguousarray(x[start : start + size]) for start in range(0, len(x), size)]
        found[name] = np.concatenate([network(piece, w) for piece in pieces])
    return found


def classes(of: Mapping[str, Any]) -> set[frozenset[str]]:
    """Names of equal values together."""
    groups: dict[Any, set[str]] = {}
    for name, value in of.items():
        groups.setdefault(value, set()).add(name)
    return {frozenset(group) for group in groups.values()}


def sizes_of(variants: Sequence[str], batch: int) -> dict[str, int]:
    """The sizes of batch[8] and the like, by name."""
    found = {}
    for name in variants:
        match = re.fullmatch(r"batch\[(\d+|n-1)\]", name)
        if match:
            found[name] = batch - 1 if match[1] == "n-1" else int(match[1])
    return {name: size for name, size in found.items() if size < batch}


def recorded(
    campaign: results.Results, problem: str, target: str, index: int
) -> tuple[dict[str, str], dict[str, float]]:
    """Digest of the output by variant, and the largest difference from the whole batch."""
    rows = campaign.sql(f"""
        SELECT variant, against, output_digest, abs_max FROM measurements
        WHERE problem_id = '{problem}' AND target = '{target}' AND "index" = {index}
    """).to_pylist()
    digests = {row["variant"]: row["output_digest"] for row in rows if row["against"] == "truth"}
    return digests, {row["variant"]: row["abs_max"] for row in rows if row["against"] == target}


def text(groups: set[frozenset[str]]) -> str:
    """Classes in a line, the one of the whole batch first."""
    named = [sorted(group, key=lambda name: (name != "", len(name), name)) for group in groups]
    return " ".join(f"{{{', '.join(name or 'whole' for name in group)}}}" for group in sorted(named))


def compare(campaign: results.Results, cell: Mapping[str, Any], trials: int) -> list[str]:
    """What differs, a line each; prints what was found."""
    contract = operator(cell["problem"]["operator"]).contract
    problem = problem_from_plain(cell["problem"], contract)
    shapes, wrong = contract.shapes(dict(problem.dims)), []
    for target in cell["targets"]:
        network = NETWORKS[target.partition(":")[0]](problem.operator)
        largest = 0.0
        for index in range(trials):
            arrays = {name: np.empty(shape, problem.home) for name, shape in shapes.items()}
            draw(problem, contract, campaign.manifest["seed"], index, arrays)
            found = outputs(network, arrays["x"], arrays["w"], sizes_of(cell["variants"], len(arrays["x"])))
            plain = classes({name: array.tobytes() for name, array in found.items()})
            digests, differences = recorded(campaign, cell["problem_id"], target, index)
            seen = classes({name: digest for name, digest in digests.items() if name in found})
            own = {name: float(np.abs(array - found[""]).max()) for name, array in found.items() if name}
            largest = max(largest, *own.values())
            where = f"{problem.operator} {problem.home} {target} trial {index}"
            if plain != seen:
                wrong.append(f"{where}: classes {text(plain)} here, {text(seen)} in the campaign")
            wrong += [
                f"{where} {name}: largest difference {size:.4g} here, {differences[name]:.4g} in the campaign"
                for name, size in own.items()
                if not size <= differences[name] * (1 + 1e-9) or differences[name] > size * (1 + LAST_DIGITS)
            ]
        print(f"{problem.operator:12} {problem.home} {target:10} largest {largest:.2g}  {text(plain)}", flush=True)
    return wrong


def main(arguments: Sequence[str]) -> int:
    campaign = results.open(Path(arguments[0]))
    trials = int(arguments[1]) if len(arguments) > 1 else 2
    cells = [cell for cell in campaign.manifest["cells"] if cell.get("variants")]
    wrong = [line for cell in cells for line in compare(campaign, cell, trials)]
    for line in wrong:
        print(line)
    print(f"{trials} trials of {len(cells)} problems: " + (f"{len(wrong)} differences" if wrong else "all as recorded"))
    return 1 if wrong or not cells else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
