"""What a user asks for, as written: plain values, nothing looked up yet."""

from __future__ import annotations

from msgspec import Struct

from strategies.contract import Scalar

ALL = "all"
"""Stands for every operator."""


class ProblemSpec(Struct, frozen=True):
    """One operator with sizes and inputs as typed by the user."""

    operator: str
    dims: dict[str, int] = {}
    attributes: dict[str, Scalar] = {}
    inputs: dict[str, str] = {}
    variants: tuple[str, ...] | None = None
    """In the place of the campaign's, for this problem alone."""


class Published(Struct, frozen=True):
    """A rate somebody reported, and the event it counts: |a - b|/|b| above 1e-k for a pair, else against the truth."""

    rate: str
    pair: tuple[str, str] | None = None
    above: int = 1


class CampaignSpec(Struct, frozen=True, rename={"problems": "problem", "dtypes": "dtype"}):
    """Everything a campaign is, as the user wrote it; renamed fields are the keys of the TOML file."""

    problems: tuple[ProblemSpec, ...]
    plan: str = "fixed"
    trials: int | None = None
    """Trials a problem (of a fixed plan) or problems an operator (of a survey). None: 1000, or no end where `time` or
    `until` ends the campaign."""
    time: float | str | None = None
    """Seconds, or a text such as "8h" or "1h30m": the campaign ends at the first trial boundary after it."""
    until: str | None = None
    """decided: ends when the rate is known to lie above or below the published one, or that of `fail_on`."""
    fail_on: str | None = None
    """What makes exit code 1: new (default), wrong, rate>p, none."""
    known: str | None = None
    """File of known findings, relative to the TOML file."""
    seed: int = 0
    dtypes: tuple[str, ...] = ("float32",)
    targets: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    variants: tuple[str, ...] = ()
    """Ways of calling each target besides the plain one: families, single ones, or all."""
    title: str | None = None
    published: Published | None = None
    options: int = 0
    """Random settings of options a problem, as further targets of each target that has options to set."""
    schedules: int = 0
    """Random legal schedules a problem, as further targets of each target that takes them."""
    meta_schedules: int = 0
    """Random samples a problem of the design space of TVM's meta_schedule, in the same way."""
    unsafe_schedules: int = 0
    """Random schedules in orders that are known to be miscompiled."""
    evaluations: int | None = None
    """Sets of input arrays that an island of a search evaluates."""
    gradients: bool = False
    """Whether the gradients of the operators are run in their place."""
    recipes: str | None = None
    """A set of kinds of inputs that each problem is run with; set on the command line only."""
