"""A context that a host holds itself, in pieces: a text, or a list of texts and messages.

What always holds: pieces put together again are the context as it was; a call of a tool and its results
are one piece, with whatever stands between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from holdfast.errors import Invalid
from holdfast.model.compactions import Span
from holdfast.text.quoting import quoted

#: what stands between two paragraphs stays with the first
_PARAGRAPH = re.compile(r".*?(?:\n[ \t]*\n\s*|\Z)", re.DOTALL)
_BLANK = re.compile(r"\n\s*\n")
#: texts of these roles never leave, and are not part of the conversation
FIXED = ("system", "developer")
_KINDS = {"user": "user_message", "assistant": "model_message", "tool": "tool_result"}
_ORIGINS = {"user": "user", "assistant": "agent", "system": "system", "developer": "system"}


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One element of a host's context."""

    #: as the host gave it
    given: Any
    text: str
    role: str = ""
    #: ids of the calls it makes, and of those it answers
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    #: pinned or important, as the host marked it; a system text always stays
    stays: str = ""

    @property
    def known(self) -> str:
        """What it is recognised by."""
        said = [self.role, self.text, "" if isinstance(self.given, str) else self.given]
        return sha256(msgspec.json.encode(said, order="sorted")).hexdigest()

    def kind(self) -> str:
        """The type of its event."""
        if self.role in FIXED:
            return "system_event"
        return _KINDS.get(self.role, "model_message")

    def origin(self) -> str:
        """Who it comes from; a text without a role is worth as much as a tool's."""
        return _ORIGINS.get(self.role, "tool")

    def payload(self) -> dict[str, Any]:
        """What its event says: its words, and the whole message where that is more."""
        said: dict[str, Any] = {"text": self.text, "role": self.role}
        if self.role == "tool" and self.answers:
            said["call_id"] = self.answers[0]
        if isinstance(self.given, Mapping):
            plain = set(self.given) <= {"role", "content"}
            if not plain or not isinstance(self.given.get("content"), str):
                said["message"] = dict(self.given)
        return said | ({self.stays: True} if self.stays in ("pinned", "important") else {})


def pieces(context: Any) -> list[Held]:
    """The elements of a context; Invalid for what is none."""
    if context is None:
        return []
    if isinstance(context, str):
        return [Held(given=one, text=one) for one in _PARAGRAPH.findall(context) if one]
    if not isinstance(context, Sequence) or isinstance(context, bytes | bytearray):
        raise Invalid(
            "get_context gives a text, or a list of texts and messages, not "
            f"{type(context).__name__}"
        )
    return [_held(one, n) for n, one in enumerate(context)]


def again(kind: str, said: Mapping[str, Any]) -> Held | None:
    """The element an event was made of; None for an event that was not made of one."""
    text, role, message = said.get("text"), said.get("role"), said.get("message")
    if not isinstance(text, str) or not isinstance(role, str):
        return None
    given = message if isinstance(message, dict) else {"role": role, "content": text}
    found = _held(given if role or message else text, 0)
    return found if found.kind() == kind else None


def _held(one: Any, n: int) -> Held:
    if isinstance(one, str):
        return Held(given=one, text=one)
    if not isinstance(one, Mapping):
        raise Invalid(f"element {n} of the context is a {type(one).__name__}, not text or message")
    try:
        msgspec.json.encode(one)
    except (TypeError, ValueError, RecursionError) as exc:
        raise Invalid(f"element {n} of the context cannot be written as JSON: {exc}") from exc
    role = one.get("role") if isinstance(one.get("role"), str) else ""
    blocks = [b for b in one.get("content") or () if isinstance(b, Mapping)]
    calls = [c.get("id") for c in one.get("tool_calls") or () if isinstance(c, Mapping)]
    calls += [b.get("id") for b in blocks if b.get("type") == "tool_use"]
    answers = [one.get("tool_call_id")]
    answers += [b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result"]
    stays = next((mark for mark in ("pinned", "important") if one.get(mark) is True), "")
    return Held(
        given=one,
        text=_words(one),
        role=str(role or ""),
        calls=_texts(calls),
        answers=_texts(answers),
        stays="pinned" if role in FIXED else stays,
    )


def _words(message: Mapping[str, Any]) -> str:
    """What a message says: its text, and what it calls or carries beside it."""
    content = message.get("content", message.get("text"))
    said = [content] if isinstance(content, str) else []
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, Mapping) else block
        said.append(text if isinstance(text, str) else _plain(block))
    if message.get("tool_calls"):
        said.append(_plain(message["tool_calls"]))
    return "\n".join(said) if said else _plain(message)


def _plain(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _texts(given: Iterable[Any]) -> tuple[str, ...]:
    return tuple(one for one in given if isinstance(one, str) and one)


def groups(held: Sequence[Held]) -> list[range]:
    """Which elements stay or leave together."""
    open_: dict[str, int] = {}
    ends = list(range(1, len(held) + 1))
    for n, one in enumerate(held):
        for call in one.answers:
            if call in open_:
                ends[open_[call]] = max(ends[open_[call]], n + 1)
        for call in one.calls:
            open_.setdefault(call, n)
    found: list[range] = []
    start = 0
    while start < len(held):
        end, n = ends[start], start
        while n < end:
            end, n = max(end, ends[n]), n + 1
        found.append(range(start, end))
        start = end
    return found


# ---- what stands in the place of what left -----------------------------------------------------


def in_place(span: Span, *, short: bool) -> str:
    """The words that stand for a span: a summary, or the names of what left. One paragraph."""
    note = "in short" if short else "left this context"
    head = f'<hf:earlier expand="events {span.first}-{span.last}" note="{note}">'
    text = _BLANK.sub("\n", quoted(span.told).strip())
    return "\n".join([head, text, "</hf:earlier>"])


def like(context: Any, elements: Sequence[Any]) -> Any:
    """Elements as a context of the same shape: a text, or a list; texts of ours fit in with the rest."""
    if isinstance(context, str):
        return "".join(elements)
    made = list(elements)
    return tuple(made) if isinstance(context, tuple) else made


def element(context: Any, text: str) -> Any:
    """A text of ours as an element of a context."""
    if isinstance(context, str):
        return f"{text}\n\n"
    messages = bool(context) and all(isinstance(one, Mapping) for one in context)
    return {"role": "user", "content": text} if messages else text
