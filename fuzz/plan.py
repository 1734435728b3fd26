"""Shards: pure pieces of a plan. What a shard computes depends on nothing but the shard and the campaign seed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from fuzz.trial import Cell


class Piece(Struct, frozen=True):
    """Trials start..stop-1 of one cell. `first` is the index at which the precision ladder runs unasked."""

    cell: Cell
    start: int
    stop: int
    first: int = 0


class Hunt(Struct, frozen=True):
    """A search for inputs with large errors (fuzz.search): with how many evaluations, from which seed."""

    seed: int
    evaluations: int


class Shard(Struct, frozen=True):
    """Consecutive pieces that are computed, sent and stored together. Positions count trials within the shard."""

    number: int
    pieces: tuple[Piece, ...]
    hunt: Hunt | None = None
    """What has to be done before it is known what the trials are. Until then all have the cell that is searched."""

    @property
    def trials(self) -> int:
        return sum(piece.stop - piece.start for piece in self.pieces)

    def at(self, position: int) -> tuple[Piece, int]:
        """The piece and index of the trial at `position`."""
        for piece in self.pieces:
            size = piece.stop - piece.start
            if position < size:
                return piece, piece.start + position
            position -= size
        raise IndexError(position)

    def positions(self, start: int) -> Iterator[tuple[int, Piece, int]]:
        """(position, piece, index) of every trial from `start` on."""
        position = 0
        for piece in self.pieces:
            for index in range(piece.start, piece.stop):
                if position >= start:
                    yield position, piece, index
                position += 1
