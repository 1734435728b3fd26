"""One thread a library in every test process, set before anything imports NumPy."""

from fuzz.supervisor import limit_threads

limit_threads()
