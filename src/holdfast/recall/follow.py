"""Keeping the shelves at the head of the log, so that what was written a moment ago is found.

The shelves have a position of their own: whoever only records or reads state does not pay for them. A
store that cannot be written is replaced by one in memory for as long as the process lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.documents.shelved import Shelved
from holdfast.documents.split import parts
from holdfast.documents.whole import body, whole
from holdfast.errors import HoldfastError, Unavailable
from holdfast.model.documents import Said
from holdfast.model.documents import said as said_of_documents
from holdfast.model.events import Damage, Event, Position
from holdfast.model.memories import Memory, current, revisions, said_by
from holdfast.model.recall import RecallSettings
from holdfast.model.search import FOREVER, Held, Page, Passage
from holdfast.ports.embed import Embedder
from holdfast.ports.log import EventLog
from holdfast.ports.search import SearchIndex
from holdfast.ports.vectors import Vectors
from holdfast.views.items import saved_by

from .pages import Binder, milliseconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: events between two commits: large enough to be cheap, small enough to hold in memory
CHUNK = 5_000
#: how often another process may be faster before its shelves are read as they are
_RACES = 20
#: words of a session that can be context for its next turn
_RECENT = 64
#: changes that take a memory out of use
_TAKEN_OUT = frozenset({"superseded", "merged", "forgotten"})

Progress = Callable[[int], None]
Lookup = Callable[[Sequence[str]], list[Memory]]


class Follower:
    """Keeps one SearchIndex, and the vectors that can be made at once, at the head of one log."""

    def __init__(
        self,
        log: EventLog,
        index: SearchIndex,
        arms: list[tuple[Embedder, Vectors]],
        *,
        memories: Lookup,
        settings: RecallSettings,
        tell: Callable[[str], None],
    ) -> None:
        self._log = log
        self.index = index
        self.arms = arms
        self._memories = memories
        self._settings = settings
        self._tell = tell
        #: events up to here are on other shelves
        self.after: Position | None = None
        self._binder: Binder | None = None
        self._nothing_yet = False
        self._bound_to: Position | None = None

    def up_to_date(self, progress: Progress | None = None) -> None:
        """Take in every event of the log."""
        for _ in range(_RACES):
            base = self.index.position()
            events = self._behind(base)
            if events is None:
                self._tell("the log is not the one that was indexed; its words are indexed anew")
                self.after = None
                if self._taken_in(base, self._log.read(0), progress, anew=True):
                    return
                continue
            if self._taken_in(base, events, progress, anew=base is None):
                return

    def _behind(self, at: Position | None) -> Iterator[Event | Damage] | None:
        """What the log holds behind a position; None when that position is not in this log."""
        head = self._log.head()
        if at is None:
            return self._log.read(self.after.event_seq if self.after is not None else 0)
        if at == head:
            return iter(())
        if at.generation != head.generation:
            return None
        found = self._log.read(max(at.event_seq - 1, 0))
        first = next((piece for piece in found if isinstance(piece, Event)), None)
        same = first is not None and (first.event_seq, first.crc) == (at.event_seq, at.crc)
        return found if same else None

    def _taken_in(
        self,
        base: Position | None,
        found: Iterator[Event | Damage],
        progress: Progress | None,
        *,
        anew: bool,
    ) -> bool:
        """Index everything, committing as we go; False when another process was faster."""
        generation = self._log.head().generation
        at = base
        some: list[Event] = []
        for event in found:
            if isinstance(event, Damage):
                continue  # whoever reads views hears of it
            some.append(event)
            if len(some) == CHUNK:
                at_next = _position(some[-1], generation)
                if not self._commit(at, some, at_next, anew=anew):
                    return False
                at, some, anew = at_next, [], False
                if progress is not None:
                    progress(at_next.event_seq)
        return not some or self._commit(at, some, _position(some[-1], generation), anew=anew)

    def _commit(
        self, base: Position | None, events: list[Event], position: Position, *, anew: bool
    ) -> bool:
        if self._binder is None or base != self._bound_to or anew:
            self._binder = Binder(self._recent, self._settings)
        self._nothing_yet = anew
        touched = self._touched(events)
        shelved = Shelved(self.index, empty=anew)
        pages = self._pages(self._binder, events, touched, shelved)
        rows = self._embedded(pages)

        def numbered(shelf: int, passages: Sequence[Passage]) -> None:
            self._put(shelf, passages, rows)

        done = self.index.add(
            base,
            pages,
            position,
            anew=anew,
            held=_expired(events)
            | {memory.id: _held(memory) for memory in touched}
            | shelved.ended,
            numbered=numbered,
        )
        self._bound_to = position if done else None
        self._binder.rest()
        return done

    def _recent(self, owner: str, session: str) -> list[Passage]:
        if self._nothing_yet:  # what the index holds is of another log
            return []
        return self.index.recent(owner, session, _RECENT)

    def _pages(
        self, binder: Binder, events: list[Event], touched: list[Memory], shelved: Shelved
    ) -> list[Page]:
        """The pages these events make, in the order of the log: however an index came to be, the
        same passages have the same numbers."""
        said = {said_by(one): one for memory in touched for one in revisions(memory)}
        restored = {memory.id: memory for memory in touched if self.after is not None}
        made: list[Page | None] = []
        for event in events:
            told = said_of_documents(event)
            if told is not None:
                made += self._document(binder, event, told, shelved)
                continue
            if event.kind == "item_saved":
                item = saved_by(event)
                made.append(None if item is None else binder.item(event, item))
                continue
            memory = None
            if event.kind in ("memory_learned", "memory_revised"):
                memory = said.get(event.event_seq)
            elif event.kind == "memory_restored":  # shelves that stay as they are do not know it
                memory = restored.get(_about(event))
            made.append(binder.turn(event, self._body) if memory is None else binder.memory(memory))
        return [page for page in made if page is not None]

    def _body(self, event: Event) -> str | None:
        """The whole of a long text; None where its line holds all of it, or it cannot be read."""
        try:
            return body(event, self._log)
        except HoldfastError:
            return None

    def _document(self, binder: Binder, event: Event, told: Said, shelved: Shelved) -> list[Page]:
        """The parts of a new version; whatever is said of a document ends the version before it."""
        if not told.path:
            return []
        some = () if told.gone else parts(told.path, whole(event, self._log, self._tell))
        pages = binder.document(event, told.path, some)
        shelved.put(told.path, milliseconds(event.timestamp), pages)
        return pages

    def _touched(self, events: list[Event]) -> list[Memory]:
        """The memories these events are about, as they are now."""
        ids = dict.fromkeys(
            _about(event) for event in events if event.kind.startswith(("memory_", "trust_"))
        )
        merged = [
            other
            for event in events
            if event.kind == "memory_merged" and isinstance(event.payload, dict)
            for other in _listed(event.payload.get("from"))
        ]
        return self._memories(list(filter(None, [*ids, *merged]))) if ids else []

    # ---- vectors ---------------------------------------------------------------------------

    def _embedded(self, pages: Sequence[Page]) -> list[dict[tuple[str, str], NDArray[np.float32]]]:
        """The vectors that can be made at once, by speaker and text."""
        said = list(dict.fromkeys((p.speaker, p.text) for page in pages for p in page.passages))
        made: list[dict[tuple[str, str], NDArray[np.float32]]] = []
        for embedder, _ in self.arms:
            try:
                now = 0 < len(said) <= embedder.at_once
                rows = embedder.passages(said) if now else ()
            except Unavailable as exc:
                self._tell(f"found by words alone: {exc}")
                rows = ()
            made.append(dict(zip(said, rows, strict=False)))
        return made

    def _put(
        self,
        shelf: int,
        passages: Sequence[Passage],
        rows: list[dict[tuple[str, str], NDArray[np.float32]]],
    ) -> None:
        import numpy as np

        edition = self.index.edition()
        for (embedder, vectors), made in zip(self.arms, rows, strict=True):
            if not made:
                continue
            try:
                vectors.begin(edition)
                zero = np.zeros(embedder.dims, np.float32)
                found = [made.get((p.speaker, p.text), zero) for p in passages]
                vectors.put(shelf, passages[0].number, np.stack(found))
            except HoldfastError as exc:
                self._tell(f"vectors could not be kept: {exc}")


def _about(event: Event) -> str:
    """The memory an event is about."""
    return str(event.payload.get("memory", "")) if isinstance(event.payload, dict) else ""


def _expired(events: Sequence[Event]) -> dict[str, Held]:
    """What ran out with its copy is not found from then on, unless it leaves a window once more.

    Its handle shows it all the same.
    """
    ended: dict[str, Held] = {}
    for event in events:
        if event.origin != "system" or event.erased:
            continue
        said = event.payload if isinstance(event.payload, dict) else {}
        if event.kind == "compacted" and said.get("by") == "holdfast":
            ended |= {one: {0: FOREVER} for one in event.sources if not one.startswith("mem_")}
        elif event.kind == "chunk_expired":
            at = milliseconds(event.timestamp)
            turns = [one for one in _listed(said.get("events")) if not one.startswith("mem_")]
            ended |= {one: {0: at} for one in turns}
    return ended


def _listed(said: object) -> list[str]:
    return [one for one in said if isinstance(one, str)] if isinstance(said, list) else []


def _position(event: Event, generation: int) -> Position:
    return Position(generation=generation, event_seq=event.event_seq, crc=event.crc)


def _held(memory: Memory) -> Held:
    """Until when each of its revisions held at the latest, apart from what its own times say."""
    timeless = replace(memory, valid_from=None, valid_to=None, expires_at=None)
    taken_out = [change.at for change in memory.history if change.what in _TAKEN_OUT]
    over = not current(timeless, memory.updated_at)
    until = milliseconds(max(taken_out)) if over and taken_out else 0 if over else FOREVER
    held: dict[int, int] = {}
    for change in reversed(memory.history):  # a later revision counts from its own time on
        if change.what in ("learned", "revised"):
            held[change.event_seq] = until
            until = min(until, milliseconds(change.at))
    return held
