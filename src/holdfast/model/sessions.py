"""A session and its working state: what the views fold events into, and what callers read.

Every struct here is frozen and made of JSON, so a row of a view is one of them, written as it is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .compactions import Pressure


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation of one agent, seen from outside."""

    id: str
    agent: str | None
    user: str | None
    started_at: str
    first_seq: int
    last_seq: int
    last_at: str
    events: int = 0
    turns: int = 0
    ended_at: str | None = None
    #: why it ended: done, agent switch, workflow end, or the error that ended it
    ended_because: str | None = None
    resumed: int = 0
    workflow: str | None = None
    skill: str | None = None
    git_branch: str | None = None
    workspace: str | None = None
    #: whatever else was said when it began
    details: dict[str, Any] = {}

    @property
    def open(self) -> bool:
        """Nobody has ended it."""
        return self.ended_at is None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One event in few words."""

    event_seq: int
    kind: str
    text: str


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """Where the conversation's latest events lie in the log."""

    #: the events of the window, oldest first
    seqs: tuple[int, ...] = ()
    #: where the latest turns begin; a turn is what a person said and all that came of it
    turn_starts: tuple[int, ...] = ()
    #: an event before the window was left to the log
    cut: bool = False
    #: what a person said last and nobody has answered yet
    unanswered: Said | None = None


class Scratchpad(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's own notes, with the version a writer must name to be sure nobody was faster."""

    version: int = 0
    content: dict[str, Any] = {}
    updated_at: str | None = None
    #: the latest changes that took effect, by event; a writer sees here whether its own did
    winners: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was decided and holds from there on."""

    event_id: str
    event_seq: int
    at: str
    text: str
    trust: int


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A validation gate: how it last went, and how often it failed before."""

    gate: str
    passed: bool
    at: str
    event_seq: int
    attempts: int = 1
    note: str = ""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A unit of work, open until it is said to be done."""

    text: str
    at: str
    event_seq: int
    done_at: str | None = None


class TouchedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file a tool was pointed at."""

    path: str
    #: the last tool that touched it
    tool: str
    times: int
    at: str
    event_seq: int
    #: some tool changed it, not only read it
    changed: bool = False


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error, what was done about it, and whether that helped."""

    event_id: str
    event_seq: int
    at: str
    text: str
    tool: str | None = None
    followed: tuple[Said, ...] = ()
    #: the event that showed it was over: a passed gate, a finished task, one that names it
    resolved_by: int | None = None


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point in a session that is worth coming back to."""

    event_seq: int
    at: str
    why: str
    event_id: str = ""
    #: it holds a whole working context, which can be gone back to
    whole: bool = False
    #: then, why it was saved, and the tokens of its conversation
    trigger: str = ""
    tokens: int = 0


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is still open."""

    #: question, error, gate, task or blocker
    what: str
    text: str
    event_seq: int


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a session knows about its own work, at one position of the log."""

    info: SessionInfo
    scratchpad: Scratchpad
    decisions: tuple[Decision, ...]
    tasks: tuple[Task, ...]
    gates: tuple[Gate, ...]
    files: tuple[TouchedFile, ...]
    errors: tuple[Failure, ...]
    checkpoints: tuple[Checkpoint, ...]
    threads: tuple[Thread, ...]


class SessionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What `status` shows."""

    state: SessionState
    seconds: float
    tokens: int
    #: False when the session is so long that its older part was estimated
    tokens_exact: bool
    #: what the tokens were counted with
    counted_with: str
    #: the last event the views have taken in
    through: int
    #: the last exported snapshot, 0 when there is none
    snapshot_seq: int
    #: the context it was given last, and of the memories and turns its window was given, the latest
    last_pack: str = ""
    retrieved: tuple[str, ...] = ()
    #: the event that says that its host shortened the conversation last, 0 when it never did
    compacted: int = 0
    #: our own compaction that holds, empty for none
    past: str = ""
    #: how full its window is; None where it has none
    pressure: Pressure | None = None


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """A session's context, ready to go on with."""

    state: SessionState
    #: the latest events, oldest first, by id
    recent: tuple[str, ...]
    text: str
    tokens: int
