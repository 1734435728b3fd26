"""How intervals and decisions of results.statistics.sequential perform in campaigns that are looked at all the time.

    python benchmarks/sequential.py [--campaigns 4000] [--trials 10000]

Takes a minute or so. Campaigns are simulated with a fixed seed and looked at every 50 trials (intervals) or 25
(decisions).
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from results.statistics.sequential import Side, confidence_limits, decisions, log_evidence, trials_to_decide

CONFIDENCE = 0.95
INTERVAL_RATES = (1e-3, 0.0076, 0.05, 0.5)
THRESHOLD = 0.0076
MULTIPLES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
LOOK, DECISION_LOOK = 50, 25
Counts = npt.NDArray[np.int64]


def campaigns(rate: float, number: int, trials: int, look: int, seed: int) -> tuple[Counts, Counts]:
    """Events at every look of `number` campaigns (one a row), and the trials at every look."""
    n = np.arange(look, trials + 1, look)
    k = np.random.default_rng(seed).binomial(look, rate, (number, len(n))).cumsum(axis=1)
    return k, n


def always_covered(rate: float, k: Counts, n: Counts) -> float:
    """Share of campaigns whose interval holds the rate at every look."""
    return float((log_evidence(k, n, rate) <= -math.log(1 - CONFIDENCE)).all(axis=1).mean())


def always_covered_by_fixed(rate: float, k: Counts, n: Counts) -> float:
    """The same for the interval of Clopper and Pearson, which was made for one look."""
    low, high = clopper_pearson(k, n)
    return float(((low <= rate) & (rate <= high)).all(axis=1).mean())


def clopper_pearson(k: Counts, n: Counts) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    tail = (1 - CONFIDENCE) / 2
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, tail))
    high = np.where(k == n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail))
    return low, high


def first_decisions(k: Counts, n: Counts, threshold: float, side: Side) -> tuple[npt.NDArray[np.int8], Counts]:
    """The first decision of every campaign (1, -1, or 0 for none) and the trials it took."""
    answers = decisions(k, n, threshold, CONFIDENCE, side)
    first = (answers != 0).argmax(axis=1)
    return answers[np.arange(len(answers)), first], n[first]


def print_intervals(number: int, trials: int) -> None:
    print(f"Intervals, {CONFIDENCE:.0%}, looked at every {LOOK} trials up to {trials:,}, {number:,} campaigns")
    print("    rate   held at every look   Clopper-Pearson held   width / Clopper-Pearson at the end")
    for seed, rate in enumerate(INTERVAL_RATES):
        k, n = campaigns(rate, number, trials, LOOK, seed)
        low, high = confidence_limits(k[:, -1], n[-1], CONFIDENCE)
        fixed_low, fixed_high = clopper_pearson(k[:, -1], n[-1])
        wider = float(np.median((high - low) / (fixed_high - fixed_low)))
        held, fixed = always_covered(rate, k, n), always_covered_by_fixed(rate, k, n)
        print(f"{rate:8g}   {held:18.3f}   {fixed:20.3f}   {wider:34.2f}")


def print_decisions(number: int, trials: int) -> None:
    print(f"\nDecisions at the threshold {THRESHOLD}, looked at every {DECISION_LOOK} trials up to {trials:,}")
    print("    side   rate / threshold    above    below   median trials    mean   predicted")
    sides: tuple[Side, ...] = ("either", "above", "below")
    for side in sides:
        for seed, multiple in enumerate(MULTIPLES):
            k, n = campaigns(multiple * THRESHOLD, number, trials, DECISION_LOOK, seed)
            answer, took = first_decisions(k, n, THRESHOLD, side)
            decided = answer != 0
            median = float(np.median(np.where(decided, took, math.inf)))
            mean = float(took[decided].mean()) if decided.all() else math.inf
            predicted = trials_to_decide(multiple * THRESHOLD, THRESHOLD, CONFIDENCE, side)
            print(
                f"{side:>8}   {multiple:16g}   {(answer > 0).mean():6.3f}   {(answer < 0).mean():6.3f}"
                f"   {median:13,.0f}   {mean:5,.0f}   {predicted:9,.0f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=4000)
    parser.add_argument("--trials", type=int, default=10_000)
    options = parser.parse_args()
    print_intervals(options.campaigns, options.trials)
    print_decisions(options.campaigns, 2 * options.trials)


if __name__ == "__main__":
    main()
