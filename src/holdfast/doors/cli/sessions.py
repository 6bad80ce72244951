"""Commands about sessions: list, show, end, status, restore, and making the index anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from holdfast.app import rebuild as rebuild_app
from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.errors import Invalid
from holdfast.model.compactions import Pressure
from holdfast.model.memories import Memory, as_dict
from holdfast.model.sessions import Checkpoint, SessionInfo, SessionState, SessionStatus, Thread
from holdfast.text.extract import cut

from . import show
from .program import DEFAULT, PLAIN, Common, app, opened

#: of what is open, so many are told, in so many characters
_THREADS, _LINE = 5, 160

session = App(name="session", help="The conversations of agents.", default_parameter=PLAIN)
app.command(session)

User = Annotated[str | None, Parameter(help="Whose sessions. Default: yours.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Whose:
    """Of which sessions."""

    agent: Annotated[str | None, Parameter(help="Only this agent's sessions.")] = None
    user: User = None


MINE = Whose()


@session.command(name="list")
def list_(*, whose: Whose = MINE, open_only: bool = False, common: Common = DEFAULT) -> int:
    """List sessions, the latest first.

    Parameters
    ----------
    open_only
        Leave out those that ended.
    """
    with opened(common) as hf:
        known = hf.sessions(agent=whose.agent, user=whose.user)
        found = [info for info in known if info.open or not open_only]
        if common.json:
            show.as_json(found)
        elif not found:
            who = f"{whose.agent or 'any agent'} for {whose.user or hf.user}"
            show.say(f"No {'open ' if open_only else ''}session of {who} in this project yet.")
        else:
            columns = (
                "session",
                "agent",
                "workflow",
                "began",
                "lasted",
                "turns",
                "events",
                "state",
            )
            show.table(columns, [_listed(info) for info in found])
    return 0


def _listed(info: SessionInfo) -> tuple[Any, ...]:
    open_ = Text("open", "bold green")
    return (
        info.id,
        info.agent or "",
        info.workflow or "",
        show.moment(info.started_at),
        show.span(info.started_at, info.ended_at or info.last_at),
        info.turns,
        info.events,
        open_ if info.open else info.ended_because or "ended",
    )


@session.command(name="show")
def show_(
    session_id: str | None = None,
    /,
    *,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Show all a session knows about its own work.

    Parameters
    ----------
    session_id
        Default: the one that was active last.
    """
    with opened(common) as hf:
        state = hf.state(session_id, agent=whose.agent, user=whose.user)
        if common.json:
            show.as_json(state)
        else:
            _show_state(state)
    return 0


@session.command
def end(
    session_id: str | None = None,
    /,
    *,
    workflow: str | None = None,
    reason: str | None = None,
    user: User = None,
    common: Common = DEFAULT,
) -> int:
    """End a session, or every open one of a workflow.

    Parameters
    ----------
    session_id
        Default: the open one that was active last.
    workflow
        End every open session of this workflow instead.
    reason
        Why; kept with the session.
    """
    if session_id is not None and workflow is not None:
        raise Invalid("name a session or a workflow, not both")
    with opened(common) as hf:
        if workflow is not None:
            ended = hf.end_workflow(workflow, user=user, reason=reason or "workflow end")
        else:
            ended = [hf.end_session(session_id, user=user, reason=reason or "ended by hand")]
        if common.json:
            show.as_json([info.id for info in ended])
        elif not ended:
            show.say(f"No open session of workflow {workflow}.")
        for info in [] if common.json else ended:
            show.say(f"Session {info.id} of {info.agent or 'no named agent'} has ended.")
    return 0


