"""Two campaigns compared: everything the command `compare A B` says, as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.comparison.changes import Change
from results.comparison.fates import Fate, Traced, trace
from results.comparison.lines import Line, adjust, lines_of
from results.comparison.pairing import Alone, pair_targets
from results.comparison.settings import Difference, differences, plans
from results.comparison.trials import Trials, read_trials, target_keys
from results.report_setting import trials_line
from results.setting import setting

if TYPE_CHECKING:
    from results.reading import Results


class Side(Struct, frozen=True):
    """One of the two campaigns."""

    directory: str
    ran: str
    """Trials, seed and plan; whether some are missing."""


class Campaigns(Struct, frozen=True):
    """What changed from the first campaign to the second."""

    first: Side
    second: Side
    setting: tuple[Difference, ...]
    lines: tuple[Line, ...]
    tests: int
    """Tests made: the family that p-values are adjusted for."""
    alone: tuple[Alone, ...]
    """Targets that ran on one side only."""
    findings: tuple[Traced, ...]

    @property
    def differing(self) -> tuple[tuple[Line, Change], ...]:
        """Changes that hold after adjusting, the surest first."""
        found = [(line, change) for line in self.lines for change in line.changes if change.differs]
        return tuple(sorted(found, key=lambda pair: (pair[1].adjusted or 0.0, not pair[1].worse)))

    @property
    def failed(self) -> bool:
        """Whether something got worse, or a finding is new."""
        worse = any(change.worse for _, change in self.differing)
        return worse or any(item.fate == "new" for item in self.findings)

    @property
    def answered(self) -> bool:
        """Whether anything was tested, or found equal, or a finding's fate is known."""
        fates = any(item.fate != "not run there" for item in self.findings)
        return bool(self.tests or self.outputs or fates)

    def with_fate(self, fate: Fate) -> tuple[Traced, ...]:
        """The findings with that fate."""
        return tuple(item for item in self.findings if item.fate == fate)

    @property
    def shared(self) -> int:
        """Trials of targets that both sides ran on equal inputs."""
        return sum(line.shared for line in self.lines)

    @property
    def outputs(self) -> int:
        return sum(line.outputs for line in self.lines)

    @property
    def equal(self) -> int:
        """Shared outputs of equal bits."""
        return sum(line.equal for line in self.lines)

    @property
    def identical(self) -> bool:
        """Whether all outputs have equal bits, and every line shares some."""
        shares = all(line.outputs and not line.inputs_differ for line in self.lines)
        return bool(self.lines) and shares and self.outputs == self.equal


def compare(first: Results, second: Results) -> Campaigns:
    """Compare two campaigns, each of one directory: rates, rho, bits, findings, setting.

    Targets of equal spelling are paired, then the only ones of a backend. Trials against the truth are compared;
    targets within one campaign are what its report compares.
    """
    pairing = pair_targets(target_keys(first), target_keys(second))
    together = plans(first, second)
    ran: tuple[dict[tuple[str, str, str], Trials], dict[tuple[str, str, str], Trials]] = ({}, {})
    found: list[Line] = []
    keep = [{(g.operator, g.dtype) for g in side.findings} for side in (first, second)]
    wanted = keep[0] | keep[1]
    for operator, dtype in sorted({(pair.operator, pair.dtype) for pair in pairing.pairs}):
        one, other = read_trials(first, operator, dtype), read_trials(second, operator, dtype)
        for pair in pairing.pairs:
            if (pair.operator, pair.dtype) == (operator, dtype):
                found.extend(lines_of(pair, one[pair.first], other[pair.second], together))
        if (operator, dtype) in wanted:
            for side, trials in enumerate((one, other)):
                ran[side].update({(operator, dtype, target): those for target, those in trials.items()})
    lines, tests = adjust(found)
    return Campaigns(
        _side(first),
        _side(second),
        differences(first, second),
        lines,
        tests,
        pairing.alone,
        trace(first, second, ran, pairing, together),
    )


def _side(results: Results) -> Side:
    return Side(str(results.directories[0]), trials_line(results, setting(results)))
