"""The question that ends a campaign: does the rate of an event lie above or below a threshold?

It is asked after every block of trials, of each problem (of each operator and dtype in a survey) and each target or
pair by itself, with an answer that may be acted on at any time (results.statistics.sequential). Blocks count in the
order of their numbers, whichever worker finishes first: an order that depended on the outcomes would not be a fair
sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from results.columns import COLUMNS, rung_column
from results.statistics.sequential import Decision, decide
from results.tallies import PLAIN

if TYPE_CHECKING:
    from results.reading import Results

Asked: TypeAlias = tuple[str, str, str]
"""Of whom: problem of a fixed plan ("" in a survey), operator and dtype ("tanh in float32"), target or pair."""

HOPELESS_BLOCKS = 3
"""Without a single output to measure after so many blocks a problem is given up."""

_AT = {column.name: position for position, column in enumerate(COLUMNS)}
_PROBLEM, _OPERATOR, _HOME, _INDEX = (_AT[name] for name in ("problem_id", "operator", "home", "index"))
_TARGET, _AGAINST, _VARIANT, _FLAGGED = (_AT[name] for name in ("target", "against", "variant", "flagged"))


class Question(Struct, frozen=True):
    """`until` of campaign.json: the event and the threshold."""

    threshold: float
    above: int | None = None
    """k of "relative error above 1e-k"; None: a flagged trial."""
    pair: tuple[str, str] | None = None
    by_problem: bool = True

    @property
    def event(self) -> str:
        return "flagged" if self.above is None else f"relative error above 1e-{self.above}"

    def happened(self, row: Sequence[Any]) -> bool | None:
        """Whether a row, a list in the order of COLUMNS, has the event; None where it is not asked or not known."""
        if row[_VARIANT] or self._whose(row[_TARGET], row[_AGAINST]) is None:
            return None
        value = row[_FLAGGED if self.above is None else _AT[rung_column(self.above)]]
        return None if value is None else value > 0

    def asked(self, row: Sequence[Any]) -> Asked:
        whose = self._whose(row[_TARGET], row[_AGAINST]) or ""
        return (row[_PROBLEM] if self.by_problem else "", f"{row[_OPERATOR]} in {row[_HOME]}", whose)

    def _whose(self, target: str, against: str) -> str | None:
        if self.pair is None:
            return target if against == "truth" else None
        return f"{self.pair[0]} against {self.pair[1]}" if {target, against} == set(self.pair) else None


def question(manifest: Mapping[str, Any]) -> Question | None:
    """What the campaign was to decide; None where it ends otherwise."""
    asked = manifest.get("until")
    if not isinstance(asked, Mapping):
        return None
    pair = asked.get("pair")
    return Question(
        float(asked["threshold"]),
        asked.get("above"),
        None if pair is None else (str(pair[0]), str(pair[1])),
        manifest.get("plan") == "fixed",
    )


class Answer:
    """The count of one target or pair so far, and the first decision it led to."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self.k = self.n = 0
        """Events and trials up to the decision, or so far."""
        self.decision: Decision = "undecided"

    def count(self, k: int, n: int) -> None:
        """Take the events and trials of the next block. What follows the decision changes nothing."""
        if self.decision == "undecided" and n:
            self.k, self.n = self.k + k, self.n + n
            self.decision = decide(self.k, self.n, self._threshold)


class Answers:
    """The answers of one problem (of one operator and dtype in a survey), from its blocks in any order."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._waiting: dict[int, Mapping[Asked, tuple[int, int]]] = {}
        self._next = 0
        self.of: dict[Asked, Answer] = {}

    def add(self, block: int, counts: Mapping[Asked, tuple[int, int]]) -> None:
        """Take the events and trials of a block; they count once those of all blocks before it have arrived."""
        self._waiting[block] = counts
        while self._next in self._waiting:
            for asked, (k, n) in self._waiting.pop(self._next).items():
                self.of.setdefault(asked, Answer(self._threshold)).count(k, n)
            self._next += 1

    @property
    def settled(self) -> bool:
        """Whether everything that can be decided is, or nothing can be. Targets without any output do not count."""
        counted = [answer for answer in self.of.values() if answer.n]
        if not counted:
            return self._next >= HOPELESS_BLOCKS
        return all(answer.decision != "undecided" for answer in counted)


def count_rows(asked: Question, rows: Sequence[Sequence[Any]]) -> dict[Asked, tuple[int, int]]:
    """Events and trials of each target or pair among `rows`. A trial has the event if any of its outputs has it."""
    trials: dict[Asked, dict[tuple[str, int], bool]] = {}
    for row in rows:
        happened = asked.happened(row)
        if happened is None:
            continue
        of = trials.setdefault(asked.asked(row), {})
        key = row[_PROBLEM], row[_INDEX]
        of[key] = of.get(key, False) or happened
    return {whose: (sum(of.values()), len(of)) for whose, of in trials.items()}


def count_blocks(results: Results, asked: Question, size: int) -> dict[tuple[str, str], dict[int, Any]]:
    """The same from the rows on disk: by problem and operator, then by block of `size` trials."""
    column = "flagged" if asked.above is None else rung_column(asked.above)
    which = "against = 'truth'"
    if asked.pair is not None:
        one, other = (name.replace("'", "''") for name in asked.pair)
        which = f"((target = '{one}' AND against = '{other}') OR (target = '{other}' AND against = '{one}'))"
    found: dict[tuple[str, str], dict[int, Any]] = {}
    for row in results.records(f"""
        SELECT problem, what, whose, "index" // {size} AS block,
               count(*) FILTER (happened) AS k, count(*) FILTER (happened IS NOT NULL) AS n
        FROM (SELECT {"problem_id" if asked.by_problem else "''"} AS problem, operator || ' in ' || home AS what,
                     {"target" if asked.pair is None else "''"} AS whose, problem_id, "index",
                     bool_or("{column}" > 0) FILTER ({which}) AS happened
              FROM measurements WHERE {PLAIN} GROUP BY ALL)
        GROUP BY ALL ORDER BY ALL
    """):
        group = row["problem"], row["what"]
        whose = row["whose"] if asked.pair is None else f"{asked.pair[0]} against {asked.pair[1]}"
        found.setdefault(group, {}).setdefault(row["block"], {})[*group, whose] = row["k"], row["n"]
    return found


def answers(results: Results) -> dict[Asked, Answer]:
    """What the campaign decided; empty where it was not asked to."""
    asked = question(results.manifest)
    size = results.manifest.get("shard_trials")
    if asked is None or not size:
        return {}
    found: dict[Asked, Answer] = {}
    for by_block in count_blocks(results, asked, int(size)).values():
        group = Answers(asked.threshold)
        for block, counts in by_block.items():
            group.add(block, counts)
        found.update(group.of)
    return found
