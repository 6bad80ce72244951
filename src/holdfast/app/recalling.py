"""What an open project and a session can find: `hf.recall`, `s.recall`, the tool for models."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from holdfast.errors import HoldfastError, NotFound
from holdfast.model.compose import ComposeSettings
from holdfast.model.events import Event
from holdfast.model.items import is_item_id
from holdfast.model.memories import Memory
from holdfast.model.packs import Expanded, Pack, Receipt, Signals, Topic
from holdfast.model.recall import Found, RecallSettings

from . import (
    citing,
    context,
    expanding,
    packs,
    recall,
    replaying,
    rescoring,
    retrieve,
    sessions,
    tool,
)
from .asking import Asked, tags_of
from .given import When

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session


class Recalling:
    """The verbs that find, each in the name of a user: the principal unless another is named."""

    user: str

    def recall(  # noqa: PLR0913  (every filter by its name)
        self,
        query: str,
        k: int = 10,
        *,
        user: str | None = None,
        agent: str | None = None,
        session_id: str | None = None,
        scope: str | None = None,
        kind: str | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        since: When = None,
        until: When = None,
        as_of: When = None,
        min_relevance: float | None = None,
        settings: RecallSettings | None = None,
        track: bool = False,
    ) -> Found:
        """What is remembered about a question: turns and memories, the right thing first.

        Without an agent the turns of all of the user's agents are searched. Nothing is written, unless
        `track` asks for one event that says what was found.
        """
        asked = Asked(
            user=_whose(self, user),
            agent=sessions.one_or_all(agent),
            session_id=None if session_id is None else sessions.one("session", session_id),
            scope=scope,
            kind=kind,
            category=category,
            tags=tags_of(tags),
            since=since,
            until=until,
            as_of=as_of,
        )
        hf = cast("Holdfast", self)
        found = recall.recall(hf, query, k, asked, min_relevance=min_relevance, settings=settings)
        if track:
            recall.track(hf, found, user=asked.user, agent=asked.agent, session_id=session_id)
        return found

    def retrieve_by_tags(
        self, tags: Sequence[str], k: int = 10, *, user: str | None = None, agent: str | None = None
    ) -> builtins.list[Memory]:
        """Memories that carry any of these tags, the most important first, then the newest."""
        asked = Asked(user=_whose(self, user), agent=sessions.one_or_all(agent))
        return retrieve.by_tags(cast("Holdfast", self), tags_of(tags), k, asked)

    def retrieve_recent(
        self,
        hours: float = 24,
        k: int = 10,
        *,
        user: str | None = None,
        agent: str | None = None,
        category: str | None = None,
    ) -> builtins.list[Memory]:
        """Memories of the last so many hours, the newest first."""
        asked = Asked(user=_whose(self, user), agent=sessions.one_or_all(agent), category=category)
        return retrieve.recent(cast("Holdfast", self), hours, k, asked)

    def replay(
        self,
        pack_id: str,
        *,
        user: str | None = None,
        settings: ComposeSettings | RecallSettings | None = None,
        at: int | None = None,
        requery: bool = False,
    ) -> Pack:
        """A context that was handed out, rendered again from the log, byte for byte.

        With settings its recorded candidates are scored and packed anew; with `requery`, or `at` the
        number of an event, everything is asked again as things stood, under its own settings or these.
        Both are marked recomputed.
        """
        hf, whose = cast("Holdfast", self), _whose(self, user)
        if at is not None or requery:
            from .requerying import requery as asked_again

            return asked_again(hf, pack_id, whose, at, settings)
        if settings is not None:
            return rescoring.replay_with(hf, pack_id, whose, settings)
        return replaying.replay(hf, pack_id, whose)

    def last_pack(
        self,
        session_id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
    ) -> str:
        """The id of the context a session was given last; of the session active last, by default."""
        return packs.last(cast("Holdfast", self), _whose(self, user), agent, session_id)

    def receipt(self, pack_id: str, *, user: str | None = None) -> Receipt:
        """Why a context was what it was."""
        return packs.receipt(cast("Holdfast", self), pack_id, _whose(self, user))

    def why(self, pack_id: str, one: str, *, user: str | None = None) -> packs.Followed:
        """What became of a memory or event in a context, step by step."""
        return packs.why(cast("Holdfast", self), pack_id, one, _whose(self, user))

    def topics(
        self, most: int = 50, *, user: str | None = None, agent: str | None = None
    ) -> builtins.list[Topic]:
        """What can be asked about, the most often named first."""
        asked = Asked(user=_whose(self, user), agent=sessions.one_or_all(agent))
        return expanding.topics(cast("Holdfast", self), asked, most)

    def index(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make everything recall needs now, slow vectors included; else it is made when needed."""
        recall.up_to_date(cast("Holdfast", self), progress)


