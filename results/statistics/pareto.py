"""The generalised Pareto law of excesses: maximum likelihood and the profile likelihood interval of a return level.

    P(excess > y) = (1 + xi y/sigma)^(-1/xi)

With t = xi/sigma the mean negative log likelihood of n excesses is

    log sigma + S(t) + S(t)/(t sigma),   S(t) = mean log(1 + t y),

so that the data enter through the one function S (Grimshaw, Technometrics 35 (1993) 185-191). At fixed t the best sigma
is A = S/t, and with w = A/sigma it is log A + S + w - log w. The values of w within any level of likelihood are
therefore known in closed form (Lambert's W), and so is the set of (t, sigma) that the likelihood ratio does not refute.
The return level exceeded with probability r,

    z = ((1/r)^xi - 1) sigma/xi = sigma L exprel(t sigma L),   L = log(1/r),

rises with sigma at fixed t: the ends of its profile likelihood interval are the largest z along one edge of that set
and the smallest along the other, two searches in one variable in place of an optimisation for every z.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from scipy.special import chdtri, exprel, lambertw

from results.statistics.arguments import check_rate, error_probability
from results.statistics.samples import Floats

LEAST_EXCESSES = 50
LEAST_SHAPE = -1.0
"""Below it the likelihood has no maximum: it grows without limit as the end of the range nears the largest value."""

_LEAST_S, _MOST_S = -25.0, 300.0
"""Range of s = log(1 + t max(y)): the lower end is within 1e-11 of the end of the range of t, at the upper one xi >
100."""
_GRID = 161
_ZOOMS = 6
_ZOOM_POINTS = 17
"""Each zoom narrows the neighbourhood of the best point 8 times."""


class ReturnLevel(Struct, frozen=True):
    """Fit of excesses, and the level over the threshold with its interval."""

    shape: float
    scale: float
    level: float
    low: float
    high: float


def return_level_interval(excesses: Floats, probability: float, confidence: float = 0.95) -> ReturnLevel:
    """The level that an excess exceeds with `probability`, with its profile likelihood interval.

    The interval holds the levels for which twice the difference of the log likelihoods to its maximum is at most the
    chi-square quantile with one degree of freedom. Shapes from -1 up are tried: a floor at -0.5 would leave bounded
    laws out. ValueError for fewer than 50 excesses or one that is not positive.
    """
    y = np.asarray(excesses, np.float64)
    if len(y) < LEAST_EXCESSES or not (np.isfinite(y) & (y > 0)).all():
        raise ValueError(f"{len(y)} excesses: needs at least {LEAST_EXCESSES}, all positive and finite")
    tail = error_probability(confidence)
    unit = float(y.mean())
    law = _Likelihood(y / unit, -math.log(check_rate(probability, "the probability")))
    grid = np.sinh(np.linspace(math.asinh(_LEAST_S), math.asinh(_MOST_S), _GRID))
    s, lowest = _minimum(law.best, grid)
    cut = lowest + float(chdtri(1, tail)) / (2 * len(y))
    region = np.linspace(*_region(law, grid, s, cut), _GRID)
    low = _minimum(lambda at: law.inner_level(at, cut), region)[1]
    high = -_minimum(lambda at: -law.outer_level(at, cut), region)[1]
    shape, scale, level = (float(value[0]) for value in law.fitted(np.array([s])))
    return ReturnLevel(shape, scale * unit, level * unit, low * unit, high * unit)


class _Likelihood:
    """Likelihood of excesses of mean 1 along s = log(1 + t max(y)), maximised over sigma in one way or another.

    The shape xi = S/w is at least -1 where w is at least -S.
    """

    def __init__(self, y: Floats, log_rarity: float) -> None:
        self.largest = float(y.max())
        self.relative = y / self.largest
        self.log_rarity = log_rarity

    def best(self, s: Floats) -> Floats:
        """Mean negative log likelihood at the best sigma."""
        _, mean_log, scale = self._at(s)
        w = np.maximum(1.0, -mean_log)
        return np.asarray(np.log(scale) + mean_log + w - np.log(w))

    def fitted(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Shape, scale and return level at the best sigma."""
        t, mean_log, scale = self._at(s)
        sigma = scale / np.maximum(1.0, -mean_log)
        return t * sigma, sigma, self._level(t, sigma)

    def inner_level(self, s: Floats, cut: float) -> Floats:
        """Smallest return level with a mean negative log likelihood of `cut` or less; inf where there is none."""
        t, mean_log, scale, lacking = self._lacking(s, cut)
        w = -lambertw(-np.exp(-np.maximum(lacking, 1.0)), -1).real
        allowed = (lacking >= 1) & (w >= -mean_log)
        return np.where(allowed, self._level(t, scale / w), np.inf)

    def outer_level(self, s: Floats, cut: float) -> Floats:
        """The largest; -inf where there is none."""
        t, mean_log, scale, lacking = self._lacking(s, cut)
        clipped = np.maximum(lacking, 1.0)
        w = np.maximum(-lambertw(-np.exp(-clipped), 0).real, -mean_log)
        allowed = (lacking >= 1) & (w - np.log(w) <= clipped + 1e-12)
        return np.where(allowed, self._level(t, scale / w), -np.inf)

    def _lacking(self, s: Floats, cut: float) -> tuple[Floats, Floats, Floats, Floats]:
        """d, where w - log w <= d is what the cut allows; and what `_at` gives."""
        t, mean_log, scale = self._at(s)
        return t, mean_log, scale, cut - mean_log - np.log(scale)

    def _at(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """t, S(t) and A = S/t, the scale for w = 1; A is the mean, 1, at t = 0."""
        t = np.expm1(s) / self.largest
        mean_log = np.log1p(np.multiply.outer(np.expm1(s), self.relative)).mean(-1)
        return t, mean_log, np.divide(mean_log, t, out=np.ones_like(t), where=t != 0)

    def _level(self, t: Floats, sigma: Floats) -> Floats:
        spread = sigma * self.log_rarity
        return np.asarray(spread * exprel(t * spread))


def _minimum(function: Callable[[Floats], Floats], grid: Floats) -> tuple[float, float]:
    """Where the function is least, and its value there: the best point of the grid, its neighbourhood looked at
    closer."""
    for _ in range(_ZOOMS):
        values = function(grid)
        at = int(np.argmin(values))
        grid = np.linspace(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)], _ZOOM_POINTS)
    values = function(grid)
    at = int(np.argmin(values))
    return float(grid[at]), float(values[at])


def _region(law: _Likelihood, grid: Floats, s: float, cut: float) -> tuple[float, float]:
    """The least and the largest s that the cut allows."""
    grid = np.sort(np.append(grid, s))
    allowed = np.flatnonzero(law.best(grid) <= cut)
    ends = []
    for inside, step in ((int(allowed[0]), -1), (int(allowed[-1]), 1)):
        good, bad = grid[inside], grid[min(max(inside + step, 0), len(grid) - 1)]
        for _ in range(_ZOOMS):
            between = np.linspace(good, bad, _ZOOM_POINTS)
            last = int(np.flatnonzero(law.best(between) <= cut)[-1])
            good, bad = between[last], between[min(last + 1, _ZOOM_POINTS - 1)]
        ends.append(float(good))
    return ends[0], ends[1]
