"""Hooks for any host: `holdfast hook VERB` with a JSON object on standard input.

    {"session_id": "…", "agent": "…", "cwd": "…", …}

and what the verb is about: `text`, `role`, `tool`, `input`, `output`, `call_id`, `is_error`, `reason`.
Fields may also have the names other hosts give them. Without an agent it is `host`; without a session
the agent's events stand in one that is named like the agent.
"""

from __future__ import annotations

import json
import os

from holdfast.capture.origin import person
from holdfast.capture.parse import parse
from holdfast.capture.redact import cut

from . import ask, run, told
from .caught import Caught, Json

#: of a question so much is asked
_MOST_ASKED = 8_000
#: each field under every name it is known by
_NAMES = {
    "session": ("session_id", "session", "sessionId", "conversation_id", "thread_id"),
    "agent": ("agent", "chatmode"),
    "folder": ("cwd", "project_dir", "workspace"),
    "text": ("text", "content", "message", "prompt", "query", "response"),
    "tool": ("tool", "tool_name", "name"),
    "input": ("input", "arguments", "args", "tool_input", "parameters"),
    "output": ("output", "result", "tool_response", "tool_output", "text", "content", "error"),
    "call_id": ("call_id", "tool_use_id", "tool_call_id", "id"),
    "reason": ("reason", "why"),
}
#: who speaks in which role: the event's kind, and its origin
_ROLES = {
    "user": ("user_message", "user"),
    "human": ("user_message", "user"),
    "assistant": ("model_message", "agent"),
    "model": ("model_message", "agent"),
    "ai": ("model_message", "agent"),
    "tool": ("tool_result", "tool"),
    "system": ("system_event", "system"),
    "developer": ("system_event", "system"),
}
#: of a role that is not known nobody can say whose word it is
_SOMEBODY = ("system_event", "tool")
VERBS = (
    "message-received",
    "pre-response",
    "post-response",
    "session-end",
    "log_tool_call",
    "log_tool_result",
    "log_message",
    "trigger_memory_generation",
)


def hook(verb: str, cache: str) -> None:
    """Record what the host says; before a response also say what is worth knowing."""
    if verb not in VERBS:
        wrong = f"holdfast hook: there is no {verb}; there are {', '.join(VERBS)}\n"
        os.write(2, wrong.encode("utf-8", "replace"))
        return
    asks = verb == "pre-response"
    found = told.listen(cache, told.Host(lambda said: _events(verb, said), _folder), asks=asks)
    if not asks or found is None:
        return
    session, agent = _who(found.said)
    query = cut(_text(found.said, "text"), _MOST_ASKED)
    whose: Json = {"session": session, "agent": agent, "user": person()}
    words = ask.words(
        found.place, {**whose, "do": "inject", "at": "prompt", "text": query}, found.seconds
    )
    if words:
        run.say(json.dumps({"context": words}))


def _events(verb: str, said: Json) -> list[Caught]:
    kind, origin, payload, beside = _meant(verb, said)
    session, agent = _who(said)
    return [Caught(kind, origin, session, agent, payload, beside)] if kind else []


def _meant(verb: str, said: Json) -> tuple[str, str, Json, object]:
    if verb == "pre-response":
        return "", "", {}, None  # the message itself is told of by another verb
    if verb == "session-end":
        return "session_ended", "system", {"reason": _text(said, "reason") or "ended"}, None
    if verb == "trigger_memory_generation":
        return "signal_observed", "system", {"signal": "memory generation"}, None
    called: Json = {"tool": _text(said, "tool"), "call_id": _text(said, "call_id")}
    given = _field(said, "input")
    if verb == "log_tool_call":
        return "tool_call", "agent", {**called, "input": given}, _about(given)
    if verb == "log_tool_result":
        answer: Json = {**called, "text": _text(said, "output")}
        if said.get("is_error") is True or said.get("error"):
            answer["is_error"] = True
        return "tool_result", "tool", answer, _about(given)
    role = {"message-received": "user", "post-response": "assistant"}.get(verb) or said.get("role")
    known = role.strip().lower() if isinstance(role, str) else ""
    kind, origin = _ROLES.get(known, _SOMEBODY)
    text = _text(said, "text")
    return (kind if text else ""), origin, {"text": text, "role": said.get("role")}, None


def _about(given: object) -> object:
    """What a tool was asked, where a host says it in a text: JSON, or a command."""
    if not isinstance(given, str):
        return given
    read, notes = parse(given.encode("utf-8", "replace"))
    return {"command": given} if notes else [read, {"command": given}]


def _who(said: Json) -> tuple[str, str]:
    agent = _text(said, "agent") or "host"
    return _text(said, "session") or agent, agent


def _folder(said: Json) -> str:
    return _text(said, "folder") or os.getcwd()


def _field(said: Json, name: str) -> object:
    return next((said[other] for other in _NAMES[name] if said.get(other) not in (None, "")), None)


def _text(said: Json, name: str) -> str:
    return _plain(_field(said, name))


def _plain(value: object) -> str:
    """A text, or what stands in its place, in words: messages may come in parts."""
    if isinstance(value, list):
        parts = [one.get("text") if isinstance(one, dict) else one for one in value]
        if all(isinstance(one, str) for one in parts):
            return "\n".join(str(one) for one in parts)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)
