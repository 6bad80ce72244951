"""Contexts that were handed out: the last one, and what became of one memory in any of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from holdfast.compose.history import spoken
from holdfast.errors import Erased, NotFound
from holdfast.model import memories as model
from holdfast.model.compose import LEVELS
from holdfast.model.documents import EVENT as DOCUMENT
from holdfast.model.documents import holds, place_of
from holdfast.model.epochs import Epochs
from holdfast.model.events import Event
from holdfast.model.items import is_item_id
from holdfast.model.memories import Memory
from holdfast.model.packs import REASONS, Receipt, Shown, Weighed
from holdfast.views import documents, items
from holdfast.views.epochs import EpochView
from holdfast.views.memories import is_memory_id
from holdfast.views.runner import Reading
from holdfast.views.view import session_key

from . import replaying, sessions
from .replaying import Recorded
from .showing import Showing
from .telling import Author, find

if TYPE_CHECKING:
    from .holdfast import Holdfast

_DAY = len("2026-01-01")


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """An entry or a candidate in words: where it comes from, and what it says as it is shown."""

    head: str
    text: str


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """One memory or event on its way into a context, or to where it was left."""

    of: str
    pack: str
    #: every step in words
    steps: tuple[str, ...]
    #: what the receipt says, where it was a candidate
    found: tuple[Weighed, ...] = ()
    #: what it says, where it was offered or shown
    says: str = ""


def last(hf: Holdfast, user: str, agent: str | None, session_id: str | None) -> str:
    """The context a session was given last: that session, or of those with one the last active."""
    if session_id is not None:
        known = [sessions.chosen(hf, session_id, user, agent)]
    else:
        known = sessions.listed(hf, user, agent)
    for of in known:
        key = session_key(of.user, of.agent, of.id)
        row = hf.views.read(partial(_epochs, key=key))
        if row is not None and row.last_pack:
            return row.last_pack
    who = user if session_id is None else f"session {session_id}"
    raise NotFound(f"{who} was given no context in this project yet; s.context(…) makes one")


def _epochs(reading: Reading, key: str) -> Epochs | None:
    found: Epochs | None = reading.row(EpochView(), key)
    return found


def receipt(hf: Holdfast, pack_id: str, user: str) -> Receipt:
    """The receipt of a context."""
    return replaying.receipt_of(replaying.recorded(hf, pack_id, user))


def told(hf: Holdfast, shown: Iterable[Shown], user: str) -> list[Told]:
    """What each of these says; of what was taken out of the log only that."""
    showing, every = Showing(hf, user), list(shown)
    showing.rows(one for one in every if is_memory_id(one.id))
    return [_told(showing, one) for one in every]


def _told(showing: Showing, one: Shown) -> Told:
    try:
        item = showing.item(one)
    except Erased as exc:
        return Told(head="", text=f"({exc})")
    return Told(head=item.head, text=item.levels[one.level])


def reason(one: Weighed) -> str:
    """A verdict in words."""
    why = REASONS.get(one.verdict, one.verdict)
    return f"{why} ({one.why})" if one.why and one.why not in why else why


# ---- how things stand --------------------------------------------------------------------------


def stands(memory: Memory, at: str) -> str:
    """In words, that a memory was not in use at a time; empty where it was."""
    state = model.state(memory, at)
    if state == "forgotten":
        why = f": {memory.forgotten_because}" if memory.forgotten_because else ""
        return f"{memory.id} was forgotten on {(memory.forgotten_at or '')[:_DAY]}{why}"
    if state == "merged":
        return f"{memory.id} was merged into {memory.merged_into}"
    if state == "superseded":
        return f"{memory.id} was superseded by {memory.superseded_by}"
    if state == "expired":
        ends = [end for end in (memory.valid_to, memory.expires_at) if end is not None]
        return f"{memory.id} no longer holds since {min(ends)[:_DAY]}"
    if state == "coming":
        return f"{memory.id} holds from {(memory.valid_from or '')[:_DAY]} on"
    return ""


def changed(hf: Holdfast, event: Event, at: str) -> str:
    """In words, that a file did not say any more what an event says it did; empty where it did."""
    path = str(event.payload.get("path", "")) if event.kind == DOCUMENT else ""
    known = hf.views.read(partial(documents.tracked, path=path)) if path else None
    if known is None or holds(known, event.event_seq, at):
        return ""
    if known.current is not None and known.current.at <= at:
        return f"{path} was changed since"
    between = any(one.event_seq > event.event_seq for one in known.past)
    return f"{path} was {'changed or ' if between else ''}removed since"


# ---- why ---------------------------------------------------------------------------------------


def why(hf: Holdfast, pack_id: str, one: str, user: str) -> Followed:
    """What became of one memory, event or numbered entry, step by step."""
    of = replaying.recorded(hf, pack_id, user)
    return _Following(hf, of, str(one).strip().strip("[]").removesuffix("+")).followed()


class _Following:
    """Follows one thing through the record of one context."""

    def __init__(self, hf: Holdfast, of: Recorded, one: str) -> None:
        self._hf = hf
        self._of = of
        self._receipt = replaying.receipt_of(of)
        #: where the epoch goes on with this context, what it began with was decided before
        self._at_first = () if of.begins else of.at_first
        self._before = () if of.begins else of.epoch.everything()
        self._now = self._receipt.candidates
        self._id = self._named(one)

    def followed(self) -> Followed:
        """Every step."""
        before = [shown for shown in self._before if self._is(shown)]
        at_first = [weighed for weighed in self._at_first if self._is(weighed.shown)]
        found = [weighed for weighed in self._now if self._is(weighed.shown)]
        steps = [f"when the epoch began: {self._in_short(one)}" for one in at_first]
        steps += [self._stood(shown) for shown in before]
        for weighed in found:
            steps += self._steps(weighed)
        if not found and not before:
            steps.append(self._never())
        shown = [*(one.shown for one in (*found, *at_first)), *before]
        own = [one for one in shown if one.id == self._id][:1]
        user = str(self._of.event.user)
        return Followed(
            of=self._id,
            pack=self._receipt.pack,
            steps=tuple(steps),
            found=tuple(found),
            says=told(self._hf, own, user)[0].text if own else "",
        )

    def _named(self, one: str) -> str:
        """The id of what is meant, by itself or by its number in this context."""
        every = [*self._before, *(weighed.shown for weighed in self._now)]
        numbered = [shown.id for shown in every if shown.number and str(shown.number) == one]
        return numbered[0] if numbered else one

    def _is(self, shown: Shown) -> bool:
        """Is this it, a part of it, or something that is said about it?"""
        whole = place_of(shown.id)[0] if shown.kind in ("document", "correction") else shown.id
        return self._id in (shown.id, whole, *shown.beside[shown.kind == "correction" :])

    # ---- steps -----------------------------------------------------------------------------

    def _stood(self, shown: Shown) -> str:
        """What earlier contexts of the epoch show of it."""
        by = next((a.pack for a in self._of.epoch.added if shown in a.shown), self._of.epoch.first)
        if self._takes_back(shown):
            return f"taken back by [{shown.number}] since {by}{self._instead(shown)}"
        return f"shown as [{shown.number}] in {shown.section}, {_how(shown)}, since {by}"

    def _steps(self, one: Weighed) -> list[str]:
        shown = one.shown
        if self._takes_back(shown):
            if one.verdict != "taken":
                return [f"to be taken back{self._instead(shown)}; {self._left_out(one)}"]
            size = f"{_how(shown)}, {shown.tokens} tokens"
            return [f"taken back by [{shown.number}]{self._instead(shown)} ({size})"]
        steps = [f"offered for {shown.section} as {shown.kind}"]
        if one.parts:
            best = sorted(one.parts.items(), key=lambda part: -abs(part[1]))[:5]
            parts = ", ".join(f"{name} {value:+.2f}" for name, value in best)
            steps.append(f"scored {one.score:.4f}, relevance {one.relevance:.4f}: {parts}")
        elif one.sizes:
            steps.append(f"worth {one.score:.3f} whatever the question is")
        if one.sizes:
            sizes = zip(LEVELS, one.sizes, strict=False)
            steps.append("would take " + ", ".join(f"{size} ({name})" for name, size in sizes))
        if one.verdict == "taken":
            return [*steps, f"shown as [{shown.number}], {_how(shown)}, {shown.tokens} tokens"]
        steps.append(self._left_out(one))
        section = self._receipt.sections.get(shown.section)
        if one.verdict in ("share", "budget", "cap") and section is not None:
            steps.append(f"{shown.section} holds {section.tokens} of {section.cap} tokens")
        return steps

    def _in_short(self, one: Weighed) -> str:
        shown = one.shown
        what = f"offered for {shown.section} as {shown.kind}"
        if one.verdict == "taken":
            return f"{what} and shown as [{shown.number}], {_how(shown)}"
        return f"{what}, {self._left_out(one)}"

    def _left_out(self, one: Weighed) -> str:
        why = reason(one)
        if one.verdict == "superseded" and one.shown.kind == "document":
            event = self._hf.log.find(place_of(one.shown.id)[0])
            why = (changed(self._hf, event, self._receipt.at) if event else "") or why
        return f"left out: {why}"

    def _takes_back(self, shown: Shown) -> bool:
        """Does it say of what is followed that it no longer holds?"""
        if shown.kind != "correction":
            return False
        return len(shown.beside) == 1 or self._id in shown.beside[1:]

    def _instead(self, shown: Shown) -> str:
        return f"; {shown.id} holds in its place" if len(shown.beside) > 1 else ""

    # ---- why it was no candidate -----------------------------------------------------------

    def _never(self) -> str:
        """Why something was no candidate at all."""
        if is_memory_id(self._id):
            return self._no_memory()
        if is_item_id(self._id):
            return self._no_item()
        if self._id.isdecimal():
            return f"no entry {self._id} is shown in this context"
        event = self._hf.log.find(place_of(self._id)[0]) if self._id else None
        mine = event is not None and (event.kind == DOCUMENT or event.user == self._of.event.user)
        if event is None or not mine:
            return f"there is nothing called {self._id!r} here: no memory, no event, no entry"
        return self._no_event(event)

    def _no_memory(self) -> str:
        made = self._of.event
        author = Author(user=str(made.user), agent=made.agent, origin="agent")
        try:
            _, memory = find(self._hf, self._id, author)
        except NotFound as exc:
            return str(exc)
        at = self._receipt.at
        then = model.as_of(memory, at)
        if then is None:
            return f"{self._id} was learned later, at {memory.created_at}"
        return stands(then, at) or self._not_found()

    def _no_item(self) -> str:
        made = self._of.event
        ask = partial(items.item, user=made.user, agent=made.agent, item_id=self._id)
        item = self._hf.views.read(ask)
        if item is None:
            return f"there is no item {self._id} of {made.agent} here"
        if item.created_at > self._receipt.at:
            return f"{self._id} was saved later, at {item.created_at}"
        return f"{self._id} is {item.tier} by now; {self._not_found()}"

    def _no_event(self, event: Event) -> str:
        made, epoch = self._of.event, self._of.epoch
        if event.erased:
            return f"{self._id} was taken out of the log"
        if event.event_seq > made.event_seq:
            return f"{self._id} was recorded later, at {event.timestamp}"
        if event.kind == DOCUMENT:
            return changed(self._hf, event, self._receipt.at) or self._not_found()
        if not spoken(event):
            return f"{self._id} is a {event.kind.replace('_', ' ')}, which no context shows"
        if event.agent != made.agent:
            return f"{self._id} belongs to {event.agent}; an agent is shown its own conversations"
        if any(one.event_id == event.event_id for one in self._of.talk):
            return f"{self._id} is shown where it was said, in the conversation"
        if event.session_id == made.session_id:
            first = f"the conversation is shown from event {epoch.history_from} on"
            return f"{self._id} came before that: {first}; {self._not_found()}"
        return self._not_found()

    def _not_found(self) -> str:
        signals = self._of.wanted.signals
        if not (self._receipt.query.strip() or signals.file or signals.errors):
            return f"{self._id} was no candidate: nothing was asked, so nothing was looked for"
        return (
            f"{self._id} was no candidate: recall did not name it among the best for this question"
        )


def _how(shown: Shown) -> str:
    """At which level something is shown."""
    return "in full" if not shown.level else f"at level {LEVELS[shown.level]}"
