"""Commands about contexts: make one, see why it is what it is, render it again, expand what it names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from holdfast.app import compacted, packs
from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.errors import HoldfastError, Invalid, NotFound
from holdfast.model.compose import SECTIONS
from holdfast.model.packs import Pack, Receipt, Signals

from . import compactions, receipts, show
from .program import DEFAULT, Common, app, opened
from .sessions import MINE, Whose

#: the agent in whose name a context is made that belongs to no session
_NOBODY = "cli"
#: what the library advises, as it is said on the command line
_WORDS = {
    "window=…": "--window N",
    "budget=": "--budget",
    "s.context(…)": 'holdfast context "…"',
}


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


@contextmanager
def _in_words_of_the_shell() -> Iterator[None]:
    """Advice that names what a program would write names options and commands instead."""
    try:
        yield
    except HoldfastError as exc:
        told = str(exc)
        for said, here in _WORDS.items():
            told = told.replace(said, here)
        exc.args = (told,)
        raise


@app.command
def context(
    *query: str,
    session: Annotated[
        str | None,
        Parameter(help="As its next context, recorded there. Default: one that belongs to none."),
    ] = None,
    whose: Whose = MINE,
    wanted: Wanted = PLAIN,
    format: Annotated[Literal["text", "openai", "anthropic"], Parameter()] = "text",  # noqa: A002
    common: Common = DEFAULT,
) -> int:
    """Make the best context that fits, and show it.

    Without a session nothing changes for any agent: what is shown is kept as a session of its own,
    which ends at once.

    Parameters
    ----------
    query
        What is asked now, in any language, quoted or not.
    format
        As a page, or as messages.
    """
    with opened(common) as hf, _in_words_of_the_shell():
        s = _named(hf, session, whose) or hf.session(agent=whose.agent or _NOBODY, user=whose.user)
        pack = s.context(
            " ".join(query),
            budget=wanted.budget,
            window=wanted.window,
            model=wanted.model,
            system=_read(wanted.system),
            format="openai" if format == "text" else format,
            signals=Signals(file=wanted.file, activity=wanted.activity, errors=wanted.error),
        )
        if session is None:
            hf.end_session(s.id, user=whose.user, reason="shown to a person")
        if common.json:
            show.as_json({**receipts.plain(pack), "receipt": receipts.by_name(pack.receipt)})
        elif format != "text":
            show.as_json({"system": pack.system, "messages": pack.messages})
        elif pack.text:
            show.page(pack.text)
            _figures(pack.receipt)
        else:
            show.warn(
                'There is nothing to show yet: holdfast remember "…" and holdfast docs add keep '
                "something, and sessions of agents are recorded as they go."
            )
    return 0


def _named(hf: Holdfast, session_id: str | None, whose: Whose) -> Session | None:
    """The session that is named."""
    if session_id is None:
        return None
    known = hf.sessions(agent=whose.agent or "*", user=whose.user)
    for info in known:
        if info.id == session_id:
            return hf.session(agent=info.agent or _NOBODY, user=whose.user, session_id=info.id)
    raise NotFound(f"there is no session {session_id}; `holdfast session list` shows them")


def _last_active(hf: Holdfast, whose: Whose) -> Session:
    """The session that was active last, or a new one where there is none."""
    for info in hf.sessions(agent=whose.agent or "*", user=whose.user):
        return hf.session(agent=info.agent or _NOBODY, user=whose.user, session_id=info.id)
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

    Of a compaction: every decision, what it was worth, and why.

    Parameters
    ----------
    pack
        The id of a context, or of a compaction. Default: the last context.
    """
    with opened(common) as hf, _in_words_of_the_shell():
        made = pack and compacted.named(hf, pack, whose.user, whose.agent)
        if made and why is None:
            compactions.receipt(hf, made, as_json=common.json)
            return 0
        of = pack or hf.last_pack(session, agent=whose.agent, user=whose.user)
        if why is not None:
            receipts.follow(hf.why(of, why, user=whose.user), as_json=common.json)
            return 0
        receipt = hf.receipt(of, user=whose.user)
        shown = [one.shown for one in receipt.candidates]
        said = packs.told(hf, shown, whose.user or hf.user)
        if common.json:
            show.as_json(receipts.by_name(receipt, said))
        else:
            receipts.receipt(receipt, said)
    return 0


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
    with opened(common) as hf, _in_words_of_the_shell():
        of = pack or hf.last_pack(session, agent=whose.agent, user=whose.user)
        again = hf.replay(of, user=whose.user, at=at, requery=requery)
        how = "computed anew" if again.receipt.recomputed else "as it was handed out"
        if at is not None:
            how += f" as of event {at}"
        if diff is not None:
            other = hf.replay(of if diff == "." else diff, user=whose.user)
            anew = f" {how}" if again.receipt.recomputed else ""
            _diff(other, again, f"{again.id}{anew}", as_json=common.json)
        elif common.json:
            show.as_json({**receipts.plain(again), "receipt": receipts.by_name(again.receipt)})
        else:
            show.page(again.text)
            show.warn(f"{again.id}: {again.tokens:,} tokens, {how}")
    return 0


def _diff(one: Pack, other: Pack, name: str, *, as_json: bool) -> None:
    lines = list(
        difflib.unified_diff(
            one.text.splitlines(), other.text.splitlines(), one.id, name, lineterm="", n=2
        )
    )
    if as_json:
        show.as_json({"from": one.id, "to": name, "same": not lines, "diff": lines})
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
        The number of an entry, an id, a part of the conversation (events 3-40), or what is left.
    tokens
        No more than this.
    """
    with opened(common) as hf:
        s = _named(hf, session, whose) or _last_active(hf, whose)
        found = s.expand(" ".join(ref), tokens)
        if common.json:
            show.as_json(found)
            return 0
        show.page(found.text)
        if found.note:
            show.warn(found.note)
        if found.more:
            show.warn(f"There is more: holdfast expand {found.more}")
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
