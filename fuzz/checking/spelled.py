"""A function under check as text for a stand-alone script: its user's module, the library, NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fuzz.backends.extraction import Unspellable
from fuzz.backends.functions_spelling import LOAD
from fuzz.backends.spelling import Spelling, Wanted

if TYPE_CHECKING:
    from fuzz.checking.made import Subject


class Form(Struct, frozen=True):
    """How a library's arrays are written. `sent` and `returned` are patterns of an expression."""

    imports: tuple[str, ...]
    sent: str
    returned: str
    version: tuple[str, str]
    wide: tuple[str, ...] = ()
    """Statements that float64 needs."""


FORMS: Mapping[str, Form] = {
    "numpy": Form((), "{}", "np.asarray({})", ("NumPy", "np.__version__")),
    "torch": Form(
        ("import torch",), "torch.from_numpy({})", "{}.detach().cpu().numpy()", ("torch", "torch.__version__")
    ),
    "jax": Form(
        ("import jax", "import jax.numpy as jnp"),
        "jnp.asarray({})",
        "np.asarray({})",
        ("jax", "jax.__version__"),
        ('jax.config.update("jax_enable_x64", True)',),
    ),
}
_FOLDER = "sys.path.insert(0, os.path.dirname(EXTENSION))"


def spelled(wanted: Wanted, subject: Subject, named: tuple[str, ...]) -> Spelling:
    """A call of the function by its name. `named` are the outputs where it returns a dict.

    Unspellable for functions without a name, gradients, 16-bit formats, and libraries whose arrays NumPy cannot take.
    """
    source = subject.source
    if source.value or wanted.implementation.derivative is not None:
        raise Unspellable(f"{subject.name} has no name that a script could import" if source.value else "a gradient")
    if subject.library not in FORMS or wanted.dtype == "bfloat16" or wanted.guarded:
        raise Unspellable(f"functions of {subject.library} in {wanted.dtype}")
    form, file = FORMS[subject.library], _file(source.file, source.folder, source.module)
    arguments = [f"{name}={name}" if subject.by_name else name for name in wanted.inputs]
    part = f"[{named[wanted.output]!r}]" if named else f"[{wanted.output}]" if wanted.several else ""
    call = f"extension.{source.qualname}({', '.join(arguments)}){part}"
    sent = [f"{name} = {form.sent.format(name)}" for name in wanted.inputs] if form.sent != "{}" else []
    load = ("import os", "import importlib.util") if file else (f"import {source.module} as extension",)
    return Spelling(
        imports=(*form.imports, *load),
        definitions=(*(form.wide if wanted.dtype == "float64" else ()), *((_FOLDER, LOAD) if file else ())),
        body=(*sent, f"result = {call}", f"return {form.returned.format('result')}"),
        versions=(form.version,),
        settings="a function of the user's own",
        extension=file,
        requires=(subject.library,),
    )


def _file(file: str, folder: str, module: str) -> Path | None:
    """The file of the function, where it is one of the user's and no installed module."""
    path = Path(file) if file else Path(folder or "/nonexistent", *module.split(".")).with_suffix(".py")
    return path if path.is_file() else None
