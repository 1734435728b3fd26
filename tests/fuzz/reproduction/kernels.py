"""Kernels with planted faults as an extension: plain functions that a script can import."""

from __future__ import annotations

EXTENSION = '''
"""Faulty kernels. MENDED = True mends them all."""
import ctypes
import os

import numpy as np
from fuzz.extend import FunctionBackend, register

MENDED = False
mine = FunctionBackend("mine")
every = ("bfloat16", "float16", "float32", "float64")


def wide(function, x):
    return function(x.astype(np.float64)).astype(x.dtype)


@mine.operator("softplus", dtypes=every)
def naive(x):
    one = x.dtype.type(1)
    return wide(lambda v: np.logaddexp(v, 0), x) if MENDED else np.log(one + np.exp(x))


@mine.operator("exp", dtypes=every)
def constant(x):
    return wide(np.exp, x) if MENDED else wide(lambda v: 1.05 * np.exp(v), x)


@mine.operator("tanh")
def another_dtype(x):
    return np.tanh(x).astype(x.dtype if MENDED else np.float16)


@mine.operator("sum")
def dies(x, *, axis):
    if not MENDED:
        ctypes.string_at(8)
    return np.sum(x, axis=axis)


@mine.operator("mean")
def refuses(x, *, axis):
    if not MENDED:
        raise RuntimeError("first line\\nplanted trouble")
    return np.mean(x, axis=axis)


@mine.operator("sqrt")
def writes_behind(x, *, out):
    np.sqrt(x, out=out)
    if not MENDED:
        ctypes.memset(out.ctypes.data + out.nbytes, 0x11, 4)


@mine.operator("cos")
def changes_input(x):
    y = np.cos(x)
    if not MENDED:
        ctypes.memset(x.ctypes.data, 0, 4)
    return y


@mine.operator("erf")
def above_one(x):
    from scipy.special import erf
    return erf(x) if MENDED else np.minimum(erf(x) * x.dtype.type(1 + 2e-7), x.dtype.type(1.0000001))


@mine.operator("add")
def vector_body(x, y):
    z = x + y
    if not MENDED and z.size >= 16:
        z[: z.size // 8 * 8] += np.spacing(z[: z.size // 8 * 8])
    return z


@mine.operator("log")
def loses_nan(x):
    y = np.log(x)
    return y if MENDED else np.nan_to_num(y, nan=1.5)


@mine.operator("expm1")
def of_a_closure(x):
    return closed(x)


def planted(factor):
    def kernel(x):
        return np.sinh(x) if MENDED else np.sinh(x) * x.dtype.type(factor)
    return kernel


@mine.operator("prod")
def another_shape(x, *, axis):
    y = np.prod(x, axis=axis)
    return y if MENDED else y[:1]


@mine.operator("cosh")
def long_arrays_only(x):
    y = np.cosh(x)
    if not MENDED and x.size > 5000 and x[0] != x[1]:
        y[-1] *= x.dtype.type(1.5)
    return y


closed = np.expm1
mine.operator("sinh")(planted(1.01))
register(mine)
'''

CAMPAIGN = """
trials = 3
seed = 1
targets = ["mine"]
extensions = ["my kernel.py"]
fail_on = "none"

[[problem]]
operator = "softplus"
dims = {n=32}
inputs = {x="uniform(-30,-12)"}
[[problem]]
operator = "exp"
dims = {n=32}
[[problem]]
operator = "tanh"
dims = {n=16}
[[problem]]
operator = "sum"
dims = {rows=2,n=8}
[[problem]]
operator = "mean"
dims = {rows=2,n=8}
[[problem]]
operator = "sqrt"
dims = {n=16}
inputs = {x="uniform(1,2)"}
[[problem]]
operator = "cos"
dims = {n=16}
[[problem]]
operator = "erf"
dims = {n=16}
inputs = {x="uniform(4,5)"}
[[problem]]
operator = "add"
dims = {n=20}
[[problem]]
operator = "log"
dims = {n=16}
inputs = {x="constant(nan)"}
[[problem]]
operator = "prod"
dims = {rows=2,n=8}
[[problem]]
operator = "cosh"
dims = {n=6000}
[[problem]]
operator = "sinh"
dims = {n=16}
"""
