"""Which event of a session a question is the words of.

What is written down about a question holds its words. It names that event as its source, so that whoever
erases the event, and everything reachable from it, erases those words too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holdfast.errors import Damaged
from holdfast.model.events import Event
from holdfast.text.spoken import beyond, said

from . import bodies
from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: a long text is read from its body where its line begins with so much of the question
_BEGINS = 100


def said_as(hf: Holdfast, events: Iterable[Event], prompt: str) -> str:
    """The id of the last of these events that says a prompt word for word; empty where none does."""
    asked = redacted(hf, prompt).strip()
    same = [event.event_id for event in events if asked and _says(hf, event, asked)]
    return same[-1] if same else ""


def _says(hf: Holdfast, event: Event, asked: str) -> bool:
    text = said(event).strip()
    if not beyond(event) or not asked.startswith(text[:_BEGINS]):
        return text == asked
    try:
        return bodies.pieces(hf, event).text.strip() == asked
    except Damaged:
        return False
