"""Events whose content follows from their id, and the check every fault test ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from zlib import crc32

from holdfast.capture.disk import Disk
from holdfast.capture.line import canonical
from holdfast.engines.files import FileLog
from holdfast.model.events import Damage, Entry, Event
from holdfast.model.reports import Verified
from holdfast.model.settings import LogSettings

WHEN = "2026-01-01T00:00:00.000Z"


def text_of(event_id: str, size: int = 30) -> str:
    """The words of an event, so that a reader can tell whether it holds another's."""
    word = f"{crc32(event_id.encode()):08x} "
    return (word * (size // len(word) + 1))[: max(size, len(word))]


def entry(event_id: str, size: int = 30, *, kind: str = "user_message@1") -> Entry:
    """An event of that id."""
    return Entry(
        event_id=event_id,
        session_id="s1",
        agent="a",
        user="u",
        type=kind,
        timestamp=WHEN,
        origin="user",
        trust=3,
        sources=(),
        payload=canonical({"text": text_of(event_id, size)}),
    )


def subject(event_id: str, erased: Collection[str]) -> Entry:
    """The event that says these were erased."""
    return Entry(
        event_id=event_id,
        session_id=None,
        agent=None,
        user=None,
        type="subject_erased@1",
        timestamp=WHEN,
        origin="user",
        trust=3,
        sources=(),
        payload=canonical({"event_ids": sorted(erased)}),
    )


def baseline(event_id: str) -> Entry:
    """The event a retention leaves in the place of what it drops."""
    return Entry(
        event_id=event_id,
        session_id=None,
        agent=None,
        user=None,
        type="baseline@1",
        timestamp=WHEN,
        origin="system",
        trust=2,
        sources=(),
        payload=canonical({"folded": "state"}),
    )


@dataclass
class Findings:
    """What a look at a log after a fault brought to light; all empty when the promises held."""

    acked: int = 0
    lost: list[str] = field(default_factory=list)
    duplicated: list[str] = field(default_factory=list)
    spliced: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Findings) -> None:
        """Take in what another look found."""
        self.acked += other.acked
        self.lost += other.lost
        self.duplicated += other.duplicated
        self.spliced += other.spliced
        self.wrong += other.wrong

    @property
    def clean(self) -> bool:
        """Nothing lost, doubled, spliced or wrong."""
        return not (self.lost or self.duplicated or self.spliced or self.wrong)

    def as_dict(self) -> dict[str, object]:
        """For another process."""
        return asdict(self)


def look(
    folder: str,
    acked: Collection[str],
    offered: Collection[str] | None = None,
    *,
    erased: Collection[str] = (),
    dropped: Collection[str] = (),
    damage_expected: bool = False,
    disk: Disk | None = None,
) -> Findings:
    """Open the log anew, take the lock once, read everything and compare.

    `offered` are ids that were tried and may be there, once or not at all; None allows any.
    `dropped` are ids a retention may have removed.
    """
    found = Findings(acked=len(acked))
    log = FileLog(folder, LogSettings(lock_timeout=1), disk=disk)
    try:
        log.append([entry("probe")])
        events = [e for e in log.read() if isinstance(e, Event)]
        damage = [d for d in log.read() if isinstance(d, Damage)]
        verified = log.verify()
    finally:
        log.close()
    there = Counter(event.event_id for event in events)
    found.lost = sorted(i for i in acked if i not in there and i not in dropped)
    found.duplicated = sorted(i for i, times in there.items() if times > 1)
    if not damage_expected:
        found.spliced = [str(d) for d in damage] + _unsound(verified)
        found.wrong += _not_dense(events, verified)
    known = None if offered is None else {*acked, *offered, *dropped, "probe"}
    for event in events:
        found.wrong += _wrong(event, known, erased)
    return found


def check_log(
    folder: str,
    acked: Collection[str],
    offered: Collection[str] | None = (),
    *,
    erased: Collection[str] = (),
    dropped: Collection[str] = (),
    disk: Disk | None = None,
) -> None:
    """Every acknowledged event once, nothing twice, nothing half, seqs dense, verify sound."""
    found = look(folder, acked, offered, erased=erased, dropped=dropped, disk=disk)
    assert found.clean, found


def _unsound(verified: Verified) -> list[str]:
    return [] if verified.sound and not verified.spooled else [f"not sound: {verified}"]


def _not_dense(events: list[Event], verified: Verified) -> list[str]:
    seqs = [event.event_seq for event in events]
    dense = seqs == list(range(seqs[0], seqs[0] + len(seqs))) if seqs else True
    return [] if dense and verified.events == len(seqs) else [f"seqs are not dense: {seqs[:50]}"]


def _wrong(event: Event, known: set[str] | None, erased: Collection[str]) -> list[str]:
    if event.kind == "damage_found":
        return []
    if known is not None and event.event_id not in known:
        return [f"{event.event_id} was never offered"]
    if event.erased:
        return [] if event.event_id in erased else [f"{event.event_id} was erased by nobody"]
    text = event.payload.get("text")
    if event.kind == "user_message" and text != text_of(event.event_id, len(text or "")):
        return [f"{event.event_id} holds other words"]
    return []
