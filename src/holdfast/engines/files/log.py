"""The log in files: the EventLog and Keeper ports over capture's Writer and the segments' reader.

Writing is capture's, byte for byte; this adds what needs the whole log: ids that are there already,
the spool, erasing, retention, verifying. Whoever takes the lock first finishes what a dead process
left under way (`_under_lock`).
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from zlib import crc32

import msgspec

from holdfast.capture import line
from holdfast.capture.chain import Chain
from holdfast.capture.disk import Disk
from holdfast.capture.layout import ACTIVE, SPOOL, Segment
from holdfast.capture.repair import quarantine, unsaid
from holdfast.capture.writer import Writer
from holdfast.errors import Conflict, HoldfastError
from holdfast.model.events import Damage, Entry, Event, Position
from holdfast.model.reports import Erasure, Verified
from holdfast.model.settings import LogSettings
from holdfast.ports.views import IdStore

from . import erase, meta, retain, verify
from .blobs import FileBlobs
from .decode import decode
from .drain import drain
from .flush import Flusher, sync_at_exit
from .ids import SeenIds
from .order import each_id_once, in_order
from .pieces import Piece, last_of, pieces, segments
from .trouble import translated

_CONTENT = ("session_id", "agent", "user", "type", "origin", "sources")


class FileLog:
    """One project's log in its folder. Any number may be open, in any number of processes."""

    def __init__(
        self,
        folder: str,
        settings: LogSettings | None = None,
        *,
        chain: Chain | None = None,
        disk: Disk | None = None,
        ids: IdStore | None = None,
    ) -> None:
        self.folder = folder
        self.settings = settings or LogSettings()
        self.chain = chain
        self.disk = disk or Disk()
        self.blobs = FileBlobs(folder, disk=self.disk)
        self._ids = SeenIds(ids)
        self._spool_seen = -1
        self._dropped_through: object = 0
        self._opened: Writer | None = None
        self._own_threads()

    def _own_threads(self) -> None:
        """Locks and a flusher of this process; those of a parent may be held by its threads."""
        self._pid = os.getpid()
        self._opening = threading.Lock()
        self._reading_ids = threading.RLock()
        self._flusher = Flusher(self._sync, self.settings.window_ms / 1000)

    # ---- writing ---------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry], *, durable: bool = True) -> list[Event]:
        """Record entries as one batch; those that are there already come back as they are."""
        if self._pid != os.getpid():
            self._own_threads()
        durable = durable or self._flusher.trouble
        prepared = [(entry, (_fields(entry), entry.payload)) for entry in entries]
        with self._under_lock("recording") as writer:
            there = self._already_there(entries)
            new = [pair for entry, pair in prepared if entry.event_id not in there]
            lines = iter(writer.put(new, durable=durable)) if new else iter(())
            if there and durable:
                writer.sync()  # what is answered for must be on the disk, whoever wrote it
            recorded = [there.get(entry.event_id) or _event(next(lines)) for entry, _ in prepared]
        if not durable:
            sync_at_exit(self)
            if not self._flusher.soon():
                self._sync()
        return recorded

    def _already_there(self, entries: Sequence[Entry]) -> dict[str, Event]:
        given = [entry for entry in entries if not entry.fresh]
        if len({entry.event_id for entry in given}) < len(given):
            raise Conflict("an id stands twice in one batch")
        known = self.present([entry.event_id for entry in given])
        there: dict[str, Event] = {}
        for entry in given:
            found = self.find(entry.event_id) if entry.event_id in known else None
            if found is not None:
                _check_same(found, entry)
                there[entry.event_id] = found
        return there

    @contextmanager
    def _under_lock(self, doing: str) -> Iterator[Writer]:
        with translated(doing), self.writer().hold() as writer:
            try:
                if "erasing" in writer.meta:
                    erase.finish(self, writer)
                if writer.meta.get("retained_through", 0) != self._dropped_through:
                    self._dropped_through = retain.finish(self, writer)
                self._drain(writer)
                yield writer
            except BaseException:
                writer.look_again()  # something may be half done; the next hold finishes it
                raise

    def _drain(self, writer: Writer) -> None:
        try:
            seen = self.disk.stat(os.path.join(self.folder, SPOOL)).st_mtime_ns
        except FileNotFoundError:
            return
        if seen != self._spool_seen:
            self._spool_seen = drain(self, writer)

    def writer(self) -> Writer:
        """The writer, opened when it is first needed: a reader needs no right to write."""
        with self._opening:
            if self._opened is None:
                meta.load(self.disk, self.folder)
                self.disk.make_folder(self.folder)
                self._opened = Writer(
                    self.folder,
                    disk=self.disk,
                    chain=self.chain,
                    segment_bytes=self.settings.segment_bytes,
                    lock_timeout=self.settings.lock_timeout,
                )
            return self._opened

    def _sync(self) -> None:
        if self._opened is not None:
            with translated("syncing"), self.writer().hold() as writer:
                writer.sync()

    def sync_quietly(self) -> None:
        """The last thing a process does that forgot to close: keep the window's promise."""
        try:
            self._sync()
        except HoldfastError as exc:
            warnings.warn(f"the last events may not survive a power cut: {exc}", stacklevel=2)

    # ---- reading ---------------------------------------------------------------------------

    def read(self, after: int = 0) -> Iterator[Event | Damage]:
        """Every event behind a position in order, and a Damage wherever something is not one."""
        for piece in self.found(after):
            yield piece if isinstance(piece, Damage) else decode(piece)

    def found(self, after: int = 0) -> Iterator[Piece | Damage]:
        """The same as bytes."""
        with translated("reading"):
            every = partial(pieces, self.disk, self.folder)
            dropped = self.retained_through()
            yield from each_id_once(in_order(every(after), every, after, dropped), every)

    def retained_through(self) -> int:
        """The last seq a retention dropped; 0 when nothing ever was."""
        with translated("reading"):
            return int(meta.load(self.disk, self.folder).get("retained_through", 0))

    def present(self, event_ids: Sequence[str]) -> set[str]:
        """Which of these ids are there."""
        return set(self._places(event_ids)) if event_ids else set()

    def find(self, event_id: str) -> Event | None:
        """The event of that id."""
        for _ in range(2):
            seq = self._places([event_id]).get(event_id)
            if seq is None:
                return None
            found = next((e for e in self.read(seq - 1) if isinstance(e, Event)), None)
            if found is not None and found.event_id == event_id:
                return found
            with self._reading_ids:
                self._ids.distrust()  # the index named a place where another event is
        return None

    def _places(self, event_ids: Sequence[str]) -> dict[str, int]:
        with self._reading_ids, translated("reading"):
            generation = int(meta.load(self.disk, self.folder).get("generation", 1))
            return self._ids.places(event_ids, self.found, generation)

    def head(self) -> Position:
        """How far the log goes, read from its end."""
        with translated("reading"):
            state = meta.load(self.disk, self.folder)
            record = self._last()
        generation = int(state.get("generation", 1))
        if record is None:
            dropped = int(state.get("retained_through", 0))
            return Position(generation=generation, event_seq=dropped, crc="")
        seq, _ = line.seq_and_id(record)
        return Position(generation=generation, event_seq=seq, crc=line.crc_of(record))

    def _last(self) -> bytes | None:
        # the active segment first: one that is sealed meanwhile is then in the listing
        record = last_of(self.disk, Segment(self.folder, ACTIVE, 0, None))
        if record is not None:
            return record
        sealed = reversed(segments(self.disk, self.folder))
        return next(filter(None, (last_of(self.disk, segment) for segment in sealed)), None)

    def size(self) -> int:
        """The bytes of every segment together."""
        total = 0
        with translated("reading"):
            paths = [segment.path for segment in segments(self.disk, self.folder)]
            for path in [*paths, os.path.join(self.folder, ACTIVE)]:
                with suppress(FileNotFoundError):  # sealed or dropped since the listing
                    total += self.disk.stat(path).st_size
        return total

    def wait(self, after: int, timeout: float) -> bool:
        """Is there an event behind this position? Looks, and looks again, until the time is up."""
        deadline = time.monotonic() + timeout
        pause = 0.001
        while self.head().event_seq <= after:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 0.02)
        return True

    # ---- upkeep ----------------------------------------------------------------------------

    def note_damage(self, damage: Damage) -> Damage:
        """Keep a copy of damaged bytes and say so in the log, once; as it is when we cannot."""
        if damage.reason not in ("garbage", "unreadable"):
            return damage
        try:
            data = self._damaged_bytes(damage)
            if data is None:
                return damage
            place = (damage.segment, damage.offset, damage.after_seq)
            name = quarantine(self.disk, self.folder, place, data, damage.reason)
            if name in unsaid(self.disk, self.folder):
                with self._under_lock("noting damage") as writer:
                    writer.speak_of_damage()
        except (OSError, HoldfastError):
            return damage  # a read-only home: the caller still hears of it
        return msgspec.structs.replace(damage, quarantine=name)

    def _damaged_bytes(self, damage: Damage) -> bytes | None:
        """The bytes themselves, also when their segment was sealed since they were met."""
        paths = [s.path for s in reversed(segments(self.disk, self.folder))]
        for path in [os.path.join(self.folder, damage.segment), *paths]:
            fd = self.disk.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = self.disk.read_range(fd, damage.offset, damage.offset + damage.length)
            finally:
                self.disk.let_go(fd)
            if f"{crc32(data):08x}" == damage.crc:
                return data
        return None

    def seal(self) -> None:
        """Close the active segment and note the chain's head."""
        with self._under_lock("sealing") as writer:
            writer.seal()

    def anchor(self) -> None:
        """Note the chain's head outside the home."""
        with self._under_lock("anchoring") as writer:
            writer.anchor()

    def erase(self, event_ids: Sequence[str], *, subject: Entry) -> Erasure:
        """Take the content of these events out of every file for good."""
        with self._under_lock("erasing") as writer:
            self._already_there([subject])
            return erase.erase(self, writer, event_ids, (_fields(subject), subject.payload))

    def restore(self, records: Sequence[bytes]) -> None:
        """Append whole records of another log exactly as they are: same ids, same seqs, same bytes."""
        with self._under_lock("restoring") as writer:
            try:
                writer.put_as_they_are(records)
            except ValueError as exc:
                raise Conflict(str(exc)) from exc
            baselines = [record for record in records if line.is_of(record, "baseline")]
            if baselines:
                retain.adopt(self, baselines[-1])

    def retain(self, baseline: Entry, *, through: int) -> int:
        """Record the folded state up to `through`, then drop whole segments up to there."""
        with self._under_lock("dropping old segments") as writer:
            return retain.retain(self, writer, (_fields(baseline), baseline.payload), through)

    def verify(self, progress: Callable[[int], None] | None = None) -> Verified:
        """Read everything and say what is there and what is wrong."""
        with translated("verifying"):
            return verify.verify(self, progress)

    def close(self) -> None:
        """Sync what is left and let go."""
        self._flusher.close()
        with self._reading_ids, suppress(HoldfastError):  # what is not handed on is read again
            self._ids.hand_on()
        if self._opened is not None:
            with translated("closing"):
                self._opened.close()
            self._opened = None


def _fields(entry: Entry) -> bytes:
    return line.middle(
        (
            entry.event_id,
            entry.session_id,
            entry.agent,
            entry.user,
            entry.type,
            entry.timestamp,
            entry.origin,
            entry.trust,
            entry.sources,
        )
    )


_decoder = msgspec.json.Decoder(Event)


def _event(written: bytes) -> Event:
    return _decoder.decode(written)


def _check_same(found: Event, entry: Entry) -> None:
    """A second time with the same id is a retry; with other content it is a mistake."""
    if found.erased:
        return
    same = all(getattr(found, name) == getattr(entry, name) for name in _CONTENT)
    if not same or line.canonical(found.payload) != entry.payload:
        raise Conflict(f"{found.event_id} is in the log already with other content")
