"""The log as a list: the meaning of EventLog and Keeper with nothing in the way.

Written to be obviously right rather than fast; tests/contract and tests/property hold the file engine
against it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from zlib import crc32

import msgspec

from holdfast.errors import Conflict, NotFound
from holdfast.model.events import Damage, Entry, Event, Position
from holdfast.model.reports import Erasure, Verified


class MemoryLog:
    """One project's log, as long as the process lives."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._last = 0
        self._generation = 1
        self._segments: list[int] = []
        self._dropped = 0
        self._changed = threading.Condition()

    def append(self, entries: Sequence[Entry], *, durable: bool = True) -> list[Event]:
        """Record entries as one batch; those that are there already come back as they are."""
        del durable
        with self._changed:
            given = [entry.event_id for entry in entries if not entry.fresh]
            if len(set(given)) < len(given):
                raise Conflict("an id stands twice in one batch")
            for entry in entries:
                self._check(entry)
            recorded = [self.find(entry.event_id) or self._add(entry) for entry in entries]
            self._changed.notify_all()
            return recorded

    def _check(self, entry: Entry) -> None:
        found = self.find(entry.event_id)
        if found is not None and not found.erased and not _same(found, entry):
            raise Conflict(f"{entry.event_id} is in the log already with other content")

    def _add(self, entry: Entry) -> Event:
        self._last += 1
        event = Event(
            v=2,
            event_seq=self._last,
            event_id=entry.event_id,
            session_id=entry.session_id,
            agent=entry.agent,
            user=entry.user,
            type=entry.type,
            timestamp=entry.timestamp,
            origin=entry.origin,
            trust=entry.trust,
            sources=entry.sources,
            payload=msgspec.json.decode(entry.payload),
            crc=f"{crc32(entry.payload):08x}",
        )
        self._events.append(event)
        return event

    def read(self, after: int = 0) -> Iterator[Event | Damage]:
        """Every event behind a position, in order, up to now."""
        yield from [event for event in list(self._events) if event.event_seq > after]

    def find(self, event_id: str) -> Event | None:
        """The event of that id."""
        return next((event for event in self._events if event.event_id == event_id), None)

    def present(self, event_ids: Sequence[str]) -> set[str]:
        """Which of these ids are there."""
        return {event_id for event_id in event_ids if self.find(event_id) is not None}

    def head(self) -> Position:
        """How far the log goes."""
        crc = self._events[-1].crc if self._events else ""
        return Position(generation=self._generation, event_seq=self._last, crc=crc)

    def retained_through(self) -> int:
        """The last seq a retention dropped; 0 when nothing ever was."""
        return self._dropped

    def size(self) -> int:
        """How many bytes it would take as JSON."""
        return sum(len(msgspec.json.encode(event)) for event in self._events)

    def wait(self, after: int, timeout: float) -> bool:
        """Is there an event behind this position? Waits for one, at most timeout seconds."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._last <= after:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def seal(self) -> None:
        """Close the active segment."""
        start = self._segments[-1] if self._segments else self._dropped
        if self._last > start:
            self._segments.append(self._last)

    def erase(self, event_ids: Sequence[str], *, subject: Entry) -> Erasure:
        """Take the content of these events out for good."""
        known = {event.event_id for event in self._events}
        missing = [event_id for event_id in event_ids if event_id not in known]
        if missing:
            raise NotFound(f"no event {missing[0]} to erase; nothing was erased")
        done = self.append([subject])[0]
        self.seal()
        erased = 0
        for index, event in enumerate(self._events):
            if event.event_id in event_ids:
                erased += 1
                if not event.erased:
                    self._events[index] = msgspec.structs.replace(
                        event,
                        user="erased" if event.user is not None else None,
                        payload={"erased": done.event_id},
                        erased=True,
                    )
        self._generation += 2
        return Erasure(events=erased, blobs=0, damaged_stretches=0, generation=self._generation)

    def retain(self, baseline: Entry, *, through: int) -> int:
        """Record the folded state up to `through`, then drop whole segments up to there."""
        done = self.find(baseline.event_id)
        if done is None:
            self.seal()
            ends = [end for end in self._segments[:-1] if end <= through]
            dropped = {"dropped_through": max([self._dropped, *ends]), "dropped_link": None}
            folded = {**msgspec.json.decode(baseline.payload), **dropped}
            entry = msgspec.structs.replace(baseline, payload=msgspec.json.encode(folded))
            done = self.append([entry])[0]
        old = [end for end in self._segments[:-1] if end <= done.payload["dropped_through"]]
        if old:
            self._dropped = old[-1]
            self._segments = [end for end in self._segments if end > self._dropped]
            self._events = [e for e in self._events if e.event_seq > self._dropped]
            self._generation += 1
        return len(old)

    def verify(self) -> Verified:
        """What is there; a list has nothing wrong with it."""
        return Verified(
            events=len(self._events),
            first_seq=self._events[0].event_seq if self._events else 0,
            last_seq=self._events[-1].event_seq if self._events else 0,
            generation=self._generation,
            segments=len(self._segments) + 1,
            bytes=0,
            sessions=len({e.session_id for e in self._events if e.session_id is not None}),
            erased=sum(event.erased for event in self._events),
        )

    def close(self) -> None:
        """Nothing to let go of."""


def _same(found: Event, entry: Entry) -> bool:
    names = ("session_id", "agent", "user", "type", "origin", "sources")
    return all(getattr(found, n) == getattr(entry, n) for n in names) and (
        found.payload == msgspec.json.decode(entry.payload)
    )
