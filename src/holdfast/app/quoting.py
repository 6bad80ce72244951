"""Which event of a session a question is the words of.

What is written down about a question holds its words. It names that event as its source, so that whoever
erases the event, and everything reachable from it, erases those words too; also where that event left
its window long ago, and where the search index cannot be opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holdfast.errors import Damaged, HoldfastError
from holdfast.model.events import Event
from holdfast.model.search import Wanted
from holdfast.recall.pages import SEARCHED, wording
from holdfast.text.spoken import beyond, said

from . import bodies, situation
from .asking import Asked, latest, mended
from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: a long text is read from its body where its line begins with so much of the question
_BEGINS = 100


def said_as(s: Session, shown: Iterable[Event], prompt: str) -> str:
    """The id of the last event of a session that says a prompt word for word; empty where none does.

    Where one of those that are shown does, the last of them is meant, and nothing is searched.
    """
    asked = redacted(s._hf, prompt).strip()
    if not asked:
        return ""
    among_shown = _last_saying(s._hf, shown, asked)
    if among_shown:
        return among_shown
    try:
        return _found(s, asked)
    except HoldfastError as exc:
        s._hf.tell(f"which message a question is was found without the index: {exc}")
        searched = (event for event in situation.spoken_in(s, 0) if event.kind in SEARCHED)
        return _last_saying(s._hf, searched, asked)


def _last_saying(hf: Holdfast, events: Iterable[Event], asked: str) -> str:
    same = [event.event_id for event in events if _says(hf, event, asked)]
    return same[-1] if same else ""


def _says(hf: Holdfast, event: Event, asked: str) -> bool:
    text = said(event).strip()
    if not beyond(event) or not asked.startswith(text[:_BEGINS]):
        return text == asked
    try:
        return bodies.pieces(hf, event).text.strip() == asked
    except Damaged:
        return False


def _found(s: Session, asked: str) -> str:
    """The last event of a session that says this, what ran out included."""
    wanted = Wanted(agent=s.agent, session=s.id, labels=(wording(asked),), now=0, ended=True)
    asker = Asked(user=s.principal)
    turns = mended(s._hf, asker, lambda: latest(s._hf, [s.principal], wanted, 1, by_words=True))
    return max(turns, key=lambda turn: turn.event_seq).id if turns else ""
