"""From a draft to an acknowledged event.

`record` is the whole algorithm: shape and redact each payload, stamp who and when, append as one
batch. Nothing else in Holdfast writes to a log.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from holdfast.capture.redact import Redactor
from holdfast.capture.shape import NOTES, Shaper, TooDeep, Unfit
from holdfast.capture.stamp import timestamp
from holdfast.capture.withhold import denied_path, without_content
from holdfast.errors import Invalid, Limit, NotFound
from holdfast.model.events import Draft, Entry, Event
from holdfast.ports.clock import Clock, Ids
from holdfast.ports.log import EventLog

from . import limits
from .trust import trust_of

#: Events about Holdfast's own doings, which may wait for the window's sync: losing the last few
#: milliseconds of them at a power cut costs a count, not a memory.
BOOKKEEPING = frozenset({"item_accessed", "memory_recall", "memory_used", "prediction_scored"})

_MOST_REMEMBERED = 1024


class Recorder:
    """Records into one log."""

    def __init__(
        self,
        log: EventLog,
        *,
        redactor: Redactor,
        shaper: Shaper,
        clock: Clock,
        ids: Ids,
        durable: bool = True,
    ) -> None:
        self._log = log
        self._redactor = redactor
        self._shaper = shaper
        self._clock = clock
        self._ids = ids
        self._durable = durable
        self._names: set[str] = set()
        self._denied_calls: OrderedDict[tuple[str | None, object], str] = OrderedDict()

    def record(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append drafts as one batch and return them as they now stand in the log."""
        entries = [self._entry(draft) for draft in drafts]
        waits = all(entry.type.partition("@")[0] in BOOKKEEPING for entry in entries)
        return self._log.append(entries, durable=self._durable and not waits)

    def redacted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """A stream of bytes without its secrets."""
        return self._shaper.redacted_bytes(pieces)

    def _entry(self, draft: Draft) -> Entry:
        kind = limits.event_type(draft.type)
        at, fresh = draft.at, draft.event_id is None
        return Entry(
            event_id=self._ids.fresh("evt") if fresh else self._id(draft.event_id or ""),
            session_id=self._name("session_id", draft.session_id),
            agent=self._name("agent", draft.agent),
            user=self._name("user", draft.user),
            type=kind,
            timestamp=timestamp(self._clock.now_ms()) if at is None else limits.moment(at),
            origin=draft.origin,
            trust=trust_of(draft.origin, map(self._trust_of_source, draft.sources)),
            sources=tuple(map(self._id, limits.sources(draft.sources))),
            payload=self._payload(draft, kind),
            fresh=fresh,
        )

    def _name(self, what: str, value: str | None) -> str | None:
        if value is None or value in self._names:  # the same few, again and again
            return value
        name = self._redactor.text(limits.name(what, value))
        if name == value and len(self._names) < _MOST_REMEMBERED:
            self._names.add(name)
        return name

    def _id(self, given: str) -> str:
        """An id a caller brings; it stands in the log as it is, so it may not be a secret."""
        if self._redactor.spans(limits.event_id(given)):
            raise Invalid("an id that looks like a secret is not recorded; use another")
        return given

    def _trust_of_source(self, event_id: str) -> int:
        source = self._log.find(event_id)
        if source is None:
            raise NotFound(f"source {event_id} is not in this log")
        return source.trust

    def _payload(self, draft: Draft, kind: str) -> bytes:
        if not isinstance(draft.payload, dict):
            raise Invalid(f"a payload is a dict, not {type(draft.payload).__name__}")
        payload, notes = dict(draft.payload), None
        if draft.origin == "import":
            notes = payload.pop(NOTES, None)
        try:
            return self._shaper.shape(self._withheld(draft, kind, payload), notes)
        except TooDeep as exc:
            raise Limit(str(exc)) from exc
        except Unfit as exc:
            raise Invalid(str(exc)) from exc

    def _withheld(self, draft: Draft, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Without the content of files that nobody should remember."""
        path = denied_path(payload, self._redactor)
        call = (draft.session_id, payload.get("call_id") or payload.get("tool"))
        if kind.startswith("tool_call@"):
            self._denied_calls.pop(call, None)
            if path is not None:
                self._denied_calls[call] = path
                if len(self._denied_calls) > _MOST_REMEMBERED:
                    self._denied_calls.popitem(last=False)
        elif kind.startswith("tool_result@") and path is None:
            path = self._denied_calls.get(call)
        if path is None:
            return payload
        withheld = without_content(payload, path, self._redactor)
        assert isinstance(withheld, dict)  # noqa: S101  (a dict in, a dict out)
        return withheld
