"""campaign.json as a value: what a campaign set out to do, with every name resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

import fuzz
from fuzz.campaigns import exhaustive
from fuzz.campaigns.drawing import DRAWN, EVALUATIONS, SEARCH, SURVEY
from fuzz.campaigns.request import CampaignSpec
from fuzz.campaigns.spec import Resolved
from fuzz.operators import operator
from fuzz.schedules import with_drawn
from fuzz.targets import Target, parse_target
from fuzz.trial import Cell
from results.columns import SCHEMA_VERSION
from results.manifest import FORMAT
from strategies.canonical import identity
from strategies.choices import POPULATION
from strategies.precision import narrowest
from strategies.problem import problem_from_plain

Pairs = tuple[tuple[str, str], ...]


class CellRecord(Struct, frozen=True):
    """A problem of a fixed plan and who runs it."""

    problem_id: str
    problem: dict[str, Any]
    targets: tuple[str, ...]
    pairs: Pairs
    variants: tuple[str, ...] | None = None
    """In the place of the campaign's."""

    def cell(self, variants: tuple[str, ...] = ()) -> Cell:
        problem = problem_from_plain(self.problem, operator(str(self.problem["operator"])).contract)
        own = variants if self.variants is None else self.variants
        return Cell(problem, _targets(self.targets, problem.home), _positions(self.pairs, self.targets), own)


class SurveyRecord(Struct, frozen=True):
    """An operator whose problems a survey or an exploration draws, and who runs them."""

    operator: str
    home: str
    targets: tuple[str, ...]
    pairs: Pairs

    def seed(self, campaign_seed: int) -> int:
        """A stream of problems of its own for each operator and dtype."""
        return int(identity({"seed": campaign_seed, "operator": self.operator, "home": self.home}), 16)

    def parsed_targets(self) -> tuple[Target, ...]:
        return _targets(self.targets, self.home)

    def pair_positions(self) -> tuple[tuple[int, int], ...]:
        return _positions(self.pairs, self.targets)


class PublishedEvent(Struct, frozen=True):
    """What a published rate counts: relative errors above 1e-k of a pair, or of every target against the truth."""

    pair: tuple[str, str] | None
    above: int


class Until(Struct, frozen=True):
    """The question that ends a campaign: is the rate of an event above or below `threshold`?

    The event is a relative error above 1e-k of a pair or of a target against the truth, or, where `above` is null, a
    flagged trial. It is asked of every problem and of every target or pair by itself.
    """

    threshold: float
    above: int | None = None
    pair: tuple[str, str] | None = None


class Manifest(Struct, frozen=True, kw_only=True):
    """The content of campaign.json. `shard_trials` is null until the cost of a trial has been measured."""

    format: str = FORMAT
    schema_version: int = SCHEMA_VERSION
    version: str = fuzz.__version__
    title: str | None = None
    plan: str
    seed: int
    trials: int | None
    """A problem (fixed) or an operator and dtype (drawn plans); null where time or a decision ends the campaign."""
    seconds: float | None = None
    """Time that all runs of the campaign may take together."""
    until: Until | None = None
    fail_on: str | None = None
    shard_trials: int | None = None
    rotating: bool = False
    """Whether consecutive shards belong to different problems: not where a problem takes many of them and nobody looks
    at a part of its inputs, so that its kernels are compiled once."""
    targets: tuple[str, ...]
    pairs: Pairs
    variants: tuple[str, ...] = ()
    """Ways of calling each target besides the plain one, one by one."""
    evaluations: int | None = None
    """Of an island of a search."""
    recipes: str | None = None
    """The set of kinds of inputs, where one was named."""
    published: str | None = None
    published_event: PublishedEvent | None = None
    skipped: tuple[str, ...] = ()
    cells: tuple[CellRecord, ...] = ()
    survey: tuple[SurveyRecord, ...] = ()
    """Operators of a plan that draws its problems, whatever the plan."""
    population: str | None = None
    """Name of the population that problems are drawn from, where they are (`strategies.POPULATION`)."""
    trials_per_problem: int | None = None
    """1 where every trial draws its problem anew: what makes a survey's rates exact."""

    @property
    def groups(self) -> tuple[CellRecord | SurveyRecord, ...]:
        """What the plan runs `trials` times each."""
        return self.cells or self.survey

    @property
    def total(self) -> int | None:
        """Trials of the whole plan; None where it has no end."""
        return None if self.trials is None else self.trials * len(self.groups)

    @property
    def backends(self) -> tuple[str, ...]:
        return tuple(sorted({name.partition(":")[0] for name in self.targets}))

    def plain(self) -> Any:
        """JSON-able."""
        return msgspec.to_builtins(self)


