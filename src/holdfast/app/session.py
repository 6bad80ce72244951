"""A session: one conversation of one agent, as the caller writes it down."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import IO, Any

from holdfast.capture.stamp import fresh_id
from holdfast.model.events import Draft, Event
from holdfast.record.recorder import Recorder

Text = str | bytes | IO[bytes] | IO[str]
When = str | datetime | None


class Session:
    """Every verb records one event and returns it; leaving the block ends the session."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        agent: str,
        user: str,
        session_id: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self._recorder = recorder
        self.agent = agent
        self.principal = user
        self.id = session_id or fresh_id("ses")
        self._new = session_id is None
        self._details = {k: v for k, v in (details or {}).items() if v is not None}

    def __enter__(self) -> Session:
        if self._new:
            self.record("session_started", self._details, origin="system")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        reason = "done" if error is None else f"{type(error).__name__}: {error}"
        self.record("session_ended", {"reason": reason}, origin="system")

    def user(self, text: Text, **more: Any) -> Event:
        """What the person said."""
        return self._say("user_message", "user", {"text": text}, more)

    def assistant(self, text: Text, **more: Any) -> Event:
        """What the model said."""
        return self._say("model_message", "agent", {"text": text}, more)

    def tool_call(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> Event:
        """What the model asked a tool to do."""
        return self._say("tool_call", "agent", {"tool": tool, "input": dict(arguments)}, more)

    def tool_result(self, tool: str, text: Text, **more: Any) -> Event:
        """What the tool answered; text, bytes, or a file opened for reading bytes."""
        return self._say("tool_result", "tool", {"tool": tool, "text": text}, more)

    def gate(self, number: int, *, passed: bool, **more: Any) -> Event:
        """A validation gate, passed or failed."""
        return self._say("validation_gate", "system", {"gate": number, "passed": passed}, more)

    def task_done(self, task: str, **more: Any) -> Event:
        """A unit of work is complete."""
        return self._say("task_completed", "agent", {"text": task}, more)

    def decision(self, text: str, **more: Any) -> Event:
        """Something was decided."""
        return self._say("decision", "agent", {"text": text}, more)

    def error(self, text: Text, **more: Any) -> Event:
        """Something failed."""
        return self._say("error", "tool", {"text": text}, more)

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
        draft = Draft(
            type=kind,
            payload=dict(payload),
            origin=origin,
            session_id=self.id,
            agent=self.agent,
            user=self.principal,
            at=at,
            event_id=event_id,
            sources=tuple(sources),
        )
        return self._recorder.record([draft])[0]
