"""From an assembled context to a pack: the receipt, the events that record it, the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture.stamp import fresh_id, timestamp
from holdfast.compose import messages, record, render
from holdfast.compose.choosing import Chosen
from holdfast.compose.render import Part
from holdfast.model.compactions import Curation
from holdfast.model.compose import SECTIONS, SHARED
from holdfast.model.epochs import Epoch
from holdfast.model.events import Draft
from holdfast.model.packs import Pack, Receipt, Shown
from holdfast.model.recall import Found

from . import nested, recall
from .wanting import Wanted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """A context before it is handed out."""

    epoch: Epoch
    parts: tuple[Part, ...]
    #: the beginning that is as it was in the context before
    before: tuple[Part, ...]
    #: the context it follows
    after: str
    chosen: Chosen
    found: Found
    #: what each section may take
    caps: Mapping[str, int]
    position: int
    #: the version of the scratchpad that is shown; 0 for none
    scratchpad: int = 0
    #: of a new epoch: why it began, and its background and index
    why: str = ""
    stable: Chosen | None = None
    #: of an epoch that began for it
    curation: Curation | None = None
    #: tokens of the conversation where a compaction was due and nothing would leave; 0 where none was
    came_to_nothing: int = 0


def handed_out(s: Session, wanted: Wanted, made: Assembled, said_by: str) -> tuple[Pack, int]:
    """The pack, once it is written down, and the first event that says so.

    `said_by` is the event that says its query, if one does.
    """
    hf = s._hf
    pack_id, now = fresh_id("pck"), hf.clock.now_ms()
    text = render.text_of(made.parts)
    receipt = _receipt(s, wanted, made, pack_id, now)
    pack = written(pack_id, text, made.parts, wanted, receipt, len(made.before))
    drafts, sources = [], (said_by,) if said_by else ()
    if not made.epoch.event_seq:
        of = sources if made.curation is not None else ()  # nothing else of it says the query
        drafts.append(_draft(s, "epoch_started", made.epoch.id, _began(hf, wanted, made), of))
    said = _said(hf, wanted, made, pack, now)
    drafts.append(_draft(s, "context_assembled", pack_id, said, sources))
    recorded = hf.record(drafts)
    return pack, recorded[0].event_seq


def written(
    pack_id: str,
    text: str,
    parts: Sequence[Part],
    wanted: Wanted,
    receipt: Receipt,
    before: int = 0,
) -> Pack:
    """A pack of these parts, of which the first so many were in the context before."""
    if wanted.format == "anthropic":
        system, said = messages.anthropic(parts, before)
    else:
        system, said = [], messages.openai(parts)
    return Pack(
        id=pack_id,
        text=text,
        messages=said,
        system=system,
        tokens=receipt.sections["total"].tokens,
        sections={name: _section(parts, name) for name in SECTIONS},
        receipt=receipt,
        new=render.text_of([part for part in parts[before:] if part.section in SHARED]),
    )


def _section(parts: Sequence[Part], name: str) -> str:
    return render.text_of([part for part in parts if part.section == name])


def _receipt(s: Session, wanted: Wanted, made: Assembled, pack_id: str, now: int) -> Receipt:
    count = s._hf.counter(wanted.model).count
    both = [*(made.stable.weighed if made.stable is not None else ()), *made.chosen.weighed]
    return Receipt(
        pack=pack_id,
        epoch=made.epoch.id,
        epoch_began=made.why,
        position=made.position,
        at=timestamp(now),
        query=wanted.query,
        model=wanted.model,
        format=wanted.format,
        budget=wanted.budget,
        window=wanted.window,
        counted_with=wanted.counted_with,
        candidates=tuple(record.read_candidates(record.candidates(both))),
        sections=record.figures(made.parts, _shown(made), made.caps, wanted.window, count),
        stable_prefix_tokens=count(render.text_of(made.before)) if made.before else 0,
        new_tokens=sum(made.chosen.tokens.values()),
        confidence=round(made.found.confidence, 6),
        notices=made.found.notices,
    )


def _shown(made: Assembled) -> list[Shown]:
    return [*made.epoch.everything(), *made.chosen.shown]


# ---- what is written down --------------------------------------------------------------------


def _draft(
    s: Session, kind: str, event_id: str, payload: dict[str, Any], sources: tuple[str, ...]
) -> Draft:
    return Draft(
        type=kind,
        payload=payload,
        origin="system",
        session_id=s.id,
        agent=s.agent,
        user=s.principal,
        event_id=event_id,
        sources=sources,
    )


def _began(hf: Holdfast, wanted: Wanted, made: Assembled) -> dict[str, Any]:
    return {
        "after": made.after,
        "key": made.epoch.key,
        "fixed": wanted.fixed(),
        "why": made.why,
        "history_from": made.epoch.history_from,
        "pinned": made.epoch.pinned,
        **({"past": made.epoch.past} if made.epoch.past else {}),
        **({"curation": msgspec.to_builtins(made.curation)} if made.curation else {}),
        "position": made.position,
        "shown": nested.safe(hf, record.entries(made.epoch.shown)),
        "candidates": nested.safe(
            hf, record.candidates(made.stable.weighed if made.stable else ())
        ),
        "system": wanted.system,
        "tools": nested.text(hf, wanted.tools),
        "generation": wanted.generation,
        "versions": record.versions(wanted.counted_with),
    }


def _said(hf: Holdfast, wanted: Wanted, made: Assembled, pack: Pack, now: int) -> dict[str, Any]:
    return {
        "epoch": made.epoch.id,
        "after": made.after,
        "before": len(made.before),
        "position": made.position,
        "now": now,
        "query": wanted.query,
        "signals": msgspec.to_builtins(wanted.signals),
        "model": wanted.model,
        "format": wanted.format,
        "budget": wanted.budget,
        "window": wanted.window,
        "new_tokens": wanted.new_tokens,
        "scratchpad": made.scratchpad,
        **({"came_to_nothing": made.came_to_nothing} if made.came_to_nothing else {}),
        "settings": nested.safe(hf, record.chosen(wanted.compose, wanted.recall)),
        "versions": record.versions(wanted.counted_with),
        "shown": nested.safe(hf, record.entries(made.chosen.shown)),
        "candidates": nested.safe(hf, record.candidates(made.chosen.weighed)),
        "confidence": pack.receipt.confidence,
        "caps": dict(made.caps),
        "generation": wanted.generation,
        "new": pack.receipt.new_tokens,
        "notices": list(made.found.notices),
        "tokens": {name: of.tokens for name, of in pack.receipt.sections.items()},
        "stable_prefix_tokens": pack.receipt.stable_prefix_tokens,
        "text": record.digest(pack.text),
        "messages": record.of_messages(pack.system, pack.messages),
    }


def elsewhere(s: Session, shown: Sequence[Shown]) -> None:
    """Logs of other projects learn what of theirs was given; this one knows from the record."""
    for log in s._hf.logs(s.principal):
        mine = [one.id for one in shown if one.project and one.project == log.project.id]
        if mine:
            whose = (s.principal, s.agent, s.id)
            log.record([recall.note(s._hf, log, "memory_recall", {"ids": mine}, whose)])
