"""When a campaign ends: after a number of trials, after a time, once a rate is decided, or when it is asked to stop."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from fuzz.campaigns import duration
from fuzz.campaigns.request import CampaignSpec
from fuzz.errors import UserError
from strategies.standard import TRIALS as TRIALS_OF_SET

TRIALS = 1000
"""Where the request names no end."""
DECIDED = "decided"
OVER = "are over"
"""End of the reason why a run stopped, where its time did it."""
MOST_UNDECIDED = 1_000_000
"""Trials a problem after which a campaign that waits for a decision gives up: a rate may lie at its threshold."""


class Ends(Struct, frozen=True):
    """What a request says about the end. None: no such end."""

    trials: int | None
    seconds: float | None
    threshold: float | None


def ends(spec: CampaignSpec) -> Ends:
    """The end that `spec` asks for. UserError where it cannot be read or has nothing to decide."""
    if spec.trials is not None and spec.trials < 1:
        raise UserError(f"trials is {spec.trials}: use a number >= 1")
    seconds = None if spec.time is None else duration.seconds(spec.time)
    threshold = None if spec.until is None else _threshold(spec)
    if spec.trials is not None:
        trials: int | None = spec.trials
    elif threshold is not None:
        trials = None if seconds is not None else MOST_UNDECIDED
    else:
        usual = TRIALS if spec.recipes is None else TRIALS_OF_SET
        trials = None if seconds is not None else usual
    return Ends(trials, seconds, threshold)


def _threshold(spec: CampaignSpec) -> float:
    from results.fail_on import failing_rate

    if spec.until != DECIDED:
        raise UserError(f"cannot read until = {spec.until!r}: write {DECIDED}")
    rate = failing_rate(spec.fail_on) if spec.fail_on is not None else None
    if spec.published is not None:
        if rate is not None:
            raise UserError(f"two rates to decide against, {spec.published.rate} and {spec.fail_on}: leave out one")
        events, _, trials = spec.published.rate.partition("/")
        rate = int(events) / int(trials)
    if rate is not None and not 0 < rate < 1:
        raise UserError(f"cannot decide against a rate of {rate:g}: name one between 0 and 1, e.g. rate>0.01")
    if rate is None:
        raise UserError(
            "until decided needs a rate to decide against: add --published 38/5000, or --fail-on 'rate>0.01' "
            "for the rate of flagged trials"
        )
    return rate


class Clock:
    """Time that a campaign has run, over all its runs. That which workers of this run take to start does not count:
    however short the time, each run that has some left gets somewhere."""

    def __init__(self, before: float = 0.0) -> None:
        self._before = before
        self._started: float | None = None

    def begin(self) -> None:
        """The first trial of this run is done."""
        if self._started is None:
            self._started = time.monotonic()

    def seconds(self) -> float:
        return self._before + self.running()

    def running(self) -> float:
        """Time since the first trial of this run."""
        return 0.0 if self._started is None else time.monotonic() - self._started


class Stop:
    """Asked by the engine between trials whether to stop; remembers why."""

    def __init__(self, clock: Clock, seconds: float | None, decided: Callable[[], bool]) -> None:
        self._clock, self._limit, self._decided = clock, seconds, decided
        self.interrupted = ""
        """What interrupted the run; a signal handler sets it."""
        self.reason = ""

    def __call__(self) -> bool:
        if not self.reason:
            if self.interrupted:
                self.reason = self.interrupted
            elif self._limit is not None and self._clock.seconds() >= self._limit:
                self.reason = f"{duration.text(self._limit)} {OVER}"
            elif self._decided():
                self.reason = DECIDED
        return bool(self.reason)
