"""Errors a user can mend. Each is one line that says what, where, which value and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

FOUND = 1
"""Exit code where an implementation is to blame."""


class UserError(Exception):
    """Bad input. The command line prints the message and ends with `exit_code`."""

    exit_code = 2


class TextError(UserError):
    """A mistake in a text. The message has more lines: the text, and a caret under the mistake."""


class StorageError(UserError):
    """The campaign directory cannot be read or written."""

    exit_code = 3


class InternalError(Exception):
    """The engine itself failed. The command line prints the message, which says where the details are."""

    exit_code = 70


class Interrupted(Exception):
    """The user ended the run. The message says how to go on."""

    exit_code = 130


def unknown(kind: str, name: str, known: Iterable[str], *, listed_by: str = "") -> UserError:
    """An error for a name that does not exist, with the nearest one that does.

    Where none is near: all of them, or the command that lists them (`listed_by`) where they are too many for a line.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    every = f"`{listed_by}` shows those there are" if listed_by else f"known: {', '.join(names)}"
    suggestion = f"did you mean {near[0]!r}?" if near else every
    return UserError(f"unknown {kind} {name!r}: {suggestion}")
