"""The command that finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from holdfast.model.memories import as_dict
from holdfast.model.recall import Found, Hit

from . import show
from .program import DEFAULT, Common, app, opened
from .sessions import MINE, Whose

_TRUST = ("foreign", "tool", "agent", "person")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """Which of everything."""

    scope: Annotated[
        Literal["session", "user", "project", "app", "system", "all"],
        Parameter(help="Turns of conversations, yours everywhere, the project's, everybody's."),
    ] = "all"
    kind: Annotated[
        Literal["fact", "episode", "pattern", "workflow"] | None, Parameter(help="Only memories.")
    ] = None
    category: Annotated[
        Literal["facts", "preferences", "rules", "skills", "context"] | None,
        Parameter(help="Only memories of this category."),
    ] = None
    tag: Annotated[list[str] | None, Parameter(help="Memories with this tag; may repeat.")] = None
    since: Annotated[
        str | None, Parameter(help="Not before this day or time: 2026-01-31 or 2026-01-31T09:30Z.")
    ] = None
    until: Annotated[str | None, Parameter(help="Before this day or time.")] = None
    as_of: Annotated[str | None, Parameter(help="As things stood on this day or time.")] = None


ALL = Narrowed()


@app.command
def recall(
    query: str,
    /,
    *,
    k: Annotated[int, Parameter(name=["-k", "--limit"])] = 10,
    narrowed: Narrowed = ALL,
    whose: Whose = MINE,
    min_relevance: float | None = None,
    explain: bool = False,
    common: Common = DEFAULT,
) -> int:
    """Find what is remembered about a question: turns of conversations and memories.

    Parameters
    ----------
    query
        A question or a few words, in any language.
    k
        The most hits to show.
    min_relevance
        Leave out hits less likely than this to be what was asked for, 0 to 1.
    explain
        Show every part of each score.
    """
    with opened(common) as hf:
        found = hf.recall(
            query,
            k,
            user=whose.user,
            agent=whose.agent,
            scope=narrowed.scope,
            kind=narrowed.kind,
            category=narrowed.category,
            tags=narrowed.tag or (),
            since=narrowed.since,
            until=narrowed.until,
            as_of=narrowed.as_of,
            min_relevance=min_relevance,
        )
        if common.json:
            show.as_json(_for_machines(found))
        else:
            _show(found, explain=explain)
    return 0


def _for_machines(found: Found) -> dict[str, Any]:
    def said(hit: Hit) -> dict[str, Any]:
        fields = {name: getattr(hit, name) for name in hit.__struct_fields__}
        return {**fields, "memory": as_dict(hit.memory) if hit.memory is not None else None}

    return {
        "query": found.query,
        "confidence": found.confidence,
        "notices": found.notices,
        "hits": [said(hit) for hit in found],
    }


def _show(found: Found, *, explain: bool) -> None:
    if not found:
        show.say(
            "Nothing is remembered that seems to answer this; --min-relevance 0 shows the nearest."
        )
    for rank, hit in enumerate(found, 1):
        show.out().print(
            Text.assemble(
                (f"{rank:>2}. ", "bold"),
                (f"{hit.relevance:4.0%}  ", "green"),
                show.clean(hit.text),
            )
        )
        show.indented(" · ".join(_about(hit)), 10, "dim")
        if explain:
            parts = "  ".join(f"{name} {value:+.3f}" for name, value in hit.parts.items())
            show.indented(parts, 10, "cyan")
    if found:
        show.say(f"\nChance that the answer is among these: {found.confidence:.0%}.")
    for notice in found.notices:
        show.warn(notice)


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
    elif hit.event is not None:
        said[1:1] = [hit.event.kind.replace("_", " "), f"{hit.speaker} in {hit.event.session_id}"]
    if hit.related:
        said.append(f"related {', '.join(hit.related[:3])}")
    used = hit.usage.last_at
    said.append(f"last used {show.moment(used)}" if used else "not used yet")
    return said
