"""Which trials a shard holds, and in what order shards are due."""

from __future__ import annotations

import itertools

import pytest
from msgspec import structs

from fuzz.campaigns.agenda import Agenda
from fuzz.campaigns.manifest import Manifest, manifest_of
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve


def fixed(trials: int | None, size: int, **spec: object) -> Manifest:
    problems = tuple(ProblemSpec("sum", {"rows": 2, "n": n}) for n in (3, 4))
    asked = CampaignSpec(problems=problems, targets=("numpy",), trials=trials, **spec)  # type: ignore[arg-type]
    return manifest_of(resolve(asked), size)


def test_shards_cover_every_trial_once_and_go_round_the_problems() -> None:
    agenda = Agenda(fixed(10, 4))
    shards = [agenda.shard(number) for number in agenda.numbers()]
    seen = [(piece.cell, index) for shard in shards for _, piece, index in shard.positions(0)]
    assert len(seen) == len(set(seen)) == 20
    assert [shard.trials for shard in shards] == [4, 4, 4, 4, 2, 2]
    assert [dict(shard.at(0)[0].cell.problem.dims)["n"] for shard in shards] == [3, 4] * 3
    assert shards[2].at(3)[1] == 7
    assert [position for position, _, _ in shards[0].positions(2)] == [2, 3]
    with pytest.raises(IndexError):
        shards[0].at(4)


def test_campaigns_of_schema_version_1_ran_one_problem_after_the_other() -> None:
    agenda = Agenda(structs.replace(fixed(10, 4), rotating=False))
    shards = [agenda.shard(number) for number in agenda.numbers()]
    assert [dict(shard.at(0)[0].cell.problem.dims)["n"] for shard in shards] == [3] * 3 + [4] * 3
    assert [shard.trials for shard in shards] == [4, 4, 2] * 2


def test_finished_shards_are_left_out_and_an_open_end_never_comes() -> None:
    assert list(Agenda(fixed(10, 4)).numbers({0, 3})) == [1, 2, 4, 5]
    agenda = Agenda(fixed(None, 4, time="1h"))
    assert list(itertools.islice(agenda.numbers({1}), 3)) == [0, 2, 3]
    assert agenda.range(2_000_001) == range(4_000_000, 4_000_004)


def test_a_survey_names_the_same_problem_whatever_the_shards() -> None:
    asked = CampaignSpec(
        problems=(ProblemSpec("tanh"), ProblemSpec("sum")), plan="survey", targets=("numpy",), trials=7
    )
    small, large = (Agenda(manifest_of(resolve(asked), size)) for size in (2, 5))
    names: list[list[str]] = []
    for agenda in (small, large):
        pieces = [piece for number in agenda.numbers() for piece in agenda.shard(number).pieces]
        names.append(sorted(f"{piece.cell.problem.id}-{piece.start}" for piece in pieces))
        for piece in pieces:
            assert agenda.find(f"{piece.cell.problem.id}-{piece.start}") == (piece.cell, piece.start)
    assert names[0] == names[1]
    assert len(set(names[0])) == 14
