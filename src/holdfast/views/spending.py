"""Spending: what the language model was asked for and what that took, day by day.

Every call is one event, also one that failed; whoever is about to ask looks here whether there is
something left. What other logs brought along was not spent here.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from holdfast.model.complete import Spending, Spent
from holdfast.model.events import Event

from .view import NOTHING, Rows, common_key

KEY = common_key("spending")
#: days that are kept, the latest
MOST_DAYS = 62
#: what came of a call that says something about the endpoint and not about the question
AT_THE_ENDPOINT = frozenset({"unavailable", "denied"})
_MINUTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_DAY = len("YYYY-MM-DD")
_LARGEST, _MOST = 1 << 40, 1 << 60


class SpendingView:
    """One row for the whole project."""

    name = "spending"
    version = 1
    kinds = frozenset({"completion_received"})
    row = Spending

    def keys(self, event: Event) -> tuple[str, ...]:
        """The one row."""
        return () if event.origin == "import" else (KEY,)

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Add what it took."""
        at = _MINUTE.match(event.timestamp)
        if at is None:
            return NOTHING
        known: Spending = rows[KEY] or Spending()
        said = event.payload if isinstance(event.payload, dict) else {}
        days = {spent.day: spent for spent in known.days}
        day = at[0][:_DAY]
        days[day] = _added(days.get(day) or Spent(day=day), said)
        before = known.in_minute if at[0] == known.minute else 0
        after = replace(
            known,
            days=tuple(days[day] for day in sorted(days)[-MOST_DAYS:]),
            minute=at[0],  # the last event's: a clock that was ahead for a while lifts no cap
            in_minute=before + 1,
            failing_since=_failing(known, event, said),
        )
        return {KEY: after}


def _added(spent: Spent, said: dict[str, Any]) -> Spent:
    sums = {
        name: min(getattr(spent, name) + _number(said.get(name)), _MOST)
        for name in ("tokens_in", "tokens_out", "millionths")
    }
    failed = spent.failed + ("error" in said)
    return replace(spent, calls=spent.calls + 1, failed=failed, **sums)


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= _LARGEST else 0


def _failing(known: Spending, event: Event, said: dict[str, Any]) -> str:
    error = said.get("error")
    if error is None:
        return ""
    if isinstance(error, str) and error in AT_THE_ENDPOINT:
        return event.timestamp[:24]
    return known.failing_since
