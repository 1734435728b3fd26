"""For test suites: two functions agree, outliers are rarer than p, a kernel implements an operator.

    import fuzz.testing

    def test_mine():
        fuzz.testing.assert_agrees(reference, mine, inputs={"x": "normal(0,1)[8,128]"})

A failure shows verdict, sentence, figures, the shrunk case, and how to mark a defect that is known.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fuzz.checking.check import TRIALS, check
from fuzz.checking.result import Result
from fuzz.errors import UserError
from results.columns import RUNGS, rung_column
from results.statistics.planning import failure_free_trials
from results.statistics.proportions import one_sided_upper, rate_interval
from results.tallies import PAIRS
from results.verdicts import VERDICTS

Function = Callable[..., Any]

__all__ = ["assert_agrees", "assert_rate_below", "implements"]


def assert_agrees(
    *functions: Function, inputs: Any, known: Mapping[str, str] | None = None, trials: int = TRIALS, **options: Any
) -> Result:
    """AssertionError unless every function is within what rounding and its inputs excuse.

    Takes what `fuzz.check` takes. `known` marks defects: the name of a function and its verdict, for instance
    ``known={"mine": "subnormals_flushed"}``; a mark that is not true any more fails, too. The campaign is kept only
    where `out` names a directory or the assertion fails.
    """
    __tracebackhide__ = True
    marks = _marks(known)
    result, tidy = _checked(*functions, inputs=inputs, trials=trials, **options)
    found = {line.name: line.verdict for line in result.lines}
    for name, verdict in marks.items():
        if name not in found:
            raise UserError(f"known names {name!r}: the functions are {', '.join(found)}")
        if found[name] != verdict:
            raise AssertionError(
                f"{name} is marked as {verdict} and is {found[name]} now: remove the mark from known=\n\n{result}"
            )
    failing = {name: verdict for name, verdict in found.items() if _fails(verdict) and name not in marks}
    if failing:
        mark = ", ".join(f'"{name}": "{verdict}"' for name, verdict in failing.items())
        raise AssertionError(f"{result}\n\nto mark this as known: known={{{mark}}}")
    tidy()
    return result


def assert_rate_below(
    f: Function,
    g: Function,
    *,
    inputs: Any,
    rate: float,
    rtol: float = 1e-1,
    confidence: float = 0.95,
    trials: int | None = None,
    **options: Any,
) -> Result:
    """AssertionError unless trials in which any |f - g| exceeds `rtol` |g| are rarer than `rate`.

    That is shown when the one-sided Clopper-Pearson upper bound at `confidence` lies below `rate`. `rtol` is a power of
    ten from 1e-1 to 1e-12. `trials`: as many as show it where none exceeds it, by default.
    """
    __tracebackhide__ = True
    for name, share in (("rate", rate), ("confidence", confidence)):
        if not isinstance(share, int | float) or not 0 < share < 1:
            raise UserError(f"{name} is {share!r}: use a number between 0 and 1")
    column = _column(rtol)
    n = failure_free_trials(rate, confidence) if trials is None else trials
    result, tidy = _checked(f, g, inputs=inputs, trials=n, **options)
    answer = (
        result.results()
        .sql(
            f"""SELECT count(DISTINCT (problem_id, seed, "index")) AS n,
                   count(DISTINCT CASE WHEN {column} > 0 OR nonfinite_mismatch > 0 OR {column} IS NULL
                         THEN (problem_id, seed, "index") END) AS k
            FROM measurements WHERE {PAIRS}"""
        )
        .to_pylist()[0]
    )
    k, count = int(answer["k"]), int(answer["n"])
    upper = one_sided_upper(k, count, confidence)
    if upper >= rate:
        interval = rate_interval(k, count)
        raise AssertionError(
            f"{k} of {count} trials exceed {rtol:g} (95 % interval {interval.low:.2%} to {interval.high:.2%}): "
            f"a rate below {rate:g} is not shown, its {confidence:.0%} upper bound is {upper:.2%}\n\n{result}"
        )
    tidy()
    return result


def implements(
    operator: str, *, home: str = "float32", library: str = "numpy", settings: Any = None, **strategy: Any
) -> Callable[[Function], Callable[[], None]]:
    """Decorator: makes a Hypothesis test of a function that implements an operator of `ulpfuzz list operators`.

    The function takes the operator's inputs by position, arrays of `library`, and its attributes by name. The test
    draws problems (sizes, attributes, inputs: `strategies.problems`, to which `strategy` goes), judges the results as a
    campaign does, and fails with verdict and reason; Hypothesis shrinks the problem. Profiles apply as to any test;
    settings of its own are given here, because there is no deadline without them (a new shape takes a compilation)::

        @fuzz.testing.implements("softmax", settings=hypothesis.settings(max_examples=50, deadline=None))
        def test_my_softmax(x, *, axis): ...
    """
    from fuzz.checking.implementing import tested

    return tested(operator, home, library, settings, strategy)


def _checked(*functions: Function, **options: Any) -> tuple[Result, Callable[[], None]]:
    """`check`, in a folder of its own where none is named, and what removes that folder."""
    if options.get("out") is not None:
        return check(*functions, **options), lambda: None
    folder = tempfile.mkdtemp(prefix="ulpfuzz-check-")
    try:
        return check(*functions, **options | {"out": Path(folder) / "campaign"}), lambda: shutil.rmtree(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _marks(known: Mapping[str, str] | None) -> dict[str, str]:
    if known is not None and not isinstance(known, Mapping):
        raise UserError(f'known is {known!r}: give names of functions and their verdicts, known={{"mine": "wrong"}}')
    marks = dict(known or {})
    for verdict in marks.values():
        if verdict not in VERDICTS:
            raise UserError(f"known has no verdict {verdict!r}: they are {', '.join(VERDICTS)}")
    return marks


def _fails(verdict: str) -> bool:
    return VERDICTS[verdict].finding or verdict in ("indeterminate", "unsupported")


def _column(rtol: float) -> str:
    for k in RUNGS:
        if abs(rtol - 10.0**-k) <= 1e-9 * rtol:
            return rung_column(k)
    raise UserError(f"rtol is {rtol}: use a power of ten from 1e-{max(RUNGS)} to 1e-{min(RUNGS)}")
