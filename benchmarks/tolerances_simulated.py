"""Recommended tolerances on laws of errors for which P(fail) is known exactly.

Elements are independent: |truth| is |N(0,1)|, |error| of one of the laws below. Thirty make a trial, so that a trial
fails with probability 1 - (1 - p)^30, p = P(|error| > atol + rtol |truth|), an integral over the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtr

from results.tolerance.choice import choose
from results.tolerance.needs import MULTIPLES, Needs

U = 2.0**-24
ELEMENTS = 30
Array = np.ndarray[Any, np.dtype[np.float64]]
_NODES, _WEIGHTS = (10 * part for part in np.polynomial.legendre.leggauss(2000))
_DENSITY = _WEIGHTS * np.exp(-(_NODES**2) / 2) / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Law:
    """Errors in units of u, given |truth|: how to draw them, and the probability that one is larger than x."""

    draw: Callable[[np.random.Generator, Array], Array]
    beyond: Callable[[Array, Array], Array]

    def fails(self, rtol: float, atol: float) -> float:
        """Probability that a trial fails `|error| <= atol + rtol |truth|`."""
        truth = np.abs(_NODES)
        p = float((self.beyond((atol + rtol * truth) / U, truth) * _DENSITY).sum())
        return -math.expm1(ELEMENTS * math.log1p(-min(p, 1 - 1e-16)))


LAWS: dict[str, Law] = {
    "normal, whatever the truth": Law(
        lambda rng, v: 3 * np.abs(rng.standard_normal(v.shape)), lambda x, v: 2 * ndtr(-x / 3)
    ),
    "normal, times 1 + abs(truth)": Law(
        lambda rng, v: (1 + v) * np.abs(rng.standard_normal(v.shape)), lambda x, v: 2 * ndtr(-x / (1 + v))
    ),
    "bounded: uniform, times 1 + abs(truth)": Law(
        lambda rng, v: (1 + v) * rng.random(v.shape), lambda x, v: np.clip(1 - x / (1 + v), 0, 1)
    ),
    "Student's t of 5 degrees of freedom": Law(
        lambda rng, v: np.abs(rng.standard_t(5, v.shape)), lambda x, v: 2 * stats.t.sf(x, 5)
    ),
}


@dataclass(frozen=True)
class Kept:
    """In how many simulated campaigns the recommended pair keeps the flake rate."""

    law: str
    trials: int
    flake: float
    basis: str
    kept: int
    promised: int
    repetitions: int

    @property
    def wanted(self) -> float:
        """95 % less three standard errors."""
        return 0.95 - 3 * math.sqrt(0.95 * 0.05 / max(self.promised, 1))

    @property
    def met(self) -> bool:
        return self.promised > 0 and self.kept / self.promised >= self.wanted

    def row(self) -> list[str]:
        promised = f"{self.kept} of {self.promised} ({100 * self.kept / max(self.promised, 1):.0f} %)"
        wanted = f">= {100 * self.wanted:.0f} %"
        return [
            self.law,
            f"{self.trials:,}",
            f"{self.flake:g}",
            self.basis,
            promised,
            wanted,
            "met" if self.met else "missed",
        ]


def kept(name: str, trials: int, flake: float, repetitions: int, seed: int = 0) -> Kept:
    """Simulate campaigns; P(fail) is that of the pair before it is rounded up."""
    law, rng = LAWS[name], np.random.default_rng([seed, trials])
    good = promised = 0
    bases = set()
    for _ in range(repetitions):
        truth = np.abs(rng.standard_normal((trials, ELEMENTS)))
        error = U * law.draw(rng, truth)
        needed = np.stack([np.maximum((error - k * U * truth).max(1), 0) for k in MULTIPLES], axis=1)
        mean = float(np.median(truth.mean(1)))
        pair = choose([Needs("", needed, MULTIPLES, needed[:, 0], mean, ())], "float32", flake).pair
        if pair is None or not pair.level.kept:
            continue
        assert pair.atol_eps is not None
        promised += 1
        bases.add(pair.level.basis)
        good += law.fails(2 * U * pair.eps, pair.atol_eps * 2 * U * mean) <= flake
    return Kept(name, trials, flake, ", ".join(sorted(bases)), good, promised, repetitions)
