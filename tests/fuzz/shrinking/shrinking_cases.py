"""A campaign on faulty kernels, small enough to be shrunk in a second each."""

from __future__ import annotations

EXTENSION = """
import ctypes
import os

import numpy as np
from fuzz.extend import FunctionBackend, register

mine = FunctionBackend("mine")
DIE_AFTER = int(os.environ.get("DIE_AFTER", "0"))
calls = 0


@mine.operator("softplus")
def naive(x):
    global calls
    calls += 1
    if calls == DIE_AFTER:
        os.kill(os.getpid(), 9)
    return np.log(1 + np.exp(x))


@mine.operator("matmul")
def loses_a_term(a, b):
    return a[:, : a.shape[1] // 4 * 4] @ b[: a.shape[1] // 4 * 4]


@mine.operator("sum")
def dies(x, *, axis):
    if x.size >= 3:
        ctypes.string_at(8)
    return np.sum(x, axis=axis)


@mine.operator("cos")
def changes_input(x):
    y = np.cos(x)
    ctypes.memset(x.ctypes.data, 0, 4)
    return y


register(mine)
"""

CAMPAIGN = """
trials = 2
seed = 1
targets = ["mine"]
extensions = ["mine.py"]
fail_on = "none"

[[problem]]
operator = "softplus"
dims = {n=32}
inputs = {x="uniform(-30,-12)"}
[[problem]]
operator = "matmul"
dims = {M=3,K=7,N=2}
[[problem]]
operator = "sum"
dims = {rows=2,n=8}
[[problem]]
operator = "cos"
dims = {n=16}
inputs = {x="uniform(1,2)"}
"""
