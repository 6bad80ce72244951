"""Which events of a conversation belong together: calls of tools made together, and their results.

What always holds: what belongs together ends. A result that comes after the person spoke again, or after
further calls were made, is no answer any model takes as one, and stands by itself; so one call that is
answered late, or never, does not tie a whole session together.
"""

from __future__ import annotations

from collections.abc import Sequence

from .events import Event


def starts(events: Sequence[Event]) -> list[int]:
    """The places from where on every result has its call; some never had one."""
    calls: dict[str, list[int]] = {}
    parted: set[int] = set()
    answered = False
    for n, event in enumerate(events):
        if event.kind == "user_message" or (event.kind == "tool_call" and answered):
            calls, answered = {}, False
        if event.kind == "tool_call":
            calls.setdefault(name(event), []).append(n)
        elif event.kind == "tool_result" and calls.get(name(event)):
            parted.update(range(calls[name(event)].pop(0) + 1, n + 1))
            answered = True
    return [n for n in range(len(events)) if n not in parted]


def name(event: Event) -> str:
    """What a call and its result are known by."""
    given = event.payload if isinstance(event.payload, dict) else {}
    return str(given.get("call_id") or given.get("tool"))
