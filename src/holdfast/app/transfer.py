"""Out of one log and into another: export and import.

An export is one NDJSON file: a first line that says what it is, the records exactly as they lie in the
log, each body before the event that refers to it, and a last line that counts. What leaves is shaped
and redacted once more, with what the redactor knows today; where that finds nothing, a record leaves
byte for byte.

A file can come from anybody. An import gives its events trust 0, mends an odd header, counts each line
it cannot take, and keeps ids, so importing twice adds nothing. Restoring one's own backup puts the
records back byte for byte; that is the operator's word, and the command line asks for it by name.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from typing import Any, BinaryIO

from holdfast.capture import line
from holdfast.capture.chain import load_key
from holdfast.capture.header import kind_of, mended_name
from holdfast.capture.parse import NOTES, nesting
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Limits, Shaper, Unfit
from holdfast.capture.stamp import fresh_id
from holdfast.engines.files.decode import bodies_in
from holdfast.engines.files.trouble import translated
from holdfast.errors import Conflict, HoldfastError, Invalid, Limit, NotFound
from holdfast.model.events import Damage, Draft
from holdfast.record import limits

from .holdfast import Holdfast
from .incoming import BATCH, BATCH_BYTES, FORMAT, Bodies, Imported, Lines, are_notes, said_in
from .restoring import PuttingBack

_CHUNK = 768 << 10
_MOST_SOURCES = 10_000
_PAYLOAD = b',"payload":'
_CRC = len(b',"crc":"00000000"}')
#: what Holdfast believes when its own log says it; from a file it is only something somebody said
_OWN = frozenset({"baseline", "subject_erased", "damage_found"})

Progress = Callable[[int], None]


# ---- out -----------------------------------------------------------------------------------


def export(hf: Holdfast, out: BinaryIO, progress: Progress | None = None) -> dict[str, int]:
    """Write everything; how many events and bodies there were, and how much of it was damaged."""
    counts = {"events": 0, "bodies": 0, "damaged": 0, "bad_bodies": 0}
    leaving = _Leaving(hf, out)
    _write(out, {"holdfast_export": FORMAT, "project_id": hf.project.id})
    for piece in hf.log.found():
        if isinstance(piece, Damage):
            hf.log.note_damage(piece)
            counts["damaged"] += 1
            continue
        out.write(leaving.record(piece.record) + b"\n")
        counts["events"] += 1
        if progress:
            progress(counts["events"])
    counts["bodies"] = sum(sent is not None for sent in leaving.bodies.values())
    counts["bad_bodies"] = len(leaving.bodies) - counts["bodies"]
    _write(out, {"holdfast_export_end": counts})
    return counts


def export_file(hf: Holdfast, path: str, progress: Progress | None = None) -> dict[str, int]:
    """The same into a file that only its owner can read, and that is there whole or not at all."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise Invalid(f"{path} is not a file; export to a file, or to standard output with -")
    disk, folder = hf.log.disk, os.path.dirname(path)
    if not os.path.isdir(folder):
        raise NotFound(f"there is no folder {folder} to export to")
    draft = disk.draft_name(os.path.join(folder, fresh_id("export")))
    with translated("exporting"):
        fd = disk.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as out:
                counts = export(hf, out, progress)
                out.flush()
                disk.fsync(fd)
            disk.replace(draft, path)
        except BaseException:
            disk.unlink(draft)
            raise
        disk.sync_folder(folder)
    return counts


def _write(out: BinaryIO, value: object) -> None:
    out.write(line.canonical(value) + b"\n")


