"""Out of one log and into another: export and import.

An export is one NDJSON file: a first line that says what it is, the records exactly as they lie in the
log, each body before the event that refers to it, and a last line that counts. An import checks every
record, keeps its id (so importing twice adds nothing) and gives it trust 0: a file can come from
anybody. Restoring one's own backup into an empty project keeps origin and trust; that is the
operator's word, and the command line asks for it by name.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from holdfast.capture import line
from holdfast.capture.parse import NOTES
from holdfast.engines.files.decode import bodies_in, decode
from holdfast.engines.files.pieces import Piece
from holdfast.errors import Conflict, Invalid
from holdfast.model.events import Damage, Draft, Entry, Event

from .holdfast import Holdfast

_FORMAT = 1
_CHUNK = 768 << 10
_BATCH = 500

Progress = Callable[[int], None]


class Imported(msgspec.Struct, kw_only=True):
    """What an import did."""

    events: int = 0
    already_there: int = 0
    bodies: int = 0
    #: lines that are not what was exported: how many, and the first few
    damaged: int = 0
    damaged_lines: list[int] = msgspec.field(default_factory=list)
    #: the file's last line was there and its counts agree
    complete: bool = False


def export(hf: Holdfast, out: BinaryIO, progress: Progress | None = None) -> dict[str, int]:
    """Write everything; how many events, bodies and damaged stretches there were."""
    counts = {"events": 0, "bodies": 0, "damaged": 0}
    sent: set[str] = set()
    _write(out, {"holdfast_export": _FORMAT, "project_id": hf.project.id})
    for piece in hf.log.found():
        if isinstance(piece, Damage):
            hf.log.note_damage(piece)
            counts["damaged"] += 1
            continue
        for digest in sorted(_bodies(hf, piece) - sent):
            _export_body(hf, out, digest)
            sent.add(digest)
        out.write(piece.record + b"\n")
        counts["events"] += 1
        if progress:
            progress(counts["events"])
    counts["bodies"] = len(sent)
    _write(out, {"holdfast_export_end": counts})
    return counts


def _write(out: BinaryIO, value: object) -> None:
    out.write(line.canonical(value) + b"\n")


def _export_body(hf: Holdfast, out: BinaryIO, digest: str) -> None:
    rest = b""
    for piece in hf.blobs.read(digest):
        rest += piece
        while len(rest) > _CHUNK:
            _write(out, {"body": digest, "part": base64.b64encode(rest[:_CHUNK]).decode()})
            rest = rest[_CHUNK:]
    _write(out, {"body": digest, "last": base64.b64encode(rest).decode()})


def _bodies(hf: Holdfast, piece: Piece) -> set[str]:
    if b'"blob":"' not in piece.record:
        return set()
    event = decode(piece)
    found = bodies_in(event.payload) if isinstance(event, Event) else set()
    return {digest for digest in found if hf.blobs.sound(digest)}


def import_(
    hf: Holdfast, source: BinaryIO, *, restore: bool = False, progress: Progress | None = None
) -> Imported:
    """Take in an export; `restore` keeps origin and trust, and needs an empty project."""
    if restore and hf.log.head().event_seq:
        raise Conflict("this project holds events already; restore into an empty one")
    done = Imported()
    reader = _Lines(hf, source, done, verbatim=restore)
    batch: list[Event] = []
    for event in reader.events():
        batch.append(event)
        if len(batch) >= _BATCH:
            _take(hf, batch, done, restore)
            batch = []
            if progress:
                progress(done.events + done.already_there)
    _take(hf, batch, done, restore)
    return done


def _take(hf: Holdfast, batch: list[Event], done: Imported, restore: bool) -> None:
    known = hf.log.present([event.event_id for event in batch])
    new = [event for event in batch if event.event_id not in known]
    if new and restore:
        hf.log.append([_as_it_was(event) for event in new])
    elif new:
        hf.record([_as_foreign(event) for event in new])
    done.events += len(new)
    done.already_there += len(batch) - len(new)


def _as_it_was(event: Event) -> Entry:
    names = [n for n in Entry.__struct_fields__ if n not in ("payload", "fresh")]
    kept = {name: getattr(event, name) for name in names}
    return Entry(**kept, payload=line.canonical(event.payload))


def _as_foreign(event: Event) -> Draft:
    return Draft(
        type=event.type,
        payload=event.payload if isinstance(event.payload, dict) else {"raw": event.payload},
        origin="import",
        session_id=event.session_id,
        agent=event.agent,
        user=event.user,
        at=event.timestamp,
        event_id=event.event_id,
    )


class _Lines:
    """An export file, line by line; a body becomes a blob here before its event is seen."""

    def __init__(self, hf: Holdfast, source: BinaryIO, done: Imported, *, verbatim: bool) -> None:
        self._hf = hf
        self._source = source
        self._done = done
        self._verbatim = verbatim
        self._renamed: dict[str, str] = {}
        self._number = 0
        self._met = 0

    def events(self) -> Iterator[Event]:
        first = msgspec.Raw(self._source.readline())
        try:
            said = msgspec.json.decode(first)
        except msgspec.DecodeError:
            said = None
        if not isinstance(said, dict) or said.get("holdfast_export") != _FORMAT:
            raise Invalid("this is not an export of Holdfast; make one with `holdfast export`")
        self._number = 1
        for raw in self._source:
            self._number += 1
            record = raw.rstrip(b"\n")
            if line.whole(record):
                yield from self._event(record)
            else:
                self._other(record)

    def _event(self, record: bytes) -> Iterator[Event]:
        self._met += 1
        try:
            event = msgspec.json.decode(record, type=Event)
        except (msgspec.DecodeError, RecursionError):
            self._damaged()
            return
        if self._renamed and isinstance(event.payload, dict):
            notes = event.payload.get(NOTES)
            for note in notes if isinstance(notes, list) else ():
                if isinstance(note, dict) and isinstance(note.get("blob"), str):
                    note["blob"] = self._renamed.get(note["blob"], note["blob"])
        yield event

    def _other(self, record: bytes) -> None:
        try:
            said: Any = msgspec.json.decode(record)
        except (msgspec.DecodeError, RecursionError):
            said = None
        if isinstance(said, dict) and isinstance(said.get("body"), str):
            self._body(said)
        elif isinstance(said, dict) and isinstance(said.get("holdfast_export_end"), dict):
            self._done.complete = said["holdfast_export_end"].get("events") == self._met
        else:
            self._damaged()

    def _body(self, first: dict[str, Any]) -> None:
        kept, _ = self._hf.keep_body(self._parts(first), verbatim=self._verbatim)
        self._done.bodies += 1
        if kept != first["body"]:
            self._renamed[first["body"]] = kept

    def _parts(self, said: dict[str, Any]) -> Iterator[bytes]:
        while "part" in said:
            yield base64.b64decode(said["part"])
            self._number += 1
            said = msgspec.json.decode(self._source.readline() or b"{}")
        yield base64.b64decode(said.get("last", ""))

    def _damaged(self) -> None:
        self._done.damaged += 1
        if len(self._done.damaged_lines) < 20:
            self._done.damaged_lines.append(self._number)
