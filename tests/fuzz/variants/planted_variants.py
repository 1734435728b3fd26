"""Kernels with one fault each that only another way of calling shows; beside them a healthy one. An extension file."""

import numpy as np

from fuzz.extend import FunctionBackend, register

PLANTED = FunctionBackend("planted", "faults that only variants show")
THRESHOLD = 32
"""Rows from which on one kernel computes in float16."""
ONE_IN = 500
"""Calls of which one is off."""
_calls = 0


@PLANTED.operator("matmul", name="healthy")
def healthy(a, b):
    return np.matmul(a, b)


@PLANTED.operator("matmul", name="half")
def half_precision_for_large_batches(a, b):
    if len(a) < THRESHOLD:
        return np.matmul(a, b)
    return np.matmul(a.astype(np.float16), b.astype(np.float16)).astype(a.dtype)


@PLANTED.operator("matmul", name="half_alone")
def half_precision_for_single_rows(a, b):
    if len(a) > 1:
        return np.matmul(a, b)
    return np.matmul(a.astype(np.float16), b.astype(np.float16)).astype(a.dtype)


@PLANTED.operator("matmul", name="contiguous")
def reads_memory_as_if_it_had_no_gaps(a, b):
    return np.matmul(_flat(a), _flat(b))


@PLANTED.operator("matmul", name="refuses")
def refuses_strides(a, b):
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        raise ValueError("ndarray is not C-contiguous")
    return np.matmul(a, b)


@PLANTED.operator("matmul", name="sometimes")
def is_off_once_in_a_while(a, b):
    global _calls
    _calls += 1
    result = np.matmul(a, b)
    if _calls % ONE_IN == 0:
        result[0, 0] += 0.01 * np.abs(result).max()
    return result


@PLANTED.operator("matmul", name="position")
def tail_in_half_precision(a, b):
    whole = len(a) // 8 * 8
    result = np.matmul(a, b)
    result[whole:] = np.matmul(a[whole:].astype(np.float16), b.astype(np.float16))
    return result


@PLANTED.operator("matmul", name="crashes")
def crashes_on_single_rows(a, b):
    if len(a) == 1:
        import os

        os.abort()
    return np.matmul(a, b)


@PLANTED.operator("sum", name="one_pass")
def sum_that_cancels(x, axis):
    """Unstable: any other order of additions shows."""
    big = x.dtype.type(1e6)
    return (np.sum(x + big, axis=axis) - big * x.dtype.type(x.shape[axis])).astype(x.dtype)


def _flat(array):
    """The numbers behind the address of the first one, whatever the strides say."""
    if array.flags.c_contiguous:
        return array
    whole = np.lib.stride_tricks.as_strided(array, (array.size,), (array.itemsize,))
    return whole.reshape(array.shape)


register(PLANTED)
