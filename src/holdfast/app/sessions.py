"""The verbs that read sessions: list, active, state, status, restore, ending a workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.errors import Conflict, Invalid, Limit, NotFound
from holdfast.model.compactions import Pressure
from holdfast.model.epochs import Epochs
from holdfast.model.events import Draft
from holdfast.model.sessions import (
    Restored,
    Scratchpad,
    SessionInfo,
    SessionState,
    SessionStatus,
)
from holdfast.record import limits
from holdfast.views import state as views
from holdfast.views.epochs import EpochView
from holdfast.views.runner import Reading
from holdfast.views.scratchpad import LARGEST, merged, too_large
from holdfast.views.transcript import SPOKEN
from holdfast.views.view import session_key

from . import history, restored

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: a session that spans more of the log has its tokens counted in its latest events and estimated
#: before them
_COUNTED = 20_000
#: of what a session was given, so much is named; a name in the index gives nothing
_LATEST, _RETRIEVED = 10, ("memory", "turn", "document", "error")


def exists(hf: Holdfast, user: str, agent: str, session_id: str) -> bool:
    """Is there such a session of this agent and user? NotFound when it is somebody else's."""

    def ask(reading: Reading) -> tuple[bool, bool]:
        mine = views.info(reading, user, agent, session_id) is not None
        return mine, not mine and bool(views.of_that_id(reading, session_id))

    mine, theirs = hf.views.read(ask)
    if theirs:
        raise NotFound(f"there is no session {session_id} of {agent} for {user}")
    return mine


def one(what: str, name: str) -> str:
    """A name that stands for one agent, user or session, and not for none or all of them."""
    if name == "*":
        raise Invalid(f"{what} must be the name of one {what}, not {name!r}")
    try:
        limits.name(what, name).encode()
    except UnicodeEncodeError as exc:
        raise Invalid(f"{what} is not a text: {name!a}") from exc
    return name


def one_or_all(agent: str | None) -> str | None:
    """The name of one agent; None for all of them, which `*` says too."""
    return None if agent is None or agent == "*" else one("agent", agent)


def check_patch(hf: Holdfast, pad: Scratchpad, changes: Mapping[str, Any]) -> None:
    """Invalid or Limit for what could not become part of a scratchpad whole."""
    if not isinstance(changes, Mapping):
        raise Invalid(f"changes of the scratchpad are a dict, not {type(changes).__name__}")
    limit = hf.settings.record
    try:
        size = len(msgspec.json.encode(dict(changes)))
        content = merged(pad.content, changes)
        large = too_large(content)
    except (TypeError, ValueError, RecursionError) as exc:
        raise Invalid(f"a scratchpad holds what JSON can say: {exc}") from exc
    longest = max((len(text) for text in _texts(changes)), default=0)
    if large or size > limit.payload_bytes or longest > limit.text_chars:
        raise Limit(
            f"a scratchpad is for notes, up to {LARGEST >> 10} KiB; keep the rest in a file"
        )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def listed(hf: Holdfast, user: str, agent: str | None) -> list[SessionInfo]:
    """A user's sessions, the latest first."""
    of = one_or_all(agent)
    return hf.views.read(lambda reading: views.sessions(reading, user, of))


def chosen(hf: Holdfast, session_id: str | None, user: str, agent: str | None) -> SessionInfo:
    """The session of that id, or the one that was active last; an open one before an ended one."""
    return hf.views.read(lambda reading: _chosen(reading, session_id, user, agent))


def _chosen(reading: Reading, session_id: str | None, user: str, agent: str | None) -> SessionInfo:
    agent = one_or_all(agent)
    if session_id is not None:
        one("session", session_id)
    if session_id is not None and agent is not None:
        found = views.info(reading, user, agent, session_id)
    else:
        known = views.sessions(reading, user, agent)
        fitting = [info for info in known if session_id in (None, info.id)]
        spoken = [info for info in fitting if info.turns] or fitting
        found = next((info for info in fitting if info.open), next(iter(spoken), None))
    if found is None:
        whose = f"{agent} for {user}" if agent else user
        what = f"session {session_id}" if session_id else "session"
        how = "" if session_id else "; one begins with hf.session(agent=…) or a host's hooks"
        raise NotFound(f"there is no {what} of {whose} in this project{how}")
    return found


def resumed(hf: Holdfast, session_id: str | None, user: str, agent: str | None) -> Session:
    """The same, to go on with."""
    info = chosen(hf, session_id, user, agent)
    if info.agent is None:
        raise Invalid(f"session {info.id} is no agent's; name one that is")
    return _session(hf, info.id, user, info.agent)


