"""The five logs, which follow the log they are made from in small steps: `hf.activity`.

What always holds: once brought up to date, each file is what the whole log says, byte for byte, however
often a process died on the way; trouble with them is told and stops nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

from holdfast.capture.layout import LOGS
from holdfast.capture.lock import Busy
from holdfast.compact.activity import KINDS, NAMES, Compacted, Measure, Told, lines
from holdfast.engines.files import Beside
from holdfast.errors import Damaged, HoldfastError, Invalid, Unavailable
from holdfast.model.events import Event, Position
from holdfast.views.cold import back, dropped

from . import compactions

if TYPE_CHECKING:
    from .holdfast import Holdfast

_KNOBS = {
    "compaction": "log_compaction",
    "curation": "log_curation",
    "drops": "log_drops",
    "recovery": "log_recovery",
    "context-health": "log_health",
}
#: so much of the end of a file is compared before something is added to it
_TAIL = 4_096
#: events of one step
_CHUNK = 20_000
#: whoever only asked for a context takes in no more events than this for it
_CHEAP = 1_000
#: how often another process may be faster
_RACES = 20
_CURSOR = "projected"
_FORM = 3


class _End(msgspec.Struct, frozen=True, array_like=True):
    """How a file ends: its length, and a checksum of its last bytes."""

    size: int = 0
    crc: int = 0


class _Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """How far the files go."""

    position: Position = Position(generation=0, event_seq=0, crc="")
    #: what the lines are made by; whatever was made by another is made anew
    form: int = 0
    #: the files that are written
    on: tuple[str, ...] = ()
    ends: dict[str, _End] = {}
    told: Told = Told()


class Activity:
    """The five logs of one project."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        chosen = hf.settings.manager
        self._files = Beside(hf.folder, LOGS, chosen.log_path, hf.project.id)
        self._on = tuple(name for name in NAMES if getattr(chosen, _KNOBS[name]))
        self._cursor = self._files.path(_CURSOR, ending=".cursor")
        compose = hf.settings.compose
        self._measure = Measure(
            settings=hf.settings.compact,
            limit=2 * compose.history_tokens,
            most=compose.event_tokens,
        )
        #: is there more to take in than was taken in last?
        self.behind = False
        #: what happened to them that a person should know
        self.notices: list[str] = []

    @property
    def folder(self) -> str:
        """Where they lie."""
        return self._files.root

    def path(self, name: str) -> str:
        """Where one of them lies."""
        if name not in NAMES:
            raise Invalid(f"there is no log {name!r}; there are {', '.join(NAMES)}")
        return self._files.path(name, ending=".jsonl")

    def read(self, name: str, last: int | None = None) -> list[dict[str, Any]]:
        """The lines of one of them, brought up to date, or the last so many."""
        self.up_to_date()
        said = (self._files.get(self.path(name)) or b"").splitlines()
        return [msgspec.json.decode(line) for line in said[-last if last else 0 :]]

    def line(self, event: Event) -> dict[str, Any] | None:
        """What compaction.jsonl says about a compaction; None where it says nothing."""
        said, _ = lines(event, Told(), self._compacted, self._measure)
        return said[0][1] if said else None

    # ---- following the log -----------------------------------------------------------------

    def follow(self, most: int = _CHEAP) -> None:
        """Add what is new, so many events of it, if nobody is at it; trouble is told, not raised.

        Whoever is further behind catches up with a few such steps.
        """
        self.behind = False
        try:
            cursor = self._step(self._standing(), patience=0, most=most)
            self.behind = cursor.position.event_seq < self._hf.log.head().event_seq
        except HoldfastError as exc:
            if isinstance(exc, _Faster) or isinstance(exc.__cause__, Busy):
                self.behind = True  # who is at it takes in the same
                return
            self._tell(f"the logs of compactions could not be brought up to date: {exc}")

    def finish(self) -> None:
        """Before the project is closed: what the last step left, as far as that is quick."""
        if self.behind:
            self.follow(_CHUNK)
        self.behind = False

    def brought_up(self) -> None:
        """Add all that is new; trouble is told, not raised."""
        try:
            self.up_to_date()
        except HoldfastError as exc:
            self._tell(f"the logs of compactions could not be brought up to date: {exc}")

    def up_to_date(self) -> None:
        """Add what is new; written from the start where they are not what the log says."""
        for _ in range(_RACES):
            cursor = self._standing()
            try:
                while (further := self._step(cursor)) != cursor:
                    cursor = further
            except _Faster:
                continue
            return
        raise Unavailable("others write these logs all the time; try again")

    def _tell(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def _standing(self) -> _Cursor:
        """How far the files go; from the start when they are not as the cursor says."""
        cursor = self._kept()
        head = self._hf.log.head()
        at = cursor.position
        if (cursor.on, cursor.form) != (self._on, _FORM) or at.generation != head.generation:
            return _Cursor()
        if any(not self._ends_so(name, cursor.ends.get(name, _End())) for name in self._on):
            return _Cursor()
        if at.event_seq == head.event_seq:
            return cursor if at.crc == head.crc else _Cursor()
        found = self._hf.log.read(max(0, at.event_seq - 1))
        first = next((one for one in found if isinstance(one, Event)), None)
        same = first is not None and (first.event_seq, first.crc) == (at.event_seq, at.crc)
        return cursor if same else _Cursor()

    def _kept(self) -> _Cursor:
        try:
            return msgspec.json.decode(self._files.get(self._cursor) or b"{}", type=_Cursor)
        except msgspec.MsgspecError:
            return _Cursor()

    def _ends_so(self, name: str, end: _End) -> bool:
        if not end.size:
            return True
        size, tail = self._files.ending(self.path(name), end.size, _TAIL)
        return size >= end.size and crc32(tail) == end.crc

    def _step(self, cursor: _Cursor, patience: float | None = None, most: int = _CHUNK) -> _Cursor:
        """Take in the next events; the same cursor when there are none."""
        generation = self._hf.log.head().generation
        told, made = cursor.told, {name: bytearray() for name in self._on}
        last, count = None, 0
        for event in self._hf.log.read(cursor.position.event_seq):
            if not isinstance(event, Event):
                continue  # whoever reads views hears of damage
            last, count = event, count + 1
            if event.kind in KINDS:
                said, told = lines(event, told, self._compacted, self._measure)
                for name, line in said:
                    if name in made:
                        made[name] += msgspec.json.encode(line) + b"\n"
            if count == most:
                break
        if last is None:
            return cursor
        position = Position(generation=generation, event_seq=last.event_seq, crc=last.crc)
        return self._written(cursor, made, position, told, patience)

    def _written(
        self,
        cursor: _Cursor,
        made: dict[str, bytearray],
        position: Position,
        told: Told,
        patience: float | None,
    ) -> _Cursor:
        wait = {} if patience is None else {"patience": patience}
        with self._files.writing(position.generation, **wait):
            kept = self._kept()
            begins = cursor == _Cursor()
            if kept != cursor and not (begins and self._standing() == cursor):
                raise _Faster("another process was faster")
            if begins:  # whoever dies from here on leaves no cursor that could fit by chance
                self._files.remove(self._cursor)
            ends = {}
            for name, data in made.items():
                end = cursor.ends.get(name, _End())
                if data or begins:
                    self._files.grow(self.path(name), end.size, bytes(data))
                ends[name] = self._end(name, end, data)
            further = _Cursor(position=position, form=_FORM, on=self._on, ends=ends, told=told)
            self._files.put(self._cursor, msgspec.json.encode(further))
        return further

    def _end(self, name: str, before: _End, data: Sequence[int]) -> _End:
        if not data:
            return before
        size = before.size + len(data)
        _, tail = self._files.ending(self.path(name), size, _TAIL)
        return _End(size, crc32(tail))

    def _compacted(self, event: Event) -> Compacted | None:
        row = self._hf.cold.known.of(event)
        if row is None:
            return None
        try:
            made = compactions.read(self._hf, event)
        except Damaged as exc:
            self._tell(f"a compaction is missing in the logs of compactions: {exc}")
            return None
        chunks = dropped(made.decided)
        return Compacted(
            chunks=chunks,
            paths=tuple(self._hf.cold.place(row.session_id, one.id) for one in chunks),
            summarized=sum(one.verdict == "summarize" for one in made.decided),
            back=len(back(made.strategy, made.decided)),
        )


class _Faster(Unavailable):
    """Another process wrote first."""
