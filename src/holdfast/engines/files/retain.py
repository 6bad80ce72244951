"""Retention: old segments go once what they add up to stands in the log as a `baseline` event.

Off by default. The baseline is durable and meta.json says how far was dropped before the first file is
removed, so a reader never meets a hole it is not told about, and an interrupted drop is finished by
whoever next takes the lock.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.capture import line
from holdfast.capture.layout import Segment
from holdfast.capture.stamp import timestamp
from holdfast.capture.writer import Writer
from holdfast.model.events import Damage, Event

from . import meta
from .decode import decode
from .pieces import Piece, pieces_of, segments

if TYPE_CHECKING:
    from .log import FileLog

#: whose word it is that something was dropped or erased: Holdfast's or the operator's, and never
#: that of an imported event
OWN = ("system", "user")


def retain(log: FileLog, writer: Writer, baseline: tuple[bytes, bytes], through: int) -> int:
    """Drop the segments that end at or before `through`; how many went."""
    _, baseline_id = line.seq_and_id(line.head(0, baseline[0]))
    done = log.find(baseline_id)
    if done is None:
        writer.seal()
        seq, link = _last_of(log, _ending_by(log, through))
        # what is dropped is said by an event of the chain, so that nobody else can say it
        folded = {**json.loads(baseline[1]), "dropped_through": seq, "dropped_link": link}
        writer.put([(baseline[0], line.canonical(folded))])
    else:
        seq, link = done.payload["dropped_through"], done.payload["dropped_link"]
    droppable = _ending_by(log, seq)
    if not droppable:
        return 0
    state = dict(meta.load(log.disk, log.folder))
    state["retained_through"], state["retained_link"] = seq, link
    state["last_compacted_at"] = timestamp()
    state["generation"] = int(state.get("generation", 1)) + 1
    meta.save(log.disk, log.folder, state)
    return _drop(log, droppable)


def finish(log: FileLog, writer: Writer) -> int:
    """Remove what an interrupted retention left behind; how far meta.json says it reached.

    Only what a baseline in the log names is removed: meta.json alone is anybody's word.
    """
    through = int(str(writer.meta["retained_through"]))
    if through in {_dropped(piece) for piece in log.found() if isinstance(piece, Piece)}:
        _drop(log, _ending_by(log, through))
    return through


def adopt(log: FileLog, baseline: bytes) -> None:
    """Take over what a restored baseline says was dropped before it."""
    state = dict(meta.load(log.disk, log.folder))
    said = json.loads(baseline)["payload"]
    state["retained_through"], state["retained_link"] = (
        said["dropped_through"],
        said["dropped_link"],
    )
    state["generation"] = int(state.get("generation", 1)) + 1
    meta.save(log.disk, log.folder, state)


def _dropped(piece: Piece) -> int:
    if not line.is_of(piece.record, "baseline"):
        return 0
    event = decode(piece)
    known = event.payload if isinstance(event, Event) and event.origin in OWN else {}
    return int(known.get("dropped_through", 0))


def _ending_by(log: FileLog, through: int) -> list[Segment]:
    known = segments(log.disk, log.folder)
    starts = [segment.first_seq for segment in known[1:]]
    # the last sealed segment ends where the active one begins; it stays until another is sealed
    return [s for s, next_first in zip(known, starts, strict=False) if next_first - 1 <= through]


def _last_of(log: FileLog, old: list[Segment]) -> tuple[int, str | None]:
    state = meta.load(log.disk, log.folder)  # what was dropped before, when nothing is now
    seq, link = int(state.get("retained_through", 0)), state.get("retained_link")
    for piece in pieces_of(log.disk, old[-1]) if old else ():
        if not isinstance(piece, Damage):
            seq = max(seq, piece.seq)
            chained = line.chain_of(piece.record)
            link = chained[1] if chained else None
    return seq, link


def _drop(log: FileLog, old: list[Segment]) -> int:
    for segment in old:
        log.disk.unlink(segment.path)
    if old:
        log.disk.sync_folder(log.folder)
    return len(old)