def _whose(hf: Recalling, user: str | None) -> str:
    return hf.user if user is None else sessions.one("user", user)


class SessionRecalling:
    """What a session's agent can find; what it found counts as cited when its next words show it."""

    def recall(self, query: str, k: int = 10, **narrowed: Any) -> Found:
        """What this agent remembers for this user; recorded, so that its use can be seen later."""
        s = cast("Session", self)
        found = s._hf.recall(query, k, user=s.principal, agent=s.agent, **narrowed)
        self._given(found)
        return found

    def context(  # noqa: PLR0913  (everything that decides a context, by its name)
        self,
        query: str = "",
        *,
        budget: int | None = None,
        window: int | None = None,
        model: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        format: str = "openai",  # noqa: A002  (as everybody calls it)
        signals: Signals | Mapping[str, Any] | None = None,
        new_tokens: int | None = None,
        settings: ComposeSettings | None = None,
    ) -> Pack:
        """The best context that fits, for what is asked now: history, memories, notes, and a receipt.

        `budget` bounds the tokens of all that memory adds, `window` those of everything; a known
        `model` has a window of its own and counts its own tokens. `system` and `tools` count against
        the window. `format` is openai or anthropic. `signals` say what is being done, `new_tokens` how
        much one turn may add. Whatever is not named is as in `settings`, by default the project's.
        Within an epoch the beginning of the context stays as it is.
        """
        wanted = {
            "budget": budget,
            "window": window,
            "model": model,
            "system": system,
            "tools": tools,
            "format": format,
            "signals": signals,
            "new_tokens": new_tokens,
            "settings": settings,
        }
        s = cast("Session", self)
        pack = context.context(s, query, wanted)
        s._hf.activity.follow()
        return pack

    def expand(self, ref: str | int, tokens: int = 2_000) -> Expanded:
        """What a handle stands for: an entry's number, an id, `events 3-40`, what `more` named.

        Verbatim, as much as fits so many tokens, and never more; `more` is the handle of the rest, and
        `note` says when it was forgotten or something else took its place.
        """
        s = cast("Session", self)
        s.check()
        found = expanding.expand(s, ref, tokens)
        if is_item_id(found.id) and "@" not in found.ref:  # it was needed: that is an access
            with suppress(HoldfastError):  # it is shown all the same
                s.items.accessed([found.id])
        return found

    def tools(self) -> builtins.list[dict[str, Any]]:
        """The tools a model may be offered, as JSON schema."""
        return tool.definitions()

    def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
        """Run a tool a model called; what it answers is data to hand back."""
        if name == tool.EXPAND:
            asked_for = tool.handle(arguments)
            return tool.expanded(self.expand(asked_for.ref, asked_for.tokens))
        if name != tool.NAME:
            raise NotFound(f"there is no tool {name!r}; there are {tool.NAME} and {tool.EXPAND}")
        asked = tool.parsed(arguments)
        s = cast("Session", self)
        found = s._hf.recall(
            asked.query,
            asked.limit,
            user=s.principal,
            agent=s.agent,
            scope=asked.scope,
            category=asked.category,
            tags=asked.tags,
        )
        self._given(found)
        return tool.answer(found)

    def _given(self, found: Found) -> None:
        """The model is given these: write that down, and watch what it says next."""
        s = cast("Session", self)
        recall.track(s._hf, found, user=s.principal, agent=s.agent, session_id=s.id)
        s.watching.append(citing.Watch(found))

    def _watched(self, event: Event, *, done: bool) -> None:
        """What the model said or did: which of the hits it was given show in it?"""
        s = cast("Session", self)
        for watch in s.watching:
            citing.look(s._hf, watch, event.words, user=s.principal)
        if done:
            self._unwatched()

    def _unwatched(self) -> None:
        """Nothing more will be said to what was given: write down what became of it."""
        s = cast("Session", self)
        if s.watching:
            citing.record(s._hf, s.watching, user=s.principal, agent=s.agent, session_id=s.id)
            s.watching = []
