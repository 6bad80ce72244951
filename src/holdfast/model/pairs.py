"""Which events of a conversation belong together: calls of tools made together, and their results.

A result answers the oldest call of its name that waits for one. A call that was given up waits no
more: one whose id is used again, and one without an id when the same tool is called again after somebody
spoke.

What always holds: what stays together ends. A result that comes after the person spoke again, or after
further calls were made, is no answer any model takes as one, and stands by itself; so one call that is
answered late, or never, does not tie a whole session together.
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
    """The places where nothing that stays together is parted."""
    parted: set[int] = set()
    calls = answers(events)
    since, answered = 0, False
    for n, event in enumerate(events):
        if event.kind == "user_message" or (event.kind == "tool_call" and answered):
            since, answered = n, False
        if event.kind == "tool_result" and calls.get(n, -1) >= since:
            parted.update(range(calls[n] + 1, n + 1))
            answered = True
    return [n for n in range(len(events)) if n not in parted]


def name(event: Event) -> str:
    """What a call and its result are known by."""
    given = event.payload if isinstance(event.payload, dict) else {}
    return str(given.get("call_id") or given.get("tool"))


def _has_id(event: Event) -> bool:
    return isinstance(event.payload, dict) and bool(event.payload.get("call_id"))
