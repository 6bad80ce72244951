"""The figures and verbs of `holdfast manager`: how full a window is, and making room in it.

What always holds: figures are of one session, of its own agent and user, and nobody else's.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from holdfast.errors import Invalid, NotFound
from holdfast.model.cold import Cold, Named
from holdfast.model.compactions import Band, Compaction
from holdfast.model.events import Event
from holdfast.views.view import brief

from . import compactions, sessions
from .compacting import known_of
from .left import each
from .managed import HOST
from .open import locate, project_folder
from .pressing import info_of, is_hosted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session


#: characters of what a chunk of a list says
_SAYS = 80
_HANDLE = re.compile(r"events [0-9]+-[0-9]+")


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How full the window of a session is."""

    session_id: str
    current_tokens: int
    limit: int
    pct_used: float
    band: Band
    next_compaction_estimate: int
    cold_storage_chunks: int
    last_compaction: dict[str, Any] | None = None


def health(
    hf: Holdfast,
    session_id: str | None,
    user: str | None,
    agent: str | None,
    *,
    window: int | None = None,
    model: str = "",
) -> Health:
    """Of the session of that id, or the one that was active last."""
    s = sessions.resumed(hf, session_id, hf._whose(user), agent)
    full = s.pressure(window=window, model=model)
    event = compactions.made_last(hf, known_of(s))
    return Health(
        session_id=s.id,
        current_tokens=full.tokens,
        limit=full.limit,
        pct_used=round(full.pct, 4),
        band=full.band,
        next_compaction_estimate=full.next_at,
        cold_storage_chunks=hf.cold.count(user=s.principal, agent=s.agent),
        last_compaction=hf.activity.line(event) if event is not None else None,
    )


def compact(
    hf: Holdfast,
    session_id: str | None,
    user: str | None,
    agent: str | None,
    **how: Any,
) -> Compaction | None:
    """Make room in the window of a session; Invalid where its host holds it."""
    s = sessions.resumed(hf, session_id, hf._whose(user), agent)
    if _hosted(s):
        raise Invalid(f"the context of session {s.id} is held by its host; call compact() there")
    return s.compact(**how)


# ---- what left ------------------------------------------------------------------------------------


def left(
    hf: Holdfast,
    session_id: str | None,
    user: str | None,
    agent: str | None,
    *,
    expired: bool = False,
    limit: int,
) -> list[Named]:
    """What left a session, or any, with the beginning of what it says; NotFound for no such session."""
    if session_id is not None:
        sessions.chosen(hf, session_id, hf._whose(user), agent)
    found = hf.cold.list(session_id, agent=agent, user=user, expired=expired, limit=limit)
    said = {(one.chunk.compaction, one.chunk.id): _beginning(one.events) for one in each(hf, found)}
    return [Named(**asdict(one), says=said[one.compaction, one.id]) for one in found]


def _beginning(events: Sequence[Event]) -> str:
    """The first words that are there, on one line."""
    lines = (" ".join(event.words[: 4 * _SAYS].split()) for event in events if not event.erased)
    return brief(next(filter(None, lines), ""), _SAYS)


def recover(hf: Holdfast, chunk_id: str, user: str | None, agent: str | None, prompt: str) -> Cold:
    """What left, verbatim, in the session it left; that it was needed is recorded."""
    check_chunk(chunk_id)
    chunk = hf.cold.find(chunk_id, hf._whose(user), agent)
    s = sessions.resumed(hf, chunk.session_id, chunk.user or hf.user, chunk.agent)
    return s.recover(chunk_id, prompt=prompt)


def check_chunk(chunk_id: str) -> None:
    """NotFound for a handle that a window shows: another command knows these."""
    if _HANDLE.fullmatch(chunk_id.strip()):
        raise NotFound(
            f"{chunk_id.strip()!r} is a part of the conversation, not the id of a chunk; "
            f"`holdfast expand {chunk_id.strip()}` shows it"
        )


def _hosted(s: Session) -> bool:
    return is_hosted(info_of(s))


def share(given: str) -> float:
    """A share of a window: 0.5, 50%, or `> 0.50` as a crontab says it."""
    said = given.strip().lstrip(">=").strip()
    try:
        found = float(said[:-1]) / 100 if said.endswith("%") else float(said)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise Invalid(
            f"a share of the window is written 0.5 or 50%, above 0 and up to all of it, not {given!r}"
        )
    return found


# ---- which project --------------------------------------------------------------------------------


def meant(home: str | None, project: str | None) -> tuple[str | None, str | None]:
    """The home and the project a command speaks of.

    The one that is named, the one of this folder; where neither holds anything, what a ContextManager
    keeps, if there is only one of these here.
    """
    if project is not None or _holds_something(home):
        return home, project
    found = hosted(home)
    return found[0] if len(found) == 1 else (home, project)


def hosted(home: str | None) -> list[tuple[str | None, str | None]]:
    """Where a ContextManager keeps something: in this home, else in this folder and the usual home."""
    here = sorted(f"./{path.name}" for path in Path().glob("*.holdfast") if _private(path))
    homes = [*here, None] if home is None else [home]
    return [(one, HOST) for one in homes if _kept(one, HOST)]


def how(home: str | None) -> str:
    """What to add to a command to see what a ContextManager keeps; empty where none does."""
    ways = [
        f"--home {shlex.quote(one)} --project {HOST}" if one else f"--project {HOST}"
        for one, _ in hosted(home)
    ]
    return f"what a ContextManager keeps is seen with {' or '.join(ways)}" if ways else ""


def _holds_something(home: str | None) -> bool:
    """Was anything ever recorded for the project of this folder?"""
    try:
        found, chosen = locate(home)
    except NotFound:
        return False
    log = Path(project_folder(chosen, found.id)).glob("events*.ndjson")
    return any(path.stat().st_size for path in log)


def _private(folder: Path) -> bool:
    """Was it made here, for this person alone? One that came with a repository was not."""
    there = folder.stat()
    return there.st_uid == os.getuid() and not there.st_mode & 0o077


def _kept(home: str | None, project: str) -> bool:
    chosen = locate(home, project)[1]
    return os.path.isdir(project_folder(chosen, project))
