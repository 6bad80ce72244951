"""A session: one conversation of one agent, as the caller writes it down and reads it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from holdfast.capture.stamp import fresh_id
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.model.events import Draft, Event
from holdfast.model.memories import Memory
from holdfast.model.sessions import Restored, Scratchpad, SessionInfo, SessionState, SessionStatus
from holdfast.model.workflows import Workflow
from holdfast.views import state as views
from holdfast.views.scratchpad import Scratchpads

from . import citing, given, history, memories, sessions, workflows
from .compacted import SessionCompactions
from .flash import SessionFlash
from .items import Items
from .recalling import SessionRecalling
from .telling import Author
from .windows import SessionCompacting

if TYPE_CHECKING:
    from .holdfast import Holdfast

Text = str | bytes | IO[bytes] | IO[str]
When = str | datetime | None


class Session(SessionRecalling, SessionCompacting, SessionCompactions, SessionFlash):
    """Every recording verb records one event and returns it; leaving the block ends the session.

    `update_state` returns the scratchpad instead. Nobody but the same agent for the same user can go
    on with a session or ask for its state; the log itself is open to whoever opened the project.
    What is recorded after its end counts, and the session stays ended until it is started again.
    """

    def __init__(
        self,
        hf: Holdfast,
        *,
        agent: str,
        user: str,
        session_id: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self._hf = hf
        self.agent = agent
        self.principal = user
        self.id = session_id or fresh_id("ses")
        self._to_check = session_id is not None
        self._over = False
        #: what the model was given and has not answered to yet
        self.watching: list[citing.Watch] = []
        self._details = {k: v for k, v in (details or {}).items() if v is not None}
        #: what the file of its workflow said when it could be read last
        self.workflow: Workflow | None = None

    # ---- beginning and end -----------------------------------------------------------------

    def start(self, *, at: When = None) -> Session:
        """Begin, or go on with the session of this id, its whole state at hand."""
        said = {**self._details, "resumed": True} if self._known() else self._details
        self._over = False
        if self._details.get("workflow"):
            workflows.of(self)  # a prompt file that cannot be read is named before anything begins
        self.record("session_started", said, origin="system", at=at)
        self._hf.documents.follow()
        return self

    def check(self) -> None:
        """NotFound when there is a session of this id and it is somebody else's."""
        self._known()

    def _known(self) -> bool:
        """Is there something recorded of it? NotFound when it is somebody else's."""
        there = self._to_check and sessions.exists(self._hf, self.principal, self.agent, self.id)
        self._to_check = False
        return there

    def end(self, reason: str = "done", *, at: When = None) -> Event:
        """End it, and say why."""
        self._unwatched()
        event = self.record("session_ended", {"reason": reason}, origin="system", at=at)
        self._over = True
        self._hf.cold.overdue(self.principal)
        return event

    def switch(self, agent: str, *, at: When = None, **details: Any) -> Session:
        """Hand over to another agent: this session ends, one of that agent begins."""
        info = self.info()
        carried = {"workflow": info.workflow, "git_branch": info.git_branch, "after": self.id}
        following = self._hf.session(agent=agent, user=self.principal, **{**carried, **details})
        following._known()  # somebody else's is refused before this one ends
        self.end(f"agent switch to {agent}", at=at)
        return following.start(at=at)

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._over:
            self.end("done" if error is None else f"{type(error).__name__}: {error}")

    # ---- recording -------------------------------------------------------------------------

    def user(self, text: Text, **more: Any) -> Event:
        """What the person said."""
        return self._say("user_message", "user", {"text": text}, more)

    def assistant(self, text: Text, **more: Any) -> Event:
        """What the model said."""
        event = self._say("model_message", "agent", {"text": text}, more)
        self._watched(event, done=True)
        return event

    def tool_call(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> Event:
        """What the model asked a tool to do."""
        if not isinstance(arguments, Mapping):
            raise Invalid(f"the arguments of a tool are a dict, not {type(arguments).__name__}")
        event = self._say("tool_call", "agent", {"tool": tool, "input": dict(arguments)}, more)
        self._watched(event, done=False)
        return event

    def tool_result(self, tool: str, text: Text, **more: Any) -> Event:
        """What the tool answered; text, bytes, or a file opened for reading bytes."""
        return self._say("tool_result", "tool", {"tool": tool, "text": text}, more)

    def gate(self, number: int | str, *, passed: bool, **more: Any) -> Event:
        """A validation gate, passed or failed."""
        if not isinstance(passed, bool):
            raise Invalid(f"a gate is passed (True) or not (False), not {passed!r}")
        return self._say("validation_gate", "system", {"gate": number, "passed": passed}, more)

    def task_done(self, task: str, **more: Any) -> Event:
        """A unit of work is complete; this agent's items are weighed anew."""
        return self._say("task_completed", "agent", {"text": task}, more)

    def decision(self, text: str, **more: Any) -> Event:
        """Something was decided."""
        return self._say("decision", "agent", {"text": text}, more)

    def error(self, text: Text, **more: Any) -> Event:
        """Something failed."""
        return self._say("error", "tool", {"text": text}, more)

    def update_state(
        self, changes: Mapping[str, Any], *, expect: int | None = None, **more: Any
    ) -> Scratchpad:
        """Change the scratchpad: what is named is replaced, None removes, dicts merge.

        With `expect`, only if the scratchpad is still at that version; else Conflict, and the
        scratchpad is as it was. With an `event_id` of your own a retry is harmless, as long as no
        more than 31 other changes took effect since.
        """
        before = self.scratchpad()
        sessions.check_patch(self._hf, before, changes)
        if more.get("event_id") not in before.winners:  # else it is a retry of what already won
            _at_version(before, before.version if expect is None else expect)
        said = {"state": dict(changes)} | ({} if expect is None else {"expect": expect})
        event = self._say("state_updated", "agent", said, more)
        pad = self.scratchpad()
        if not self._won(event, before, pad):
            raise Conflict(
                f"another writer was faster: the scratchpad is at version {pad.version}; "
                "read it again and decide anew"
            )
        return pad

    def _won(self, event: Event, before: Scratchpad, after: Scratchpad) -> bool:
        """Did a change of the scratchpad take effect?"""
        if event.event_id in after.winners or after.version - before.version < len(after.winners):
            return event.event_id in after.winners
        # so many changes came in between that the scratchpad does not remember this one: the log does
        view, pad = Scratchpads(), Scratchpad()
        (key,) = view.keys(event)
        for one in history.session_events(self._hf, self.info(), before=event.event_seq + 1):
            if one.kind in view.kinds and not one.erased:
                pad = view.apply({key: pad}, one).get(key, pad)
        return event.event_id in pad.winners

    def remember(self, text: str = "", **fields: Any) -> Memory:
        """Learn something for good, as this agent: trust 2, or that of the least of its sources.

        Fields as of `Holdfast.remember`; scope is project unless said otherwise, and session keeps it
        to this agent and user.
        """
        said = given.said({"text": text, **fields} if text else fields)
        return memories.remember(self._hf, self._author(), [said])[0]

    @property
    def items(self) -> Items:
        """What this agent keeps of its working context for this user, by tiers."""
        return Items(self._hf, user=self.principal, agent=self.agent, session_id=self.id)

    def used(self, ids: Sequence[str], verdict: str, *, action: str | None = None) -> list[Event]:
        """Say what came of memories or events: cited, ignored, useful or wrong."""
        return memories.used(self._hf, self._author(), ids, verdict, action)

    def _author(self) -> Author:
        self._known()
        return Author(user=self.principal, origin="agent", agent=self.agent, session_id=self.id)

    def _say(self, kind: str, origin: str, payload: dict[str, Any], more: dict[str, Any]) -> Event:
        own = {name: more.pop(name) for name in ("at", "event_id", "sources") if name in more}
        return self.record(kind, {**payload, **more}, origin=origin, **own)

    def record(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        origin: str,
        at: When = None,
        event_id: str | None = None,
        sources: tuple[str, ...] = (),
    ) -> Event:
        """Any event of this session."""
        self._known()
        draft = Draft(
            type=kind,
            payload=dict(payload),
            origin=origin,
            session_id=self.id,
            agent=self.agent,
            user=self.principal,
            at=at,
            event_id=event_id,
            sources=tuple(sources or ()),
        )
        event = self._hf.record([draft])[0]
        # a name that looked like a secret stands in the log redacted, and so it is known from here on
        self.id, self.agent, self.principal = (
            event.session_id or self.id,
            event.agent or self.agent,
            event.user or self.principal,
        )
        return event

    # ---- reading ---------------------------------------------------------------------------

    def info(self) -> SessionInfo:
        """Who, since when, how far."""
        found = self._hf.views.read(
            lambda reading: views.info(reading, self.principal, self.agent, self.id)
        )
        if found is None:
            raise NotFound(f"nothing is recorded of session {self.id} yet")
        return found

    def state(self) -> SessionState:
        """Everything it knows about its own work."""
        return sessions.state(self._hf, self.id, self.principal, self.agent)

    def scratchpad(self) -> Scratchpad:
        """The agent's notes and their version."""
        return self._hf.views.read(
            lambda reading: views.scratchpad(reading, self.principal, self.agent, self.id)
        )

    def recent(self, *, turns: int | None = None, tokens: int | None = None) -> list[Event]:
        """The conversation's latest events: so many turns, and no more than so many tokens."""
        return history.recent(self._hf, self.info(), turns=turns, tokens=tokens)

    def status(self) -> SessionStatus:
        """The session in figures, with its state."""
        return sessions.status(self._hf, self.id, self.principal, self.agent)

    def restore(self, *, tokens: int = 4_000) -> Restored:
        """Its context as text, to go on with: what is open, decided, failed and fixed, said last."""
        return sessions.restore(self._hf, self.id, self.principal, self.agent, tokens=tokens)


def _at_version(pad: Scratchpad, expect: int) -> None:
    if pad.version != expect:
        raise Conflict(
            f"the scratchpad is at version {pad.version}, not {expect}; "
            "read it again and decide anew"
        )
