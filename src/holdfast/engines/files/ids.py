"""Which ids are in the log: asked when somebody brings an id of their own.

The log is the truth; an IdStore only saves reading all of it again in every process. What the store does
not include yet is read from the log and held in memory, and handed on when it has grown. A store that
fails, or that another process began anew, is left, and the log is read instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext

from holdfast.capture.line import crc_of
from holdfast.errors import HoldfastError
from holdfast.model.events import Damage, Position
from holdfast.ports.views import IdStore

from .pieces import Piece

Read = Callable[[int], Iterator[Piece | Damage]]
#: ids held in memory before they are handed on
_HELD = 10_000
#: how often another process may change the store before it is left alone
_RACES = 5


class SeenIds:
    """Event ids and their seqs.

    The last record taken in is looked at again each time: if it is no longer the same (an event that
    was seen but never acknowledged and taken back), or the generation rose (an erase, a retention),
    everything is read anew.
    """

    def __init__(self, store: IdStore | None = None) -> None:
        self._store = store
        self._held: dict[str, int] = {}
        self._base: Position | None = None
        self._at: Position | None = None

    def places(self, event_ids: Sequence[str], read: Read, generation: int) -> dict[str, int]:
        """Where those of the ids are that are there, after taking in everything that came since."""
        try:
            with self._store.hurried() if self._store else nullcontext():
                for _ in range(_RACES):
                    if self._caught_up(read, generation):
                        found = self._found(event_ids)
                        if self._store is None or self._store.position() == self._base:
                            return found  # nobody changed the store while it was asked
        except HoldfastError:
            if self._store is None:
                raise
        self.distrust()  # the index is in trouble, or others keep changing it; the log is not
        self._caught_up(read, generation)
        return self._found(event_ids)

    def distrust(self) -> None:
        """The store was wrong: read the log instead."""
        self._store = None
        self._begin(None)

    def _found(self, event_ids: Sequence[str]) -> dict[str, int]:
        places = {event_id: self._seq(event_id) for event_id in event_ids}
        return {event_id: seq for event_id, seq in places.items() if seq is not None}

    def _caught_up(self, read: Read, generation: int) -> bool:
        """Take in what came since; False when another process changed the store meanwhile."""
        there = self._store.position() if self._store else None
        if self._store and there != self._base:
            self._begin(there)  # another process gave it more, or began it anew
        if self._at is not None and self._at.generation != generation:
            self._forget()
        found = read(max(0, self._at.event_seq - 1) if self._at else 0)
        if self._at is not None:
            first = next((piece for piece in found if isinstance(piece, Piece)), None)
            place = (self._at.event_seq, self._at.crc)
            if first is None or (first.seq, crc_of(first.record)) != place:
                self._forget()
                found = read(0)
        for piece in found:
            if isinstance(piece, Piece):
                self._held.setdefault(piece.event_id, piece.seq)
                self._at = Position(
                    generation=generation, event_seq=piece.seq, crc=crc_of(piece.record)
                )
                if len(self._held) >= _HELD and self._store and not self.hand_on():
                    return False
        return True

    def _begin(self, there: Position | None) -> None:
        self._held, self._base, self._at = {}, there, there

    def _forget(self) -> None:
        if self._store:
            self._store.clear()
        self._begin(None)

    def hand_on(self) -> bool:
        """Give the store what is held; False when it is no longer what this was read on top of."""
        if self._store is None or self._at is None or not self._held:
            return True
        if not self._store.add(self._base, self._held.items(), self._at):
            return False
        self._held, self._base = {}, self._at
        return True

    def _seq(self, event_id: str) -> int | None:
        held = self._held.get(event_id)
        return held if held is not None or not self._store else self._store.seq(event_id)
