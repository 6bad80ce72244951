"""Frozen settings of each room, with the reason for each default."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .compact import CompactSettings, ItemSettings, ManagerSettings
from .complete import CompleteSettings
from .compose import ComposeSettings
from .embed import EmbedSettings
from .hooks import HookSettings
from .recall import RecallSettings
from .tokens import TokenSettings

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


class ViewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How what is derived from the log is kept."""

    #: a snapshot is exported after so many events, so that a lost index costs less than a second
    snapshot_every_events: Positive = 2_000
    #: or after so many bytes of log; also at every gate and at the end of a session
    snapshot_every_bytes: Positive = 8 << 20
    #: about the most a snapshot takes, so that a gate need not wait long for one in an old project;
    #: what is known about sessions that ended longest ago is left to the log
    snapshot_most_bytes: Positive = 4 << 20
    #: how long a read waits for another process before it answers from memory
    busy_ms: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 2_000
    #: a process that only records brings the index up to date after so many events, so that the
    #: next reader waits about a second at most
    catch_up_events: Positive = 50_000


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `open` needs to know."""

    home: str
    #: keys of chains and fingerprints, outside the home so that a copy of it does not carry them
    keys: str
    log: LogSettings = LogSettings()
    record: RecordSettings = RecordSettings()
    views: ViewSettings = ViewSettings()
    tokens: TokenSettings = TokenSettings()
    recall: RecallSettings = RecallSettings()
    embed: EmbedSettings = EmbedSettings()
    compose: ComposeSettings = ComposeSettings()
    hooks: HookSettings = HookSettings()
    compact: CompactSettings = CompactSettings()
    items: ItemSettings = ItemSettings()
    manager: ManagerSettings = ManagerSettings()
    complete: CompleteSettings = CompleteSettings()
    #: the key of an embedding endpoint; from the environment only
    embed_key: str | None = None
    #: the key of a language model; from the environment only
    llm_key: str | None = None
