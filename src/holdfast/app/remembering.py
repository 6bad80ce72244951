"""What an open project can do with memories: `hf.remember`, `hf.get`, `hf.list` and their kin."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from holdfast.errors import Invalid
from holdfast.model.events import Event
from holdfast.model.memories import Memory

from . import given, memories, reserved, sessions
from .given import When
from .telling import Author

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Remembering:
    """The verbs about memories, each in the name of a user: the principal unless another is named.

    With an agent, only that agent's session memories are seen; without one, or with `*`, those of
    all of the user's agents. What the principal says has trust 3, unless its sources have less.
    """

    user: str

    @property
    def _hf(self) -> Holdfast:
        return cast("Holdfast", self)

    def _author(self, user: str | None, agent: str | None = None) -> Author:
        named = self.user if user is None else sessions.one("user", user)
        return Author(user=named, agent=sessions.one_or_all(agent), origin="user")

    def remember(
        self, text: str = "", *, user: str | None = None, agent: str | None = None, **fields: Any
    ) -> Memory:
        """Learn something for good, and give back the memory that says it.

        It is the user's own word, of trust 3; with an agent that one's, of trust 2.

        Fields: kind, category, scope (project unless said otherwise), subject, key, value,
        applies_to, title, steps, trigger, tags, importance, source_type, confidence, sources,
        valid_from, valid_to, expires_at, supersedes, artifacts, and its own time `at` and `event_id`.
        With a key it takes its slot: the same value again makes the memory that stands surer,
        another value supersedes it.
        """
        said = given.said({"text": text, **fields} if text else fields)
        author = self._author(user)
        if agent is not None:
            name = sessions.one("agent", agent)
            author = Author(user=author.user, agent=name, origin="agent")
        return memories.remember(self._hf, author, [said])[0]

    def remember_all(
        self, wanted: Sequence[Mapping[str, Any]], *, user: str | None = None
    ) -> builtins.list[Memory]:
        """Learn many things as one batch, which shares one sync; in the order they were given."""
        if not isinstance(wanted, Sequence) or not all(
            isinstance(fields, Mapping) for fields in wanted
        ):
            raise Invalid("remember_all takes a list of dicts, one for each memory")
        said = [given.said(fields) for fields in wanted]
        return memories.remember(self._hf, self._author(user), said)

    def get(
        self,
        memory_id: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        as_of: When = None,
    ) -> Memory:
        """One memory, whatever its state: as it is, or as it was at a time."""
        return memories.get(self._hf, self._author(user, agent), memory_id, as_of)

    def list(
        self, *, user: str | None = None, agent: str | None = None, **wanted: Any
    ) -> builtins.list[Memory]:
        """Memories, the newest first: by scope, kind, category, tags, key, applies_to, as_of, limit.

        `state` is current unless said otherwise; superseded, forgotten, expired and all are others.
        """
        asked = memories.asked_for(wanted)
        return memories.listed(self._hf, self._author(user, agent), asked)

    def revise(
        self, memory_id: str, *, user: str | None = None, agent: str | None = None, **changes: Any
    ) -> Memory:
        """Change fields of a memory; None empties one. Its scope stays."""
        return memories.revise(self._hf, self._author(user, agent), memory_id, changes)

    def forget(
        self,
        memory_id: str,
        *,
        reason: str,
        user: str | None = None,
        agent: str | None = None,
        at: When = None,
    ) -> Memory:
        """Take a memory out of use, and say why; `restore` brings it back."""
        return memories.forget(self._hf, self._author(user, agent), memory_id, reason, at=at)

    def merge(
        self,
        ids: Sequence[str],
        *,
        text: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> Memory:
        """Make one memory of several: the first stays, with that text if one is given."""
        return memories.merge(self._hf, self._author(user, agent), ids, text)

    def trust(self, memory_id: str, level: int, *, reason: str) -> Memory:
        """Say in person how far a memory may be believed: 0 to 3."""
        return memories.trust(self._hf, self._author(None), memory_id, level, reason)

    def used(
        self,
        ids: Sequence[str],
        verdict: str,
        *,
        action: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> builtins.list[Event]:
        """Say what came of memories or events: cited, ignored, useful or wrong."""
        return memories.used(self._hf, self._author(user, agent), ids, verdict, action)

    def logs(self, user: str | None = None) -> builtins.list[Holdfast]:
        """Where what a user may see is kept: here, with the user, and with everybody."""
        return reserved.logs(self._hf, self._author(user).user)