class _Leaving:
    """Records and bodies on their way out, redacted once more."""

    def __init__(self, hf: Holdfast, out: BinaryIO) -> None:
        with translated("reading the fingerprint key"):
            key = load_key(os.path.join(hf.settings.keys, "fingerprint.key"), hf.log.disk)
        redactor = Redactor(key, hf.settings.record.deny_paths)
        # what fitted a line once fits it still, so nothing here becomes a new body
        roomy = Limits(text_chars=1 << 62, payload_bytes=1 << 62, depth=200)
        self._shaper = Shaper(redactor, hf.blobs.keep, roomy)
        self._blobs = hf.blobs
        self._out = out
        #: each body met: the digest and length it left with; None where it could not be read
        self.bodies: dict[str, tuple[str, int] | None] = {}

    def record(self, record: bytes) -> bytes:
        """The record as it may leave, after its bodies; the header stays as it is."""
        head, mark, rest = record.partition(_PAYLOAD)
        before, payload = (head + mark, rest[:-_CRC]) if mark else (b"", record[:-_CRC])
        known = said_in(payload)
        for digest in sorted(bodies_in(known) - self.bodies.keys()):
            self.bodies[digest] = self._body(digest)
        clean = self._redacted(payload, known)
        return record if clean == payload else line.close(before + clean)[:-1]

    def _redacted(self, payload: bytes, known: Any) -> bytes:
        notes = known.pop(NOTES, []) if isinstance(known, dict) else None
        if are_notes(notes):
            for note in notes:
                sent = self.bodies.get(str(note.get("blob")))
                if sent and sent[0] != note["blob"]:
                    note["blob"], note["bytes"] = sent
            with suppress(Unfit):
                return self._shaper.shape(known, notes)
        return b"".join(self._shaper.redacted_bytes([payload]))

    def _body(self, digest: str) -> tuple[str, int] | None:
        """Send a body; it is read twice, because its name comes before it."""
        try:
            seen, length = sha256(), 0
            for piece in self._shaper.redacted_bytes(self._blobs.read(digest)):
                seen.update(piece)
                length += len(piece)
            self._send(seen.hexdigest(), self._shaper.redacted_bytes(self._blobs.read(digest)))
        except HoldfastError:
            return None  # its event goes out nevertheless; whoever reads this file is told
        return seen.hexdigest(), length

    def _send(self, digest: str, pieces: Iterable[bytes]) -> None:
        rest = b""
        for piece in pieces:
            rest += piece
            while len(rest) > _CHUNK:
                _write(
                    self._out, {"body": digest, "part": base64.b64encode(rest[:_CHUNK]).decode()}
                )
                rest = rest[_CHUNK:]
        _write(self._out, {"body": digest, "last": base64.b64encode(rest).decode()})


# ---- in ------------------------------------------------------------------------------------


def import_(
    hf: Holdfast, source: BinaryIO, *, restore: bool = False, progress: Progress | None = None
) -> Imported:
    """Take in an export; with `restore` byte for byte, into a project that holds nothing else.

    A restore that was interrupted goes on where it stopped.
    """
    done = Imported()
    with translated("importing"), tempfile.TemporaryFile(dir=hf.folder) as room:
        bodies = Bodies(hf, room, done, verbatim=restore)
        taking = PuttingBack(hf, bodies, done) if restore else _Foreign(hf, bodies, done)
        for number, record in Lines(source, bodies, done).records():
            taking.take(number, record)
            if progress and number % BATCH == 0:
                progress(done.events + done.already_there)
        taking.finish()
    return done


