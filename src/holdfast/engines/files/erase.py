"""Erasing: the one thing that ever changes written bytes.

The intent (which ids, under which pseudonym) and a new generation go into meta.json in one step; then
every segment with something to take out is written anew beside the old one, synced and renamed over
it; then the intent is struck out under a further generation. A process that dies in between leaves
the intent, and whoever next takes the lock does it all again: doing it twice changes nothing.

What stays of an erased record: its seq, id, type, time, sources, `pd` and `h`, so order, references and
the chain still hold. What goes: payload, salt, the user's name, bodies only it referred to, every
damaged stretch and quarantine copy, because bytes nobody can attribute may be the subject's, and the
index and snapshots, which are made again from what is left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture import line
from holdfast.capture.blob import blob_path
from holdfast.capture.layout import (
    BLOBS,
    INDEX,
    INDEX_LOCK,
    PREPARED,
    QUARANTINE,
    SNAPSHOT,
    SNAPSHOT_BEFORE,
    SPOOL,
    VECTORS,
    Segment,
    sealed_name,
)
from holdfast.capture.lock import Lock
from holdfast.capture.stamp import fresh_id
from holdfast.capture.writer import Writer
from holdfast.errors import Denied, NotFound, Unavailable
from holdfast.model.events import Damage
from holdfast.model.reports import Erasure

from . import beside, meta
from .decode import bodies_in
from .pieces import pieces_of, segments

if TYPE_CHECKING:
    from .log import FileLog

_SALT = re.compile(rb',"salt":"[0-9a-f]*"')
_PAYLOAD = b',"payload":'
_MARK = b',"erased":true'  # in the header, where no payload can put it


def erase(
    log: FileLog, writer: Writer, event_ids: Sequence[str], subject: tuple[bytes, bytes]
) -> Erasure:
    """Take the content of these events out, and record that it was done."""
    if "erasing" in meta.load(log.disk, log.folder):
        finish(log, writer)
    missing = set(event_ids) - log.present(event_ids)
    if missing:
        raise NotFound(f"no event {min(missing)} to erase; nothing was erased")
    bodies = _bodies_of(log, set(event_ids))
    state = dict(meta.load(log.disk, log.folder))
    state["generation"] = int(state.get("generation", 1)) + 1
    state["erasing"] = {
        "event_ids": sorted(event_ids),
        "bodies": sorted(bodies),
        "pseudonym": fresh_id("erased"),
        "subject": [part.decode("utf-8") for part in subject],
    }
    meta.save(log.disk, log.folder, state)
    return finish(log, writer)


def finish(log: FileLog, writer: Writer) -> Erasure:
    """Carry out the erase that meta.json names: from the start, or from where somebody died."""
    state = dict(meta.load(log.disk, log.folder))
    intent = state["erasing"]
    fields, payload = (part.encode("utf-8") for part in intent["subject"])
    _, by = line.seq_and_id(line.head(0, fields))
    if not log.present([by]):
        writer.put([(fields, payload)])
    writer.seal()
    rewrite = _Rewrite(log, intent, by)
    for segment in segments(log.disk, log.folder):
        rewrite.segment(segment)
    rewrite.drop_bodies()
    rewrite.drop_quarantine()
    _drop_derived(log)
    for place in ("", SPOOL, BLOBS):
        log.disk.sweep(os.path.join(log.folder, place))
    log.disk.sync_folder(log.folder)
    del state["erasing"]
    state["generation"] += 1
    meta.save(log.disk, log.folder, state)
    writer.refresh()
    return Erasure(
        events=rewrite.events,
        blobs=rewrite.blobs,
        damaged_stretches=rewrite.damaged,
        generation=state["generation"],
    )


class _Rewrite:
    """One pass over the segments, counting as it goes."""

    def __init__(self, log: FileLog, intent: dict[str, Any], by: str) -> None:
        self._log = log
        self._ids = set(intent["event_ids"])
        self._pseudonym = str(intent["pseudonym"])
        self._by = by
        self._bodies_gone = set(intent["bodies"])
        self._bodies_kept: set[str] = set()
        self.events = self.blobs = self.damaged = 0

    def segment(self, segment: Segment) -> None:
        """Write a segment anew if anything in it has to go."""
        disk, changed = self._log.disk, segment.length is not None
        plain = os.path.join(self._log.folder, sealed_name(segment.first_seq))
        if changed and os.path.exists(plain):  # a dead process had written it anew already
            disk.sync_folder(self._log.folder)
            disk.unlink(segment.path)
            return
        draft = disk.draft_name(segment.path)
        fd = disk.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            for record, kept in self._records(segment):
                changed = changed or not kept
                if record:
                    disk.write_all(fd, record + b"\n")
            disk.fsync(fd)
        finally:
            disk.let_go(fd)
        if not changed:
            disk.unlink(draft)
            return
        disk.replace(draft, plain)
        if segment.length is not None:
            disk.sync_folder(self._log.folder)  # the new name must be there before the old one goes
            disk.unlink(segment.path)

    def _records(self, segment: Segment) -> Iterator[tuple[bytes, bool]]:
        """Each record as it is to be written, and whether that is as it was."""
        for piece in pieces_of(self._log.disk, segment):
            if isinstance(piece, Damage):
                self.damaged += 1
                yield b"", False
                continue
            if piece.event_id not in self._ids:
                self._bodies_kept |= _bodies(piece.record)
                yield piece.record, True
                continue
            self.events += 1
            erased = _erased(piece.record, self._pseudonym, self._by)
            yield erased, erased == piece.record

    def drop_bodies(self) -> None:
        """Remove what only erased events referred to."""
        for digest in sorted(self._bodies_gone - self._bodies_kept):
            path = blob_path(self._log.folder, digest)
            if os.path.exists(path):
                self._log.disk.unlink(path)
            if os.path.isdir(os.path.dirname(path)):  # also for whoever unlinked it and died
                self._log.disk.sync_folder(os.path.dirname(path))
            self.blobs += 1

    def drop_quarantine(self) -> None:
        """Remove every copy of damaged bytes."""
        place = os.path.join(self._log.folder, QUARANTINE)
        if not os.path.isdir(place):
            return
        for name in self._log.disk.listdir(place):
            self._log.disk.unlink(os.path.join(place, name))
            self.damaged += 1
        self._log.disk.sync_folder(place)


def _drop_derived(log: FileLog) -> None:
    """Remove what was made from the log; whoever needs it makes it from what the log says now."""
    lock = Lock(os.path.join(log.folder, INDEX_LOCK), log.disk)
    try:
        lock.acquire(log.settings.lock_timeout)
        for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm", SNAPSHOT, SNAPSHOT_BEFORE):
            with suppress(FileNotFoundError):
                log.disk.unlink(os.path.join(log.folder, name))
        _drop_vectors(log)
        _drop_prepared(log)
        beside.drop(log.disk, log.folder)
    finally:
        lock.done()


def _drop_prepared(log: FileLog) -> None:
    """What lies ready for hosts to be told."""
    place = os.path.join(log.folder, PREPARED)
    for name in log.disk.listdir(place) if os.path.isdir(place) else ():
        with suppress(FileNotFoundError):
            log.disk.unlink(os.path.join(place, name))


def _drop_vectors(log: FileLog) -> None:
    """A vector tells what its text was about, so those of everything go and are made again."""
    place = os.path.join(log.folder, VECTORS)
    for folder, _, names in os.walk(place, topdown=False):
        for name in names:
            with suppress(FileNotFoundError):
                log.disk.unlink(os.path.join(folder, name))


def _erased(record: bytes, pseudonym: str, by: str) -> bytes:
    """A record without its content; one that is erased already stays as it is."""
    head, _ = line.parts(record)
    if head.endswith(_MARK):
        return record
    head = _SALT.sub(b"", head, count=1)
    blanked, user = line.part_user(head)
    if user != b"null":
        at = blanked.index(b',"user":') + len(b',"user":')
        head = b'%b"%b"%b' % (blanked[:at], pseudonym.encode(), blanked[at:])
    return line.close(head + _MARK + _PAYLOAD + line.canonical({"erased": by}))[:-1]


def _bodies_of(log: FileLog, event_ids: set[str]) -> set[str]:
    """The bodies these events refer to; noted before the first of them is rewritten."""
    bodies: set[str] = set()
    for piece in log.found():
        if isinstance(piece, Damage) or piece.event_id not in event_ids:
            continue
        if not piece.record.startswith(line.head(piece.seq, b",")) or _PAYLOAD not in piece.record:
            raise Unavailable(
                f"event {piece.seq} was written by another version of Holdfast; erase it with that "
                "one. Nothing was erased"
            )
        if line.is_of(piece.record, "baseline"):
            raise Denied("a baseline stands for events that were dropped; it cannot be erased")
        bodies |= _bodies(piece.record)
    return bodies


def _bodies(record: bytes) -> set[str]:
    """The bodies a record's notes refer to."""
    if b'"blob":"' not in record:
        return set()
    try:
        return bodies_in(msgspec.json.decode(record).get("payload"))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return set()
