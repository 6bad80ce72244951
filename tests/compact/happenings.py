"""Conversations made by chance: words, calls of tools with their results, decisions, pinned ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from holdfast.model.events import Event

WORDS = [
    "the",
    "parser",
    "fails",
    "in",
    "src/auth/login.ts",
    "with",
    "KeyError:",
    "'user'",
    "after",
    "3",
    "retries",
    "of",
    "make",
    "test",
]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)
KINDS = ("user_message", "model_message", "tool", "decision", "pinned", "important", "rule")


def count(text: str) -> int:
    """Tokens, near enough."""
    return len(text.split()) + text.count("\n")


def event(seq: int, kind: str, payload: dict[str, Any], trust: int = 2) -> Event:
    minute, second = divmod(seq, 60)
    return Event(
        v=2,
        event_seq=seq,
        event_id=f"evt_{seq:04d}",
        session_id="s",
        agent="coder",
        user="ana",
        type=f"{kind}@1",
        timestamp=f"2026-03-01T{minute // 60:02d}:{minute % 60:02d}:{second:02d}.000Z",
        origin="user" if kind == "user_message" else "agent",
        trust=3 if kind == "user_message" else trust,
        payload=payload,
    )


@st.composite
def conversations(draw: st.DrawFn, most: int = 40) -> list[Event]:
    """Events in order, every result behind its call."""
    found: list[Event] = []
    for kind, text in draw(st.lists(st.tuples(st.sampled_from(KINDS), texts), max_size=most)):
        seq = len(found) + 1
        if kind == "tool":
            call = {"tool": "Bash", "call_id": f"c{seq}", "input": {"command": text}}
            found.append(event(seq, "tool_call", call))
            result = {"tool": "Bash", "call_id": f"c{seq}", "text": text * draw(st.integers(1, 9))}
            found.append(event(seq + 1, "tool_result", result, trust=1))
        elif kind in ("pinned", "important"):
            found.append(event(seq, "model_message", {"text": text, kind: True}))
        elif kind == "rule":
            found.append(event(seq, "user_message", {"text": f"Always {text}"}))
        else:
            found.append(event(seq, kind, {"text": text}))
    return found
