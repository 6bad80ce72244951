"""From an entry of the record back to what it showed: read from the log, whatever happened since."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.compose import items, saved
from holdfast.compose.items import Item
from holdfast.compose.saved import Saved
from holdfast.documents.whole import whole as whole_of
from holdfast.errors import Erased
from holdfast.model.compactions import Compaction
from holdfast.model.documents import place_of
from holdfast.model.epochs import Epochs
from holdfast.model.events import Event
from holdfast.model.items import is_item_id
from holdfast.model.memories import Memory, at_seq
from holdfast.model.packs import Shown
from holdfast.ports.log import EventLog
from holdfast.text.excerpt import excerpt
from holdfast.views import knowledge
from holdfast.views.items import saved_by
from holdfast.views.memories import MemoryView, is_memory_id
from holdfast.views.runner import Reading
from holdfast.views.view import common_key

from . import compactions, history

if TYPE_CHECKING:
    from .holdfast import Holdfast

_Key = tuple[str, str, str, int, tuple[int, ...], tuple[str, ...]]
#: events kept at hand; the entries of a few sessions
_LATELY = 500


class Lately:
    """Events of a log that were read lately; an erasure takes all of them away."""

    def __init__(self) -> None:
        self._generation = 0
        self._events: OrderedDict[str, Event] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, log: EventLog, generation: int, event_id: str) -> Event | None:
        """The event of that id."""
        with self._lock:
            if generation != self._generation:
                self._events.clear()
                self._generation = generation
            found = self._events.get(event_id)
        if found is None and (found := log.find(event_id)) is not None:
            with self._lock:
                if generation == self._generation:
                    self._events[event_id] = found
                    if len(self._events) > _LATELY:
                        self._events.popitem(last=False)
        return found


class Showing:
    """Makes the items of entries, each once; the project of an entry may be a reserved one.

    With `lately`, what was read for an earlier context is not read again.
    """

    def __init__(self, hf: Holdfast, user: str, *, lately: bool = False) -> None:
        self._hf = hf
        self._user = user
        self._lately = lately
        self._generations: dict[str, int] = {}
        self._made: dict[_Key, Item] = {}
        self._whole: dict[_Key, Item] = {}
        self._rows: dict[str, Memory] = {}
        self._compactions: dict[str, Compaction] = {}

    def item(self, shown: Shown, *, whole: bool = False) -> Item:
        """What an entry shows, whole where no shorter levels are needed; Erased where it was erased."""
        key = _key(shown)
        found = self._made.get(key) or (self._whole.get(key) if whole else None)
        if found is None:
            made = self._whole if whole else self._made
            found = made[key] = self._read(shown, whole=whole)
        return found

    def keep(self, items: Iterable[Item]) -> None:
        """These are at hand already."""
        for item in items:
            self._made[_key(item)] = item

    def rows(self, shown: Iterable[Shown]) -> dict[str, Memory]:
        """The memories of these entries as they stand now, read together."""
        found: dict[str, Memory] = {}
        wanted: dict[str, list[str]] = {}
        for one in shown:
            wanted.setdefault(one.project, []).append(one.id)
        for project, ids in wanted.items():
            read = self.home(project).views.read(partial(_rows, ids=ids))
            found |= {memory.id: memory for memory in read if memory is not None}
        self._rows |= found
        return found

    def home(self, project: str) -> Holdfast:
        """The log an entry lies in."""
        for log in self._hf.logs(self._user):
            if log.project.id == (project or self._hf.project.id):
                return log
        raise Erased(f"{project} is not there any more")

    def _read(self, shown: Shown, *, whole: bool) -> Item:
        home = self.home(shown.project)
        if is_item_id(shown.id) and shown.kind in ("item", "topic"):
            what = self.saved(home, shown)
            if shown.kind == "topic":
                return saved.named(what)
            return saved.shown(what, shown.span, whole=whole)
        if shown.kind == "memory":
            memory = self.memory(home, shown.id, shown.seq)
            return items.of_memory(memory, shown.project, whole=whole)
        if shown.kind == "topic":
            return items.topic(self.memory(home, shown.id, shown.seq), shown.project)
        if shown.kind == "correction":
            return self._correction(home, shown)
        if shown.kind == "document":
            event = self.event(home, place_of(shown.id)[0])
            text = whole_of(event, home.log, home.library.tell)
            part = excerpt(text, *shown.span) if shown.span else text
            return items.of_document(event, shown.id, part, shown.span, whole=whole)
        event = self.event(home, shown.id)
        if shown.kind == "error":
            fixes = [self.event(home, one) for one in shown.beside]
            return items.of_error(event, fixes[0] if fixes else None)
        return items.of_event(event, shown.span, shown.kind, shown.project, whole=whole)

    def _correction(self, home: Holdfast, shown: Shown) -> Item:
        number, *old = shown.beside
        if not old:
            trust = (
                1 if not is_memory_id(shown.id) else self.memory(home, shown.id, shown.seq).trust
            )
            made = items.correction(int(number), shown.id, shown.seq, trust, None)
            return replace(made, project=shown.project)
        if is_item_id(shown.id):
            new = saved.shown(self.saved(home, shown))
        else:
            new = items.of_memory(self.memory(home, shown.id, shown.seq), shown.project)
        return items.corrected(int(number), old[0], new)

    def saved(self, home: Holdfast, shown: Shown) -> Saved:
        """The revision of an item that an entry shows, from the event that holds its text."""
        if shown.kind != "correction" and shown.beside:
            event: Event | None = self.event(home, shown.beside[0])
        else:
            event = next(history.at(home, [shown.seq]), None)
        item = None if event is None or event.erased else saved_by(event)
        if event is None or item is None:
            raise Erased(f"what {shown.id} said was taken out of the log")
        return saved.of_event(event, item)

    def event(self, home: Holdfast, event_id: str) -> Event:
        """An event of a log, with its words."""
        found = self._find(home, event_id)
        if found is None or found.erased:
            raise Erased(f"{event_id} was taken out of the log")
        return found

    def _find(self, home: Holdfast, event_id: str) -> Event | None:
        if not self._lately:
            return home.log.find(event_id)
        project = home.project.id
        if project not in self._generations:
            self._generations[project] = home.log.head().generation
        return home.lately.find(home.log, self._generations[project], event_id)

    def standing(self, known: Epochs) -> Epochs:
        """The same with the last compaction that can be read, or with none."""
        made = compactions.standing(self._hf, known)
        if made is None:
            return replace(known, past="", through=0)
        self._compactions[made.id] = made
        return replace(known, past=made.id, through=made.through)

    def compaction(self, event_id: str) -> Compaction:
        """What a compaction of this project made of a window."""
        if event_id not in self._compactions:
            event = self.event(self._hf, event_id)
            self._compactions[event_id] = compactions.read(self._hf, event)
        return self._compactions[event_id]

    def memory(self, home: Holdfast, memory_id: str, seq: int) -> Memory:
        """A memory as the events up to one of them made it."""
        row = self._rows.get(memory_id) or home.views.read(
            lambda reading: knowledge.memory(reading, memory_id)
        )
        then = at_seq(row, seq) if row is not None else None
        if then is None and row is not None:
            then = _folded(home, row, seq)
        if then is None:
            raise Erased(f"{memory_id} was taken out of the log")
        return then


def _key(of: Shown | Item) -> _Key:
    return of.kind, of.project, of.id, of.seq, of.span, of.beside


def _rows(reading: Reading, ids: Sequence[str]) -> list[Memory | None]:
    return [knowledge.memory(reading, one) for one in ids]


def _folded(home: Holdfast, row: Memory, seq: int) -> Memory | None:
    """The same from the log itself, for changes that are further back than a row remembers."""
    view, key = MemoryView(), common_key(row.id)
    found: Memory | None = None
    for event in home.events(row.event_seq - 1):
        if event.event_seq > seq:
            break
        if event.kind in view.kinds and not event.erased and key in view.keys(event):
            rows = {one: (found if one == key else None) for one in view.keys(event)}
            found = view.apply(rows, event).get(key, found)
    return found
