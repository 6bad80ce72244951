"""Entries and file logs for tests: short to ask for, with nothing left to chance but what is asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from holdfast.capture.chain import Chain
from holdfast.capture.disk import Disk
from holdfast.capture.layout import META, new_meta
from holdfast.capture.line import canonical
from holdfast.capture.stamp import fresh_id
from holdfast.engines.files import FileLog
from holdfast.model.events import Damage, Entry, Event
from holdfast.model.settings import LogSettings
from holdfast.ports.log import EventLog

WHEN = "2026-01-31T09:30:00.000Z"
KEY = b"k" * 32


def entry(text: str = "hello", event_id: str | None = None, **more: Any) -> Entry:
    """A user message; with an id of the caller's own when one is given."""
    payload = more.pop("payload", {"text": text})
    fields: dict[str, Any] = {
        "event_id": event_id or fresh_id("evt"),
        "session_id": "ses_1",
        "agent": "coder",
        "user": "ana",
        "type": "user_message@1",
        "timestamp": WHEN,
        "origin": "user",
        "trust": 3,
        "sources": (),
        "payload": payload if isinstance(payload, bytes) else canonical(payload),
        "fresh": event_id is None,
    }
    return Entry(**{**fields, **more})


def erasure(ids: list[str], event_id: str | None = None) -> Entry:
    """The event that says these were erased."""
    return entry(
        event_id=event_id or fresh_id("evt"),
        type="subject_erased@1",
        user=None,
        session_id=None,
        agent=None,
        payload={"event_ids": ids},
    )


def baseline(event_id: str | None = None) -> Entry:
    """The folded state before a retention."""
    return entry(
        event_id=event_id or fresh_id("evt"),
        type="baseline@1",
        user=None,
        session_id=None,
        agent=None,
        payload={"state": "folded"},
    )


def folder_for(path: Path, mode: str = "crc") -> str:
    """A project's folder with its meta.json."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (path / META).exists():
        (path / META).write_bytes(canonical(new_meta("p", "", WHEN, mode)) + b"\n")
    return str(path)


def file_log(
    path: Path, *, chained: bool = False, disk: Disk | None = None, **settings: Any
) -> FileLog:
    """A file log in a folder; key and anchors of a chained one lie beside it."""
    folder = folder_for(path, "chained" if chained else "crc")
    chain = Chain(KEY, str(path) + ".anchors", disk or Disk()) if chained else None
    return FileLog(folder, LogSettings(**settings), chain=chain, disk=disk)


def events_of(log: EventLog, after: int = 0) -> list[Event]:
    """Every event behind a position, with no damage among them."""
    found = list(log.read(after))
    assert not [piece for piece in found if isinstance(piece, Damage)], found
    return [piece for piece in found if isinstance(piece, Event)]


def split(log: EventLog, after: int = 0) -> tuple[list[Event], list[Damage]]:
    """What a reader meets: events, and damage."""
    found = list(log.read(after))
    return (
        [piece for piece in found if isinstance(piece, Event)],
        [piece for piece in found if isinstance(piece, Damage)],
    )


def texts(events: list[Event]) -> list[str]:
    """Their words."""
    return [event.text for event in events]


def plain(event: Event) -> dict[str, Any]:
    """An event without what differs from engine to engine: checksum, chain, pseudonym."""
    said = msgspec.structs.asdict(event)
    for name in ("crc", "salt", "pd", "h"):
        del said[name]
    if event.erased and event.user is not None:
        said["user"] = "erased"
    if event.kind == "baseline" and isinstance(event.payload, dict):
        said["payload"] = {k: v for k, v in event.payload.items() if k != "dropped_link"}
    return said


def bytes_under(folder: str | Path) -> dict[str, bytes]:
    """Every file below a folder and what is in it."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found
