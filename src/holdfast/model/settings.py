"""Frozen settings of each room, with the reason for each default."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Mode = Literal["durable", "batched"]
Integrity = Literal["crc", "chained"]
Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the log is kept."""

    #: durable: an acknowledged event survives a power cut; batched: within window_ms of one
    mode: Mode = "durable"
    #: in batched mode, the longest a written event waits for its sync
    window_ms: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 50
    #: a segment is sealed past this, so erasing and reading from a position stay cheap
    segment_bytes: Positive = 64 << 20
    #: how long an append waits for other writers before it says Unavailable
    lock_timeout: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 10.0
    #: crc notices accidents; chained also notices edits, with a key outside the home
    integrity: Integrity = "crc"


class RecordSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an event may hold."""

    #: a longer text keeps head and tail in the line and its body in a blob
    text_chars: Positive = 128 << 10
    #: the same for a payload as a whole
    payload_bytes: Positive = 1 << 20
    #: how much of head and of tail stays
    edge_chars: Positive = 4 << 10
    #: deeper nesting is refused; parsers of other languages give up soon after
    depth: Annotated[int, msgspec.Meta(ge=2, le=200)] = 64
    #: further file names whose content is never recorded
    deny_paths: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `open` needs to know."""

    home: str
    #: keys of chains and fingerprints, outside the home so that a copy of it does not carry them
    keys: str
    log: LogSettings = LogSettings()
    record: RecordSettings = RecordSettings()
