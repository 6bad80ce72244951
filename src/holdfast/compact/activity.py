"""Five logs for people and their tools, a line for each thing that happened to a window.

    compaction.jsonl      a compaction                 `compacted` of ours
    drops.jsonl           each chunk it dropped        likewise
    recovery.jsonl        each chunk that came back    `chunk_recovered`
    curation.jsonl        what was ranked anew         `epoch_started`, or what a host reports
    context-health.jsonl  how full a window was        `context_assembled`, or what a host reports, and
                                                       whatever moves a window into another band

What always holds: the lines follow from the events in their order, and from what was told before them.
Between two contexts tokens are estimated from the length of what was said, in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import ARCHIVED, RESTORE, Band
from holdfast.model.events import Event
from holdfast.views.cold import Dropped
from holdfast.views.transcript import SPOKEN

from .hosted import HOSTED
from .pressure import band, hosted, next_at

NAMES = ("compaction", "curation", "drops", "recovery", "context-health")
SAID = SPOKEN - {"memory_recall"}
KINDS = SAID | frozenset(
    {
        "session_started",
        "compacted",
        "chunk_recovered",
        "chunk_expired",
        "epoch_started",
        "context_assembled",
        "signal_observed",
    }
)
#: what a host's report of its own window says it is
HEALTH = "context_health"
#: and that it ranked anew what had come back into it
CURATED = "context_curation"
#: bytes of a token, about
_BYTES = 4
#: epochs whose entries are counted, and sessions whose windows are followed
_MOST = 64
_TRIGGERS = {"tokens": "token_threshold"}
#: what became of a window where that was no compaction
_EVENTS = {RESTORE: "context_restored", ARCHIVED: "session_archived"}
Line = tuple[str, dict[str, Any]]


class Fill(msgspec.Struct, frozen=True, kw_only=True):
    """How full the window of a session is, as far as that follows from events."""

    tokens: int
    #: 0 where its host holds it, and says so itself
    limit: int
    #: of the tokens, what is beside the conversation
    beside: int = 0
    chunks: int = 0
    band: Band = "calm"


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """What windows are measured by."""

    settings: CompactSettings
    #: the window of a session that no context was made for
    limit: int
    #: the most that one event takes
    most: int


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the lines so far have to say about the next ones."""

    #: chunks that are cold
    cold: int = 0
    #: how many entries an epoch shows
    epochs: dict[str, int] = {}
    #: how full the windows of the latest sessions are
    windows: dict[str, Fill] = {}


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction that counts, and what it dropped."""

    chunks: tuple[Dropped, ...]
    #: where the copy of each lies
    paths: tuple[str, ...]
    #: how many were summarised
    summarized: int
    #: how many cold ones it brought back into the window
    back: int = 0


def lines(
    event: Event,
    told: Told,
    compacted: Callable[[Event], Compacted | None],
    measure: Measure,
) -> tuple[list[Line], Told]:
    """The lines of one event, and what is told then."""
    found, now = _lines(event, told, compacted, measure.settings)
    fill = _filled(event, now, measure)
    if fill is None:
        return found, now
    before = now.windows.get(_whose(event))
    moved = event.kind != "context_assembled" and fill.limit > 0
    if moved and fill.band != (before.band if before else "calm"):
        counts = fill.chunks, now.cold
        found.append(_health(event, fill.tokens, fill.limit, counts, measure.settings))
    others = [(name, one) for name, one in now.windows.items() if name != _whose(event)]
    windows = dict([*others[-(_MOST - 1) :], (_whose(event), fill)])
    return found, replace(now, windows=windows)


def _whose(event: Event) -> str:
    return msgspec.json.encode([event.user, event.agent, event.session_id]).decode()


def _filled(event: Event, told: Told, measure: Measure) -> Fill | None:
    """How full the window of the event's session is behind it; None where it says nothing of that."""
    said: dict[str, Any] = event.payload if isinstance(event.payload, dict) else {}
    if event.session_id is None or event.agent is None or event.erased:
        return None
    known = told.windows.get(_whose(event)) or Fill(tokens=0, limit=measure.limit)
    if event.kind in SAID:
        size = (len(event.words.encode("utf-8", "replace")) + _BYTES - 1) // _BYTES
        known = replace(known, tokens=known.tokens + min(size, measure.most))
    elif event.origin != "system":
        return None
    elif event.kind == "session_started":
        return replace(known, limit=0) if said.get("skill") == HOSTED else None
    elif event.kind == "compacted" and said.get("by") == "holdfast":
        known = replace(known, tokens=known.beside + int(_number(said.get("tokens_after"), 0)))
    elif event.kind == "context_assembled":
        given = said.get("tokens")
        tokens = given if isinstance(given, dict) else {}
        total, talk = (int(_number(tokens.get(name), 0)) for name in ("total", "history"))
        chunks = told.epochs.get(_text(said.get("epoch")), 0)
        limit = window_of_context(said)
        known = Fill(tokens=total, limit=limit, beside=max(0, total - talk), chunks=chunks)
    else:
        return None
    return replace(known, band=band(known.tokens, known.limit, measure.settings))


