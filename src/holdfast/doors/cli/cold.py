"""Commands about what leaves a window: compact, cold list, cold show, cold expire, recover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

import holdfast
from holdfast.app import managing
from holdfast.model.cold import Cold, Named
from holdfast.model.compactions import ARCHIVED, Compaction

from . import show
from .program import DEFAULT, PLAIN, Common, app, followed
from .sessions import MINE, Whose

cold = App(name="cold", help="What left the windows of sessions.", default_parameter=PLAIN)
app.command(cold)

Session = Annotated[str | None, Parameter(help="Default: the one that was active last.")]
Some = Annotated[int, Parameter(help="The most to list.")]


@app.command
def compact(  # noqa: PLR0913  (every option by its name)
    *,
    prompt: str = "",
    to: int | None = None,
    window: int | None = None,
    model: str = "",
    strategy: str | None = None,
    session: Session = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Make room in the window of a session. What leaves keeps a handle and comes back verbatim.

    Parameters
    ----------
    prompt
        What is asked now: what is about it stays.
    to
        So many tokens of the conversation may stay. Default: the share the settings say.
    window
        The whole window, in tokens. Default: the largest of its latest contexts.
    model
        Whose window it is, and who counts the tokens.
    strategy
        adaptive, sliding_window, token_truncation or recursive_summarization.
    """
    how = {"prompt": prompt, "to": to, "window": window, "model": model, "strategy": strategy}
    with followed(common) as hf:
        made = managing.compact(hf, session, whose.user, whose.agent, **how)
        show_compaction(made, common)
    return 0


def show_compaction(made: Compaction | None, common: Common) -> None:
    """What a compaction did, or that there was nothing to do."""
    if common.json:
        show.as_json(made)
        return
    if made is None:
        show.say("Nothing would leave; the window is as it was.")
        return
    verdicts = [one.verdict for one in made.decided]
    show.say(
        f"{made.tokens_before:,} tokens became {made.tokens_after:,}: "
        f"{verdicts.count('keep')} chunks stay, {verdicts.count('summarize')} are summarised, "
        f"{verdicts.count('drop')} left."
    )
    if made.by_rule:
        show.say(f"Summaries are by rule, not by the model that is set: {made.by_rule}.")
    rows = [
        (one.id, one.verdict, one.why, f"{one.score:.2f}", one.tokens)
        for one in made.decided
        if one.verdict != "keep"
    ]
    show.table(("chunk", "what", "why", "score", "tokens"), rows, whole="chunk")
    show.say(f"`holdfast debug {made.id}` shows every decision.")


@cold.command(name="list")
def list_(
    *,
    session: Annotated[str | None, Parameter(help="Only what left this session.")] = None,
    expired: bool = False,
    limit: Some = 100,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """List what left, what was dropped last first.

    Parameters
    ----------
    expired
        Also what ran out; its handle still shows it.
    """
    with followed(common) as hf:
        who = whose.user, whose.agent
        show_chunks(managing.left(hf, session, *who, expired=expired, limit=limit), common)
    return 0


def show_chunks(found: Sequence[Named], common: Common) -> None:
    """Chunks as a table."""
    if common.json:
        show.as_json(found)
    elif not found:
        show.say("Nothing is cold: no compaction dropped anything, or it ran out.")
    else:
        show.table(
            ("chunk", "session", "dropped", "why", "score", "tokens", "state", "says"),
            [
                (
                    one.id,
                    one.session_id,
                    show.moment(one.at),
                    one.reason,
                    "" if one.reason == ARCHIVED else f"{one.score:.2f}",
                    one.tokens,
                    _state(one),
                    show.in_short(one.says),
                )
                for one in found
            ],
            whole="chunk",
        )


def _state(one: Named) -> str:
    if one.expired:
        return f"ran out {show.moment(one.expired)}"
    back = f", back {show.moment(one.recovered)}" if one.recovered else ""
    return f"until {show.moment(one.until)}{back}"


@cold.command(name="show")
def show_(chunk_id: str, /, *, whose: Whose = MINE, common: Common = DEFAULT) -> int:
    """Show what left, verbatim; nothing is recorded.

    Parameters
    ----------
    chunk_id
        Its id, as `holdfast cold list` shows it.
    """
    with followed(common) as hf:
        managing.check_chunk(chunk_id)
        show_cold(hf.cold.get(chunk_id, user=whose.user, agent=whose.agent), common)
    return 0


def show_cold(found: Cold, common: Common) -> None:
    """A chunk with its content."""
    if common.json:
        show.as_json(found)
        return
    if found.note:
        show.warn(found.note)
    show.page(found.content)


@cold.command
def expire(
    *,
    force: Annotated[bool, Parameter(help="Yes, I mean it.", negative=())] = False,
    user: Annotated[str | None, Parameter(help="Whose. Default: yours.")] = None,
    common: Common = DEFAULT,
) -> int:
    """Say what left so long ago that it runs out; with --force remove those copies.

    Each was kept for the days that `compact.cold_days` said when it left, also where somebody came back
    for it since. What ran out is found by no search; its id still shows it.
    """
    with followed(common) as hf:
        done = hf.cold.expire(dry_run=not force, user=user)
        if common.json:
            show.as_json(done)
        elif done.paused:
            show.say(f"Nothing runs out: {done.paused}.", "yellow")
        else:
            chunks = show.count(len(done.chunks), "chunk")
            more = "; `holdfast cold expire --force` removes the copies" if done.chunks else ""
            show.say(f"{chunks} ran out." if force else f"{chunks} would run out{more}.")
    return 0


@app.command
def recover(
    chunk_id: str,
    /,
    *,
    prompt: Annotated[str, Parameter(help="What it is needed for.")] = "",
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Bring back what left, verbatim; that it was needed is recorded.

    Parameters
    ----------
    chunk_id
        Its id, as `holdfast cold list` shows it.
    """
    with followed(common) as hf:
        recovered(hf, chunk_id, prompt, whose, common)
    return 0


def recovered(
    hf: holdfast.Holdfast, chunk_id: str, prompt: str, whose: Whose, common: Common
) -> None:
    """Bring a chunk back, and show it."""
    show_cold(managing.recover(hf, chunk_id, whose.user, whose.agent, prompt), common)


def plain(found: msgspec.Struct) -> list[tuple[str, str]]:
    """The fields of something as rows."""
    return [(n.replace("_", " "), show.all_of(v)) for n, v in msgspec.to_builtins(found).items()]
