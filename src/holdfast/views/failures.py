"""Recent errors with what followed: the next agent should see the fix beside the failure.

An error is settled by the first passed gate or finished task after it, by the same tool succeeding, or
by anything said, decided or called that names it among its sources. The first steps are kept.
"""

from __future__ import annotations

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import Failure, Said

from .view import NOTHING, PerSession, Rows, brief

MOST = 20
STEPS = 5
LONGEST = 1_000
_STEP_LONGEST = 160
_STEPS = frozenset({"model_message", "tool_call", "decision", "validation_gate", "task_completed"})


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """A session's latest errors, oldest first."""

    errors: tuple[Failure, ...] = ()


class FailureView(PerSession):
    """One row for each session."""

    name = "errors"
    version = 1
    kinds = frozenset({"error", "tool_result", "user_message", *_STEPS})
    row = Failures

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Write an error down, or what followed the open ones."""
        (key,) = self.keys(event)
        known: Failures | None = rows[key]
        if _failed(event):
            before = known.errors if known else ()
            return {key: Failures(errors=(*before[-(MOST - 1) :], _failure(event)))}
        if known is None or all(error.resolved_by is not None for error in known.errors):
            return NOTHING
        errors = tuple(_after(error, event) for error in known.errors)
        return NOTHING if errors == known.errors else {key: Failures(errors=errors)}


def _failed(event: Event) -> bool:
    if event.kind == "error":
        return True
    said = event.payload if isinstance(event.payload, dict) else {}
    return event.kind == "tool_result" and said.get("is_error") is True


def _failure(event: Event) -> Failure:
    return Failure(
        event_id=event.event_id,
        event_seq=event.event_seq,
        at=event.timestamp,
        text=brief(event.text, LONGEST),
        tool=_tool(event),
    )


def _after(error: Failure, event: Event) -> Failure:
    if error.resolved_by is not None:
        return error
    if event.kind in _STEPS and len(error.followed) < STEPS:
        step = Said(event_seq=event.event_seq, kind=event.kind, text=_words(event))
        error = msgspec.structs.replace(error, followed=(*error.followed, step))
    if _settles(error, event):
        error = msgspec.structs.replace(error, resolved_by=event.event_seq)
    return error


def _settles(error: Failure, event: Event) -> bool:
    if error.event_id in event.sources or event.kind == "task_completed":
        return True
    if event.kind == "validation_gate":
        return isinstance(event.payload, dict) and event.payload.get("passed") is True
    return event.kind == "tool_result" and error.tool is not None and error.tool == _tool(event)


def _tool(event: Event) -> str | None:
    tool = event.payload.get("tool") if isinstance(event.payload, dict) else None
    return brief(tool, 100) if isinstance(tool, str) else None


def _words(event: Event) -> str:
    if event.text or not isinstance(event.payload, dict):
        return brief(event.text, _STEP_LONGEST)
    if event.kind == "validation_gate":
        verdict = "passed" if event.payload.get("passed") is True else "failed"
        return brief(f"gate {event.payload.get('gate')} {verdict}", _STEP_LONGEST)
    given = event.payload.get("input")
    said = msgspec.json.encode(given, order="sorted").decode() if given is not None else ""
    return brief(f"{_tool(event) or ''} {said}".strip(), _STEP_LONGEST)
