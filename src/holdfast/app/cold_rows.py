"""Which chunks are cold, as the view of them says: all of them, or those that hold some events.

What always holds: of a chunk that left several times each time is told, the latest first, and at most
the latest can be living; what left a larger window after a smaller one left once; asking for a few
events costs no more when a session is long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, takewhile
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.model.cold import ColdChunk
from holdfast.model.events import Event
from holdfast.views.cold import ColdRow, ColdView, Dropped, back, compaction_key, dropped
from holdfast.views.runner import Reading
from holdfast.views.view import session_key

from . import compactions

if TYPE_CHECKING:
    from .holdfast import Holdfast

_VIEW = ColdView()
#: a user, an agent, a session
Whose = tuple[str | None, str | None, str]
#: sessions whose places are kept in memory
_MOST = 64


class ColdRows:
    """What compactions of one project dropped."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._places: dict[Whose, _Places] = {}

    def chunks(self, prefix: str) -> Iterator[ColdChunk]:
        """Every chunk below a key, the compaction made last first."""

        def ask(reading: Reading) -> list[ColdRow]:
            return [row for row in reading.rows(_VIEW, prefix) if row.id]

        again: dict[Whose, dict[str, str]] = {}
        left: dict[Whose, set[str]] = {}
        for row in sorted(self._hf.views.read(ask), key=lambda row: -row.event_seq):
            whole, whose = self._whole(row), (row.user, row.agent, row.session_id)
            came, told = again.setdefault(whose, {}), left.setdefault(whose, set())
            for one in whole.chunks:
                if one.id not in told:  # it left a smaller window before
                    yield _chunk(row, one, came.get(one.id))
            told |= {one.id for one in whole.chunks}
            told -= set(whole.back)
            came |= dict.fromkeys(whole.back, row.at)

    def of(self, event: Event) -> ColdRow | None:
        """What a compaction did; None for one that does not count."""
        return self._row((event.user, event.agent, event.session_id or ""), event.event_seq)

    def dropped_by(self, event: Event) -> list[ColdChunk]:
        """The chunks one compaction dropped, as long as nothing brought them back."""
        row = self.of(event)
        return [] if row is None else [_chunk(row, one, None) for one in self._whole(row).chunks]

    def dropped_before(self, event: Event) -> list[ColdChunk]:
        """The chunks the compaction dropped that this one follows."""
        whose = event.user, event.agent, event.session_id or ""
        mine = self.of(event)
        row = self._row(whose, mine.before) if mine is not None and mine.before else None
        return [] if row is None else [_chunk(row, one, None) for one in self._whole(row).chunks]

    def brought_back(self, event: Event) -> tuple[str, ...]:
        """The chunks one compaction brought back into the window."""
        row = self.of(event)
        return () if row is None else self._whole(row).back

    def lost(self) -> list[str]:
        """The compactions that others follow and that the log cannot show any more."""
        rows = self._hf.views.read(lambda reading: list(reading.rows(_VIEW, "")))
        return [row.lost for row in rows if row.lost]

    def holding(self, whose: Whose, seqs: Iterable[int]) -> list[ColdChunk]:
        """The living chunks of a session that these events lie in, what was dropped last first."""
        generation = self._hf.log.head().generation
        known = self._places.pop(whose, None)
        if known is None or known.generation != generation:
            known = _Places(generation)
        self._places[whose] = known
        if len(self._places) > _MOST:
            del self._places[next(iter(self._places))]
        known.take(self._since(whose, known.last))
        wanted: dict[int, set[str]] = {}
        for place, one in {pair for seq in seqs for pair in known.around(seq)}:
            if not known.back(one, place):
                wanted.setdefault(place, set()).add(one)
        found: dict[tuple[int, int], ColdChunk] = {}
        told: set[str] = set()
        for place, ids in sorted(wanted.items(), reverse=True):
            row = self._row(whose, place)
            if row is not None:
                left = [one for one in self._whole(row).chunks if one.id in ids - told]
                found |= {(place, one.first): _chunk(row, one, None) for one in left}
                told |= ids
        return [found[key] for key in sorted(found, reverse=True) if found[key].living]

    def latest(self, whose: Whose, most: int) -> list[ColdRow]:
        """The last compactions of a session that count, the latest first."""

        def ask(reading: Reading) -> list[ColdRow]:
            return list(islice(_backwards(reading, whose), most))

        return self._hf.views.read(ask)

    # ---- rows ------------------------------------------------------------------------------

    def _row(self, whose: Whose, place: int) -> ColdRow | None:
        key = compaction_key(*whose, place)
        found: ColdRow | None = self._hf.views.read(lambda reading: reading.row(_VIEW, key))
        return found

    def _since(self, whose: Whose, last: int) -> list[ColdRow]:
        """The compactions of a session behind one of them, the latest first."""

        def ask(reading: Reading) -> list[ColdRow]:
            return list(takewhile(lambda row: row.event_seq > last, _backwards(reading, whose)))

        return [self._whole(row) for row in self._hf.views.read(ask)]

    def _whole(self, row: ColdRow) -> ColdRow:
        """With its chunks, where they are too many for the row."""
        if not row.elsewhere:
            return row
        event = self._hf.log.find(row.id)
        if event is None or event.erased:
            return row
        made = compactions.read(self._hf, event)
        again = back(made.strategy, made.decided)
        return replace(row, chunks=dropped(made.decided), back=again, elsewhere=False)


class _Places:
    """Where the chunks of one session lie."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        #: the last compaction that is taken in
        self.last = 0
        self._spans: list[tuple[int, int, int, str]] = []
        #: of the spans up to each, how far they reach
        self._reach: list[int] = []
        self._back: dict[str, int] = {}

    def take(self, rows: Sequence[ColdRow]) -> None:
        """Take in compactions, given the latest first."""
        for row in reversed(rows):
            self._back |= dict.fromkeys(row.back, row.event_seq)
            self._spans += [(c.first, c.last, row.event_seq, c.id) for c in row.chunks]
            self.last = max(self.last, row.event_seq)
        if rows:
            self._spans.sort()
            self._reach = list(accumulate((last for _, last, _, _ in self._spans), max))

    def around(self, seq: int) -> Iterator[tuple[int, str]]:
        """The compactions and the chunks an event lies in."""
        n = bisect_right(self._spans, seq, key=lambda span: span[0]) - 1
        while n >= 0 and self._reach[n] >= seq:
            _, last, place, chunk = self._spans[n]
            if last >= seq:
                yield place, chunk
            n -= 1

    def back(self, chunk: str, place: int) -> bool:
        """Did a chunk come back after that compaction?"""
        return self._back.get(chunk, 0) > place


def _backwards(reading: Reading, whose: Whose) -> Iterator[ColdRow]:
    newest: ColdRow | None = reading.row(_VIEW, session_key(*whose))
    place = newest.event_seq if newest is not None else 0
    while place:
        row: ColdRow | None = reading.row(_VIEW, compaction_key(*whose, place))
        if row is None:
            return
        yield row
        place = row.before


def _chunk(row: ColdRow, one: Dropped, came_back: str | None) -> ColdChunk:
    return ColdChunk(
        id=one.id,
        session_id=row.session_id,
        agent=row.agent,
        user=row.user,
        first=one.first,
        last=one.last,
        tokens=one.tokens,
        score=one.score,
        reason=one.reason,
        prompt=row.prompt,
        at=row.at,
        until=row.until,
        compaction=row.event_seq,
        compaction_id=row.id,
        recovered=row.recovered.get(one.id),
        expired=row.expired.get(one.id),
        back=came_back,
    )
