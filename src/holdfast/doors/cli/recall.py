"""The command that finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from holdfast.errors import Invalid
from holdfast.model.items import as_dict as item_as_dict
from holdfast.model.memories import as_dict
from holdfast.model.recall import Found, Hit

from . import show
from .program import DEFAULT, ME, Asker, Common, app, opened

_TRUST = ("foreign", "tool", "agent", "person")
#: columns before the text of a hit
_INDENT = 10
#: parts of a score that are not log odds of the relevance
_SHARES = ("recency", "importance", "usage")
_AFTER = ("relevance", *_SHARES, "breadth")
_COMBINE = {
    "default": "shares multiply it: score = relevance × (1 + shares)",
    "seed": "shares add to it: score = 0.4 × relevance + shares",
}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """Which of everything."""

    scope: Annotated[
        Literal["session", "user", "project", "app", "system", "all"],
        Parameter(help="Turns of conversations, yours everywhere, the project's, everybody's."),
    ] = "all"
    kind: Annotated[
        Literal["fact", "episode", "pattern", "workflow", "document", "item"] | None,
        Parameter(help="Only memories of this kind, only documents, or only items."),
    ] = None
    category: Annotated[
        Literal["facts", "preferences", "rules", "skills", "context"] | None,
        Parameter(help="Only memories of this category."),
    ] = None
    tag: Annotated[
        tuple[str, ...],
        Parameter(help="Only memories with all of these; give it again.", negative=()),
    ] = ()
    since: Annotated[
        str | None, Parameter(help="Not before this day or time: 2026-01-31 or 2026-01-31T09:30Z.")
    ] = None
    until: Annotated[str | None, Parameter(help="Before this day or time.")] = None
    as_of: Annotated[str | None, Parameter(help="As things stood on this day or time.")] = None


ALL = Narrowed()


@app.command
def recall(
    *query: Annotated[str, Parameter(required=True)],
    k: Annotated[int, Parameter(name=["-k", "--limit"])] = 10,
    narrowed: Narrowed = ALL,
    asker: Asker = ME,
    min_relevance: float | None = None,
    explain: Annotated[bool, Parameter(negative=())] = False,
    common: Common = DEFAULT,
) -> int:
    """Find what is remembered about a question: turns of conversations, memories, documents.

    Parameters
    ----------
    query
        A question or a few words, in any language, quoted or not.
    k
        The most hits to show.
    min_relevance
        Leave out hits less likely than this to be what was asked for, 0 to 1.
    explain
        Show every part of each score, and how they combine.
    """
    asked = " ".join(query)
    if not asked.strip():
        raise Invalid('ask something: holdfast recall "which database do we use?"')
    with opened(common) as hf:
        found = hf.recall(
            asked,
            k,
            user=asker.user,
            agent=asker.agent,
            scope=narrowed.scope,
            kind=narrowed.kind,
            category=narrowed.category,
            tags=narrowed.tag,
            since=narrowed.since,
            until=narrowed.until,
            as_of=narrowed.as_of,
            min_relevance=min_relevance,
        )
        if common.json:
            show.as_json(_for_machines(found))
        else:
            _show(found, combine=_COMBINE[hf.settings.recall.profile] if explain else None)
            for notice in found.notices:
                if notice not in hf.notices:  # those are said when it is closed
                    show.warn(notice)
    return 0


def _for_machines(found: Found) -> dict[str, Any]:
    def said(hit: Hit) -> dict[str, Any]:
        fields = {name: getattr(hit, name) for name in hit.__struct_fields__}
        # of a document, path and lines are the answer, not all that its event holds
        event = None if hit.path else hit.event
        memory = as_dict(hit.memory) if hit.memory is not None else None
        item = item_as_dict(hit.item) if hit.item is not None else None
        return {**fields, "event": event, "memory": memory, "item": item}

    return {
        "query": found.query,
        "confidence": found.confidence,
        "notices": found.notices,
        "hits": [said(hit) for hit in found],
    }


def _show(found: Found, *, combine: str | None) -> None:
    if not found:
        show.say(
            "Nothing is remembered that seems to answer this; --min-relevance 0 shows the nearest."
        )
        return
    for rank, hit in enumerate(found, 1):
        head = Text.assemble((f"{rank:>2}. ", "bold"), (f"{hit.relevance:4.0%}  ", "green"))
        show.beside(head, hit.text)
        show.indented(" · ".join(_about(hit)), _INDENT, "dim")
        if combine:
            _explain(hit)
    show.say(f"\nChance that the answer is among these: {found.confidence:.0%}.")
    if combine:
        show.say(f"Log odds make the relevance; {combine}.")
        if any("breadth" in hit.parts for hit in found):
            show.say("A broad question: further hits of one conversation count exp(breadth) times.")


def _explain(hit: Hit) -> None:
    """The parts of a score, those of one unit together, and what they come to."""
    odds = {name: value for name, value in hit.parts.items() if name not in _AFTER}
    shares = {name: value for name, value in hit.parts.items() if name in _SHARES}
    rows = {"log odds": _parts(odds), "shares": _parts(shares)}
    if "breadth" in hit.parts:
        rows["breadth"] = f"{hit.parts['breadth']:+.3f}"
    rows["together"] = f"relevance {hit.relevance:.3f}  score {hit.score:.3f}"
    for title, said in rows.items():
        show.beside(Text(" " * _INDENT + f"{title:<10}", "cyan"), said, "cyan")


def _parts(values: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:+.3f}" for name, value in values.items())


def _about(hit: Hit) -> list[str]:
    """Where a hit comes from, how far it can be believed, what belongs to it, when it was used."""
    said = [hit.id, show.moment(hit.at), f"{_TRUST[hit.trust]}'s word"]
    if hit.memory is not None:
        of = hit.memory
        said[1:1] = [
            f"{of.kind} ({of.scope})",
            *([f"for {of.applies_to}"] if of.applies_to else ()),
        ]
        said += [" → ".join(of.steps)] if of.steps else []
        said.append(f"believed {of.confidence:.0%}")
    elif hit.path:
        said[:1] = [f"{hit.path}:{hit.line}", *([hit.title] if hit.title else ())]
    elif hit.item is not None:
        said[1:1] = [f"item {hit.item.type} of {hit.item.agent}", hit.item.tier]
    elif hit.event is not None:
        said[1:1] = [hit.event.kind.replace("_", " "), f"{hit.speaker} in {hit.event.session_id}"]
    if hit.related:
        said.append(f"related {', '.join(hit.related[:3])}")
    used = hit.usage.last_at
    said.append(f"last used {show.moment(used)}" if used else "not used yet")
    return said
