"""Commands about contexts: make one, see why it is what it is, render it again, expand what it names."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.errors import Invalid, NotFound
from holdfast.model.compose import LEVELS, SECTIONS
from holdfast.model.packs import REASONS, Pack, Receipt, Signals, Weighed

from . import show
from .program import DEFAULT, Common, app, opened
from .sessions import MINE, Whose

#: the agent in whose name a context is made where nobody has a session yet
_NOBODY = "cli"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the context is for, and how large it may be."""

    budget: Annotated[int | None, Parameter(help="Tokens of all that memory adds.")] = None
    window: Annotated[int | None, Parameter(help="Tokens of everything.")] = None
    model: Annotated[str | None, Parameter(help="Whose tokens count, and whose window.")] = None
    system: Annotated[str | None, Parameter(help="Instructions; @FILE reads them.")] = None
    file: Annotated[str, Parameter(help="The file that is open.")] = ""
    activity: Annotated[str, Parameter(help="What is being done, such as debugging.")] = ""
    error: Annotated[
        tuple[str, ...], Parameter(help="What was seen to fail; give it again.", negative=())
    ] = ()


PLAIN = Wanted()


@app.command
def context(
    *query: str,
    session: Annotated[str | None, Parameter(help="Default: the one active last.")] = None,
    whose: Whose = MINE,
    wanted: Wanted = PLAIN,
    format: Annotated[Literal["text", "openai", "anthropic"], Parameter()] = "text",  # noqa: A002
    common: Common = DEFAULT,
) -> int:
    """Make the best context that fits, and show it.

    Parameters
    ----------
    query
        What is asked now, in any language, quoted or not.
    format
        As a page, or as messages.
    """
    with opened(common) as hf:
        s = _session(hf, session, whose)
        pack = s.context(
            " ".join(query),
            budget=wanted.budget,
            window=wanted.window,
            model=wanted.model,
            system=_read(wanted.system),
            format="openai" if format == "text" else format,
            signals=Signals(file=wanted.file, activity=wanted.activity, errors=wanted.error),
        )
        if common.json:
            show.as_json(pack)
        elif format == "text":
            show.page(pack.text)
            _figures(pack.receipt)
        else:
            show.as_json({"system": pack.system, "messages": pack.messages})
    return 0


def _session(hf: Holdfast, session_id: str | None, whose: Whose) -> Session:
    """The session that is meant: the one named, the one active last, or a new one."""
    known = hf.sessions(agent=whose.agent or "*", user=whose.user)
    found = [info for info in known if session_id in (None, info.id)]
    if found:
        info = found[0]
        return hf.session(agent=info.agent or _NOBODY, user=whose.user, session_id=info.id)
    if session_id is not None:
        raise NotFound(f"there is no session {session_id}; `holdfast session list` shows them")
    return hf.session(agent=whose.agent or _NOBODY, user=whose.user)


def _read(given: str | None) -> str | None:
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise Invalid(f"--system {given}: {exc}") from exc


def _figures(receipt: Receipt) -> None:
    """How the tokens are divided, on stderr: the page itself may go to a file."""
    said = [f"{name} {receipt.sections[name].tokens}" for name in SECTIONS]
    whole = receipt.sections["total"].tokens
    show.warn(
        f"{receipt.pack}: {whole:,} tokens ({', '.join(said)}); "
        f"{receipt.stable_prefix_tokens:,} as before, {receipt.new_tokens:,} new"
    )


# ---- why ---------------------------------------------------------------------------------------


