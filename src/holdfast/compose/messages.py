"""A context as messages, in the formats models take.

Only the caller's own system text and a person's own rules stand in the system part; whatever else is
remembered is said in the user's part, quoted. Calls of tools and their results stay together, or all of
them are told as text. Which of both is known as soon as something else follows, and never changes: the
messages of a context begin those of the next one in its epoch, but for what passes and for calls at its
end that wait for a result.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.model.events import Event
from holdfast.text.quoting import clean, quoted_json

from .render import Part

_GOES_ON = "(the conversation goes on)"
_MESSAGES = ("user_message", "model_message")
#: what a tool may be called
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


class Said(msgspec.Struct, kw_only=True):
    """One thing said in one role."""

    role: str
    text: str = ""
    #: a tool call: its id, the tool, what it was asked
    call: tuple[str, str, Any] | None = None
    #: the call this is the result of
    answers: str = ""
    section: str = ""
    #: the part with which it was known how this is said; none while that is not known, or it passes
    known: int | None = None


def said(parts: Sequence[Part]) -> list[Said]:
    """The parts as things said, calls with their results."""
    heard = [(n, part) for n, part in enumerate(parts) if not _silent(part)]
    calls = _Calls([(n, part) for n, part in heard if not part.passing])
    found = []
    for n, part in heard:
        one = Said(
            role=_role(part),
            text=part.body if part.body.strip() else part.text,
            section=part.section,
            known=calls.known.get(n),
        )
        if n in calls.pairs:
            call_id, tool, asked = calls.pairs[n]
            if part.role == "call":
                one.call = (call_id, tool, asked)
            else:
                one.answers = call_id
        elif part.role in ("call", "tool"):
            one.role, one.text = "user", part.text
        if one.role == "assistant":
            one.text = one.text.rstrip()
        found.append(one)
    return found


def _silent(part: Part) -> bool:
    """Does a model hear nothing of it? Tools are handed over by the caller; blanks say nothing."""
    if part.role == "tools" or not part.text.strip():
        return True
    event = part.event if not part.body.strip() else None
    return event is not None and event.kind in _MESSAGES and not clean(event.text).strip()


def _role(part: Part) -> str:
    if part.role == "rule":
        return "system" if part.section == "background" else "user"
    return part.role


# ---- calls and results -----------------------------------------------------------------------


class _Calls:
    """Which calls are told as calls: those made together and all answered before anything else.

    Read from the first part to the last, and nothing that is known changes: a second result of a call
    that is answered is something else. Ids are the numbers of the calls: short, and no two are alike,
    whatever the caller's own are.
    """

    def __init__(self, parts: Sequence[tuple[int, Part]]) -> None:
        #: by the place of a call or of its result: the id, the tool, what it was asked
        self.pairs: dict[int, tuple[str, str, Any]] = {}
        #: by place, the place with which it is known how it is told
        self.known: dict[int, int] = {}
        self._parts = dict(parts)
        self._clear()
        for n, part in parts:
            self._take(n, part)

    def _clear(self) -> None:
        self._calls: list[int] = []
        self._answers: dict[int, int] = {}
        self._waiting: dict[str, deque[int]] = {}

    def _take(self, n: int, part: Part) -> None:
        name = _named(part.event)
        if part.role == "tool" and self._waiting.get(name):
            self._answers[n] = self._waiting[name].popleft()
            if len(self._answers) == len(self._calls):
                self._pair()
                self._close(n)
            return
        if part.role != "call" or self._answers:
            self._close(n)
        if part.role == "call":
            self._calls.append(n)
            self._waiting.setdefault(name, deque()).append(n)
        else:
            self.known[n] = n

    def _pair(self) -> None:
        asked = {n: _asked(self._parts[n].event) for n in self._calls}
        if not all(_NAME.fullmatch(asked[n][0]) and self._parts[n].whole for n in self._calls):
            return
        for number, n in enumerate(self._calls, start=len(self.pairs) // 2 + 1):
            self.pairs[n] = (f"call{number:05d}", *asked[n])
        for n, call in self._answers.items():
            self.pairs[n] = self.pairs[call]

    def _close(self, n: int) -> None:
        self.known |= dict.fromkeys([*self._calls, *self._answers], n)
        self._clear()


def _named(event: Event | None) -> str:
    given = _given(event)
    return str(given.get("call_id") or given.get("tool"))


def _asked(event: Event | None) -> tuple[str, Any]:
    """The tool and its arguments; what is no object is one argument, called as in the log."""
    given = _given(event)
    asked = given.get("input")
    if isinstance(asked, str):
        asked = _object(asked)
    if asked is not None and not isinstance(asked, dict):
        asked = {"input": asked}
    return str(given.get("tool")), quoted_json(asked or {})


def _object(text: str) -> Any:
    """The object that a text of JSON is, or the text."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return text


def _given(event: Event | None) -> dict[str, Any]:
    return event.payload if event is not None and isinstance(event.payload, dict) else {}


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


def anthropic(
    parts: Sequence[Part], before: int = 0
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system blocks and the messages as Anthropic takes them, with breaks for its cache.

    It takes four: behind the system part, the index, what the context before this one left in the
    cache (it had the first `before` of these parts), and what the next one finds there.
    """
    spoken = said(parts)
    system = [{"type": "text", "text": one.text} for one in spoken if one.role == "system"]
    made: list[dict[str, Any]] = []
    breaks: dict[str, dict[str, Any]] = {"system": system[-1]} if system else {}
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
        if one.known is not None:
            breaks["last"] = block
            breaks |= {"before": block} if one.known < before else {}
            breaks |= {"index": block} if one.section == "index" else {}
    for block in breaks.values():
        block["cache_control"] = {"type": "ephemeral"}
    return system, made


def _block(one: Said) -> dict[str, Any]:
    if one.answers:
        return {"type": "tool_result", "tool_use_id": one.answers, "content": one.text}
    if one.call is not None:
        call_id, tool, asked = one.call
        return {"type": "tool_use", "id": call_id, "name": tool, "input": asked}
    return {"type": "text", "text": one.text}
