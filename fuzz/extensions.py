"""Third parties' backends and operators: found by entry point, or in a Python file named on the command line."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from fuzz import backends, operators
from fuzz.backends.base import Backend, last_line
from fuzz.errors import UserError
from fuzz.operators.base import Operator

BACKEND_GROUP = "ulpfuzz.backends"
OPERATOR_GROUP = "ulpfuzz.operators"

_loaded: dict[str, list[str]] = {}
"""What each file or entry point registered: loading one again (a worker, a second flag) is a no-op."""
_files: dict[str, None] = {}
"""Paths of the extension files loaded in this process."""


def loaded_files() -> tuple[str, ...]:
    """Paths of the extension files loaded so far."""
    return tuple(_files)


def load_extension(path: Path) -> list[str]:
    """Import the file at `path`; the names of the backends and operators it registered.

    UserError, in one line, when there is no such file, it raises, or it registers nothing. What a failing file had
    registered before it failed is taken back.
    """
    resolved = path.resolve()
    if not resolved.is_file():
        raise UserError(f"extension {path} is not a file: name a Python file that registers a backend or an operator")
    name = f"ulpfuzz_extension_{hashlib.sha256(str(resolved).encode()).hexdigest()[:12]}"
    if name not in _loaded:
        with _registering(name) as added:
            _execute(path, resolved, name)
            if not added():
                raise UserError(
                    f"extension {path} registers nothing: end it with register(...) from fuzz.extend or fuzz.operators"
                )
            _loaded[name] = added()
            _files[str(resolved)] = None
    return list(_loaded[name])


def load_entry_points() -> list[str]:
    """Register the backends and operators of installed packages; their names. UserError names a broken package."""
    found: list[str] = []
    for group, kind, register in (
        (BACKEND_GROUP, Backend, backends.register),
        (OPERATOR_GROUP, Operator, operators.register),
    ):
        for entry in importlib.metadata.entry_points(group=group):
            key = f"{group}:{entry.name}"
            if key not in _loaded:
                with _registering(key):
                    _loaded[key] = _register_all(_load(entry), kind, register, f"entry point {entry.name!r} of {group}")
            found += _loaded[key]
    return found


def _execute(path: Path, resolved: Path, name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise UserError(f"extension {path} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with redirect_stdout(sys.stderr):  # what a file prints is no part of an answer
            spec.loader.exec_module(module)
    except UserError as error:
        raise UserError(f"extension {path}: {error}") from error
    except (Exception, SystemExit) as error:
        raise UserError(
            f"extension {path}{_where(error, resolved)}: {type(error).__name__}: {last_line(error)}"
        ) from error


def _where(error: BaseException, path: Path) -> str:
    """ " line 12" of `path`, where the error came through it."""
    if isinstance(error, SyntaxError):
        return f" line {error.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    return f" line {lines[-1]}" if lines else ""


def _load(entry: importlib.metadata.EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.value
        raise UserError(
            f"entry point {entry.name!r} ({package}) cannot be loaded: {type(error).__name__}: {last_line(error)}: "
            f"mend it or uninstall {package}"
        ) from error


def _register_all(value: Any, kind: type[Any], register: Any, where: str) -> list[str]:
    items = list(value) if isinstance(value, list | tuple) else [value]
    for item in items:
        if not isinstance(item, kind):
            raise UserError(f"{where} is a {type(item).__name__}: it must be a {kind.__name__} or a list of them")
        register(item)
    return [item.name for item in items]


@contextmanager
def _registering(module: str) -> Iterator[Any]:
    """Yields a function that lists what was added since; takes it all back when the block raises."""
    tables: tuple[dict[str, Any], ...] = (backends.BACKENDS, operators.OPERATORS)
    before = [set(table) for table in tables]

    def added() -> list[str]:
        return [name for table, old in zip(tables, before, strict=True) for name in table if name not in old]

    try:
        yield added
    except BaseException:
        for table, old in zip(tables, before, strict=True):
            for name in set(table) - old:
                del table[name]
        sys.modules.pop(module, None)
        raise
