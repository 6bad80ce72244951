"""Logs told again: the events of one home recorded in another, all of them or those a test wants.

An event that is told again keeps its id, its time, its words and whose it is, so an answer that depends
on anything else than those differs between the two.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import Phase

import holdfast
from holdfast.capture.stamp import timestamp
from holdfast.model.events import Draft, Event
from holdfast.model.memories import Memory
from holdfast.model.recall import Found, Hit

Holdfast = holdfast.Holdfast
#: 1 March 2026, 09:00 UTC
BEGIN = 1_772_355_600_000
#: where an example takes a second, a shorter one is not worth minutes of looking for it
AS_FOUND = (Phase.explicit, Phase.generate)
MINUTE = 60_000
DAY = 86_400_000


def stamp(minutes: float) -> str:
    """So many minutes after the beginning of every history here."""
    return timestamp(BEGIN + round(minutes * MINUTE))


class Ticking:
    """A clock that a test sets; it never moves by itself."""

    def __init__(self, minutes: float = 0) -> None:
        self.minutes = minutes

    def now_ms(self) -> int:
        """As the test set it."""
        return BEGIN + round(self.minutes * MINUTE)


def drafted(event: Event) -> Draft:
    """The draft that makes the same event."""
    return Draft(
        type=event.type,
        payload=event.payload,
        origin=event.origin,
        session_id=event.session_id,
        agent=event.agent,
        user=event.user,
        at=event.timestamp,
        event_id=event.event_id,
        sources=event.sources,
    )


def told_again(
    source: Path,
    target: Path,
    projects: Sequence[str],
    keep: Callable[[Event], bool] = lambda _: True,
) -> None:
    """Record the events of some projects of one home in another home."""
    for project in projects:
        if not (source / "contexts-v2" / Path(*project.split("/"))).is_dir():
            continue
        with holdfast.open(source, project=project, user="nobody") as old:
            drafts = [drafted(event) for event in old.events() if keep(event)]
        if drafts:
            with holdfast.open(target, project=project, user="nobody") as new:
                for (
                    draft
                ) in drafts:  # one by one: an event may name the one before it as its source
                    new.record([draft])


def forgotten_index(home: Path) -> None:
    """Throw away everything a home derived from its logs."""
    for name in ("index.db*", "snapshot*.json", "vectors"):
        for path in (home / "contexts-v2").rglob(name):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


# ---- answers that can be compared ---------------------------------------------------------------


def plain_memory(memory: Memory) -> dict[str, Any]:
    """A memory without the places of its events in the log."""
    said: dict[str, Any] = msgspec.to_builtins(memory)
    said.pop("event_seq")
    for change in said.get("history", ()):
        change.pop("event_seq")
    return said


def plain_event(event: Event) -> dict[str, Any]:
    """An event without its place in the log."""
    said: dict[str, Any] = msgspec.to_builtins(event)
    for name in ("event_seq", "crc"):
        said.pop(name)
    return said


def plain_hit(hit: Hit) -> dict[str, Any]:
    """A hit with every number as it is, to the last bit."""
    said: dict[str, Any] = {
        name: getattr(hit, name)
        for name in ("id", "text", "project", "at", "speaker", "trust", "related")
    }
    said |= {"score": repr(hit.score), "relevance": repr(hit.relevance)}
    said["parts"] = {name: repr(part) for name, part in sorted(hit.parts.items())}
    said["usage"] = msgspec.to_builtins(hit.usage)
    said["memory"] = plain_memory(hit.memory) if hit.memory is not None else None
    said["event"] = plain_event(hit.event) if hit.event is not None else None
    return said


def plain_answer(found: Found) -> dict[str, Any]:
    """A whole answer, for comparing it with another one."""
    return {
        "hits": [plain_hit(hit) for hit in found],
        "confidence": repr(found.confidence),
        "query": found.query,
        "notices": found.notices,
    }


def ids(found: Found) -> list[str]:
    """What was found, in order."""
    return [hit.id for hit in found]
