"""Items: what an agent keeps of its working context, by tiers: `hf.items`, `s.items`.

An item is seen by its own user and agent only. Tiers are those that were assigned last, when an item was
saved, a task was completed, or somebody asked; `score` is what a tier was assigned by, so the two agree
at any time, and `score_now` what the item is worth at the moment.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compact.importance import score_of, tier_of
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.model.events import Draft
from holdfast.model.items import (
    TIERS,
    TYPES,
    UNIT,
    ContextItem,
    ItemDiff,
    ItemStats,
    Tier,
    TierUpdate,
    counts,
    digest,
    is_item_id,
    is_item_type,
)
from holdfast.record import limits
from holdfast.text.levels import shown_as
from holdfast.views import items as views
from holdfast.views.items import MOST_IDS

from . import expanding, given, item_given, sessions
from .memories import now
from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: by which rules a type is shortened; others as what was said
_SHORTENED = {"CODE": "code", "ERROR": "tool_output", "TEST_RESULT": "tool_output"}


class Items:
    """The items of a user's agents: of one agent where it is bound to one."""

    def __init__(
        self,
        hf: Holdfast,
        *,
        user: str | None = None,
        agent: str | None = None,
        session_id: str | None = None,
    ) -> None:
        self._hf = hf
        self._user = user
        self._agent = agent
        self._session_id = session_id

    # ---- saving ----------------------------------------------------------------------------

    def save(  # noqa: PLR0913  (every field by its name)
        self,
        text: str = "",
        type: str | None = None,  # noqa: A002  (as everybody calls it)
        *,
        agent: str | None = None,
        user: str | None = None,
        id: str | None = None,  # noqa: A002
        importance: float | None = None,
        pinned: bool | None = None,
        important: bool | None = None,
        tags: Iterable[str] | None = None,
        sources: Sequence[str] = (),
        at: given.When = None,
        event_id: str | None = None,
    ) -> ContextItem:
        """Save an item, or with its id another revision of it, and give it back with its tier.

        `importance`, 0 to 1, counts in place of what the type is worth. Of a revision, what is not
        said stays as it is.
        """
        whose = self._one(user, agent)
        if event_id is not None and (there := self._there(event_id, whose, text)) is not None:
            return there
        before = None if id is None else self._find(*whose, id)
        said = item_given.about(
            pinned=pinned, important=important, importance=importance, tags=tags
        )
        said |= self._says(text, type, before)
        item_id = fresh_id("itm") if before is None else before.id
        when = now(self._hf) if at is None else item_given.past(at, now(self._hf))
        after = item_given.imagined(before, item_id, said, when)
        own = {"at": at, "event_id": event_id, "sources": tuple(sources)}
        return self._saved(whose, after, said, own)

    def _there(self, event_id: str, whose: tuple[str, str], text: str) -> ContextItem | None:
        """The item an event of that id saved before: then this is a retry."""
        event = self._hf.log.find(limits.event_id(event_id))
        if event is None:
            return None
        same = event.kind == "item_saved" and (event.user, event.agent) == whose
        if not same or (text and event.text != redacted(self._hf, text)):
            raise Conflict(f"{event_id} is in the log already with other content")
        return self._now(self._find(*whose, event.payload.get("item")))

    def _says(self, text: str, kind: str | None, before: ContextItem | None) -> dict[str, Any]:
        """The text, where it is another one, its type and the name it goes by."""
        if kind is not None and not is_item_type(kind):
            raise Invalid(f"a type is one of {', '.join(TYPES)} or a word of yours, not {kind!r}")
        if kind is not None and kind.upper() in TYPES:
            kind = kind.upper()
        words = redacted(self._hf, item_given.text(text))
        if not words.strip():
            if before is None:
                raise Invalid("an item needs a text")
            if kind in (None, before.type):
                return {}
            words = self._whole(before).text
        named = kind or (before.type if before is not None else "CODE")
        sha = digest(words)
        if before is not None and (sha, named) == (before.sha256, before.type):
            return {}
        index = shown_as(_SHORTENED.get(named, "turn"), words).index
        return {"text": words, "item_type": named, "sha256": sha, "index": index}

    def _saved(
        self,
        whose: tuple[str, str],
        after: ContextItem,
        said: dict[str, Any],
        own: Mapping[str, Any] | None = None,
    ) -> ContextItem:
        """Record what makes an item so, with the tier it has from here on."""
        settings = self._hf.settings.items
        score = score_of(after, now(self._hf), settings)
        tier = tier_of(score, settings, pinned=after.pinned)
        payload = {"item": after.id, **said, "tier": tier, "score": round(score * UNIT)}
        draft = self._draft("item_saved", payload, whose, origin="agent", **(own or {}))
        event = self._hf.record([draft])[0]
        # as it stands in the log: a retry is what was recorded first, a name may be redacted there
        user, agent = event.user or whose[0], event.agent or whose[1]
        return self._now(self._find(user, agent, event.payload["item"]))

    def pin(
        self, item_id: str, *, agent: str | None = None, user: str | None = None
    ) -> ContextItem:
        """Keep an item hot whatever its score is."""
        return self._pinned(item_id, user, agent, pinned=True)

    def unpin(
        self, item_id: str, *, agent: str | None = None, user: str | None = None
    ) -> ContextItem:
        """Let an item be as warm as its score says."""
        return self._pinned(item_id, user, agent, pinned=False)

    def _pinned(
        self, item_id: str, user: str | None, agent: str | None, *, pinned: bool
    ) -> ContextItem:
        item = self._find(*self._some(user, agent), item_id)
        if item.pinned == pinned:
            return self._now(item)
        whose = (item.user or "", item.agent or "")
        return self._saved(whose, replace(item, pinned=pinned), {"pinned": pinned})

    # ---- reading ---------------------------------------------------------------------------

    def get(
        self, item_id: str, *, agent: str | None = None, user: str | None = None
    ) -> ContextItem:
        """One item, whole; that does not count as an access."""
        return self._now(self._find(*self._some(user, agent), item_id))

    def list(
        self,
        *,
        tier: str | None = None,
        type: str | None = None,  # noqa: A002
        agent: str | None = None,
        user: str | None = None,
        limit: int | None = None,
    ) -> builtins.list[ContextItem]:
        """Items, the pinned and then the most important first; that does not count as an access."""
        rows = self._rows(*self._some(user, agent), item_given.tier(tier))
        at, settings = now(self._hf), self._hf.settings.items
        found = [replace(one, score_now=score_of(one, at, settings)) for one in rows]
        if type is not None:
            found = [one for one in found if one.type == type]
        found.sort(key=lambda one: (not one.pinned, -one.score_now, one.id))
        return [self._whole(one) for one in found[: item_given.limit(limit)]]

    def load(
        self,
        tier: str | None = "HOT",
        *,
        agent: str | None = None,
        user: str | None = None,
        limit: int | None = None,
    ) -> builtins.list[ContextItem]:
        """The items of a tier, to work with: each counts as accessed, in one event for all of them."""
        user, agent = self._one(user, agent)
        found = self.list(tier=tier, agent=agent, user=user, limit=limit)
        at = self.accessed([one.id for one in found], user=user, agent=agent)
        return [replace(one, accesses=one.accesses + 1, last_accessed=at) for one in found]

    def accessed(
        self, ids: Sequence[str], *, agent: str | None = None, user: str | None = None
    ) -> str | None:
        """Count that these were loaded some other way; the time it is known by."""
        whose = self._one(user, agent)
        drafts = [
            self._draft("item_accessed", {"ids": [*ids[n : n + MOST_IDS]]}, whose)
            for n in range(0, len(ids), MOST_IDS)
        ]
        return self._hf.record(drafts)[-1].timestamp if drafts else None

    def diff(
        self,
        previous: Mapping[str, Any] | ItemStats | Iterable[ContextItem],
        *,
        tier: str | None = None,
        agent: str | None = None,
        user: str | None = None,
    ) -> ItemDiff:
        """What changed since: by the SHA-256 of what each item said and says.

        `previous` is a dict of ids and hashes, items, or the stats of then. With a tier, what left it
        is among the removed.
        """
        before = item_given.hashes(previous)
        rows = self._rows(*self._one(user, agent), item_given.tier(tier))
        new = [one for one in rows if one.id not in before]
        other = [one for one in rows if before.get(one.id, one.sha256) != one.sha256]
        there = {one.id for one in rows}
        same = [one.id for one in rows if before.get(one.id) == one.sha256]
        return ItemDiff(
            added=tuple(self._now(one) for one in new),
            changed=tuple(self._now(one) for one in other),
            removed=tuple(one for one in before if one not in there),
            unchanged=tuple(same),
        )

    def stats(self, *, agent: str | None = None, user: str | None = None) -> ItemStats:
        """How many items and tokens there are of each tier, and the hash of each item."""
        rows, counter = self._rows(*self._some(user, agent), None), self._hf.counter()
        tokens: dict[str, int] = dict.fromkeys(TIERS, 0)
        for one in rows:
            tokens[one.tier] += counter.count(self._whole(one).text)
        of = counts({str(n): one.tier for n, one in enumerate(rows)})
        return ItemStats(
            total_items=len(rows),
            hot_count=of["HOT"],
            warm_count=of["WARM"],
            cold_count=of["COLD"],
            total_tokens=sum(tokens.values()),
            tokens=tokens,
            counted_with=counter.name,
            hashes={one.id: one.sha256 for one in rows},
        )

    # ---- tiers -----------------------------------------------------------------------------

    def update_tiers(
        self, *, agent: str | None = None, user: str | None = None, why: str = "asked for"
    ) -> TierUpdate:
        """Weigh every item of an agent anew, and write down those that move; none, nothing.

        What somebody else changes meanwhile stays as they made it.
        """
        whose = self._one(user, agent)
        rows, at, settings = self._rows(*whose, None), now(self._hf), self._hf.settings.items
        before: dict[str, Tier] = {one.id: one.tier for one in rows}
        said = []
        for one in rows:
            score = score_of(one, at, settings)
            tier = tier_of(score, settings, pinned=one.pinned)
            # of what a clock far ahead saved, this is the first time that is known
            if tier != one.tier or not one.touched_by(at):
                assigned = {"tier": tier, "score": round(score * UNIT), "state": one.state}
                said.append((one.id, assigned))
        drafts = [
            self._draft(
                "tiers_assigned", {"tiers": dict(said[n : n + MOST_IDS]), "why": why}, whose
            )
            for n in range(0, len(said), MOST_IDS)
        ]
        if drafts:
            self._hf.record(drafts)
            rows = self._rows(*whose, None)
        after: dict[str, Tier] = {one.id: one.tier for one in rows if one.id in before}
        moved = {one: (before[one], to) for one, to in after.items() if before[one] != to}
        return TierUpdate(before=counts(before), after=counts(after), moved=moved)

    # ---- small things ----------------------------------------------------------------------

    def _one(self, user: str | None, agent: str | None) -> tuple[str, str]:
        """Whose items: those of one agent, which must be named."""
        whose, named = self._some(user, agent)
        if named is None:
            raise Invalid("items belong to one agent: name it with agent=")
        return whose, named

    def _some(self, user: str | None, agent: str | None) -> tuple[str, str | None]:
        """Whose items: those of one agent or of all of a user's; who is bound asks for its own."""
        if self._agent is not None:
            others = user not in (None, self._user) or agent not in (None, self._agent)
            if others:
                raise Invalid("a session has the items of its own agent; use hf.items for others")
            return self._user or self._hf.user, self._agent
        named = self._hf.user if user is None else sessions.one("user", user)
        return named, sessions.one_or_all(agent)

    def _rows(self, user: str, agent: str | None, tier: str | None) -> builtins.list[ContextItem]:
        rows = self._hf.views.read(partial(views.items, user=user, agent=agent))
        return rows if tier is None else [one for one in rows if one.tier == tier]

    def _find(self, user: str, agent: str | None, item_id: Any) -> ContextItem:
        found = None
        if is_item_id(item_id) and agent is not None:
            ask = partial(views.item, user=user, agent=agent, item_id=item_id)
            found = self._hf.views.read(ask)
        elif is_item_id(item_id):
            mine = self._rows(user, None, None)
            found = next((one for one in mine if one.id == item_id), None)
        if found is None:
            raise NotFound(
                f"there is no item {item_id}; `holdfast items list` shows those there are"
            )
        return found

    def _now(self, item: ContextItem) -> ContextItem:
        score = score_of(item, now(self._hf), self._hf.settings.items)
        return self._whole(replace(item, score_now=score))

    def _whole(self, item: ContextItem) -> ContextItem:
        """With all of its text, as far as the log still holds it."""
        text = text_of(self._hf, item) if item.cut else None
        return item if text is None else replace(item, text=text, cut=False)

    def _draft(
        self, kind: str, payload: dict[str, Any], whose: tuple[str, str], **more: Any
    ) -> Draft:
        user, agent = whose
        return Draft(
            type=kind,
            payload=payload,
            origin=more.pop("origin", "system"),
            session_id=self._session_id,
            agent=agent,
            user=user,
            **more,
        )


def text_of(hf: Holdfast, item: ContextItem) -> str | None:
    """All an item says, from the event that holds it; None where a retention took that."""
    event = hf.lately.find(hf.log, hf.log.head().generation, item.event_id)
    return None if event is None or event.erased else expanding.whole(hf, event)
