"""Where everything said in a session stands: in its window, or in a span that names it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.app.session import Session
from holdfast.app.windows import Held, holding, turns_for
from holdfast.compose import history


def held(s: Session, window: int) -> Held:
    """What a window of so many tokens shows of the conversation."""
    return holding(s, turns_for(s._hf, "", window), "", window)


def out_of_place(s: Session, window: int) -> Iterator[str]:
    """Something said that is neither shown nor named by a line or a summary."""
    there = held(s, window)
    shown = {event.event_seq for event in there.events}
    spans = [*there.past.lines, *there.past.shorts]
    said = [event for event in s._hf.events(session_id=s.id) if history.spoken(event)]
    for event in said:
        place = event.event_seq
        if place not in shown and not any(one.first <= place <= one.last for one in spans):
            yield f"{event.kind} {place} is neither shown nor named"
    for one in spans:
        handle = f"events {one.first}-{one.last}"
        inside = any(one.first <= event.event_seq <= one.last for event in said)
        if inside and not s.expand(handle, 4_000).text:
            yield f"{handle} expand to nothing"
