"""Simulated statistics of how large errors are: tails, bias, growth, factors, drift; and of plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from coverage_lines import Line, covered, share, simulation
from coverage_rates import COVERAGE, POWER, RATE, RESAMPLES, SIZE
from scipy.special import chdtrc, ndtri, stdtr, stdtrit
from scipy.stats import rankdata

from results.statistics.bias import signed_bias
from results.statistics.drift import drift, paired_drift
from results.statistics.factors import factor_effects
from results.statistics.growth import growth_law
from results.statistics.paired import compare_trials
from results.statistics.planning import disagreements_to_tell, failure_free_trials, mcnemar_power, trials_to_tell
from results.statistics.proportions import compare_with_published, one_sided_upper
from results.statistics.tail import return_level

Floats = npt.NDArray[np.float64]
RARE = 1e-5

FAMILIES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "Pareto tail, shape 0.3": (lambda p: np.expm1(-0.3 * np.log(p)) / 0.3, 0.88),
    "Student's t of 3 degrees of freedom, absolute": (lambda p: -stdtrit(3, p / 2), 0.88),
    "1/N(0,1), absolute: a cancellation": (lambda p: 1 / ndtri(0.5 + p / 2), 0.88),
    "N(0,1), absolute": (lambda p: -ndtri(p / 2), 0.88),
    "bounded, shape -0.3": (lambda p: 1 - p**0.3, 0.86),
    "bounded, shape -0.5": (lambda p: 1 - p**0.5, 0.86),
    "bounded, shape -1, the square root of U(0,1)": (lambda p: np.sqrt(1 - p), 0.86),
}
"""Value that is exceeded with probability p, and the least coverage asked for."""


@simulation
def tails(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    """Where the answer is the largest value, it is right when the probability beyond it keeps its bound."""
    for name, (exceeded, least) in FAMILIES.items():
        yield from _tail(5000, RARE, name, exceeded, least, repetitions, rng)
    yield from _tail(1000, 10 * RARE, "N(0,1), absolute", *FAMILIES["N(0,1), absolute"], repetitions, rng)


def _tail(
    trials: int,
    rare: float,
    name: str,
    exceeded: Callable[[Floats], Floats],
    least: float,
    repetitions: int,
    rng: np.random.Generator,
) -> Iterator[Line]:
    true = float(exceeded(np.array(rare)))
    profile, largest = [], []
    for _ in range(repetitions):
        p = rng.random(trials)
        found = return_level(exceeded(p), rare, quantity="rho")
        if found.method == "profile likelihood":
            profile.append(covered(found.low, true, found.high))
        else:
            largest.append(p.min() <= found.beyond)
    case = f"1 in {1 / rare:,.0f} from {trials:,} trials, {name}"
    for hits, what, bound in ((profile, "an interval", least), (largest, "the largest value", 0.945)):
        if len(hits) >= repetitions / 10:
            told = f"{case} ({what} in {len(hits) / repetitions:.0%})"
            yield share("tail.return_level", told, COVERAGE, hits, bound)


@simulation
def biases(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    for trials in (30, 200):
        for shift, measure in ((0.0, SIZE), (0.05, POWER)):
            elements = rng.normal(shift, 0.1, (repetitions, trials, 1)) + rng.uniform(
                -0.5, 0.5, (repetitions, trials, 40)
            )
            found = [signed_bias(means, trials=trials) for means in elements.mean(2)]
            case = f"{trials} trials" + (", bias 0.05 u" if shift else "")
            bounds = (0.6 if trials == 30 else 0.99, 1.0) if shift else (0.035, 0.065)
            yield share("bias.signed_bias, t", case, measure, [b.p < 0.05 for b in found], *bounds)
            yield share("bias.signed_bias, Wilcoxon", case, measure, [b.wilcoxon_p < 0.05 for b in found], *bounds)
            if not shift:
                yield share(
                    "bias.signed_bias", case, COVERAGE, [covered(b.low, 0, b.high) for b in found], 0.935, 0.965
                )
                pooled = elements.reshape(repetitions, -1)
                t = pooled.mean(1) / pooled.std(1, ddof=1) * math.sqrt(pooled.shape[1])
                p = 2 * stdtr(pooled.shape[1] - 1, -np.abs(t))
                yield share("t-test of pooled elements", case, SIZE, p < 0.05, contrast=True)


@simulation
def growth(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    sizes = 2.0 ** np.arange(6, 14)
    for exponent, law in ((0.0, "constant"), (0.5, "square root"), (1.0, "linear")):
        errors = np.abs(rng.standard_normal((repetitions, 8, 10))) * (sizes**exponent)[:, None]
        found = [growth_law(sizes.tolist(), list(trials)) for trials in errors]
        case = f"n^{exponent:g}, 8 sizes, 10 trials each"
        held = [covered(g.low, exponent, g.high) for g in found]
        yield share("growth.growth_law", case, COVERAGE, held, 0.93, 0.97)
        yield share("growth.growth_law", f"{case}: named {law}", POWER, [g.law == law for g in found], 0.9)


@simulation
def factors(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    case = "60 cells of 20 trials, 3 levels"
    calls: dict[str, list[bool]] = {name: [] for name in ("labelled", "ordered", "small", "any", "strong", "trials")}
    for _ in range(repetitions):
        level, step = rng.integers(0, 3, 60), rng.integers(0, 5, 60)
        cell = rng.normal(0, 0.7, 60)
        trials = cell[:, None] + rng.gumbel(size=(60, 20))
        values = trials.mean(1)
        given = {"level": level.tolist(), "step": step.tolist()} | {
            str(i): rng.integers(0, 4, 60).tolist() for i in range(3)
        }
        effects = factor_effects(values, given, ordered=["step"])
        calls["labelled"].append(_called(effects[0].p))
        calls["ordered"].append(_called(effects[1].p))
        calls["any"].append(any(effect.matters for effect in effects))
        seed = int(rng.integers(2**32))
        few = factor_effects(values[:12], {"level": level[:12].tolist()}, resamples=RESAMPLES, seed=seed)
        calls["small"].append(_called(few[0].p))
        (strong,) = factor_effects(values + (level == 2), {"level": level.tolist()})
        calls["strong"].append(_called(strong.p))
        calls["trials"].append(_kruskal(trials.ravel(), np.repeat(level, 20)) < 0.05)
    yield share("factors.factor_effects, labels", case, SIZE, calls["labelled"], 0, 0.06)
    yield share("factors.factor_effects, ordered", "60 cells, 5 steps", SIZE, calls["ordered"], 0, 0.06)
    yield share("factors.factor_effects, permuted", "12 cells, 3 levels", SIZE, calls["small"], 0, 0.06)
    yield share("factors.factor_effects, any of 5", "60 cells", SIZE, calls["any"], 0, 0.06)
    yield share("factors.factor_effects, labels", f"{case}, one higher by 1", POWER, calls["strong"], 0.85)
    yield share("Kruskal-Wallis over trials", case, SIZE, calls["trials"], contrast=True)


@simulation
def drifts(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    for ratio, measure in ((1.0, SIZE), (1.2, POWER)):
        before = np.exp(rng.normal(0, 0.5, (repetitions, 300)))
        after = ratio * np.exp(rng.normal(0, 0.5, (repetitions, 300)))
        same = before * ratio ** (1 / 6) * np.exp(rng.normal(0, 0.1, (repetitions, 300)))
        case = "300 trials a side" + (f", {ratio:g} times as large" if ratio > 1 else "")
        bounds = (0.9, 1.0) if ratio > 1 else (0, 0.05)
        yield share(
            "drift.drift", case, measure, [drift(a, b).differs for a, b in zip(before, after, strict=True)], *bounds
        )
        case = "300 trials, same draws" + (f", {ratio ** (1 / 6):.3f} times as large" if ratio > 1 else "")
        bounds = (0.9, 1.0) if ratio > 1 else (0.035, 0.065)
        calls = [paired_drift(a, b).differs for a, b in zip(before, same, strict=True)]
        yield share("drift.paired_drift", case, measure, calls, *bounds)


@simulation
def plans(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    for one, other in ((RATE, 2 * RATE), (RATE, 1.5 * RATE), (RATE, RATE / 2), (0.001, 0.002), (0.5, 0.55)):
        n = trials_to_tell(one, other)
        counts = zip(rng.binomial(n, one, repetitions), rng.binomial(n, other, repetitions), strict=True)
        calls = [compare_with_published(int(a), n, int(b), n).differs for a, b in counts]
        case = f"{one} against {other:g}, 80 % planned: {n:,} trials a side"
        yield share("planning.trials_to_tell", case, POWER, calls, 0.78, 0.83)
    for share_of_first in (0.75, 0.9):
        n = disagreements_to_tell(share_of_first)
        calls = [compare_trials(int(k), n - int(k), n).differs for k in rng.binomial(n, share_of_first, repetitions)]
        exact = mcnemar_power(n, share_of_first)
        case = f"share {share_of_first:g}, 80 % planned: {n} disagreements"
        yield share("planning.disagreements_to_tell", case, POWER, calls, exact - 0.005, min(1, exact + 0.005))
    n = failure_free_trials(0.01)
    claims = [one_sided_upper(0, n) < 0.01 for k in rng.binomial(n, 0.01, repetitions) if k == 0]
    wrong = np.zeros(repetitions, bool)
    wrong[: len(claims)] = claims
    yield share("planning.failure_free_trials", f"{n} trials claim a rate below 0.01, at 0.01", SIZE, wrong, 0, 0.05)


def _called(p: float | None) -> bool:
    return p is not None and p < 0.05


def _kruskal(values: Floats, groups: npt.NDArray[np.int64]) -> float:
    ranks = rankdata(values) - (len(values) + 1) / 2
    between = np.bincount(groups, ranks) ** 2 / np.bincount(groups)
    return float(chdtrc(len(between) - 1, (len(values) - 1) * between.sum() / (ranks**2).sum()))