def _lines(
    event: Event,
    told: Told,
    compacted: Callable[[Event], Compacted | None],
    settings: CompactSettings,
) -> tuple[list[Line], Told]:
    if event.origin != "system" or event.erased or not isinstance(event.payload, dict):
        return [], told
    said: dict[str, Any] = event.payload
    if event.kind == "compacted":
        of = compacted(event) if said.get("by") == "holdfast" else None
        if of is None:
            return [], told
        return list(_compaction(event, said, of)), replace(
            told, cold=max(0, told.cold + len(of.chunks) - of.back)
        )
    if event.kind == "chunk_expired":
        return [], replace(told, cold=max(0, told.cold - 1))
    if event.kind == "chunk_recovered":
        return [_recovery(event, said)], told
    if event.kind == "epoch_started":
        return list(_curation(event, said)), _shown(told, event.event_id, said)
    if event.kind == "context_assembled":
        told = _shown(told, _text(said.get("epoch")), said)
        return list(_assembled(event, said, told, settings)), told
    if event.kind == "signal_observed" and said.get("signal") == HEALTH:
        return [_reported(event, said, told, settings)], told
    if event.kind == "signal_observed" and said.get("signal") == CURATED:
        return list(_curation(event, {"curation": said})), told
    return [], told


def _compaction(event: Event, said: dict[str, Any], of: Compacted) -> Iterator[Line]:
    chosen = _json(said.get("settings"))
    chosen = chosen if isinstance(chosen, dict) else {}
    trigger = RESTORE if said.get("strategy") == RESTORE else _text(said.get("trigger"))
    archived = trigger == ARCHIVED  # nothing was weighed for it, and the window is as it was
    usual = CompactSettings()
    share = _number(chosen.get("compact_at"), usual.compact_at)
    floor = _number(chosen.get("drop"), usual.drop)
    yield (
        "compaction",
        {
            "timestamp": event.timestamp,
            "event": _EVENTS.get(trigger, "compaction_triggered"),
            "trigger": _TRIGGERS.get(trigger, trigger),
            "tokens_before": _number(said.get("tokens_before"), 0),
            "tokens_after": _number(said.get("tokens_after"), 0),
            "chunks_dropped": len(of.chunks),
            "chunks_summarized": of.summarized,
            "config_used": f"COMPACTION_TRIGGER_PCT={share:.2f}",
        },
    )
    for chunk, path in zip(of.chunks, of.paths, strict=True):
        yield (
            "drops",
            {
                "timestamp": event.timestamp,
                "event": "chunk_dropped",
                "chunk_id": chunk.id,
                "session_id": event.session_id,
                "reason": chunk.reason,
                "relevance_score": None if archived else chunk.score,
                "threshold_used": None if archived else floor,
                "cold_storage_path": "" if chosen.get("cold") is False else path,
            },
        )


def _recovery(event: Event, said: dict[str, Any]) -> Line:
    return "recovery", {
        "timestamp": event.timestamp,
        "event": "chunk_recovered",
        "chunk_id": _text(said.get("chunk")),
        "session_id": event.session_id,
        "how": _text(said.get("how")),
        "relevance_score": _number(said.get("score"), 0),
        "prompt": _text(said.get("prompt")),
    }


def _curation(event: Event, said: dict[str, Any]) -> Iterator[Line]:
    of = said.get("curation")
    if isinstance(of, dict):
        names = ("hits_found", "total_hits_before_curation", "token_savings", "drops_triggered")
        yield (
            "curation",
            {
                "timestamp": event.timestamp,
                "event": "memfas_curation",
                "query": _text(of.get("query")),
                **{name: _number(of.get(name), 0) for name in names},
            },
        )


def _shown(told: Told, epoch: str, said: dict[str, Any]) -> Told:
    shown = _json(said.get("shown"))
    count = told.epochs.get(epoch, 0) + (len(shown) if isinstance(shown, list) else 0)
    others = [(name, n) for name, n in told.epochs.items() if name != epoch]
    return replace(told, epochs=dict([*others[-(_MOST - 1) :], (epoch, count)]))


def _assembled(
    event: Event, said: dict[str, Any], told: Told, settings: CompactSettings
) -> Iterator[Line]:
    tokens = said.get("tokens")
    total = tokens.get("total") if isinstance(tokens, dict) else None
    if type(total) is int:
        chunks = told.epochs.get(_text(said.get("epoch")), 0)
        yield _health(event, total, window_of_context(said), (chunks, told.cold), settings)


def window_of_context(said: dict[str, Any]) -> int:
    """The window; where none was named, twice what the conversation may take."""
    if type(said.get("window")) is int:
        return int(said["window"])
    chosen = _json(said.get("settings"))
    compose = chosen.get("compose") if isinstance(chosen, dict) else None
    history = compose.get("history_tokens") if isinstance(compose, dict) else None
    return 2 * history if type(history) is int else 0


def _reported(event: Event, said: dict[str, Any], told: Told, settings: CompactSettings) -> Line:
    tokens, limit, chunks = (int(_number(said.get(n), 0)) for n in ("tokens", "limit", "chunks"))
    share = _number(said.get("compact_at"), settings.compact_at)
    return _health(event, tokens, limit, (chunks, told.cold), hosted(settings, share))


def _health(
    event: Event, tokens: int, limit: int, chunks: tuple[int, int], settings: CompactSettings
) -> Line:
    return "context-health", {
        "timestamp": event.timestamp,
        "current_tokens": tokens,
        "limit": limit,
        "pct_used": round(tokens / limit, 4) if limit > 0 else 1.0,
        "next_compaction_estimate": next_at(limit, settings),
        "memcached_chunks": chunks[0],
        "cold_storage_chunks": chunks[1],
    }


def _json(given: Any) -> Any:
    try:
        return msgspec.json.decode(given) if isinstance(given, str) else given
    except msgspec.MsgspecError:
        return None


def _number(given: Any, otherwise: float) -> float:
    return given if isinstance(given, int | float) and not isinstance(given, bool) else otherwise


def _text(given: Any) -> str:
    return given if isinstance(given, str) else ""
