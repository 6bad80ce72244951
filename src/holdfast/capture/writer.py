"""The append: take the lock, see what changed, write once, sync, acknowledge.

    with writer.hold():
        for line in writer.put([(middle, payload), …]): …

Any number of processes may do this beside each other. What must always hold, and where it is kept:

- an acknowledged event survives kill -9 and a power cut: `put` returns after `sync`;
- no writer appends to another's torn record: `_settle` mends the tail before the first byte;
- `event_seq` is dense: it is read from the last whole record under the lock;
- a failed sync is never asked again: the bytes are cut off, the segment is closed under a name that
  says how much of it counts, and the caller keeps the events (`_give_up_segment`);
- bytes another writer left without a sync are written again before anything is acknowledged on top
  of them (`_settle`), because a sync that failed for a dead process reports success to the next.

Proven by tests/faults: every system call killed, failed and cut short; power cuts on a real ext4.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from time import monotonic

from . import line
from .chain import START, Chain
from .disk import Disk
from .held import Held
from .layout import ACTIVE, CARRIED, META, read_meta, sealed_name
from .lock import END_BYTES
from .repair import damage_entry, not_in, quarantine, said, unsaid
from .tail import first_record, highest_record, last_record, last_sealed, torn_bytes

_LOOK_SECONDS = 1.0  # what changes meta.json also changes the active segment, but for odd moments
_SESSION_END = b',"type":"session_ended@'
_LEVELS = 4  # the project's folder, contexts-v2, the home, and what the home lies in


class Unsynced(OSError):
    """The disk refused to keep the bytes; nothing was acknowledged, the events are still yours."""


class Unchained(OSError):
    """This log is chained and this writer has no key; what it wrote would break the chain."""


class Writer(Held):
    """One process's hold on the end of one project's log."""

    def __init__(
        self,
        folder: str,
        *,
        disk: Disk | None = None,
        chain: Chain | None = None,
        segment_bytes: int = 64 << 20,
        lock_timeout: float = 10.0,
    ) -> None:
        self.chain = chain
        self.segment_bytes = segment_bytes
        self.meta: dict[str, object] = {}
        self._path = os.path.join(folder, ACTIVE)
        super().__init__(folder, disk or Disk(), lock_timeout)

    def _open(self) -> None:
        super()._open()
        self._fd = -1
        self._meta_seen: object = None
        self._looked = 0.0
        self._maybe_unsaid = True
        self._end = b""
        self._forget()

    def _forget(self) -> None:
        """Drop what is known of the active segment; the next hold looks again."""
        if self._fd >= 0:
            self.disk.let_go(self._fd)
        self._fd = -1
        self._inode = -1
        self._size = self._written = -1
        self._durable = 0
        self.last_seq = 0
        self.last_link = START

    def hold(self, timeout: float | None = None) -> Hold:
        """The lock, with everything settled: the tail whole, the next seq known."""
        return Hold(self, self.lock_timeout if timeout is None else timeout)

    # ---- what changed since we last looked -------------------------------------------------

    def _settle(self, timeout: float = 0.0) -> None:
        try:
            seen = self.disk.stat(self._path)
            inode, size = seen.st_ino, seen.st_size
        except FileNotFoundError:
            inode = size = -1
        if self._fd < 0 or inode != self._inode:
            self._look_anew(timeout)
            size = self.disk.fstat(self._fd).st_size
        elif monotonic() - self._looked > _LOOK_SECONDS:
            self._see_meta()
            if self._fd < 0:
                self._look_anew(timeout)
        if size == self._size:
            return
        durable = self._marked(size)
        if durable == 0:
            self._lock.mark(self._inode, 0, b"")  # a stale mark must not fit again once we wrote
            self._sync_folders()
        size = self._mend_tail(size)
        self._learn_last(size, durable)
        self._size, self._durable, self._written = size, 0, -1
        if durable < size:
            self._write_again(durable, size)
        if self._maybe_unsaid:
            self.speak_of_damage()

    def _look_anew(self, timeout: float) -> None:
        """Another file stands where ours stood, or we never looked: was it sealed, rewritten, or is
        the whole folder another one, with another lock?"""
        while not self._lock.still_the_one():
            self._lock.close()
            self._lock.acquire(timeout)
        self._see_meta()
        self._forget()
        self._open_active()

    def _marked(self, size: int) -> int:
        """How far the mark in the lock file vouches for this very file; 0 when it does not."""
        durable, tail = self._lock.durable(self._inode)
        if not 0 < durable <= size or self._end_at(durable) != tail:
            return 0
        return durable

    def _end_at(self, offset: int) -> bytes:
        """The last bytes before an offset: the end of a checksum, as good as a name."""
        return self.disk.read_range(self._fd, max(0, offset - END_BYTES), offset)

    def _sync_folders(self) -> None:
        """Nobody is known to have synced what leads to this file: whoever made it may have died."""
        place = self.folder
        for _ in range(_LEVELS):
            try:
                self.disk.sync_folder(place)
            except PermissionError:
                return  # somebody else's folder, and so not made by us
            place = os.path.dirname(place)
            if not place or place == os.path.dirname(place):
                return

    def _see_meta(self) -> None:
        self._looked = monotonic()
        path = os.path.join(self.folder, META)
        try:
            seen = self.disk.stat(path)
        except FileNotFoundError:
            return
        stamp = (seen.st_ino, seen.st_mtime_ns, seen.st_size)
        if stamp != self._meta_seen:
            self.meta = read_meta(self.disk.get_file(path))
            self._meta_seen = stamp
            if self._fd >= 0:
                self._forget()

    def _open_active(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd = self.disk.open(self._path, flags)
        except FileNotFoundError:
            self._begin_segment()
            self._fd = self.disk.open(self._path, flags | os.O_CREAT, 0o600)
            self.disk.sync_folder(self.folder)
        self._inode = self.disk.fstat(self._fd).st_ino

    def _begin_segment(self) -> None:
        """With what a given-up segment left to carry over, else with nothing."""
        try:
            self.disk.replace(os.path.join(self.folder, CARRIED), self._path)
        except FileNotFoundError:
            return

    def _mend_tail(self, size: int) -> int:
        torn = torn_bytes(self.disk, self._fd, size)
        if not torn:
            return size
        begin = size - len(torn)
        good_end = max((end for _, end, good in line.spans(torn) if good), default=0)
        rest = torn[good_end:]
        if rest:
            offset = begin + good_end
            record = last_record(self.disk, self._fd, offset) or last_sealed(self.disk, self.folder)
            before = line.seq_and_id(record)[0] if record else 0
            quarantine(self.disk, self.folder, (ACTIVE, offset, before), rest, "torn_tail")
            self.disk.ftruncate(self._fd, offset)
            self._maybe_unsaid = True
        if good_end:
            self.disk.write_all(self._fd, b"\n")
        return begin + good_end + (1 if good_end else 0)

    def _learn_last(self, size: int, durable: int) -> None:
        """The highest seq so far. Where no mark vouches for the file, all of it is looked at, and the
        segment before it too: a restored backup must not send the writer backwards."""
        vouched = last_record(self.disk, self._fd, durable)
        known = [vouched, highest_record(self.disk, self._fd, durable, size)]
        if vouched is None:
            known.append(last_sealed(self.disk, self.folder))
        records = [record for record in known if record is not None]
        self.last_seq, self.last_link = 0, START
        if records:
            record = max(records, key=lambda record: line.seq_and_id(record)[0])
            self.last_seq = line.seq_and_id(record)[0]
            linked = line.chain_of(record)
            self.last_link = linked[1] if linked else START

    def _write_again(self, start: int, end: int) -> None:
        """Dirty the pages of bytes nobody is known to have synced, then sync them."""
        fd = self.disk.open(self._path, os.O_RDWR | os.O_CLOEXEC)  # pwrite ignores O_APPEND's fd
        try:
            while start < end:
                data = self.disk.read_range(fd, start, min(end, start + (1 << 20)))
                if not data:
                    break
                start += self.disk.pwrite(fd, data, start)
        finally:
            self.disk.let_go(fd)
        self.sync()

    def speak_of_damage(self) -> None:
        """Say in the log what lies in quarantine and was not said yet, by us or by the dead."""
        names = unsaid(self.disk, self.folder)
        if names:
            recent = self.disk.read_range(self._fd, 0, self._size)
            silent = not_in(self.disk, self.folder, names, recent)
            self.put([damage_entry(self.disk, self.folder, name) for name in silent])
            said(self.disk, self.folder, names)
        self._maybe_unsaid = False

    # ---- writing ---------------------------------------------------------------------------

    def put(self, entries: list[tuple[bytes, bytes]], *, durable: bool = True) -> list[bytes]:
        """Append (header fields, payload) pairs as one write; their lines, acknowledged.

        With `durable=False` the sync is left to a later put, `sync` or close.
        """
        if not entries:
            return []
        if self.chain is None and self.meta.get("integrity_mode") == "chained":
            raise Unchained(errno.EPERM, "this log is chained; it needs its key to be written")
        if self._size >= self.segment_bytes:
            self.seal()
        link, seq, lines = self.last_link, self.last_seq, []
        for fields, payload in entries:
            seq += 1
            if self.chain is None:
                lines.append(line.record(seq, fields, payload))
            else:
                part, link = self.chain.fields(link, line.head(seq, fields), payload)
                lines.append(line.record(seq, fields + part, payload))
        self._write(b"".join(lines))
        if durable:
            self.sync(self._written)
        self._size = self._written
        self.last_seq, self.last_link = seq, link
        if self.chain is not None and any(_SESSION_END in fields for fields, _ in entries):
            self.anchor()
        return lines

    def put_as_they_are(self, records: Sequence[bytes]) -> None:
        """Append whole records of another log unchanged; they must come after what is here."""
        seqs = [line.seq_and_id(record)[0] for record in records if line.whole(record)]
        if len(seqs) < len(records) or sorted({*seqs}) != seqs:
            raise ValueError("these are not whole records in order")
        if not records:
            return
        if seqs[0] <= self.last_seq:
            raise ValueError(f"event {seqs[0]} does not follow event {self.last_seq}")
        if self._size >= self.segment_bytes:
            self.seal()
        self._write(b"".join(record + b"\n" for record in records))
        self.sync(self._written)
        self._forget()
        self._settle()

    def _write(self, data: bytes) -> None:
        try:
            self.disk.write_all(self._fd, data)
        except OSError as exc:
            if exc.errno == errno.EIO:
                raise self._give_up_segment(exc) from exc
            raise self._cut_back(exc) from exc
        self._written = self._size + len(data)
        self._end = data[-END_BYTES:]

    def _cut_back(self, cause: OSError) -> Unsynced:
        """A full disk: give back what a short write took, and leave everything as it was."""
        try:
            self.disk.ftruncate(self._fd, self._size)
        finally:
            self._forget()
        return Unsynced(cause.errno, f"the log could not grow: {cause.strerror}")

    def sync(self, upto: int | None = None) -> None:
        """Make every byte so far survive a power cut, or raise and keep none that was not."""
        size = self._size if upto is None else upto
        if self._durable >= size:
            return
        try:
            self.disk.fdatasync(self._fd)
        except OSError as exc:
            raise self._give_up_segment(exc) from exc
        self._durable = size
        self._lock.mark(
            self._inode, size, self._end if size == self._written else self._end_at(size)
        )

    def _give_up_segment(self, cause: OSError) -> Unsynced:
        """After a failed sync: keep what was known, carry over what was promised, go on anew.

        What a relaxed put promised is safe in a file of its own before the segment is closed, so at
        every moment it is in the old file, in that one, or in the new segment.
        """
        keep = self._durable
        try:
            carried = self.disk.read_range(self._fd, keep, self._size)
            first = first_record(self.disk, self._fd, keep)
            if first is None:  # nothing of it counts: a fresh file takes its place
                self.disk.put_file(self._path, carried)
            else:
                name = sealed_name(line.seq_and_id(first)[0], failed_at=keep)
                self._shorten(self._retire(name, carried), keep)
        finally:
            self._forget()
        return Unsynced(cause.errno, f"the disk did not keep it: {cause.strerror}")

    def _shorten(self, path: str, length: int) -> None:
        """Cut what was not acknowledged; readers stop there anyway, the name says so."""
        fd = self.disk.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            self.disk.ftruncate(fd, length)
        finally:
            self.disk.let_go(fd)

    # ---- segments --------------------------------------------------------------------------

    def seal(self) -> None:
        """Close the active segment under its first seq and begin an empty one."""
        first = first_record(self.disk, self._fd, self._size)
        if first is None:
            return
        self.sync()
        self.anchor()
        seq, link = self.last_seq, self.last_link
        number = line.seq_and_id(first)[0]
        while os.path.exists(os.path.join(self.folder, sealed_name(number))):
            number += 1  # a restored copy of a sealed segment; nothing is ever replaced
        self._retire(sealed_name(number))
        self._size = self._durable = 0
        self.last_seq, self.last_link = seq, link

    def _retire(self, name: str, carried: bytes = b"") -> str:
        """Give the active segment its final name and begin another, with what is carried over."""
        place = os.path.join(self.folder, CARRIED)
        if carried:
            self.disk.put_file(place, carried)
        elif os.path.exists(place):  # of somebody who died giving up; the segment was not given up
            self.disk.unlink(place)
            self.disk.sync_folder(self.folder)
        target = os.path.join(self.folder, name)
        self.disk.replace(self._path, target)
        if carried:
            self.disk.sync_folder(
                self.folder
            )  # the old name first: nothing may be left without one
        self._forget()
        self._open_active()
        return target

    def anchor(self) -> None:
        """Note the chain's head outside the home, where there is a chain."""
        if self.chain is not None and self.last_seq:
            self.sync()  # an anchor ahead of the log would look like a tail cut off
            self.chain.anchor(self.last_seq, self.last_link)

    def look_again(self) -> None:
        """Have the next hold read meta.json anew."""
        self._looked = -_LOOK_SECONDS * 2
        self._meta_seen = None

    def refresh(self) -> None:
        """Look again, under the lock: somebody of this process rewrote the files."""
        self._forget()
        self._settle()

    def close(self) -> None:
        """Sync what a relaxed put left, then let go of the files."""
        if self._pid != os.getpid():
            return
        if self._fd >= 0 and self._durable < self._size:
            with self.hold():
                self.sync()
        self._forget()
        self._lock.close()
        self._pid = -1


class Hold:
    """`with writer.hold():`, without the cost of importing contextlib."""

    def __init__(self, writer: Writer, timeout: float) -> None:
        self._writer = writer
        self._timeout = timeout

    def __enter__(self) -> Writer:
        self._writer.enter(self._timeout)
        return self._writer

    def __exit__(self, *_: object) -> None:
        self._writer.exit()
