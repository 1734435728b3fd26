"""What was seen of a candidate, and the guard that tells the same failure from another one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from results.columns import Row
from results.verdicts import NO_VALUE, VERDICTS

DECADE = 10.0
"""A failure whose rho is larger or smaller by more than this factor is another one."""
_SIZELESS = NO_VALUE | {
    "nonfinite_mismatch",
    "out_of_range",
    "dtype_mismatch",
    "schedule_variant",
    "input_modified",
    "out_of_bounds_write",
}
"""Verdicts that rho is no measure of: the same kind and region are one failure."""
_BY_SIZE = frozenset({"wrong", "unstable"})
"""Verdicts that differ in how the error of one precision compares with that of the other."""
_OBSERVED = frozenset({"input_modified", "out_of_bounds_write"})
"""Verdicts whose region names the signal of the first run, if there was one."""
_BY_MEMORY = ("SIGSEGV", "SIGBUS")
"""Signals of an access beyond what is mapped or allowed."""
_ONE_SUMMAND = "one summand, "
"""What regions say of a reduction over one term: a reduction that was cut to it is still the same."""


class Aim(Struct, frozen=True):
    """The failure that is looked for: a verdict, of one output or (empty) of the whole call."""

    verdict: str
    output: str


class Seen(Struct, frozen=True):
    """What the trial pipeline made of a candidate."""

    verdict: str
    rho: float | None = None
    """None: there was no output to measure."""
    region: str = ""
    output: str = ""
    position: int = -1
    """Flat index of the failing element; -1 where the whole call fails."""
    detail: str = ""


class Guard(Struct, frozen=True):
    """Says whether a candidate fails as the first one did: same verdict; same decade of rho, or same region.

    Which bytes a write beyond a buffer meets is a matter of sizes: a call that such a write ended in one size may, in
    another, end by the same signal with nothing changed in the bytes that are looked at. It is the same failure.

    Far above 1/u, where the error exceeds all that the result depends on, one rho is as large as another, and whether
    it grows with precision is chance: what a kernel reads from memory that nobody has written is of any size.
    """

    first: Seen
    u: float
    """Unit roundoff of the first one's dtype."""

    def holds(self, seen: Seen | None) -> bool:
        if seen is None:
            return False
        if self._unwritten(self.first) and self.first.verdict in _BY_SIZE:
            return seen.verdict in _BY_SIZE and seen.rho is not None and seen.rho > 1 / self.u
        if seen.verdict != self.first.verdict and not _one_stray(seen, self.first):
            return False
        if sized(self.first):
            assert self.first.rho is not None
            return seen.rho is not None and self.first.rho / DECADE <= seen.rho <= self.first.rho * DECADE
        return _place(seen) == _place(self.first)

    def _unwritten(self, seen: Seen) -> bool:
        """Whether the error is far above all that the result depends on."""
        return seen.rho is not None and DECADE / self.u < seen.rho < math.inf


def sized(seen: Seen) -> bool:
    """Whether rho says how large the failure is."""
    return seen.verdict not in _SIZELESS and seen.rho is not None and 0 < seen.rho < math.inf


def seen_of(rows: Sequence[Row], output: str, position: int = -1) -> Seen | None:
    """The most severe row of a trial of one target, of `output` or (empty) of any; None where there is none."""
    mine = [row for row in rows if row["against"] == "truth" and output in ("", row["output"])]
    if not mine:
        return None
    row = max(mine, key=lambda row: (VERDICTS[str(row["verdict"])].severity, float(row.get("rho_max") or 0.0)))
    rho, index = row.get("rho_max"), row.get("rho_index")
    if position < 0 and index is not None:
        position = int(index)
    return Seen(
        str(row["verdict"]),
        None if rho is None or math.isnan(float(rho)) else float(rho),
        str(row.get("region") or ""),
        str(row["output"]),
        position,
        str(row.get("detail") or row.get("error") or ""),
    )


def _stray(seen: Seen) -> bool:
    """Whether the call wrote to memory that is not its own, or died of an access to such memory."""
    return seen.verdict in _OBSERVED or (seen.verdict == "crashed" and seen.region.startswith(_BY_MEMORY))


def _one_stray(one: Seen, other: Seen) -> bool:
    """Whether one call died where the other was seen to write beyond its buffers.

    Not where it was seen to change an input: one that it happens not to change would show nothing.
    """
    return _stray(one) and _stray(other) and {one.verdict, other.verdict} == {"crashed", "out_of_bounds_write"}


def _place(seen: Seen) -> str:
    """The region without what the size of an array alone decides: how many terms a reduction has, and whether a write
    beyond a buffer meets a guard page or bytes that are looked at afterwards."""
    if _stray(seen):
        return seen.region.rpartition(", ")[2]
    return seen.region.removeprefix(_ONE_SUMMAND)
