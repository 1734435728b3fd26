"""How often, while the campaign is still running: intervals and decisions that stay valid however often one looks.

An interval for a fixed number of trials is wrong for a campaign that somebody watches: the 95 % interval of Clopper and
Pearson, looked at 200 times on the way to 10,000 trials, misses the rate at one of the looks in 16-39 % of campaigns.
Here is what may be looked at after every trial, stopped on, and extended. Pure functions, valid for independent trials:
fed with several trials of each randomly drawn problem they cover far less (0.36 in place of 0.95).

How: the likelihood of the trials, averaged over rates p' by a prior fixed beforehand, divided by their likelihood under
one rate p. For a beta prior,

    log M(p) = log B(a+k, b+n-k) - log B(a, b) - k log p - (n-k) log(1-p).

Under the rate p, M is a nonnegative martingale that starts at 1: it ever reaches 1/alpha with probability at most alpha
(Ville 1939). The rates at which it has not are a confidence sequence (Robbins, Ann. Math. Stat. 41 (1970) 1397-1409,
the method of mixtures; Howard, Ramdas, McAuliffe and Sekhon, Ann. Stat. 49 (2021) 1055-1080). log M is convex in p with
its minimum at k/n, so they are an interval. benchmarks/sequential.py prints how it performs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from results.statistics.arguments import error_probability
from results.statistics.proportions import Interval
from results.statistics.samples import Floats

Decision: TypeAlias = Literal["above", "below", "undecided"]
Side: TypeAlias = Literal["either", "above", "below"]
Numbers: TypeAlias = Any
"""A number or an array of numbers."""

PRIORS: tuple[tuple[float, float], ...] = ((1.0, 100.0), (0.5, 0.5))
"""Beta priors, averaged. The first makes intervals of rates about 1e-2 narrow, the second those of all others; having
both costs at most log 2 of evidence, some ten per cent of the width."""

_HALVINGS = 64
"""Of a bracket inside [0, 1]: below the spacing of float64 next to 1."""
_MOST_TRIALS = 1e15


@lru_cache(maxsize=4096)
def confidence_sequence(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Interval for the rate behind k events in n independent trials, to be looked at after every trial.

    With probability `confidence` it holds the true rate at all looks together, so one may stop, or go on, for any
    reason. It is 1.2 to 2.6 times as wide as that of `proportions.rate_interval`, which is for a number of trials
    that was fixed beforehand. ValueError unless 0 <= k <= n and n > 0.
    """
    if n == 0:
        raise ValueError(f"{k} events in 0 trials: an interval needs at least one trial")
    low, high = confidence_limits(k, n, confidence)
    return Interval(k, n, k / n, float(low), float(high), confidence)


