"""What left comes back: asked for by its id, or by itself in a context; both are written down.

What always holds: whoever needs it has it, also where the log is damaged or cannot be written to; that
it was needed is bookkeeping, and trouble with that is told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.model.cold import Cold, ColdChunk
from holdfast.model.events import Draft
from holdfast.model.packs import Shown
from holdfast.views.cold import LONGEST
from holdfast.views.view import brief

from .quoting import said_as

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session


class Need(NamedTuple):
    """What something that left was needed for."""

    prompt: str
    #: asked for, or found (`auto`)
    how: str
    #: the event that says the prompt, if one does
    said: str = ""


def recover(s: Session, chunk_id: str, prompt: str) -> Cold:
    """A chunk by its id; written down, because what is asked for was dropped too soon."""
    hf, whose = s._hf, (s.principal, s.agent)
    found = hf.cold.get(chunk_id, user=s.principal, agent=s.agent)
    asked = said_as(s, (), prompt)
    noted(hf, lambda: hf.record([came_back(hf, found.chunk, Need(prompt, "asked", asked))]))
    hf.activity.follow()
    return replace(found, chunk=hf.cold.find(chunk_id, *whose))


def came_back_by_itself(s: Session, shown: Sequence[Shown], need: Need, pack: str) -> None:
    """Write down which cold chunks of this user's agent a context brought back."""
    hf = s._hf
    back = _cold_ones(s, shown)
    if back:
        hf.record([came_back(hf, one, need, pack) for one in back])


def _cold_ones(s: Session, shown: Sequence[Shown]) -> list[ColdChunk]:
    """The cold chunks that turns in a context are of, whichever session they left."""
    hf, seqs = s._hf, defaultdict[str, list[int]](list)
    generation = hf.log.head().generation
    for one in shown:
        mine = one.kind == "turn" and not one.project
        event = hf.lately.find(hf.log, generation, one.id) if mine else None
        if event is not None and (event.user, event.agent) == (s.principal, s.agent):
            seqs[event.session_id or ""].append(event.event_seq)
    return [
        chunk
        for session_id, places in seqs.items()
        for chunk in hf.cold.known.holding((s.principal, s.agent, session_id), places)
    ]


def noted(hf: Holdfast, write: Callable[[], object]) -> None:
    """Write down what already happened; trouble is told, not raised."""
    try:
        write()
    except HoldfastError as exc:
        hf.tell(f"what came back could not be written down: {exc}")


def came_back(hf: Holdfast, chunk: ColdChunk, need: Need, pack: str = "") -> Draft:
    """That a chunk was needed again: asked for, or by itself in a context."""
    said = {
        "chunk": chunk.id,
        "compaction": chunk.compaction,
        "how": need.how,
        "score": chunk.score,
        "prompt": brief(need.prompt, LONGEST),
        "tokens": chunk.tokens,
    }
    of = [one for one in (chunk.id, chunk.compaction_id) if hf.log.find(one) is not None][:1]
    return Draft(
        type="chunk_recovered",
        payload={**said, "pack": pack} if pack else said,
        origin="system",
        session_id=chunk.session_id,
        agent=chunk.agent,
        user=chunk.user,
        sources=tuple(dict.fromkeys(filter(None, (*of, need.said)))),
    )
