"""Preparing a check in a process of its own: what hangs or crashes there, ends nothing but that process."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from fuzz.backends.base import Array, last_line
from fuzz.checking.preparing import Prepared, prepare
from fuzz.checking.sources import Source, restored
from fuzz.errors import InternalError, UserError
from fuzz.workers.child import Child

START_SECONDS = 180.0
"""For the libraries, and whatever the user's modules do on import."""
_AT, _DONE, _ERROR = "at", "done", "error"


def probed(
    functions: Sequence[tuple[str, Source]],
    truth: tuple[str, Source] | None,
    inputs: Mapping[str, Array],
    seconds: float,
) -> Prepared:
    """`prepare` in a fresh process. UserError where a function does not return within `seconds`, or ends it."""
    doing, limit = "importing the functions", START_SECONDS
    with Child(_main, tuple(functions), truth, dict(inputs)) as child:
        while True:
            try:
                kind, content = child.receive(limit)
            except TimeoutError:
                raise UserError(
                    f"{doing} did not end within {limit:g} s: call_timeout= (--call-timeout) allows more"
                ) from None
            except EOFError:
                raise UserError(f"{doing} ended the process with {child.cause()}") from None
            if kind == _DONE:
                assert isinstance(content, Prepared)
                return content
            if kind == _ERROR:
                raise (UserError if content[1] else InternalError)(content[0])
            doing, limit = str(content), seconds


def _main(
    connection: Connection,
    functions: tuple[tuple[str, Source], ...],
    truth: tuple[str, Source] | None,
    inputs: dict[str, Array],
) -> None:
    """Entry point of the process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are expected
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    for stream in (1, 2):  # what the functions print
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    try:
        every = [(name, restored(source)) for name, source in functions]
        reference = None if truth is None else (truth[0], restored(truth[1]))
        answer: tuple[str, Any] = (_DONE, prepare(every, reference, inputs, lambda what: connection.send((_AT, what))))
    except UserError as error:
        answer = (_ERROR, (str(error), True))
    except (KeyboardInterrupt, GeneratorExit) as error:  # a user's code, too, may raise them
        answer = (_ERROR, (f"a function ended with {type(error).__name__}", True))
    except BaseException as error:  # noqa: BLE001  # whatever it is, the parent must hear of it
        answer = (_ERROR, (f"the check could not be prepared: {type(error).__name__}: {last_line(error)}", False))
    connection.send(answer)
    os._exit(0)
