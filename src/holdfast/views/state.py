"""Reading what the views hold about sessions: whose must be said."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.model.sessions import (
    Checkpoint,
    Decision,
    Failure,
    Gate,
    Scratchpad,
    SessionInfo,
    SessionState,
    Task,
    Thread,
    TouchedFile,
    Transcript,
)

from .checkpoints import Checkpoints, CheckpointView
from .decisions import Decisions
from .failures import Failures, FailureView
from .files import Files, FileView
from .gates import Gates, GateView
from .runner import Reading
from .scratchpad import Scratchpads
from .sessions import Sessions
from .tasks import Tasks, TaskView, plain
from .transcript import Transcripts
from .view import session_key, within

SESSIONS, TRANSCRIPTS, SCRATCHPADS = Sessions(), Transcripts(), Scratchpads()


def sessions(reading: Reading, user: str, agent: str | None = None) -> list[SessionInfo]:
    """A user's sessions, of one agent or of all, the latest first."""
    prefix = within(user) if agent is None else within(user, agent)
    found: list[SessionInfo] = reading.rows(SESSIONS, prefix)
    return sorted(found, key=lambda info: info.last_seq, reverse=True)


def of_that_id(reading: Reading, session_id: str) -> list[SessionInfo]:
    """Whose sessions have this id: to tell a new one from somebody else's."""
    return [info for info in reading.rows(SESSIONS) if info.id == session_id]


def info(reading: Reading, user: str, agent: str, session_id: str) -> SessionInfo | None:
    """One session."""
    found: SessionInfo | None = reading.row(SESSIONS, session_key(user, agent, session_id))
    return found


def transcript(reading: Reading, of: SessionInfo) -> Transcript:
    """Where its latest events lie."""
    found: Transcript | None = reading.row(TRANSCRIPTS, session_key(of.user, of.agent, of.id))
    return found or Transcript()


def scratchpad(reading: Reading, user: str, agent: str, session_id: str) -> Scratchpad:
    """An agent's notes; empty before the first."""
    found: Scratchpad | None = reading.row(SCRATCHPADS, session_key(user, agent, session_id))
    return found or Scratchpad()


def checkpoints(
    reading: Reading, user: str, agent: str | None, session_id: str
) -> tuple[Checkpoint, ...]:
    """A session's working contexts that were saved, oldest first."""
    found: Checkpoints | None = reading.row(CheckpointView(), session_key(user, agent, session_id))
    return found.saved if found is not None else ()


def failures(
    reading: Reading, user: str, agent: str | None, session_id: str
) -> tuple[Failure, ...]:
    """A session's latest errors, oldest first."""
    found: Failures | None = reading.row(FailureView(), session_key(user, agent, session_id))
    return found.errors if found is not None else ()


def state(reading: Reading, of: SessionInfo) -> SessionState:
    """Everything a session knows about its own work."""
    key = session_key(of.user, of.agent, of.id)
    pad: Scratchpad = reading.row(SCRATCHPADS, key) or Scratchpad()
    gates: Gates = reading.row(GateView(), key) or Gates()
    files: Files = reading.row(FileView(), key) or Files()
    tasks: Tasks = reading.row(TaskView(), key) or Tasks()
    failures: Failures = reading.row(FailureView(), key) or Failures()
    checkpoints: Checkpoints = reading.row(CheckpointView(), key) or Checkpoints()
    decisions: list[Decision] = reading.rows(Decisions(), within(of.user, of.agent, of.id))
    return _assembled(
        of, pad, decisions, (gates, files, tasks, failures, checkpoints), transcript(reading, of)
    )


def _assembled(
    of: SessionInfo,
    pad: Scratchpad,
    decisions: list[Decision],
    rows: tuple[Gates, Files, Tasks, Failures, Checkpoints],
    spoken: Transcript,
) -> SessionState:
    gates, files, tasks, failures, checkpoints = rows
    named = _tasks(pad, tasks.tasks, of)
    points: tuple[Checkpoint, ...] = checkpoints.points
    touched: list[TouchedFile] = sorted(files.files.values(), key=lambda f: (f.event_seq, f.path))
    return SessionState(
        info=of,
        scratchpad=pad,
        decisions=tuple(decisions),
        tasks=named,
        gates=gates.gates,
        files=tuple(touched),
        errors=failures.errors,
        checkpoints=points,
        threads=tuple(_threads(spoken, failures.errors, gates.gates, named, pad)),
    )


def _tasks(pad: Scratchpad, known: tuple[Task, ...], of: SessionInfo) -> tuple[Task, ...]:
    """Those a tool listed or somebody finished, and those the scratchpad names."""
    tasks = {plain(task.text): task for task in known}
    listed = pad.content.get("tasks")
    for text in [pad.content.get("current_task"), *(listed if isinstance(listed, list) else ())]:
        if isinstance(text, str) and text.strip() and plain(text) not in tasks:
            tasks[plain(text)] = Task(text=text, at=pad.updated_at or of.started_at, event_seq=0)
    return tuple(tasks.values())


def _threads(
    spoken: Transcript,
    errors: tuple[Failure, ...],
    gates: tuple[Gate, ...],
    tasks: tuple[Task, ...],
    pad: Scratchpad,
) -> Iterator[Thread]:
    """What is still open, most pressing first."""
    if spoken.unanswered is not None:
        asked = spoken.unanswered
        yield Thread(what="question", text=asked.text, event_seq=asked.event_seq)
    for error in errors:
        if error.resolved_by is None:
            yield Thread(what="error", text=error.text, event_seq=error.event_seq)
    for gate in gates:
        if not gate.passed:
            text = f"gate {gate.gate} failed" + (f": {gate.note}" if gate.note else "")
            yield Thread(what="gate", text=text, event_seq=gate.event_seq)
    for task in tasks:
        if task.done_at is None:
            yield Thread(what="task", text=task.text, event_seq=task.event_seq)
    blockers = pad.content.get("blockers")
    for text in blockers if isinstance(blockers, list) else ():
        if isinstance(text, str):
            yield Thread(what="blocker", text=text, event_seq=0)
