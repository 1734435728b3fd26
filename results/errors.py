"""Errors of reading, storing and counting. Each is one line: what, where, which value, how to mend it."""

from __future__ import annotations


class ResultsError(Exception):
    """Base of the errors below. The command line prints the message and ends with `exit_code`."""

    exit_code = 2


class StoreError(ResultsError):
    """A campaign directory cannot be read or written, or a file in it is damaged."""

    exit_code = 3


class DamagedFile(StoreError):
    """A file that is not as it was written, or is missing; `ulpfuzz resume` computes its trials again."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}{remedy}")
        self.what = what


class QueryError(ResultsError):
    """A SQL query that DuckDB refuses: a mistake in it, or an attempt to leave the campaign."""


class NotPermitted(ResultsError):
    """A question that the campaign's plan, or the quantity, cannot answer; the message gives the reason."""


class InvalidRate(NotPermitted):
    """A rate that the campaign's plan cannot support; the message gives the reason."""


class RefusedQuantity(NotPermitted, ValueError):
    """Numbers for which a statistic would be meaningless; the message gives the reason and what to use."""


class KnownError(ResultsError):
    """A file of known findings that cannot be read or says something impossible; the message names the entry."""


class FailOnError(ResultsError):
    """A rule of --fail-on that cannot be read, or that the campaign's plan cannot support."""
