"""What is written down of a context, and read again: the decision, never the text.

A record that was damaged since, or made by hand, is refused by name: what is read is what can have been
written, each field of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from holdfast.errors import Damaged
from holdfast.model.compactions import Curation
from holdfast.model.compose import SECTIONS, ComposeSettings, Tokens
from holdfast.model.packs import SectionFigures, Shown, Signals, Weighed
from holdfast.model.recall import RecallSettings, Share
from holdfast.views.epochs import can_be

from . import items, render
from .render import Part

#: scores are written as whole numbers of millionths: the same on every machine
_UNIT = 1_000_000
#: the place of an event, a time, a number of something
Whole = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What made a text."""

    render: int
    rules: int
    counted_with: str


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a context."""

    compose: ComposeSettings
    recall: RecallSettings


class Assembly(msgspec.Struct, frozen=True, kw_only=True):
    """What `context_assembled` says."""

    epoch: str
    after: str
    #: so many of its parts were in the context before
    before: Whole
    position: Whole
    now: Whole
    query: str
    signals: Signals
    model: str
    format: Literal["openai", "anthropic"]
    budget: Tokens
    window: Tokens | None
    new_tokens: Tokens
    scratchpad: Whole
    #: as `read_chosen` reads it
    settings: str
    versions: Versions
    #: as `shown_in` reads it
    shown: str
    candidates: str
    confidence: Share
    caps: dict[str, Tokens]
    generation: Whole
    new: Whole
    notices: tuple[str, ...]
    tokens: dict[str, Whole]
    stable_prefix_tokens: Whole
    text: str
    messages: str


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """What `epoch_started` says."""

    after: str
    key: str
    fixed: str
    why: str
    history_from: Whole
    pinned: Whole
    #: the compaction whose past it shows; records of earlier versions know of none
    past: str = ""
    #: of one that began because much of what was given was beside the point
    curation: Curation | None = None
    position: Whole
    #: as `shown_in` reads it
    shown: str
    candidates: str
    system: str
    tools: str
    generation: Whole
    versions: Versions


_Kind = TypeVar("_Kind", Assembly, Beginning)


def versions(counted_with: str) -> dict[str, Any]:
    """What made the text."""
    return {"render": render.VERSION, "rules": items.RULES, "counted_with": counted_with}


def chosen(compose: ComposeSettings, recall: RecallSettings) -> str:
    """The settings as one text, all of them: what they come with may be another thing one day."""
    return msgspec.json.encode(Chosen(compose=compose, recall=recall)).decode()


def read_chosen(given: str) -> Chosen:
    """The settings as they were written; Damaged for what cannot have been."""
    try:
        return msgspec.json.decode(given, type=Chosen)
    except msgspec.MsgspecError as exc:
        raise Damaged(f"its settings cannot be read: {exc}") from exc


def digest(text: str) -> str:
    """The hash by which a text is known."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def of_messages(system: Sequence[Any], messages: Sequence[Any]) -> str:
    """The hash by which messages are known."""
    return digest(msgspec.json.encode([system, messages], order="sorted").decode())


def entries(shown: Sequence[Shown]) -> str:
    """Entries as they are written: one text."""
    return msgspec.json.encode(shown).decode()


def candidates(weighed: Sequence[Weighed]) -> str:
    """All candidates as one text: the names of their parts once, then a row for each."""
    names = sorted({name for one in weighed for name in one.parts})
    rows = [
        [
            msgspec.to_builtins(one.shown),
            one.verdict,
            _whole(one.score),
            _whole(one.relevance),
            [_whole(one.parts.get(name, 0.0)) for name in names] if one.parts else [],
            one.sizes,
            one.why,
        ]
        for one in weighed
    ]
    return msgspec.json.encode([names, rows]).decode()


def read_candidates(given: str) -> list[Weighed]:
    """The candidates as they were written; Damaged for what cannot have been."""
    try:
        names, rows = msgspec.json.decode(given, type=tuple[list[str], list[_Row]])
    except msgspec.MsgspecError as exc:
        raise Damaged(f"its candidates cannot be read: {exc}") from exc
    for row in rows:
        if not can_be(row[0]):
            raise Damaged(f"its candidates cannot be read: {row[0].id!r} is none")
    return [
        Weighed(
            shown=shown,
            verdict=verdict,
            score=score / _UNIT,
            relevance=relevance / _UNIT,
            parts={name: part / _UNIT for name, part in zip(names, parts, strict=False) if part},
            sizes=sizes,
            why=why,
        )
        for shown, verdict, score, relevance, parts, sizes, why in rows
    ]


_Millionths = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
_Row = tuple[Shown, str, _Millionths, _Millionths, list[_Millionths], tuple[Whole, ...], str]


def read(payload: Mapping[str, Any], kind: type[_Kind]) -> _Kind:
    """A record as it was written; Damaged for what cannot have been, or is of another version."""
    try:
        made = msgspec.convert(payload.get("versions"), Versions)
        if made.render > render.VERSION or made.rules > items.RULES:
            raise Damaged("it was made by a newer Holdfast; update to replay it")
        if made.render < 1 or made.rules != items.RULES:
            way = f"render {made.render}, rules {made.rules}"
            raise Damaged(f"it was made in a way that is not known here: {way}")
        found = msgspec.convert(payload, kind)
    except msgspec.ValidationError as exc:
        raise Damaged(f"its record cannot be read: {exc}") from exc
    if isinstance(found, Assembly) and set(found.tokens) != {*SECTIONS, "total"}:
        raise Damaged("its record cannot be read: it does not say what each section takes")
    return found


def figures(
    parts: Sequence[Part],
    shown: Sequence[Shown],
    caps: Mapping[str, int],
    window: int | None,
    count: Callable[[str], int],
) -> dict[str, SectionFigures]:
    """What each section takes and could take, as it is written; and all of them together."""
    made = {
        name: SectionFigures(
            tokens=count(render.text_of([part for part in parts if part.section == name])),
            cap=caps.get(name),
            entries=sum(1 for one in shown if one.section == name),
        )
        for name in SECTIONS
    }
    return {**made, "total": SectionFigures(tokens=count(render.text_of(parts)), cap=window)}


def _whole(value: float) -> int:
    return round(value * _UNIT)
