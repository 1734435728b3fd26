"""One thread a library in every test process, set before anything imports NumPy."""

import os
import signal

from fuzz.workers.supervisor import limit_threads

limit_threads()
os.environ.setdefault("ULPFUZZ_SHRINK", "0s")  # only tests of shrinking wait for it
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
