"""Whether a clock is believed when it says that something ran out.

What always holds: a clock that jumped is not believed because something was said since, for what is
said carries its time. The log must have seen it go: there is an event that is a day old at least, and no
more than 30. So after a jump, and after a month in which nothing was said, nothing runs out for a day.
What was recorded with a time of its own, for history, is old or new as it says, and is in nobody's way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.capture.stamp import timestamp
from holdfast.model.events import Event

if TYPE_CHECKING:
    from .holdfast import Holdfast

_DAY = 86_400_000
_OLDEST = 30 * _DAY


def doubt(hf: Holdfast, milliseconds: int, since: int) -> str:
    """Why a clock is not believed, by what was recorded from a place on; empty when it is."""
    now = timestamp(milliseconds)
    newest = _last(hf)
    if newest is not None and now < newest.timestamp:
        return f"the clock says {now}, which is before the newest event, {newest.timestamp}"
    first, last = timestamp(milliseconds - _OLDEST), timestamp(milliseconds - _DAY)
    events = (event for event in hf.log.read(max(0, since - 1)) if isinstance(event, Event))
    if any(first <= event.timestamp <= last for event in events):
        return ""
    return (
        f"the clock says {now}, and nothing was recorded from 30 days before that to a day before"
    )


def _last(hf: Holdfast) -> Event | None:
    """The last event of the log."""
    found = hf.log.read(max(0, hf.log.head().event_seq - 1))
    return next((event for event in found if isinstance(event, Event)), None)
