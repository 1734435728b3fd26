"""What may have changed from one campaign to another. One change is one test of the family."""

from __future__ import annotations

from msgspec import Struct

from results.statistics.proportions import SIGNIFICANCE, Interval


class Change(Struct, frozen=True, kw_only=True):
    """One quantity on both sides, and whether it differs."""

    test: str = ""
    """Name of the test; empty where none was made."""
    why: str = ""
    """Why none was made."""
    p: float | None = None
    adjusted: float | None = None
    """p adjusted for all tests of the comparison."""
    worse: bool = False
    """Of the observed values: larger on the second side."""

    @property
    def differs(self) -> bool:
        """Whether the difference holds after adjusting for all tests."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE


class RateChange(Change, frozen=True, kw_only=True):
    """How often an event happens."""

    event: str
    first_k: int
    first_n: int
    second_k: int
    second_n: int
    first: Interval | None = None
    """None where the plan allows no rate, or there is no trial."""
    second: Interval | None = None
    only_first: int | None = None
    """Of shared trials, those in which it happens on this side only; None for two samples."""
    only_second: int | None = None
    ratio: float | None = None
    """Rate of the second over that of the first; None where that is 0."""
    ratio_low: float | None = None
    """95 % interval of two samples; None in pairs and cells."""
    ratio_high: float | None = None
    detectable: float | None = None
    """Smallest larger rate of the second side that would have been called different with probability 0.8."""


class Errors(Struct, frozen=True):
    """The distribution of rho over trials."""

    trials: int
    median: float | None
    tail: float | None
    """99th percentile."""
    largest: float | None
    unknown: int
    """Trials without a finite rho, which are not counted."""


class RhoChange(Change, frozen=True, kw_only=True):
    """How large the errors are."""

    first: Errors
    second: Errors
    superiority: float | None = None
    """Two samples: probability that a trial of the second has the larger rho; 0.5 for no difference."""
    changed: int | None = None
    """Pairs: trials (cells: problems) whose rho differs."""
    rose: int | None = None
    """Of these, those in which it is larger on the second side."""