def manifest_of(resolved: Resolved, shard_trials: int | None) -> Manifest:
    """What a checked request sets out to do."""
    spec = resolved.spec
    cells = tuple(_cell_record(cell, resolved.variants) for cell in resolved.cells)
    survey = _survey_records(resolved) if spec.plan in DRAWN else ()
    groups: tuple[CellRecord | SurveyRecord, ...] = cells or survey
    return Manifest(
        title=spec.title,
        plan=spec.plan,
        seed=spec.seed,
        trials=resolved.ends.trials,
        seconds=resolved.ends.seconds,
        until=_until(resolved, groups[0].pairs),
        fail_on=spec.fail_on,
        rotating=spec.plan != exhaustive.NAME,
        shard_trials=shard_trials,
        targets=tuple(sorted({name for group in groups for name in group.targets})),
        pairs=groups[0].pairs,
        variants=resolved.variants,
        evaluations=(spec.evaluations or EVALUATIONS) if spec.plan == SEARCH else None,
        recipes=spec.recipes,
        published=spec.published.rate if spec.published else None,
        published_event=_event(spec, groups[0].pairs),
        skipped=resolved.skipped,
        cells=cells,
        survey=survey,
        population=POPULATION if survey else None,
        trials_per_problem=1 if spec.plan == SURVEY else None,
    )


def manifest_from_plain(plain: Any) -> Manifest:
    """Inverse of `Manifest.plain`; msgspec.ValidationError where something is missing or of the wrong type."""
    return msgspec.convert(plain, Manifest)


def _cell_record(cell: Cell, variants: tuple[str, ...]) -> CellRecord:
    names = tuple(target.spelling(cell.problem.home) for target in cell.targets)
    pairs = tuple((names[a], names[b]) for a, b in cell.pairs)
    own = None if cell.variants == variants else cell.variants
    return CellRecord(cell.problem.id, cell.problem.plain(), names, pairs, own)


def _survey_records(resolved: Resolved) -> tuple[SurveyRecord, ...]:
    records = []
    for targets, pairs in zip(resolved.targets, resolved.pairs, strict=True):
        home = narrowest(tuple(target.dtype for target in targets))
        for problem in resolved.spec.problems:
            about = {"operator": problem.operator, "home": home}
            every = with_drawn(resolved.spec, targets, problem.operator, about)
            names = tuple(target.spelling(home) for target in every)
            records.append(SurveyRecord(problem.operator, home, names, tuple((names[a], names[b]) for a, b in pairs)))
    return tuple(records)


def _event(spec: CampaignSpec, pairs: Pairs) -> PublishedEvent | None:
    published = spec.published
    if published is None:
        return None
    pair = pairs[spec.pairs.index(published.pair)] if published.pair else None
    return PublishedEvent(pair, published.above)


def _until(resolved: Resolved, pairs: Pairs) -> Until | None:
    if resolved.ends.threshold is None:
        return None
    event = _event(resolved.spec, pairs)
    return Until(resolved.ends.threshold) if event is None else Until(resolved.ends.threshold, event.above, event.pair)


def _targets(names: Sequence[str], home: str) -> tuple[Target, ...]:
    return tuple(parse_target(name, home) for name in names)


def _positions(pairs: Pairs, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    order = list(names)
    return tuple((order.index(a), order.index(b)) for a, b in pairs)
