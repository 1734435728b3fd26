"""What is measured: batch_norm in inference form on 2 x 32 x 28 x 28 float32, the setting of the public report."""

from __future__ import annotations

import os
from pathlib import Path

from fuzz.targets import parse_target
from fuzz.trial import Cell
from fuzz.workers.worker import Setup
from strategies.expressions import parse_recipe
from strategies.problem import Problem

SEED = 0
INPUTS = {
    "x": "normal(0,1)",
    "mean": "normal(0,1)",
    "var": "abs(normal(1,1))",
    "gamma": "normal(0,1)",
    "beta": "normal(0,1)",
}
TWO = ("torch", "tvm")
FOUR = ("torch", "tvm", "numpy", "jax")


def cell(backends: tuple[str, ...] = TWO) -> Cell:
    """The problem, its targets, and the pair torch/tvm (the first two targets)."""
    problem = Problem(
        operator="batch_norm",
        attributes=(("eps", 1e-5),),
        dims=(("N", 2), ("C", 32), ("H", 28), ("W", 28)),
        home="float32",
        recipes=tuple(parse_recipe(text, (name,)) for name, text in INPUTS.items()),
    )
    return Cell(problem, tuple(parse_target(name, "float32") for name in backends), pairs=((0, 1),))


def setup(folder: Path, backends: tuple[str, ...] = TWO) -> Setup:
    """What a campaign in `folder` tells its workers."""
    for name in ("tmp", "given"):
        (folder / name).mkdir(exist_ok=True)
    return Setup(
        crumb=str(folder / "tmp" / "own.crumb"),
        log=os.devnull,
        seed=SEED,
        environment="benchmark",
        backends=backends,
        extensions=(),
        given=str(folder / "given"),
    )
