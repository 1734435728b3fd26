"""The trials of one target, one value of each kind a trial, and which of them two campaigns share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from results.outcomes import RAN
from results.quoting import quoted
from results.statistics.samples import Floats

if TYPE_CHECKING:
    from results.reading import Results

Texts: TypeAlias = npt.NDArray[np.object_]
Marks: TypeAlias = npt.NDArray[np.int8]
Places: TypeAlias = npt.NDArray[np.intp]

EVENTS: dict[str, str] = {
    "above 1e-1": "max(above_1e01) > 0",
    "above 1e-2": "max(above_1e02) > 0",
    "flagged": "sum(flagged) > 0",
    "finding": "bool_or(finding)",
}
"""What may happen in a trial, in SQL over its outputs: the columns of the report, and a verdict that counts against the
implementation, which a trial without an output can have, too."""

UNKNOWN = -1


class Trials(Struct, frozen=True):
    """Trials of one operator, dtype and target against the truth, that ran; position i is one trial everywhere."""

    keys: Texts
    """problem/seed/index."""
    problems: Texts
    events: dict[str, Marks]
    """By name: 1 where it happened, 0 where not, -1 where there was no output to measure."""
    rho: Floats
    """Largest of the outputs; NaN where there is none or it is not finite."""
    inputs: Texts
    """Digest of the inputs; None where it was not written."""
    bits: Texts
    """Digests of the outputs as "name=digest name=digest", names as in URLs; empty where there is no output."""

    def __len__(self) -> int:
        return len(self.keys)

    def at(self, places: npt.NDArray[Any]) -> Trials:
        """The trials at these positions, or where a mask is true."""
        events = {name: marks[places] for name, marks in self.events.items()}
        return Trials(
            self.keys[places], self.problems[places], events, self.rho[places], self.inputs[places], self.bits[places]
        )

    def known(self, event: str) -> npt.NDArray[np.bool_]:
        """Where the event can be told."""
        return np.not_equal(self.events[event], UNKNOWN)


class Shared(Struct, frozen=True):
    """Positions of the trials that both sides ran: same problem, seed and index."""

    first: Places
    second: Places
    same_inputs: npt.NDArray[np.bool_]
    """False where both digests of the inputs were written and differ: then these are not the same trial."""


def shared(first: Trials, second: Trials) -> Shared:
    """Match the trials of two sides by their keys."""
    where = {key: place for place, key in enumerate(second.keys.tolist())}
    pairs = [(place, where[key]) for place, key in enumerate(first.keys.tolist()) if key in where]
    one, other = (np.array([pair[side] for pair in pairs], np.intp) for side in (0, 1))
    same = [
        None in (a, b) or a == b for a, b in zip(first.inputs[one].tolist(), second.inputs[other].tolist(), strict=True)
    ]
    return Shared(one, other, np.array(same, bool))


def equal_outputs(first: Trials, second: Trials) -> tuple[int, int]:
    """Outputs that either side has, and those that both have with equal bits; paired by position."""
    every = equal = 0
    for one, other in zip(first.bits.tolist(), second.bits.tolist(), strict=True):
        if one == other:
            every, equal = every + one.count("="), equal + one.count("=")
            continue
        before, after = _digests(one), _digests(other)
        every += len(before.keys() | after.keys())
        equal += sum(after.get(name) == digest for name, digest in before.items())
    return every, equal


def target_keys(results: Results) -> list[tuple[str, str, str, str]]:
    """(operator, dtype, target, backend) of everything that ran against the truth, sorted."""
    rows = results.records(f"""
        SELECT DISTINCT operator, coalesce(dtype, '') AS dtype, target, coalesce(backend, '') AS backend
        FROM trials WHERE {RAN} ORDER BY ALL
    """)
    return [(row["operator"], row["dtype"], row["target"], row["backend"]) for row in rows]


def read_trials(results: Results, operator: str, dtype: str) -> dict[str, Trials]:
    """The trials of each target of one operator and dtype. What was not run, or is not supported, is no trial."""
    events = ", ".join(f'coalesce(CAST({sql} AS TINYINT), {UNKNOWN}) AS "{name}"' for name, sql in EVENTS.items())
    table = results.sql(f"""
        SELECT target, problem_id AS problem, concat(problem_id, '/', seed, '/', "index") AS key,
               {events}, max(rho_max) FILTER (isfinite(rho_max)) AS rho, any_value(input_digest) AS inputs,
               coalesce(string_agg(concat(url_encode(output), '=', output_digest), ' ' ORDER BY output)
                        FILTER (output_digest IS NOT NULL), '') AS bits
        FROM trials LEFT JOIN verdicts ON verdict = name
        WHERE operator = {quoted(operator)} AND coalesce(dtype, '') = {quoted(dtype)} AND {RAN}
        GROUP BY target, problem_id, seed, "index" ORDER BY target, problem_id, seed, "index"
    """)
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    every = Trials(
        columns["key"].astype(object),
        columns["problem"].astype(object),
        {name: columns[name].astype(np.int8) for name in EVENTS},
        columns["rho"].astype(np.float64),
        columns["inputs"].astype(object),
        columns["bits"].astype(object),
    )
    names = columns["target"].astype(object)
    return {name: every.at(names == name) for name in dict.fromkeys(names.tolist())}


def _digests(bits: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in bits.split()) if bits else {}
