"""One thread a library in every test process, set before anything imports NumPy; signals as a test found them."""

import signal
from collections.abc import Iterator

import pytest

from fuzz.supervisor import limit_threads

limit_threads()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background


@pytest.fixture(autouse=True)
def signals_are_restored() -> Iterator[None]:
    """What runs in this process may do as a worker does, and ignore Ctrl-C; children would inherit that."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) != handler:
            signal.signal(number, handler)
