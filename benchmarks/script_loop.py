"""The script this tool replaces: draw, call TVM and PyTorch, climb a ladder of np.testing.assert_allclose.

Written as a user of the three libraries would write it in an afternoon: a tensor expression compiled once, fresh arrays
in every trial, one `try` a rung. It stops at the first rung that fails, which is the cheapest form of such a loop.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import tvm
from tvm import te

N, C, H, W = 2, 32, 28, 28
EPS = 1e-5
RUNGS = range(1, 13)


def compile_batch_norm() -> Any:
    """(x - mean) / sqrt(var + eps) * gamma + beta for the generic x86-64 that TVM's plain "llvm" target means."""
    x = te.placeholder((N, C, H, W), name="x")
    mean, var, gamma, beta = (te.placeholder((C,), name=name) for name in ("mean", "var", "gamma", "beta"))
    y = te.compute(
        (N, C, H, W),
        lambda n, c, h, w: (x[n, c, h, w] - mean[c]) / te.sqrt(var[c] + EPS) * gamma[c] + beta[c],
        name="y",
    )
    return tvm.compile(te.create_prim_func([x, mean, var, gamma, beta, y]), target="llvm")["main"]


class ScriptLoop:
    """`run(trials)` is the body of the script; `failed` counts trials by the first rung that fails (13: none)."""

    def __init__(self) -> None:
        self.batch_norm = compile_batch_norm()
        self.failed: Counter[int] = Counter()

    def run(self, trials: int) -> None:
        """So many trials."""
        for _ in range(trials):
            x = np.random.normal(size=(N, C, H, W)).astype(np.float32)
            mean = np.random.normal(size=C).astype(np.float32)
            var = np.abs(np.random.normal(1, 1, size=C)).astype(np.float32)
            gamma = np.random.normal(size=C).astype(np.float32)
            beta = np.random.normal(size=C).astype(np.float32)

            arguments = [tvm.runtime.tensor(array) for array in (x, mean, var, gamma, beta)]
            result = tvm.runtime.tensor(np.zeros((N, C, H, W), np.float32))
            self.batch_norm(*arguments, result)
            from_tvm = result.numpy()

            tx, tmean, tvar, tgamma, tbeta = (torch.Tensor(array) for array in (x, mean, var, gamma, beta))
            from_torch = F.batch_norm(tx, tmean, tvar, tgamma, tbeta, training=False, eps=EPS).numpy()

            first = RUNGS.stop
            for k in RUNGS:
                try:
                    np.testing.assert_allclose(from_torch, from_tvm, rtol=10**-k, atol=0)
                except AssertionError:
                    first = k
                    break
            self.failed[first] += 1
