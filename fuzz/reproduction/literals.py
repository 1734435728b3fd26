"""Arrays as text that reads as the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.backends.base import Array

LISTED = 64
"""Elements up to which an array is written as numbers."""
INLINE = 4096
"""Elements up to which an array is written into the script at all; larger ones lie beside it."""
_WIDTH = 100


def number(value: float, dtype: str) -> str:
    """The shortest decimal that reads as the same number of `dtype`; an exact hexadecimal where that is long."""
    if np.isnan(value):
        return "np.nan"
    if np.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    kind = np.dtype(dtype).type
    for shown in (_shortest(value, dtype), repr(float(value))):
        again = float(kind(float(shown)))
        if len(shown) <= 14 and again == value and np.signbit(again) == np.signbit(value):
            return shown
    return f'float.fromhex("{float(value).hex()}")'


def array(values: Array, dtype: str) -> str | None:
    """An expression for `values`, numbers of `dtype`; None where it is too large for a script."""
    kind = kind_text(dtype)
    flat = values.reshape(-1)
    shape = tuple(int(n) for n in values.shape)
    if flat.size > 1 and _bits_equal(flat):
        return f"np.full({shape}, {number(float(flat[0]), dtype)}, {kind})"
    if flat.size <= LISTED:
        return f"np.array({_nested(values, dtype)}, {kind})"
    if flat.size > INLINE:
        return None
    digits = np.ascontiguousarray(values).view(np.uint8).tobytes().hex()
    lines = [f'    "{digits[i : i + _WIDTH]}"' for i in range(0, len(digits), _WIDTH)]
    text = "\n".join(lines)
    return f"np.frombuffer(bytes.fromhex(\n{text}\n), {kind}).reshape({shape}).copy()"


def kind_text(dtype: str) -> str:
    """The dtype as an expression."""
    return "ml_dtypes.bfloat16" if dtype == "bfloat16" else f"np.{dtype}"


def quoted(path: Path) -> str:
    """A path as a Python string."""
    return repr(str(path))


def _shortest(value: float, dtype: str) -> str:
    text = str(np.dtype(dtype).type(value))
    return text if "." in text or "e" in text else f"{text}.0"  # bfloat16 prints -0.0 as -0, which is an integer


def _bits_equal(flat: Array) -> bool:
    raw = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
    return bool((raw == raw[0]).all())


def _nested(values: Array, dtype: str) -> str:
    if values.ndim == 0:
        return number(float(values), dtype)
    return f"[{', '.join(_nested(part, dtype) for part in values)}]"
