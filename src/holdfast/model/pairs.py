"""Which events of a conversation belong together: a call of a tool and its result.

A result belongs to the oldest call of its name that waits for one. A call that was given up waits no
more: one whose id is used again, and one without an id when the same tool is called again after
somebody spoke.
"""

from __future__ import annotations

from collections.abc import Sequence

from .events import Event

_SPOKEN = ("user_message", "model_message")


def answers(events: Sequence[Event]) -> dict[int, int]:
    """By the place of each result that has one, the place of its call."""
    waiting: dict[str, list[int]] = {}
    found: dict[int, int] = {}
    spoken = 0
    for n, event in enumerate(events):
        if event.kind in _SPOKEN:
            spoken = n
        elif event.kind == "tool_call":
            calls = waiting.setdefault(name(event), [])
            if calls and (_has_id(event) or calls[-1] < spoken):
                calls.clear()
            calls.append(n)
        elif event.kind == "tool_result" and waiting.get(name(event)):
            found[n] = waiting[name(event)].pop(0)
    return found


def starts(events: Sequence[Event]) -> list[int]:
    """The places from where on every result has its call; some never had one."""
    parted: set[int] = set()
    for result, call in answers(events).items():
        parted.update(range(call + 1, result + 1))
    return [n for n in range(len(events)) if n not in parted]


def name(event: Event) -> str:
    """What a call and its result are known by."""
    given = event.payload if isinstance(event.payload, dict) else {}
    return str(given.get("call_id") or given.get("tool"))


def _has_id(event: Event) -> bool:
    return isinstance(event.payload, dict) and bool(event.payload.get("call_id"))
