"""Reading a whole log and saying what is wrong with it.

Every byte is looked at: checksums, order, ids, the chain link by link, the anchors, the bodies. What is
damaged is copied to quarantine and noted in the log where that is possible, and always in the report.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.capture import line
from holdfast.capture.chain import START, Chain
from holdfast.capture.layout import ACTIVE
from holdfast.capture.parse import NOTES
from holdfast.capture.spool import spooled
from holdfast.model.events import Damage, Event
from holdfast.model.reports import Verified

from . import meta
from .decode import bodies_in, decode
from .pieces import Piece, segments
from .retain import OWN

if TYPE_CHECKING:
    from .log import FileLog


def verify(log: FileLog, progress: Callable[[int], None] | None = None) -> Verified:
    """The state of a log, from its first byte to its last."""
    state = meta.load(log.disk, log.folder)
    dropped = int(state.get("retained_through", 0))
    check = _Check(log, str(state.get("retained_link") or START))
    for piece in log.found():
        check.take(piece)
        if progress and check.events % 4096 == 0:
            progress(check.last_seq)
    active = os.path.exists(os.path.join(log.folder, ACTIVE))
    chained = state.get("integrity_mode") == "chained" or log.chain is not None or check.links_seen
    return Verified(
        events=check.events,
        first_seq=check.first_seq,
        last_seq=check.last_seq,
        generation=int(state.get("generation", 1)),
        segments=len(segments(log.disk, log.folder)) + active,
        bytes=log.size(),
        sessions=len(check.sessions),
        damage=tuple(map(log.note_damage, [*check.damage, *check.unexplained(dropped)])),
        erased=check.erased,
        foreign=check.foreign,
        bad_blobs=tuple(d for d in sorted(check.bodies) if not log.blobs.sound(d)),
        spooled=len(spooled(log.disk, log.folder)),
        **(check.chain_state() if chained else {}),  # type: ignore[arg-type]
    )


class _Check:
    """What accumulates while the log goes by."""

    def __init__(self, log: FileLog, link: str) -> None:
        self._chain: Chain | None = log.chain
        self._link = link
        self._links: dict[int, str] = {}
        self._anchors = log.chain.anchors() if log.chain else {}
        self._blanked: dict[int, str] = {}
        self._erasable: set[str] = set()
        self._dropped: dict[int, str] = {0: START}
        self._first_link = link
        self.links_seen = False
        self.chain_break = 0
        self.events = self.first_seq = self.last_seq = self.erased = self.foreign = 0
        self.sessions: dict[str, tuple[str | None, str | None]] = {}
        self.damage: list[Damage] = []
        self.bodies: set[str] = set()

    def take(self, piece: Piece | Damage) -> None:
        event = piece if isinstance(piece, Damage) else decode(piece)
        if isinstance(piece, Damage) or isinstance(event, Damage):
            self.damage.append(event)  # type: ignore[arg-type]
            return
        self.events += 1
        self.first_seq = self.first_seq or event.event_seq
        self.last_seq = event.event_seq
        if isinstance(event.payload, dict) and NOTES in event.payload:
            self.bodies |= bodies_in(event.payload)
        self._see_session(event)
        if event.erased:
            self.erased += 1
            self._blanked[event.event_seq] = event.event_id
        if event.type.startswith(("subject_erased@", "baseline@")) and event.origin in OWN:
            self._see_word_of_the_log(event)
        self.links_seen = self.links_seen or event.h is not None
        if self._chain is not None:
            self._see_link(self._chain, piece.record, event)

    def _see_word_of_the_log(self, event: Event) -> None:
        said = event.payload if isinstance(event.payload, dict) else {}
        if event.kind == "subject_erased":
            self._erasable.update(map(str, said.get("event_ids", ())))
        elif isinstance(said.get("dropped_through"), int):
            self._dropped[said["dropped_through"]] = str(said.get("dropped_link") or START)

    def _see_session(self, event: Event) -> None:
        if event.session_id is None or event.erased:
            return
        owner = self.sessions.setdefault(event.session_id, (event.agent, event.user))
        self.foreign += owner != (event.agent, event.user)

    def _see_link(self, chain: Chain, record: bytes, event: Event) -> None:
        head, payload = line.parts(record)
        header = head.partition(b',"salt":')[0].partition(b',"pd":')[0]
        good = (
            event.pd is not None
            and event.h == chain.link(self._link, header, event.pd)
            and (
                event.erased
                or event.pd == chain.digest(event.salt or "", line.part_user(header)[1], payload)
            )
        )
        if not good and not self.chain_break:
            self.chain_break = event.event_seq
        self._link = event.h or START
        if event.event_seq in self._anchors:
            self._links[event.event_seq] = self._link

    def unexplained(self, dropped: int) -> list[Damage]:
        """Events that meta.json says were dropped although no baseline does."""
        if self._dropped.get(dropped) == self._first_link:
            return []
        return [Damage(reason="gap", segment="meta.json", first_seq=1, last_seq=dropped)]

    def chain_state(self) -> dict[str, object]:
        """How the chain stands: whole, or from where it does not fit."""
        if self._chain is None:
            return {"chain": "key missing"}
        wrong = [s for s, h in self._anchors.items() if self._links.get(s, h) != h]
        gone = [s for s in self._anchors if s > self.last_seq]
        unowned = [s for s, name in self._blanked.items() if name not in self._erasable]
        breaks = [s for s in (self.chain_break, *wrong, *gone, *unowned) if s]
        anchored = max(self._anchors, default=0)
        return {
            "chain": "broken" if breaks else "whole",
            "chain_break": min(breaks, default=0),
            "anchored_seq": anchored,
            "unanchored": max(0, self.last_seq - anchored),
        }
