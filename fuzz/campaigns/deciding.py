"""Whether a campaign that waits for a decision has it, kept up to date as shards are committed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzz.campaigns.agenda import Agenda
from fuzz.campaigns.manifest import CellRecord, Manifest
from results.until import Answers, Question, count_blocks, count_rows, question


class Deciding:
    """The answers of every group of the agenda. A campaign that asks nothing never settles."""

    def __init__(self, manifest: Manifest, agenda: Agenda) -> None:
        self._manifest, self._agenda = manifest, agenda
        self._question: Question | None = question(manifest.plain())
        self._answers = [Answers(manifest.until.threshold) for _ in manifest.groups] if manifest.until else []

    def load(self, path: Path, finished: Container[int]) -> None:
        """Count what finished shards on disk hold."""
        if self._question is None:
            return
        from results.reading import open as open_results

        groups = {_name(group): number for number, group in enumerate(self._manifest.groups)}
        results = open_results(path, verify=False)
        for name, by_block in count_blocks(results, self._question, self._agenda.size).items():
            group = groups[name]
            for block, counts in by_block.items():
                if self._agenda.number(group, block) in finished:
                    self._answers[group].add(block, counts)

    def add(self, number: int, rows: Sequence[Sequence[Any]]) -> None:
        """Count a finished shard."""
        if self._question is not None:
            group, block = self._agenda.place(number)
            self._answers[group].add(block, count_rows(self._question, rows))

    def unsettled(self, numbers: Iterator[int]) -> Iterator[int]:
        """Those shards whose group still waits for an answer when their turn comes."""
        for number in numbers:
            if self.settled:
                return
            if not self._answers or not self._answers[self._agenda.place(number)[0]].settled:
                yield number

    @property
    def settled(self) -> bool:
        return bool(self._answers) and all(answers.settled for answers in self._answers)


def _name(group: Any) -> tuple[str, str]:
    if isinstance(group, CellRecord):
        return group.problem_id, f"{group.problem['operator']} in {group.problem['home']}"
    return "", f"{group.operator} in {group.home}"
