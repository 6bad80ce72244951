"""A context as messages, in the formats models take.

Only the caller's own system text and a person's own rules stand in the system part; whatever else is
remembered is said in the user's part, quoted. A tool call and its result stay together, or both are told
as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from holdfast.model.events import Event
from holdfast.text.quoting import quoted_json

from .render import Part

#: where Anthropic's cache may break, at most
_BREAKS = 4
_GOES_ON = "(the conversation goes on)"
_MESSAGES = ("user_message", "model_message")
#: what a tool and a call may be called
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


class Said(msgspec.Struct, kw_only=True):
    """One thing said in one role."""

    role: str
    text: str = ""
    #: a tool call, or the answer to one: its id, the tool, what it was asked
    call: tuple[str, str, Any] | None = None
    answers: str = ""
    stable: bool = True
    section: str = ""


def said(parts: Sequence[Part]) -> list[Said]:
    """The parts as things said, calls with their answers."""
    pairs = _pairs(parts)
    found = []
    for n, part in enumerate(parts):
        spoken = part.event is not None and part.event.kind in _MESSAGES
        if part.role == "tools" or not (part.body if spoken else part.text).strip():
            continue
        one = Said(
            role=_role(part),
            text=part.body or part.text,
            stable=not part.passing,
            section=part.section,
        )
        if n in pairs and part.event is not None:
            call_id, tool, asked = pairs[n]
            if part.role == "call":
                one.call = (call_id, tool, asked)
            else:
                one.answers = call_id
        elif part.role in ("call", "tool"):
            one.role, one.text = ("assistant" if part.role == "call" else "user"), part.text
        found.append(one)
    return found


def _role(part: Part) -> str:
    if part.role == "rule":
        return "system" if part.section == "background" else "user"
    return part.role


def _pairs(parts: Sequence[Part]) -> dict[int, tuple[str, str, Any]]:
    """The places of calls and of their answers, where each call is answered before anything else."""
    found: dict[int, tuple[str, str, Any]] = {}
    start = 0
    while start < len(parts):
        if parts[start].role != "call":
            start += 1
            continue
        end = start
        while end < len(parts) and parts[end].role == "call":
            end += 1
        answers = end
        while answers < len(parts) and parts[answers].role == "tool":
            answers += 1
        found |= _matched(parts, range(start, end), range(end, answers))
        start = max(answers, end)
    return found


def _matched(
    parts: Sequence[Part], calls: range, answers: range
) -> dict[int, tuple[str, str, Any]]:
    """All of these calls with all of these answers; nothing where one is left over."""
    waiting = {n: _named(parts[n].event) for n in calls}
    if not all(parts[n].whole for n in calls):
        return {}
    found: dict[int, tuple[str, str, Any]] = {}
    for n in answers:
        name = _named(parts[n].event)
        call = next((c for c, known in waiting.items() if known == name), None)
        event = parts[call].event if call is not None else None
        if call is None or event is None:
            return {}
        del waiting[call]
        tool, asked = _asked(event)
        if not _NAME.fullmatch(tool):
            return {}
        found[call] = found[n] = (_call_id(event), tool, asked)
    return {} if waiting else found


def _named(event: Event | None) -> str:
    given = event.payload if event is not None and isinstance(event.payload, dict) else {}
    return str(given.get("call_id") or given.get("tool"))


def _call_id(event: Event) -> str:
    """The caller's own id of a call, or the event's, as far as a model takes it."""
    given = event.payload if isinstance(event.payload, dict) else {}
    for one in (given.get("call_id"), event.event_id):
        if isinstance(one, str) and _NAME.fullmatch(one):
            return one
    return f"call_{sha256(event.event_id.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _asked(event: Event) -> tuple[str, Any]:
    given = event.payload if isinstance(event.payload, dict) else {}
    asked = given.get("input")
    return str(given.get("tool")), quoted_json(asked) if isinstance(asked, dict) else {}


# ---- OpenAI ----------------------------------------------------------------------------------


def openai(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Messages as OpenAI's chat takes them."""
    made: list[dict[str, Any]] = []
    for one in said(parts):
        if one.answers:
            made.append({"role": "tool", "tool_call_id": one.answers, "content": one.text})
        elif one.call is not None:
            asked = msgspec.json.encode(one.call[2], order="sorted").decode()
            function = {"name": one.call[1], "arguments": asked}
            call = {"id": one.call[0], "type": "function", "function": function}
            if made and made[-1]["role"] == "assistant" and "tool_calls" in made[-1]:
                made[-1]["tool_calls"].append(call)
            else:
                made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif _goes_on(made, one):
            made[-1]["content"] += f"\n\n{one.text}"
        else:
            made.append({"role": one.role, "content": one.text})
    return made


def _goes_on(made: Sequence[dict[str, Any]], one: Said) -> bool:
    last = made[-1] if made else {}
    return last.get("role") == one.role and "tool_calls" not in last and one.role != "tool"


# ---- Anthropic -------------------------------------------------------------------------------


def anthropic(parts: Sequence[Part]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system blocks and the messages as Anthropic takes them, with breaks for its cache."""
    spoken = said(parts)
    system = [{"type": "text", "text": one.text} for one in spoken if one.role == "system"]
    made: list[dict[str, Any]] = []
    breaks: list[dict[str, Any]] = system[-1:]
    stable: dict[str, Any] | None = None
    for one in spoken:
        if one.role == "system":
            continue
        role = "assistant" if one.role in ("assistant", "call") else "user"
        if not made and role == "assistant":
            made.append({"role": "user", "content": [{"type": "text", "text": _GOES_ON}]})
        if not made or made[-1]["role"] != role:
            made.append({"role": role, "content": []})
        block = _block(one)
        made[-1]["content"].append(block)
        if one.stable:
            stable = block
        if one.section == "index":
            breaks.append(block)
    if stable is not None and not any(block is stable for block in breaks):
        breaks.append(stable)
    for block in breaks[:_BREAKS]:
        block["cache_control"] = {"type": "ephemeral"}
    return system, made


def _block(one: Said) -> dict[str, Any]:
    if one.answers:
        return {"type": "tool_result", "tool_use_id": one.answers, "content": one.text}
    if one.call is not None:
        call_id, tool, asked = one.call
        return {"type": "tool_use", "id": call_id, "name": tool, "input": asked}
    return {"type": "text", "text": one.text}
