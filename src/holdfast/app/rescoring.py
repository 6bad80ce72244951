"""A context as other settings would have made it, from the candidates that were written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.compose import render
from holdfast.compose.choosing import Candidate, Chooser
from holdfast.compose.rescoring import rescored
from holdfast.errors import Invalid
from holdfast.model.compose import ComposeSettings
from holdfast.model.packs import Pack, SectionFigures, Weighed
from holdfast.model.recall import RecallSettings

from .assembling import Sheet
from .packing import written
from .replaying import Recorded, receipt_of, recorded
from .showing import Showing

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: verdicts that no setting changes
_SETTLED = frozenset({"duplicate", "untrusted", "superseded", "expired"})


def replay_with(
    hf: Holdfast, pack_id: str, user: str, settings: ComposeSettings | RecallSettings
) -> Pack:
    """The context under other settings of recall or of compose; what an epoch began with stays."""
    of = recorded(hf, pack_id, user)
    before = of.wanted
    if isinstance(settings, ComposeSettings):
        wanted = replace(before, compose=settings, new_tokens=settings.new_tokens)
        wanted = replace(wanted, budget=_budget(before.budget, before.compose, settings))
    elif isinstance(settings, RecallSettings):
        wanted = replace(before, recall=settings)
    else:
        raise Invalid("settings are a RecallSettings or a ComposeSettings")
    sheet = Sheet(wanted, hf.counter_named(wanted.counted_with), Showing(hf, user))
    receipt = receipt_of(of)
    found = [one for one in receipt.candidates if one.shown.section in ("critical", "relevant")]
    candidates = [
        _candidate(sheet, one, wanted.compose)
        for one in rescored(found, before.recall, wanted.recall)
    ]
    stable, notes = sheet.entries(of.epoch.shown), sheet.notes(of.pad)
    added = [part for parts in sheet.added(of.epoch).values() for part in parts]
    left = sheet.budget.total - sheet.size([*stable, *added]) - sheet.budget.scratchpad
    room = sheet.room(of.epoch, of.talk, left, wanted.new_tokens)
    chosen = Chooser(wanted.compose, sheet.count, _number(of)).choose(candidates, room)
    talk = sheet.talk(of.epoch, of.talk, of.first)
    parts = (*sheet.fixed, *stable, *talk, *chosen.parts, *notes)
    receipt = replace(
        receipt,
        budget=wanted.budget,
        candidates=chosen.weighed,
        sections={
            **receipt.sections,
            **{
                name: SectionFigures(
                    tokens=tokens,
                    cap=sheet.budget.caps[name],
                    entries=sum(1 for one in chosen.shown if one.section == name),
                )
                for name, tokens in chosen.tokens.items()
            },
            "total": SectionFigures(tokens=sheet.size(parts), cap=wanted.window),
        },
        new_tokens=sum(chosen.tokens.values()),
        recomputed=True,
    )
    return written(pack_id, render.text_of(parts), parts, wanted, receipt)


def _budget(asked: int, before: ComposeSettings, after: ComposeSettings) -> int:
    """The budget of the settings, unless the caller had asked for another one."""
    return after.budget if asked == before.budget else asked


def _candidate(sheet: Sheet, one: Weighed, settings: ComposeSettings) -> Candidate:
    verdict = one.verdict if one.verdict in _SETTLED else ""
    if not verdict and "relevance" in one.parts and one.relevance < settings.floor:
        verdict = "floor"
    return Candidate(
        item=sheet.showing.item(one.shown),
        section=one.shown.section,
        score=one.score,
        relevance=one.relevance,
        parts=one.parts,
        verdict=verdict,
        why=one.why,
        must=one.shown.kind == "correction",
    )


def _number(of: Recorded) -> int:
    """The first number this context could give."""
    return max([0, *(one.number for one in of.epoch.everything())]) + 1