@app.command
def debug(
    pack: str | None = None,
    *,
    why: Annotated[str | None, Parameter(help="Follow one memory, event or number.")] = None,
    session: Annotated[str | None, Parameter(help="Its last context.")] = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Show why a context is what it is: every candidate, taken or not, and the reason.

    Parameters
    ----------
    pack
        The id of a context. Default: the last one.
    """
    with opened(common) as hf:
        of = pack or hf.last_pack(session, agent=whose.agent, user=whose.user)
        if why is not None:
            followed = hf.why(of, why, user=whose.user)
            if common.json:
                show.as_json(followed)
            else:
                show.say(f"{followed.of} in {followed.pack}", "bold")
                for number, step in enumerate(followed.steps, 1):
                    show.beside(Text(f"{number:>3}. "), step)
            return 0
        receipt = hf.receipt(of, user=whose.user)
        if common.json:
            show.as_json(receipt)
        else:
            _receipt(receipt)
    return 0


def _receipt(of: Receipt) -> None:
    show.say(f"{of.pack}  {show.moment(of.at)}  behind event {of.position}", "bold")
    show.say(f"asked: {of.query or '(nothing)'}")
    began = f"began with it: {of.epoch_began}" if of.epoch_began else "goes on"
    show.say(f"epoch {of.epoch} {began}; {of.stable_prefix_tokens:,} tokens as before")
    rows = [
        (name, figures.entries or "", f"{figures.tokens:,}", _cap(figures.cap))
        for name, figures in of.sections.items()
    ]
    show.table(("section", "entries", "tokens", "of"), rows, f"{of.counted_with} tokens")
    order = sorted(of.candidates, key=lambda one: (one.verdict != "taken", -one.score))
    show.table(
        ("n", "what", "tokens", "relevance", "verdict"),
        [_candidate(one) for one in order],
        f"{len(of.candidates)} candidates",
    )
    for name in sorted({one.verdict for one in of.candidates}):
        show.say(f"{name}: {REASONS.get(name, name)}", "dim")
    show.say(f"Chance that the answer was found: {of.confidence:.0%}.")


def _cap(cap: int | None) -> str:
    return "" if cap is None else f"{cap:,}"


def _candidate(one: Weighed) -> tuple[Any, ...]:
    taken = one.verdict == "taken"
    size = one.shown.tokens if taken else next(iter(one.sizes), "")
    return (
        one.shown.number or "",
        f"{one.shown.id}\n{one.shown.section}: {one.shown.kind}",
        f"{size} {LEVELS[one.shown.level]}" if taken else f"({size})" if size else "",
        f"{one.relevance:.4f}" if one.parts else f"worth {one.score:.2f}",
        Text(one.verdict, "green" if taken else "yellow"),
    )


# ---- again -------------------------------------------------------------------------------------


@app.command
def replay(
    pack: str | None = None,
    *,
    at: Annotated[int | None, Parameter(help="As if the log ended with this event.")] = None,
    requery: Annotated[bool, Parameter(help="Ask again as things stood.", negative=())] = False,
    diff: Annotated[
        str | None, Parameter(help="Show what differs from this context; . is the one replayed.")
    ] = None,
    session: Annotated[str | None, Parameter(help="Its last context.")] = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Render a context again from the log, byte for byte.

    Parameters
    ----------
    pack
        The id of a context. Default: the last one.
    """
    with opened(common) as hf:
        of = pack or hf.last_pack(session, agent=whose.agent, user=whose.user)
        again = hf.replay(of, user=whose.user, at=at, requery=requery)
        if diff is not None:
            other = hf.replay(of if diff == "." else diff, user=whose.user)
            _diff(other, again, as_json=common.json)
        elif common.json:
            show.as_json(again)
        else:
            show.page(again.text)
            how = "computed anew" if again.receipt.recomputed else "as it was handed out"
            show.warn(f"{again.id}: {again.tokens:,} tokens, {how}")
    return 0


def _diff(one: Pack, other: Pack, *, as_json: bool) -> None:
    lines = list(
        difflib.unified_diff(
            one.text.splitlines(), other.text.splitlines(), one.id, other.id, lineterm="", n=2
        )
    )
    if as_json:
        show.as_json({"from": one.id, "to": other.id, "same": not lines, "diff": lines})
    elif lines:
        show.page("\n".join(lines))
    else:
        show.say("No difference.")


@app.command
def expand(
    *ref: Annotated[str, Parameter(required=True)],
    tokens: int = 2_000,
    session: Annotated[str | None, Parameter(help="Default: the one active last.")] = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Show all of what a context names in short.

    Parameters
    ----------
    ref
        The number of an entry, an id, or a part of the conversation: events 3-40.
    tokens
        No more than this.
    """
    with opened(common) as hf:
        found = _session(hf, session, whose).expand(" ".join(ref), tokens)
        if common.json:
            show.as_json(found)
        else:
            show.page(found.text)
    return 0


@app.command
def topics(
    *,
    limit: Annotated[int, Parameter(name=["-n", "--limit"])] = 50,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """List what can be asked about, the most often named first.

    Parameters
    ----------
    limit
        The most topics to show.
    """
    with opened(common) as hf:
        found = hf.topics(limit, user=whose.user, agent=whose.agent)
        if common.json:
            show.as_json(found)
        elif not found:
            show.say('Nothing is remembered yet; holdfast remember "…" begins.')
        else:
            rows = [(topic.name, topic.memories, topic.ids[0]) for topic in found]
            show.table(("topic", "memories", "the latest"), rows)
    return 0
