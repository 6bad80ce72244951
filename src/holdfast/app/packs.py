"""Contexts that were handed out: the last one, and what became of one memory in any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import NotFound
from holdfast.model import memories as model
from holdfast.model.packs import REASONS, Receipt, Weighed
from holdfast.views.epochs import EpochView
from holdfast.views.memories import is_memory_id
from holdfast.views.view import session_key

from . import replaying, sessions
from .telling import Author, find

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """One memory or event on its way into a context, or to where it was left."""

    of: str
    pack: str
    #: every step in words
    steps: tuple[str, ...]
    #: what the receipt says, where it was a candidate
    found: tuple[Weighed, ...] = ()


def last(hf: Holdfast, user: str, agent: str | None, session_id: str | None) -> str:
    """The context a session was given last: the session of that id, or the one active last."""
    of = sessions.chosen(hf, session_id, user, agent)
    key = session_key(of.user, of.agent, of.id)
    known = hf.views.read(lambda reading: reading.row(EpochView(), key))
    if known is None or not known.last_pack:
        raise NotFound(f"session {of.id} was given no context yet; s.context(…) makes one")
    return str(known.last_pack)


def receipt(hf: Holdfast, pack_id: str, user: str) -> Receipt:
    """The receipt of a context."""
    return replaying.receipt_of(replaying.recorded(hf, pack_id, user))


def why(hf: Holdfast, pack_id: str, one: str, user: str) -> Followed:
    """What became of one memory or event, step by step."""
    of = replaying.recorded(hf, pack_id, user)
    said = replaying.receipt_of(of)
    found = said.why(one)
    before = [shown for shown in of.epoch.everything() if one in (shown.id, str(shown.number))]
    name = found[0].shown.id if found else before[0].id if before else one
    steps = [f"[{shown.number}] was shown before, in {shown.section}" for shown in before]
    for weighed in found:
        steps += _steps(weighed, said)
    if not found and not before:
        steps.append(_never(hf, user, of.event.agent, name, said))
    return Followed(of=name, pack=pack_id, steps=tuple(steps), found=found)


def _steps(one: Weighed, said: Receipt) -> list[str]:
    shown = one.shown
    steps = [f"offered for {shown.section} as {shown.kind}"]
    if one.parts:
        best = sorted(one.parts.items(), key=lambda part: -abs(part[1]))[:5]
        parts = ", ".join(f"{name} {value:+.2f}" for name, value in best)
        steps.append(f"scored {one.score:.4f}, relevance {one.relevance:.4f}: {parts}")
    else:
        steps.append(f"worth {one.score:.3f} whatever the question is")
    if one.sizes:
        steps.append(f"would take {', '.join(map(str, one.sizes))} tokens, level by level")
    if one.verdict == "taken":
        steps.append(f"shown as [{shown.number}], {shown.tokens} tokens")
    else:
        why = f" ({one.why})" if one.why else ""
        steps.append(f"left out: {REASONS.get(one.verdict, one.verdict)}{why}")
        section = said.sections.get(shown.section)
        if one.verdict in ("share", "budget", "cap") and section is not None:
            steps.append(f"{shown.section} holds {section.tokens} of {section.cap} tokens")
    return steps


def _never(hf: Holdfast, user: str, agent: str | None, one: str, said: Receipt) -> str:
    """Why something was no candidate at all."""
    if not is_memory_id(one):
        return f"{one} was no candidate: recall did not name it among the best for this question"
    try:
        _, memory = find(hf, one, Author(user=user, agent=agent, origin="agent"))
    except NotFound as exc:
        return str(exc)
    then = model.as_of(memory, said.at)
    if then is None:
        return f"{one} was learned later, at {memory.created_at}"
    state = model.state(then, said.at)
    if state != "current":
        return f"{one} was {state} then: {REASONS.get(state, 'it was not in use')}"
    return f"{one} was no candidate: recall did not name it among the best for this question"
