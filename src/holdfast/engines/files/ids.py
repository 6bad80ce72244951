"""Which ids are in the log: built when somebody brings an id of their own, caught up from there."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.capture.line import seq_and_id
from holdfast.model.events import Damage

from .pieces import Piece


class SeenIds:
    """Event ids and their seqs, read from the log and from nowhere else."""

    def __init__(self) -> None:
        self._seqs: dict[str, int] = {}
        self._upto = 0

    @property
    def upto(self) -> int:
        """The position these ids are known to."""
        return self._upto

    def catch_up(self, found: Iterator[Piece | Damage]) -> None:
        """Take in everything behind `upto`."""
        for piece in found:
            if not isinstance(piece, Damage):
                self._seqs.setdefault(seq_and_id(piece.record)[1], piece.seq)
                self._upto = max(self._upto, piece.seq)

    def seq(self, event_id: str) -> int | None:
        """Where that id is, if it is there."""
        return self._seqs.get(event_id)
