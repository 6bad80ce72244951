"""From a draft to an acknowledged event.

`record` is the whole algorithm: shape and redact each payload, stamp who and when, append as one
batch. Nothing else in Holdfast writes to a log.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from holdfast.capture.parse import NOTES
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Shaper, TooDeep, Unfit
from holdfast.capture.stamp import timestamp
from holdfast.capture.withhold import denied_path, without_content
from holdfast.errors import Denied, Invalid, Limit, NotFound
from holdfast.model.events import Draft, Entry, Event
from holdfast.ports.clock import Clock, Ids
from holdfast.ports.log import EventLog

from . import limits
from .trust import trust_of

#: Events about Holdfast's own doings, which may wait for the window's sync: losing the last few
#: milliseconds of them at a power cut costs a count, not a memory.
BOOKKEEPING = frozenset({"item_accessed", "memory_recall", "memory_used", "prediction_scored"})

#: What they say changes how a log is read, so nobody can have them recorded.
_ONLY_THE_LOG = frozenset({"baseline", "subject_erased", "damage_found"})

_MOST_REMEMBERED = 1024
_SUSPECTED = 3
#: reading on over so many events is cheaper than finding a place anew
_NEAR = 20


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
        self._calls = _CallsInFlight()

    def record(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append drafts as one batch and return them as they now stand in the log."""
        entries = [self._entry(draft) for draft in drafts]
        waits = all(entry.type.partition("@")[0] in BOOKKEEPING for entry in entries)
        return self._log.append(entries, durable=self._durable and not waits)

    def redacted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """A stream of bytes without its secrets."""
        return self._shaper.redacted_bytes(pieces)

    def cleaned(self, value: object) -> object:
        """A value that JSON can say, without the secrets in it, each text looked at on its own."""
        return self._shaper.cleaned(value)

    def _entry(self, draft: Draft) -> Entry:
        kind = limits.event_type(draft.type)
        if kind.partition("@")[0] in _ONLY_THE_LOG:
            raise Denied(f"only the log itself records {kind}")
        at, fresh = draft.at, draft.event_id is None
        sources = tuple(map(self._id, limits.sources(draft.sources)))
        return Entry(
            event_id=self._ids.fresh("evt") if fresh else self._id(draft.event_id or ""),
            session_id=self._name("session_id", draft.session_id),
            agent=self._name("agent", draft.agent),
            user=self._name("user", draft.user),
            type=kind,
            timestamp=timestamp(self._clock.now_ms()) if at is None else limits.moment(at),
            origin=draft.origin,
            trust=trust_of(draft.origin, self._trusts(sources)),
            sources=sources,
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

    def _trusts(self, sources: tuple[str, ...]) -> Iterator[int]:
        """How far each source may be believed; those that lie close together are read in one go."""
        wanted, found = set(sources), dict[str, int]()
        for one in sources:
            if one not in found:
                source = self._log.find(one)
                if source is None:
                    raise NotFound(f"source {one} is not in this log")
                found[one] = source.trust
                if len(wanted) > len(found):
                    found |= self._near(source.event_seq, wanted)
            yield found[one]

    def _near(self, place: int, wanted: set[str]) -> dict[str, int]:
        """The trust of those of these ids that follow a place one after another."""
        found: dict[str, int] = {}
        for piece in self._log.read(place):
            if isinstance(piece, Event) and piece.event_id in wanted:
                found[piece.event_id] = piece.trust
                place = piece.event_seq
            elif not isinstance(piece, Event) or piece.event_seq > place + _NEAR:
                break
        return found

    def _payload(self, draft: Draft, kind: str) -> bytes:
        if not isinstance(draft.payload, dict):
            raise Invalid(f"a payload is a dict, not {type(draft.payload).__name__}")
        payload, notes = dict(draft.payload), None
        if draft.origin == "import":
            notes = _as_notes(payload.pop(NOTES, []))
        try:
            return self._shaper.shape(self._withheld(draft, kind, payload), notes)
        except TooDeep as exc:
            raise Limit(str(exc)) from exc
        except Unfit as exc:
            raise Invalid(str(exc)) from exc

    def _withheld(self, draft: Draft, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Without the content of files that nobody should remember."""
        path = denied_path(payload, self._redactor)
        call = (draft.session_id, str(payload.get("call_id") or payload.get("tool")))
        if kind.startswith("tool_call@"):
            self._calls.begin(call, path)
        elif kind.startswith("tool_result@"):
            path = self._calls.end(call) or path
        if path is None:
            return payload
        withheld = without_content(payload, path, self._redactor)
        assert isinstance(withheld, dict)  # noqa: S101  (a dict in, a dict out)
        return withheld


class _CallsInFlight:
    """Which tool calls wait for their result, and whether one of them touched a denied file.

    Calls without an id of their own are known by their tool; while several are in flight nobody can
    say whose result comes first, so all of them count as the denied one. A call that was interrupted
    never gets its result, so the suspicion ends after a few.
    """

    def __init__(self) -> None:
        #: how many wait, the denied path among them, and for how many more results it is suspected
        self._waiting: OrderedDict[tuple[str | None, str], tuple[int, str | None, int]] = (
            OrderedDict()
        )

    def begin(self, call: tuple[str | None, str], denied: str | None) -> None:
        count, before, left = self._waiting.pop(call, (0, None, 0))
        self._waiting[call] = (count + 1, denied or before, _SUSPECTED if denied else left)
        if len(self._waiting) > _MOST_REMEMBERED:
            self._waiting.popitem(last=False)

    def end(self, call: tuple[str | None, str]) -> str | None:
        count, denied, left = self._waiting.pop(call, (0, None, 0))
        if count > 1:
            self._waiting[call] = (count - 1, denied if left > 1 else None, left - 1)
        return denied


def _as_notes(given: Any) -> list[dict[str, Any]]:
    """The notes a foreign event brings; whatever else stands in their place becomes one."""
    if isinstance(given, list) and all(isinstance(note, dict) for note in given):
        return given
    return [{"why": "as_imported", "value": given}]
