"""Where a function comes from, so that a worker has it too: a name to import, or its value for the time of a check.

Values travel as cloudpickle bytes in a folder that only this user can enter and that ends with the check. Campaigns
hold none of them: nothing is ever unpickled from a campaign.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import io
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from fuzz.checking.callables import require_callable
from fuzz.errors import UserError

Function = Callable[..., Any]
_STAYS = ("tvm", "tvm_ffi")
"""Whose objects are not pickled: TVM writes its own JSON of them, and ends the process at some."""


class Source(Struct, frozen=True):
    """A name in a module (found by import, or in a file), or a file with its value."""

    module: str = ""
    qualname: str = ""
    file: str = ""
    """Of the module, where it is named by its file."""
    folder: str = ""
    """That has to be on sys.path for the import."""
    value: str = ""
    digest: str = ""

    @property
    def text(self) -> str:
        """For a reader."""
        if self.value:
            return "a function of the session that checked it"
        return f"{self.file or self.module}:{self.qualname}"


def of_text(text: str) -> Source:
    """What `module:name` or `file.py:name` spells; nothing is imported. UserError where it is neither."""
    place, colon, qualname = text.rpartition(":")
    if not colon or not place or not qualname:
        raise UserError(f"cannot read function {text!r}: write module:function or file.py:function")
    if place.endswith(".py"):
        return Source(qualname=qualname, file=str(Path(place).resolve()))
    return Source(place, qualname, folder=str(Path.cwd()))


def of_function(function: Function) -> Source | None:
    """A source by name, where importing gives the very same object; None elsewhere."""
    if isinstance(function, functools.partial):
        return None
    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    qualname = qualname or getattr(function, "__name__", None)
    if not module or not qualname or module == "__main__" or "<" in qualname:
        return None
    there = sys.modules.get(module)
    if there is None or getattr(there, "__spec__", None) is None:
        return None
    found: Any = there
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if found is not function:
        return None
    return Source(module, qualname)


def by_value(function: Function, name: str, folder: Path) -> Source:
    """Write the function's value into `folder`. Raises whatever pickling raises."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no annotations
        def reducer_override(self, found: Any) -> Any:
            if type(found).__module__.partition(".")[0] in _STAYS:
                raise pickle.PicklingError(f"a {type(found).__name__} of TVM stays in its process")
            return super().reducer_override(found)

    buffer = io.BytesIO()
    Pickler(buffer).dump(function)
    content = buffer.getvalue()
    path = folder / f"{name}.bin"
    path.write_bytes(content)
    return Source(value=str(path), digest=hashlib.sha256(content).hexdigest())


def restored(source: Source) -> Function:
    """The function. UserError, in one line, where it cannot be had any more."""
    if source.value:
        return _by_value(source)
    if source.folder and source.folder not in sys.path:
        sys.path.insert(0, source.folder)
    where = source.file or source.module
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what a module prints is no part of an answer
            module = _module_of_file(source.file) if source.file else importlib.import_module(source.module)
    except ModuleNotFoundError as error:
        if error.name and (source.module == error.name or source.module.startswith(f"{error.name}.")):
            raise UserError(
                f"there is no module {error.name}: start ulpfuzz where it can be imported, or write file.py:function"
            ) from None
        raise UserError(f"{where} cannot be imported: there is no module {error.name}") from None
    except (Exception, SystemExit) as error:  # whatever the user's file raises
        raise UserError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    found: Any = module
    for part in source.qualname.split("."):
        if not hasattr(found, part):
            raise UserError(f"{where} has no {source.qualname!r}")
        found = getattr(found, part)
    if not callable(found):
        raise UserError(f"{source.qualname!r} of {where} is of type {type(found).__name__}: name a function")
    require_callable(found)
    return found  # type: ignore[no-any-return]  # callable, as looked at


def _by_value(source: Source) -> Function:
    import cloudpickle

    path = Path(source.value)
    if not path.is_file():
        raise UserError(
            "this function belonged to a session that has ended: call fuzz.check again, or put it into a module"
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != source.digest:
        raise UserError(f"{path} is not what the check wrote there: call fuzz.check again")
    with _wide_jax(content):
        function: Function = cloudpickle.loads(content)
    return function


def _wide_jax(content: bytes) -> contextlib.AbstractContextManager[Any]:
    """In which the float64 arrays of JAX that a function holds stay what they are."""
    if b"jax" not in content:
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True)  # type: ignore[no-any-return]


def _module_of_file(file: str) -> Any:
    path = Path(file)
    if not path.is_file():
        raise UserError(f"there is no file {file}")
    name = f"ulpfuzz_checked_{hashlib.sha256(file.encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