class _Foreign:
    """Takes records as somebody else's: without trust, mended where they are odd, each id once."""

    def __init__(self, hf: Holdfast, bodies: Bodies, done: Imported) -> None:
        self._hf = hf
        self._bodies = bodies
        self._done = done
        self._batch: dict[str, tuple[int, dict[str, Any]]] = {}
        self._size = 0

    def take(self, number: int, record: bytes) -> None:
        """Record an event, now or with those that follow."""
        _, event_id = line.seq_and_id(record)
        fields = said_in(record)
        if not isinstance(fields, dict) or not self._fits(event_id, record):
            self._done.leave_out(number)
            return
        if event_id in self._batch:
            self._done.already_there += 1
            return
        if any(source in self._batch for source in _ids_in(fields.get("sources"))):
            self._flush()  # a source is looked for in the log
        self._batch[event_id] = (number, fields)
        self._size += len(record)
        # a body waits for its event, so the event does not wait for others
        if len(self._batch) >= BATCH or self._size >= BATCH_BYTES or b'"blob":"' in record:
            self._flush()

    def _fits(self, event_id: str, record: bytes) -> bool:
        """What would be refused is seen before its bodies are stored."""
        deepest = self._hf.settings.record.depth + 1
        plain = b"".join(self._hf._recorder.redacted([event_id.encode()])).decode()
        with suppress(Invalid):
            return plain == limits.event_id(event_id) and nesting(record, deepest) <= deepest
        return False

    def _flush(self) -> None:
        batch, self._batch, self._size = self._batch, {}, 0
        sources = [s for _, fields in batch.values() for s in _ids_in(fields.get("sources"))]
        present = self._hf.log.present([*batch, *sources])
        drafts = [
            (number, self._draft(event_id, fields, present))
            for event_id, (number, fields) in batch.items()
            if event_id not in present
        ]
        self._done.already_there += len(batch) - len(drafts)
        if drafts:
            self._record(drafts)

    def finish(self) -> None:
        """Record the last ones."""
        self._flush()

    def _record(self, drafts: list[tuple[int, Draft]]) -> None:
        """Record a batch; where one of them is refused, the others without it."""
        try:
            # not hf.record, which gives an event without a user the one who imports it
            self._hf._recorder.record([draft for _, draft in drafts])
            self._done.events += len(drafts)
        except (Invalid, Limit, NotFound, Conflict) as exc:
            half = len(drafts) // 2
            if half:
                self._record(drafts[:half])
                self._record(drafts[half:])
            elif isinstance(exc, Conflict):
                self._done.already_there += 1  # somebody else recorded it just now
            else:
                self._done.leave_out(drafts[0][0])

    def _draft(self, event_id: str, fields: dict[str, Any], present: set[str]) -> Draft:
        odd: dict[str, Any] = {"erased": True} if fields.get("erased") is True else {}
        names = {name: _name(name, fields, odd) for name in ("session_id", "agent", "user")}
        payload = fields.get("payload", fields)  # of another version: all it has
        payload = dict(payload) if isinstance(payload, dict) else {"raw": payload}
        notes = self._notes(payload.pop(NOTES, []))
        kind = _kind(fields, odd)
        if kind.partition("@")[0] in _OWN:
            payload = {"imported_type": fields["type"], "payload": payload}
            notes = [
                {**note, "path": f"/payload{note['path']}"} if "path" in note else note
                for note in notes
            ]
            kind = "system_event"
        draft = Draft(
            type=kind,
            payload=payload,
            origin="import",
            at=_moment(fields, odd),
            event_id=event_id,
            sources=_sources(fields, present, odd),
            **names,
        )
        notes += [{"why": "as_imported", **odd}] if odd else []
        payload.update({NOTES: notes} if notes else {})
        return draft

    def _notes(self, given: Any) -> list[dict[str, Any]]:
        if not are_notes(given):
            return [{"why": "as_imported", "value": given}]
        return [self._note(note) if "blob" in note else note for note in given]

    def _note(self, note: dict[str, Any]) -> dict[str, Any]:
        """A note names a body only if that came along: any other is not the file's to keep alive."""
        rest = {name: value for name, value in note.items() if name != "blob"}
        kept = self._bodies.keep(str(note["blob"]))
        return {**rest, "missing_blob": note["blob"]} if kept is None else {**rest, "blob": kept}


def _ids_in(sources: Any) -> list[str]:
    return [s for s in sources if isinstance(s, str)] if isinstance(sources, list) else []


def _name(name: str, fields: dict[str, Any], odd: dict[str, Any]) -> str | None:
    given = fields.get(name)
    mended = mended_name(given)
    if mended != given and given != "":
        odd[name] = given
    return mended


def _kind(fields: dict[str, Any], odd: dict[str, Any]) -> str:
    given = fields.get("type")
    kind = kind_of(given)
    if kind is None:
        odd["type"] = given
    return kind or "system_event"


def _moment(fields: dict[str, Any], odd: dict[str, Any]) -> str | None:
    given = fields.get("timestamp")
    with suppress(Invalid):
        return limits.moment(given or "")
    odd["timestamp"] = given
    return None


def _sources(fields: dict[str, Any], present: set[str], odd: dict[str, Any]) -> tuple[str, ...]:
    given = fields.get("sources") or []
    kept = [source for source in _ids_in(given) if source in present][:_MOST_SOURCES]
    known = set(kept)
    rest = given if not isinstance(given, list) else [s for s in given if str(s) not in known]
    if rest:
        odd["missing_sources"] = rest
    return tuple(kept)