def _session(hf: Holdfast, session_id: str, user: str, agent: str) -> Session:
    """A session that is there, whatever it is called."""
    from .session import Session

    return Session(hf, agent=agent, user=user, session_id=session_id)


def state(hf: Holdfast, session_id: str | None, user: str, agent: str | None) -> SessionState:
    """Everything a session knows about its own work."""
    return hf.views.read(
        lambda reading: views.state(reading, _chosen(reading, session_id, user, agent))
    )


def status(
    hf: Holdfast,
    session_id: str | None,
    user: str,
    agent: str | None,
    window: int | None = None,
    model: str = "",
) -> SessionStatus:
    """A session in figures, with its state."""
    found = state(hf, session_id, user, agent)
    tokens, exact = _tokens(hf, found.info)
    through, given = hf.views.read(lambda reading: (reading.position, _given(reading, found.info)))
    shown = given.epochs[-1].everything() if given.epochs else ()
    return SessionStatus(
        state=found,
        seconds=_seconds(found.info),
        tokens=tokens,
        tokens_exact=exact,
        counted_with=hf.counter().name,
        through=through.event_seq if through else 0,
        snapshot_seq=hf.views.snapshot_seq(),
        last_pack=given.last_pack,
        retrieved=tuple(one.id for one in shown if one.kind in _RETRIEVED)[-_LATEST:],
        compacted=given.compacted,
        past=given.past,
        pressure=_pressure(hf, found.info, window, model),
    )


def _given(reading: Reading, of: SessionInfo) -> Epochs:
    """What it was given by now."""
    found: Epochs | None = reading.row(EpochView(), session_key(of.user, of.agent, of.id))
    return found or Epochs()


def restore(
    hf: Holdfast, session_id: str | None, user: str, agent: str | None, *, tokens: int
) -> Restored:
    """A session's context as text, within so many tokens."""
    found = state(hf, session_id, user, agent)
    latest = history.recent(hf, found.info, tokens=tokens)
    return restored.written(found, latest, hf.counter(), tokens)


def end(hf: Holdfast, session_id: str | None, user: str, reason: str) -> SessionInfo:
    """End the session of that id, or the open one that was active last."""
    info = chosen(hf, session_id, user, None)
    if session_id is None and not info.open:
        raise NotFound(f"{user} has no open session in this project")
    if not info.open:
        raise Conflict(f"session {info.id} has ended already: {info.ended_because}")
    _end(hf, info, reason, None)
    return info


def end_workflow(
    hf: Holdfast, workflow: str, user: str, reason: str, *, at: str | datetime | None
) -> list[SessionInfo]:
    """End every open session of a user's workflow, whichever agent's."""
    one("workflow", workflow)
    ended = [info for info in listed(hf, user, None) if info.open and info.workflow == workflow]
    for info in ended:
        _end(hf, info, reason, at)
    return ended


def _end(hf: Holdfast, info: SessionInfo, reason: str, at: str | datetime | None) -> None:
    """As its own agent would; a host may have recorded it without naming one."""
    draft = Draft(
        type="session_ended",
        payload={"reason": reason},
        origin="system",
        session_id=info.id,
        agent=info.agent,
        user=info.user,
        at=at,
    )
    hf.record([draft])


def _tokens(hf: Holdfast, of: SessionInfo) -> tuple[int, bool]:
    """What the conversation takes, and whether all of it was counted."""
    count = hf.counter().count
    whole, latest = history.window(hf, of)
    if not whole and of.last_seq - of.first_seq <= _COUNTED:
        latest = [event for event in history.session_events(hf, of) if event.kind in SPOKEN]
        whole = True
    counted = sum(count(event.words) for event in latest)
    return (counted, True) if whole else (round(counted / max(len(latest), 1) * of.events), False)


def _pressure(hf: Holdfast, of: SessionInfo, window: int | None, model: str) -> Pressure | None:
    """How full its window is; None for a session of no agent, which has none."""
    if of.agent is None or of.user is None:
        return None
    return _session(hf, of.id, of.user, of.agent).pressure(window=window, model=model)


def _seconds(of: SessionInfo) -> float:
    try:
        begin = datetime.fromisoformat(of.started_at)
        end = datetime.fromisoformat(of.ended_at or of.last_at)
        return max(0.0, (end - begin).total_seconds())
    except (ValueError, TypeError):  # a time of another kind, from another hand
        return 0.0
