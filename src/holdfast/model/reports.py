"""What verify, erase and retain say when they are done."""

from __future__ import annotations

import msgspec

from .events import Damage


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a log, from its first byte to its last."""

    events: int
    first_seq: int
    last_seq: int
    generation: int
    segments: int
    bytes: int
    sessions: int
    #: every damaged stretch, missing seq and second copy
    damage: tuple[Damage, ...] = ()
    #: events whose content was erased
    erased: int = 0
    #: events seen in a session that belongs to another agent or user
    foreign: int = 0
    #: "off", "whole", "broken" or "key missing"
    chain: str = "off"
    #: where the chain first does not fit, 0 if nowhere
    chain_break: int = 0
    #: the newest anchored seq, and how many events came after it
    anchored_seq: int = 0
    unanchored: int = 0
    #: bodies that are missing or do not match their hash
    bad_blobs: tuple[str, ...] = ()
    #: events waiting in the spool
    spooled: int = 0

    @property
    def sound(self) -> bool:
        """Nothing damaged, missing or edited."""
        return not (self.damage or self.bad_blobs) and self.chain in ("off", "whole")


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """What an erase took out."""

    events: int
    blobs: int
    #: damaged bytes and quarantine copies, which nobody can attribute and so go as well
    damaged_stretches: int
    generation: int
