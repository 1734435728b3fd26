"""Functions on NumPy arrays as text: the calls of NumPy and SciPy, or the user's own file, imported."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.backends.extraction import Extract, Unspellable, literal
from fuzz.backends.spelling import Spelling, Wanted

EXTENSION_MODULES = "ulpfuzz_extension_"
"""What the modules of files given with --extension are called (fuzz.extensions)."""
LOAD = """extension_file = importlib.util.spec_from_file_location("extension", EXTENSION)
extension = importlib.util.module_from_spec(extension_file)
extension_file.loader.exec_module(extension)"""


_GUARDED = """def guarded(shape, kind):
    \"\"\"An output buffer with MARGIN bytes of FILL on both sides, kept in GUARDED.\"\"\"
    whole = np.full(int(np.prod(shape)) * np.dtype(kind).itemsize + 2 * MARGIN, FILL, np.uint8)
    GUARDED.append(whole)
    return whole[MARGIN:-MARGIN].view(kind).reshape(shape)"""


def spelled(wanted: Wanted, library: str) -> Spelling:
    """The kernel that FunctionBackend.prepare would bind. `library` is the module the backend stands for."""
    function = wanted.implementation.function
    if not function.__module__.startswith("fuzz.backends."):
        return _of_user(wanted, function)
    found = wanted.extract()
    versions = (("NumPy", "np.__version__"),) if library == "numpy" else (("SciPy", "scipy.__version__"),)
    imports = found.imports if library == "numpy" else ("import scipy", *found.imports)
    threads = ("OPENBLAS_NUM_THREADS=1",) if wanted.one_thread else ()
    return Spelling(
        imports=imports,
        definitions=found.definitions,
        body=_body(wanted, found, _writes(function)),
        versions=versions,
        settings=", ".join(("defaults", "CPU", *threads)),
        requires=(library,),
    )


def _of_user(wanted: Wanted, function: Callable[..., Any]) -> Spelling:
    """A call of the function by its name in the user's module."""
    module = sys.modules.get(function.__module__)
    if module is None or getattr(module, function.__name__, None) is not function:
        raise Unspellable(f"{function.__name__!r} is no name in the module that registers it")
    keywords = [f"{key}={literal(value)}" for key, value in wanted.attributes.items()]
    writes = _writes(function)
    call = f"extension.{function.__name__}({', '.join([*wanted.inputs, *keywords, *(['out=out'] if writes else [])])})"
    found = Extract((), (), (call,) if writes else (), "" if writes else call)
    body = _body(wanted, found, writes)
    if wanted.guarded and not writes:
        raise Unspellable(f"{function.__name__!r} does not write into a buffer of its caller's")
    guards = ("MARGIN, FILL, GUARDED = 64, 0xA5, []", _GUARDED) if wanted.guarded else ()
    if not function.__module__.startswith(EXTENSION_MODULES):
        return Spelling(
            (f"import {function.__module__} as extension",), body, guards, settings="a kernel of the user's own"
        )
    path = Path(str(module.__file__)).resolve()
    settings = f"a kernel of the user's own ({path.name})"
    return Spelling(("import importlib.util",), body, (LOAD, *guards), settings=settings, extension=path)


def _writes(function: Callable[..., Any]) -> bool:
    return "out" in inspect.signature(function).parameters


def _body(wanted: Wanted, found: Extract, writes: bool) -> tuple[str, ...]:
    part = f"[{wanted.output}]" if wanted.several else ""
    if not writes:
        return (*found.statements, f"result = {found.result}", f"return np.asarray(result{part})")
    kind = f"np.{wanted.dtype}" if wanted.dtype != "bfloat16" else "ml_dtypes.bfloat16"
    form = "guarded({}, {})" if wanted.guarded else "np.full({}, np.nan, {})"
    buffers = [form.format(literal(shape), kind) for shape in wanted.outputs.values()]
    made = f"({', '.join(buffers)})" if wanted.several else buffers[0]
    return (f"out = {made}", *found.statements, f"return out{part}")
