"""Reports from public trackers as a user would check them: two functions, inputs, one call of fuzz.check.

    python benchmarks/reports.py [--only 021,027]

Prints the table of docs/checking-reports.md. What is right was decided with mpmath, not by the tool; a row holds the
verdict of each function that is right, and the size of the error that it has to show. Exit code 1 where one differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
import torch
import torch.nn.functional as F
from pairs_of_functions import kept

import fuzz
from fuzz.checking.result import Result
from results.verdicts import VERDICTS

Function = Callable[..., Any]
NAN, INF = float("nan"), float("inf")
HEALTHY = "healthy"


@dataclass(frozen=True)
class Report:
    """One report. `right` has a verdict for every function, "healthy" for any that is no finding."""

    id: str
    about: str
    functions: dict[str, Function]
    inputs: dict[str, Any]
    right: tuple[str, ...]
    says: str
    """Words of the sentence."""
    truth: Function | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def check(self, folder: Path, trials: int = 10) -> Result:
        """In this process."""
        functions = [_named(kept(function), name) for name, function in self.functions.items()]
        truth = None if self.truth is None else _named(kept(self.truth), "truth")
        asked = {"trials": trials, "shrink": 0.0} | self.options
        return fuzz.check(*functions, inputs=self.inputs, truth=truth, out=folder / "c", **asked)


def _named(function: Function, name: str) -> Function:
    function.__name__ = function.__qualname__ = name
    return function


def answers(result: Result) -> tuple[str, ...]:
    """The verdict of every function, "healthy" where it is no finding."""
    return tuple(
        line.verdict if VERDICTS[line.verdict].finding or line.verdict == "indeterminate" else HEALTHY
        for line in result.lines
    )


def shrink_exactly(x: Any) -> Any:
    """x - tanh x: by its series below 0.3 (twelve terms of 2/15, 17/315, ...), which leaves 1e-17 there."""
    s = x * x
    terms = (1382 / 155925, 21844 / 6081075, 929569 / 638512875, 6404582 / 10854718875, 443861162 / 1856156927625)
    low = 0.0
    for number, term in enumerate(reversed((1 / 3, 2 / 15, 17 / 315, 62 / 2835, *terms))):
        low = term - s * low if number else term
    return np.where(np.abs(x) < 0.1, x * s * low, x - np.tanh(x))


def _reports() -> Iterator[Report]:
    product = {"x": "normal(0,1)[16,700]", "w": "normal(0,1)[700,60]"}
    w = torch.randn(700, 60, generator=torch.Generator().manual_seed(1))
    yield Report(
        "017",
        "rows of a linear layer against the batch",
        {"batch": lambda x: x @ w, "rows": lambda x: torch.stack([row @ w for row in x])},
        {"x": "normal(0,1)[16,700]"},
        (HEALTHY, HEALTHY),
        "batch and rows agree",
    )
    yield Report(
        "096",
        "the same in JAX",
        {"batch": lambda x, w: jnp.matmul(x, w), "rows": lambda x, w: jnp.stack([row @ w for row in x])},
        product,
        (HEALTHY, HEALTHY),
        "batch and rows agree",
    )
    yield Report(
        "018",
        "images of a convolution one by one",
        {
            "batch": lambda x, w: torch.conv2d(x, w, padding=1),
            "single": lambda x, w: torch.cat([torch.conv2d(image[None], w, padding=1) for image in x]),
        },
        {"x": "normal(0,1)[5,4,9,7]", "w": "normal(0,1)[3,4,3,3]"},
        (HEALTHY, HEALTHY),
        "batch and single agree",
    )
    tail = {"x": "uniform(-12,3)[200]"}
    ndtr = {"torch_ndtr": torch.special.ndtr, "scipy_ndtr": scipy.special.ndtr}
    yield Report(
        "021", "normal distribution, lower tail", ndtr, tail, ("unstable", HEALTHY), "torch_ndtr: the result loses"
    )
    yield Report(
        "021 in float64",
        "the same",
        ndtr,
        tail,
        ("unstable", HEALTHY),
        "torch_ndtr: the result loses",
        options={"dtype": "float64"},
    )
    gamma = {"torch_gammainc": torch.special.gammainc, "scipy_gammainc": scipy.special.gammainc}
    given = {
        "a": np.array([NAN, NAN, INF, NAN, 0.5, 1], np.float32),
        "x": np.array([0, INF, NAN, 1, NAN, 2], np.float32),
    }
    yield Report(
        "025",
        "incomplete gamma function of NaN",
        gamma,
        given,
        (HEALTHY, "nonfinite_mismatch"),
        "only a truth= can say",
        options={"trials": 1},
    )
    yield Report(
        "025 with truth=",
        "the same",
        gamma,
        given,
        ("nonfinite_mismatch", HEALTHY),
        "torch_gammainc: the result is NaN",
        truth=scipy.special.gammainc,
        options={"trials": 1},
    )
    gelu = {"torch_gelu": lambda x: F.gelu(x), "jax_gelu": lambda x: jax.nn.gelu(x, approximate=False)}
    left = {"x": "uniform(-10,3)[200]"}
    yield Report("027", "gelu, left tail", gelu, left, ("unstable", HEALTHY), "torch_gelu: the result loses")
    yield Report(
        "027 with truth=",
        "the same",
        gelu,
        left,
        ("unstable", HEALTHY),
        "torch_gelu: the result loses",
        truth=lambda x: x * scipy.special.ndtr(x),
    )
    yield Report(
        "042",
        "tanhshrink of small x",
        {"torch_shrink": F.tanhshrink, "jax_shrink": lambda x: x - jnp.tanh(x)},
        {"x": "loguniform(1e-6,1e-1)[200]"},
        ("unstable", "unstable"),
        "torch_shrink: the result loses",
        truth=shrink_exactly,
    )
    step = {"torch_step": lambda x: torch.floor(torch.cos(x)), "jax_step": lambda x: jnp.floor(jnp.cos(x))}
    for dtype in ("float16", "float32"):
        yield Report(
            f"043 in {dtype}",
            "floor of a cosine",
            step,
            {"x": "normal(0,1)[4096]"},
            (HEALTHY, HEALTHY),
            "torch_step and jax_step agree",
            options={"dtype": dtype},
        )
    hilbert = 1.0 / (np.arange(8)[:, None] + np.arange(8) + 1.0)
    yield Report(
        "052",
        "inverse of a nearly singular matrix",
        {"torch_inverse": lambda x: torch.linalg.inv(x), "jax_inverse": lambda x: jnp.linalg.inv(x)},
        {"x": hilbert.astype(np.float32)},
        (HEALTHY, HEALTHY),
        "come from the inputs, not from any function",
        options={"trials": 1},
    )
    yield Report(
        "083",
        "erf above 1 by an ulp",
        {"jax_erf": jax.scipy.special.erf, "scipy_erf": scipy.special.erf},
        {"x": "uniform(3,4)[2000]"},
        (HEALTHY, HEALTHY),
        "jax_erf and scipy_erf agree",
    )
    yield Report(
        "088",
        "Spence's function near the largest numbers",
        {"jax_spence": jax.scipy.special.spence, "scipy_spence": scipy.special.spence},
        {"x": "loguniform(1e30,3e38)[200]"},
        ("nonfinite_mismatch", HEALTHY),
        "jax_spence: the result is NaN",
    )
    for dtype in ("float32", "float64"):
        yield Report(
            f"089 in {dtype}",
            "a narrow band of erfcx",
            {"jax_erfcx": jax.scipy.special.erfcx, "scipy_erfcx": scipy.special.erfcx},
            {"x": "uniform(-3,40)[2000]"},
            ("unstable", HEALTHY),
            "jax_erfcx: the result loses",
            options={"dtype": dtype},
        )
    yield Report(
        "091",
        "digamma of 0",
        {"jax_digamma": jax.scipy.special.digamma, "scipy_digamma": scipy.special.digamma},
        {"x": np.array([0.0, -0.0, 1e-45, 1e-38, -1.0, -1e-3], np.float32)},
        ("nonfinite_mismatch", HEALTHY),
        "jax_digamma: the result is NaN",
        options={"trials": 1},
    )
    yield Report(
        "093",
        "logsumexp of signed terms in two orders",
        {
            "forward": lambda a, b: jax.scipy.special.logsumexp(a, b=b),
            "backward": lambda a, b: jax.scipy.special.logsumexp(a[::-1], b=b[::-1]),
        },
        {"a": np.log(np.array([1e20, 1e20, 1.1], np.float32)), "b": np.array([1, -1, 1], np.float32)},
        (HEALTHY, HEALTHY),
        "because of the inputs or the range",
        options={"trials": 1},
    )
    yield Report(
        "115",
        "logarithm of the normal distribution",
        {"jax_log_ndtr": jax.scipy.special.log_ndtr, "scipy_log_ndtr": scipy.special.log_ndtr},
        {"x": "uniform(-30,8.2)[500]"},
        ("unstable", HEALTHY),
        "jax_log_ndtr: the result loses",
    )
    yield Report(
        "130",
        "mean over the first axis",
        {"numpy_mean": lambda x: np.mean(x, axis=0), "torch_mean": lambda x: torch.mean(x, dim=0)},
        {"x": "uniform(250,320)[300000,2]"},
        (HEALTHY, HEALTHY),
        "numpy_mean adds one term after the other",
        options={"trials": 1},
    )
    yield Report(
        "138",
        "sinc of infinity",
        {"numpy_sinc": np.sinc, "torch_sinc": torch.sinc},
        {"x": np.array([INF, 1, 100, 0.5, 2.5], np.float32)},
        ("nonfinite_mismatch", "nonfinite_mismatch"),
        "numpy_sinc: the result is NaN",
        truth=lambda x: np.where(np.isinf(x), 0.0, np.sinc(np.where(np.isinf(x), 0.5, x))),
        options={"trials": 1},
    )
    yield Report(
        "010",
        "digamma next to its poles, float64",
        {"torch_digamma": torch.special.digamma, "scipy_digamma": scipy.special.digamma},
        {"x": np.array([-1931.99999994, -350.9999998, -20.00000001, -3.9999999])},
        (HEALTHY, HEALTHY),
        "torch_digamma and scipy_digamma agree",
        options={"dtype": "float64", "trials": 1},
    )
    yield Report(
        "009",
        "digamma around its root",
        {"torch_digamma": torch.special.digamma, "scipy_digamma": scipy.special.digamma},
        {"x": "uniform(0.5,10)[500]"},
        (HEALTHY, HEALTHY),
        "torch_digamma and scipy_digamma agree",
    )


REPORTS: tuple[Report, ...] = tuple(_reports())


def row(report: Report, result: Result) -> str:
    """Of the table."""
    cells = [report.id, report.about, " / ".join(report.functions)]
    cells += [" / ".join(line.verdict for line in result.lines)]
    cells += [" / ".join("-" if line.abs_max is None else f"{line.abs_max:.1e}" for line in result.lines)]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = set(filter(None, parser.parse_args().only.split(",")))
    print("| report | about | functions | verdicts | max error |\n|---|---|---|---|---|")
    bad = 0
    for report in REPORTS:
        if only and report.id not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = report.check(Path(folder))
        print(row(report, result), flush=True)
        if answers(result) != report.right or report.says not in result.sentence:
            print(f"{report.id}: {answers(result)} where {report.right} is right, and {report.says!r}", file=sys.stderr)
            bad += 1
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
