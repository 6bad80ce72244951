"""Which ids are in the log: built when somebody brings an id of their own, caught up from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.capture.line import crc_of
from holdfast.model.events import Damage

from .pieces import Piece

Read = Callable[[int], Iterator[Piece | Damage]]


class SeenIds:
    """Event ids and their seqs, read from the log and from nowhere else.

    The last record taken in is looked at again each time: if it is no longer the same (an event that
    was seen but never acknowledged and taken back), or the generation rose (an erase, a retention),
    everything is read anew.
    """

    def __init__(self) -> None:
        self._seqs: dict[str, int] = {}
        self._upto = 0
        self._crc = ""
        self._generation = 0

    def catch_up(self, read: Read, generation: int) -> None:
        """Take in everything that came since."""
        if generation != self._generation:
            self._seqs, self._upto, self._generation = {}, 0, generation
        found = read(max(0, self._upto - 1))
        if self._upto:
            same = next((p for p in found if isinstance(p, Piece)), None)
            if same is None or (same.seq, crc_of(same.record)) != (self._upto, self._crc):
                self._seqs, self._upto = {}, 0
                found = read(0)
        for piece in found:
            if isinstance(piece, Piece):
                self._seqs.setdefault(piece.event_id, piece.seq)
                self._upto, self._crc = piece.seq, crc_of(piece.record)

    def seq(self, event_id: str) -> int | None:
        """Where that id is, if it is there."""
        return self._seqs.get(event_id)
