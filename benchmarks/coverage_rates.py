"""Simulated intervals and tests of rates: one campaign, two, pairs, cells, many tests, campaigns that are watched."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from coverage_lines import Line, covered, share, simulation
from scipy.special import bdtrc

from results.statistics.clustered import generator_rate, plan_rate
from results.statistics.multiple import Method, false_discovery
from results.statistics.paired import compare_cells, compare_trials
from results.statistics.proportions import compare_with_published, one_sided_upper, rate_interval, risk_ratio
from results.statistics.sequential import Side, decisions, log_evidence

RATE = 0.0076
COVERAGE, SIZE, POWER = "coverage", "false alarms", "power"
RESAMPLES = 499


@simulation
def one_rate(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    for n in (300, 5000):
        for p in (0.001, RATE, 0.05):
            counts = [int(k) for k in rng.binomial(n, p, repetitions)]
            found = [rate_interval(k, n) for k in counts]
            case = f"{n} trials, rate {p}"
            yield share("rate_interval", case, COVERAGE, [covered(i.low, p, i.high) for i in found], 0.945)
            yield share("one_sided_upper", case, COVERAGE, [p <= one_sided_upper(k, n) for k in counts], 0.945)


@simulation
def published(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    for own in (500, 5000):
        case = f"{own} own trials, 5000 published, rate {RATE}"
        pairs = list(zip(*(map(int, rng.binomial(n, RATE, repetitions)) for n in (own, 5000)), strict=True))
        calls = [compare_with_published(a, own, b, 5000).differs for a, b in pairs]
        yield share("compare_with_published", case, SIZE, calls, 0.04, 0.06)
        ratios = [risk_ratio(a, own, b, 5000) for a, b in pairs if a and b]
        yield share("risk_ratio", case, COVERAGE, [covered(r.low, 1, r.high) for r in ratios], 0.94)
    for own, other, measure, low, high in ((RATE, RATE, SIZE, 0.0, 0.06), (0.01, 0.001, POWER, 0.75, 1.0)):
        few = zip(rng.binomial(300, own, repetitions), rng.binomial(5000, other, repetitions), strict=True)
        calls = [compare_with_published(int(a), 300, int(b), 5000).differs for a, b in few]
        yield share("compare_with_published", f"300 trials at {own} against 5000 at {other}", measure, calls, low, high)
    naive = [_exact_p(a, 5000, b / 5000) < 0.05 for a, b in pairs]
    yield share("own count against a fixed 38/5000", case, SIZE, naive, contrast=True)


@simulation
def pairs(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    only = rng.binomial(5000, 0.004, (repetitions, 2))
    calls = [compare_trials(int(a), int(b), 5000).differs for a, b in only]
    yield share("paired.compare_trials", "5000 independent trials", SIZE, calls, 0, 0.05)
    for worse, measure in ((0.0, SIZE), (0.02, POWER)):
        cells, held, naive = [], [], []
        for _ in range(repetitions):
            one, other = rng.beta(0.1, 3, (2, 100)) * 0.3
            first = rng.binomial(20, one)
            second = rng.binomial(20, other + worse)
            found = compare_cells(first, second, 20, resamples=RESAMPLES, seed=int(rng.integers(2**32)))
            cells.append(found.differs)
            held.append(covered(found.low, -worse, found.high))
            naive.append(compare_trials(int(first.sum()), int(second.sum()), 2000).differs)
        bounds = (0.03, 0.06) if not worse else (0.85, 1.0)
        case = "100 cells of 20 trials" + (", second 0.02 worse" if worse else "")
        yield share("paired.compare_cells", case, measure, cells, *bounds)
        yield share("paired.compare_cells", f"{case}: the difference", COVERAGE, held, 0.93, 0.97)
        if not worse:
            yield share("paired.compare_trials on trials in cells", case, SIZE, naive, contrast=True)


@simulation
def clusters(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    populations = {
        "rates Beta(0.05, 5)": (lambda n: rng.beta(0.05, 5, n), 0.05 / 5.05),
        "5 % of cells at 0.3": (lambda n: 0.3 * (rng.random(n) < 0.05), 0.015),
        "all cells at 0.01": (lambda n: np.full(n, 0.01), 0.01),
    }
    for cells in (30, 100, 300):
        for name, (draw, rate) in populations.items():
            case = f"{cells} cells of 20, {name}"
            within, between, naive = [], [], []
            for _ in range(repetitions):
                rates = draw(cells)
                events = rng.binomial(20, rates)
                pooled, wide = plan_rate(events, 20), generator_rate(events, 20)
                within.append(covered(pooled.low, float(rates.mean()), pooled.high))
                between.append(covered(wide.low, rate, wide.high))
                naive.append(covered(pooled.low, rate, pooled.high))
            least = 0.93 if cells == 300 else 0.88
            yield share("clustered.generator_rate", case, COVERAGE, between, least)
            if cells == 100:
                yield share("clustered.plan_rate", case, COVERAGE, within, 0.945)
            if name.startswith("rates") and cells != 30:
                yield share("rate_interval of pooled clusters", case, COVERAGE, naive, contrast=True)
    # The rate that no event in 100 cells just excludes: they miss it as often as they may.
    failing = 20 * (rng.random((repetitions, 100)) < 0.0296)
    upper = [generator_rate(row, 20).upper >= 0.0296 for row in failing]
    case = "100 cells of 20, of which 2.96 % always fail: upper bound"
    yield share("clustered.generator_rate", case, COVERAGE, upper, 0.94)


@simulation
def many_tests(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    rates = np.where(np.arange(200) < 20, 0.02, RATE)
    counts = rng.binomial(2000, rates, (repetitions, 200))
    p = bdtrc(counts - 1, 2000, RATE)
    methods: tuple[Method, ...] = ("bh", "by")
    calls = {name: np.array([_discovered(row.tolist(), name) for row in p]) for name in methods}
    case = "200 tests, 20 real"
    for name, called in {**calls, "": p < 0.05}.items():
        wrong = called[:, 20:].sum(1) / np.maximum(called.sum(1), 1)
        function = f"multiple.false_discovery, {name}" if name else "p < 0.05 unadjusted"
        error = float(wrong.std())
        yield Line(function, case, "false discoveries", float(wrong.mean()), repetitions, 0, 0.05, error, not name)
        if name:
            found = called[:, :20].mean(1)
            scatter = float(found.std())
            yield Line(function, case, POWER, float(found.mean()), repetitions, 0.9, 1, scatter)


@simulation
def watched(repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    n = np.arange(50, 10_001, 50)
    for rate in (0.001, RATE, 0.05):
        k = rng.binomial(50, rate, (repetitions, len(n))).cumsum(1)
        held = (log_evidence(k, n, rate) <= math.log(20)).all(1)
        case = f"rate {rate}, 200 looks up to 10,000"
        yield share("sequential.confidence_sequence", case, COVERAGE, held, 0.95)
        if rate == RATE:
            fixed = (bdtrc(k - 1, n, rate) > 0.025) & (1 - bdtrc(k, n, rate) > 0.025)
            yield share("rate_interval at every look", case, COVERAGE, fixed.all(1), contrast=True)
            sides: tuple[Side, ...] = ("either", "above")
            for side in sides:
                alarms = decisions(k, n, rate, side=side).any(1)
                yield share(f"sequential.decide, {side}", f"{case}, at the threshold", SIZE, alarms, 0, 0.05)
    cells = rng.beta(0.05, 5, (repetitions, 500))
    fed = rng.binomial(20, cells).cumsum(1)
    held = (log_evidence(fed, 20 * np.arange(1, 501), 0.05 / 5.05) <= math.log(20)).all(1)
    yield share("sequential.confidence_sequence of trials in cells", "500 cells of 20", COVERAGE, held, contrast=True)


def _discovered(p: list[float], method: Method) -> list[bool]:
    return [q is not None and q < 0.05 for q in false_discovery(p, method)]


def _exact_p(k: int, n: int, rate: float) -> float:
    """p of scipy.stats.binomtest(k, n, rate), near enough: twice the smaller tail."""
    return float(min(1, 2 * min(bdtrc(k - 1, n, rate) if k else 1.0, 1 - bdtrc(k, n, rate))))