@app.command
def status(
    session_id: str | None = None,
    /,
    *,
    window: int | None = None,
    model: str = "",
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Where a session stands: how long, how many events and tokens, scratchpad, checkpoints.

    Parameters
    ----------
    session_id
        Default: the one that was active last.
    window
        The whole window, in tokens. Default: that of its last context.
    model
        Whose window it is instead.
    """
    with opened(common) as hf:
        with show.progress("reading the log", hf.log.head().event_seq) as progress:
            found = hf.status(
                session_id,
                agent=whose.agent,
                user=whose.user,
                window=window,
                model=model,
                progress=progress,
            )
        if common.json:
            show.as_json(found)
        else:
            show_status(found)
    return 0


def show_status(found: SessionStatus) -> None:
    """A status as a table."""
    state, info = found.state, found.state.info
    about = " ".join(x for x in (info.workflow, info.skill, info.git_branch, info.workspace) if x)
    near = "" if found.tokens_exact else "about "
    last = state.checkpoints[-1] if state.checkpoints else None
    rows: list[tuple[object, object]] = [
        ("session", f"{info.id} of {info.agent} for {info.user}"),
        ("about", about),
        ("state", "open" if info.open else f"ended: {info.ended_because}"),
        ("lasted", show.span(info.started_at, info.ended_at or info.last_at)),
        ("events", f"{show.count(info.events, 'event')} in {show.count(info.turns, 'turn')}"),
        ("tokens", f"{near}{found.tokens:,} ({found.counted_with})"),
        (
            "scratchpad",
            f"version {state.scratchpad.version}, {show.count(len(state.scratchpad.content), 'note')}",
        ),
        *((f"  {name}", show.one_line(value)) for name, value in state.scratchpad.content.items()),
        ("open", _open(state.threads) or "nothing"),
        (
            "checkpoints",
            f"{len(state.checkpoints)}, last: {last.why} (event {last.event_seq})"
            if last
            else "none",
        ),
        ("retrieved", "\n".join(found.retrieved) or "nothing"),
        ("last context", found.last_pack or "none"),
        ("compaction", _compacted(found)),
        ("window", _window(found.pressure)),
        ("snapshot", f"event {found.snapshot_seq} of {found.through}"),
    ]
    show.table(("status", ""), [row for row in rows if row[1] != ""])


def _open(threads: Sequence[Thread]) -> str:
    """The first of what is open, each on a line, and how many more there are."""
    told = [cut(f"{one.what}: {one.text}", _LINE) for one in threads[:_THREADS]]
    more = len(threads) - len(told)
    return "\n".join([*told, *([f"and {more} more"] if more else [])])


def _compacted(found: SessionStatus) -> str:
    if found.past:
        return f"the last one is {found.past}; `holdfast debug {found.past}` shows it"
    return f"by its host, event {found.compacted}" if found.compacted else "none"


def _window(full: Pressure | None) -> str:
    """How full a window is, and when the next compaction will be."""
    if full is None:
        return ""
    used = f"{full.tokens:,} of {full.limit:,} tokens, {full.pct:.0%}, {full.band}"
    if full.tokens >= full.next_at:
        return f"{used}; a compaction is due and comes as soon as a new beginning pays"
    turns = "" if full.turns_left is None else f", about {show.count(full.turns_left, 'turn')} away"
    return f"{used}; next compaction at {full.next_at:,}{turns}"


def _show_state(state: SessionState) -> None:
    info = state.info
    verdict = "open" if info.open else f"ended: {info.ended_because}"
    show.say(f"Session {info.id} of {info.agent} for {info.user}, {verdict}", "bold")
    sections: list[tuple[str, tuple[str, ...], list[tuple[object, ...]]]] = [
        (
            f"Scratchpad, version {state.scratchpad.version}",
            ("note", ""),
            [(name, show.one_line(value)) for name, value in state.scratchpad.content.items()],
        ),
        (
            "Open",
            ("what", "text", "event"),
            [(t.what, t.text, t.event_seq or "") for t in state.threads],
        ),
        ("Decisions", ("event", "text"), [(d.event_seq, d.text) for d in state.decisions]),
        (
            "Gates",
            ("gate", "stands", "attempts", "note"),
            [(g.gate, _verdict(g.passed), g.attempts, g.note) for g in state.gates],
        ),
        (
            "Errors and what followed",
            ("event", "error", "then", "settled by"),
            [
                (
                    e.event_seq,
                    e.text,
                    "\n".join(f"{s.kind}: {s.text}" for s in e.followed),
                    e.resolved_by or "",
                )
                for e in state.errors
            ],
        ),
        ("Tasks", ("task", "done"), [(t.text, t.done_at or "") for t in state.tasks]),
        (
            "Files",
            ("path", "last tool", "times", "changed"),
            [(f.path, f.tool, f.times, "yes" if f.changed else "") for f in state.files[-20:]],
        ),
        (
            "Checkpoints",
            ("event", "at", "why"),
            [(*_point(c), c.why) for c in state.checkpoints],
        ),
    ]
    for title, columns, rows in sections:
        if rows:
            show.table(columns, rows, title)


def _point(of: Checkpoint) -> tuple[str, str]:
    """Its place, its id alone on a line where it can be gone back to, and when it was made."""
    return show.clean(f"{of.event_seq}\n{of.event_id}" if of.whole else f"{of.event_seq}"), (
        show.moment(of.at)
    )


def one_of(hf: Holdfast, session_id: str | None, whose: Whose) -> Session:
    """The session of that id, or the one that was active last."""
    info = hf.state(session_id, agent=whose.agent, user=whose.user).info
    return hf.session(agent=info.agent or "", user=info.user, session_id=info.id)


@session.command
def checkpoints(
    session_id: str | None = None, /, *, whose: Whose = MINE, common: Common = DEFAULT
) -> int:
    """List the working contexts of a session that were saved whole, the last one first.

    Parameters
    ----------
    session_id
        Default: the one that was active last.
    """
    with opened(common) as hf:
        found = one_of(hf, session_id, whose).checkpoints()
        if common.json:
            show.as_json(found)
        elif not found:
            show.say("No checkpoint of it yet. A full window makes one, `s.flash_save` another.")
        else:
            rows = [(*_point(one), one.trigger, f"{one.tokens:,}") for one in found]
            show.table(("checkpoint", "at", "why", "tokens"), rows, whole="checkpoint")
    return 0


@session.command
def resume(
    checkpoint: str,
    /,
    *,
    session: str | None = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Go back to a working context that was saved: window, scratchpad and items as they were.

    What came since keeps its handles, and a later checkpoint can be gone back to as well.

    Parameters
    ----------
    checkpoint
        Its id or its event, as `holdfast session checkpoints` shows them.
    session
        Of which session. Default: the one that was active last.
    """
    number = checkpoint.isascii() and checkpoint.isdigit()
    known: str | int = int(checkpoint[:16]) if number else checkpoint
    with opened(common) as hf:
        made = one_of(hf, session, whose).resume_from(known)
        if common.json:
            show.as_json(made)
        else:
            show.say(f"Gone back to {made.trigger}: the window holds {made.tokens_after:,} tokens.")
    return 0


def _verdict(passed: bool) -> Text:
    return Text("passed", "green") if passed else Text("failed", "bold red")


@app.command
def restore(
    which: str | None = None,
    /,
    *,
    whose: Whose = MINE,
    tokens: int = 4_000,
    common: Common = DEFAULT,
) -> int:
    """Print a session's context, to go on with; or bring a forgotten memory back.

    Parameters
    ----------
    which
        A session or a memory. Default: the session that was active last.
    tokens
        The most the page of a session may take.
    """
    with opened(common) as hf:
        found = hf.restore(which, agent=whose.agent, user=whose.user, tokens=tokens)
        if isinstance(found, Memory):
            if common.json:
                show.as_json(as_dict(found))
            else:
                show.say(f"In use again: {found.summary}")
        elif common.json:
            show.as_json(found)
        else:
            show.page(found.text)
    return 0


@app.command
def rebuild(*, common: Common = DEFAULT) -> int:
    """Make the index anew from the log alone, and compare what it says with what was there."""
    with opened(common) as hf:
        with show.progress("rebuilding", hf.log.head().event_seq) as progress:
            done = rebuild_app.rebuild(hf, progress)
        if common.json:
            show.as_json(done)
        else:
            verdict = {
                True: Text("the same state as before", "green"),
                False: Text("the index was wrong and is right now", "bold yellow"),
                None: Text("there was no index to compare with", "yellow"),
            }[done.same]
            rows = [
                ("events", f"{done.events:,} in {done.seconds:.2f} s"),
                ("sessions", f"{done.sessions:,}"),
                ("state hash", done.state_hash),
                ("verdict", verdict),
            ]
            show.table(("rebuilt", ""), rows)
    return 0