def confidence_limits(k: Numbers, n: Numbers, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Lower and upper ends of `confidence_sequence` for arrays of counts; 0 and 1 where n is 0."""
    events, trials = _counts(k, n)
    averaged = _averaged(events, trials) + math.log(error_probability(confidence))
    rate = np.divide(events, trials, out=np.full(trials.shape, 0.5), where=trials > 0)
    inside = np.stack([rate, rate])
    outside = np.stack([np.zeros_like(rate), np.ones_like(rate)])
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        refuted = averaged > _log_likelihood(events, trials, middle)
        outside, inside = np.where(refuted, middle, outside), np.where(refuted, inside, middle)
    return np.where(events == 0, 0.0, outside[0]), np.where(events == trials, 1.0, outside[1])


def log_evidence(k: Numbers, n: Numbers, rate: Numbers) -> Floats:
    """log M: evidence of k events in n trials against `rate`. The interval holds the rates where it is <= log(1/alpha).

    `rate` may be an array too; the three broadcast.
    """
    events, trials = _counts(k, n)
    return np.asarray(_averaged(events, trials) - _log_likelihood(events, trials, rate))


def decide(k: int, n: int, threshold: float, confidence: float = 0.95, side: Side = "either") -> Decision:
    """Whether the rate is above or below `threshold`, after k events in n independent trials, at any stopping time.

    With `side="either"` the probability of ever deciding wrongly is at most 1 - confidence, whatever the rate; at the
    threshold itself both answers count as wrong. "above" asks for one answer only, at the same total error: it finds an
    excess with a sixth fewer trials and never says "below"; "below" is its mirror image.

    ValueError unless 0 <= k <= n and 0 < threshold < 1. Without trials the answer is "undecided".
    """
    sign = int(decisions(k, n, threshold, confidence, side))
    return "above" if sign > 0 else "below" if sign < 0 else "undecided"


def decisions(
    k: Numbers, n: Numbers, threshold: float, confidence: float = 0.95, side: Side = "either"
) -> npt.NDArray[np.int8]:
    """`decide` for arrays of counts: 1 above, -1 below, 0 undecided."""
    events, trials = _counts(k, n)
    level = _level(confidence, side)
    answer = np.zeros(trials.shape, np.int8)
    if side != "below":
        answer[_one_sided(events, trials, _checked(threshold), above=True) >= level] = 1
    if side != "above":
        answer[_one_sided(events, trials, _checked(threshold), above=False) >= level] = -1
    return answer


def trials_to_decide(rate: float, threshold: float, confidence: float = 0.95, side: Side = "either") -> float:
    """About how many trials `decide` takes when the true rate is `rate`; more than half of all campaigns need fewer.

    The number after which the evidence reaches its level when events come exactly at the expected pace. Simulated
    means lie within 20 % of it (benchmarks/sequential.py). Infinite where `side` cannot be decided at this rate.
    """
    from scipy.optimize import brentq

    if not 0 <= rate <= 1:
        raise ValueError(f"the rate is {rate!r}: give a number from 0 to 1")
    level = _level(confidence, side)
    above = rate > _checked(threshold)
    if rate == threshold or side == ("below" if above else "above"):
        return math.inf

    def lacking(log_n: float) -> float:
        n = math.exp(log_n)
        return float(_one_sided(np.float64(rate * n), np.float64(n), threshold, above=above)) - level

    most = math.log(_MOST_TRIALS)
    return math.ceil(math.exp(brentq(lacking, 0.0, most))) if lacking(0.0) < 0 < lacking(most) else math.inf


def _one_sided(k: Numbers, n: Numbers, threshold: float, *, above: bool) -> Floats:
    """Log evidence for a rate on one side of the threshold, against every rate on the other.

    The mixture takes in the rates of one side only. Its ratio to the likelihood at the threshold is a supermartingale
    under any rate of the other side too: the likelihood ratio of p' > t to t grows with the frequency of events.
    The prior is exponential-like with its mean at the threshold, counted from the nearer of 0 and 1.
    """
    from scipy.special import betainc, betaincc, betaln

    a, b = (1.0, 1 / threshold - 1) if threshold <= 0.5 else (1 / (1 - threshold) - 1, 1.0)
    share = betaincc if above else betainc
    with np.errstate(divide="ignore"):
        posterior = betaln(a + k, b + n - k) + np.log(share(a + k, b + n - k, threshold))
    prior = betaln(a, b) + math.log(share(a, b, threshold))
    return np.asarray(posterior - prior - _log_likelihood(k, n, threshold))


def _averaged(k: Floats, n: Floats) -> Floats:
    """Log likelihood of the trials, averaged over the priors."""
    from scipy.special import betaln

    mixtures = [betaln(a + k, b + n - k) - betaln(a, b) for a, b in PRIORS]
    averaged: Floats = np.logaddexp.reduce(mixtures) - math.log(len(PRIORS))
    return averaged


def _log_likelihood(k: Numbers, n: Numbers, rate: Numbers) -> Floats:
    from scipy.special import xlog1py, xlogy

    return np.asarray(xlogy(k, rate) + xlog1py(n - k, -np.asarray(rate, np.float64)))


def _counts(k: Numbers, n: Numbers) -> tuple[Floats, Floats]:
    events, trials = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    wrong = ~((events >= 0) & (events <= trials) & np.isfinite(trials))
    if wrong.any():
        one = tuple(np.argwhere(wrong)[0])
        raise ValueError(f"{events[one]:g} events in {trials[one]:g} trials: needs 0 <= events <= trials")
    return events, trials


def _level(confidence: float, side: Side) -> float:
    """Evidence that decides: two answers share the error."""
    if side not in ("either", "above", "below"):
        raise ValueError(f"side is {side!r}: write 'either', 'above' or 'below'")
    return math.log((2 if side == "either" else 1) / error_probability(confidence))


def _checked(threshold: float) -> float:
    if not 0 < threshold < 1:
        raise ValueError(
            f"the threshold is {threshold!r}: give a rate between 0 and 1, e.g. 0.0076 (one event refutes 0 at once)"
        )
    return threshold
