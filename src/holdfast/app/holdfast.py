"""One open project: what `holdfast.open()` gives."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, overload

import msgspec

from holdfast.capture.parse import NOTES
from holdfast.engines.files import FileBlobs, FileLog
from holdfast.errors import Invalid, NotFound
from holdfast.model.events import Damage, Draft, Event, Position
from holdfast.model.memories import Memory
from holdfast.model.projects import Project
from holdfast.model.reports import Verified
from holdfast.model.sessions import Restored, SessionInfo, SessionState, SessionStatus
from holdfast.model.settings import Settings
from holdfast.model.tokens import Counted, resolve
from holdfast.ports.clock import Clock
from holdfast.ports.complete import Completer
from holdfast.ports.tokens import TokenCounter
from holdfast.recall.library import Library
from holdfast.record.recorder import Recorder
from holdfast.views.memories import is_memory_id
from holdfast.views.runner import MILESTONES, Runner

from . import memories, sessions, weighing
from .activity import Activity
from .cold import ColdStorage
from .completing import Model
from .documents import Documents
from .items import Items
from .recalling import Recalling
from .remembering import Remembering
from .reserved import Opening, Reserved
from .session import Session, When
from .showing import Lately
from .telling import not_there
from .tuning import Tuning

#: the id of a memory; a session may be called anything else
_MEMORY = re.compile(r"mem_[0-9A-HJKMNP-TV-Z]{26}")


class DamageWarning(UserWarning):
    """Part of the log is damaged; every other event is there. `holdfast verify` lists it."""


class OldFormatWarning(UserWarning):
    """There is data of a format that is not read any more."""


class Holdfast(Remembering, Recalling, Tuning):
    """The memory of one project, for one principal."""

    def __init__(  # noqa: PLR0913  (what open composes, by name)
        self,
        *,
        project: Project,
        settings: Settings,
        folder: str,
        log: FileLog,
        blobs: FileBlobs,
        recorder: Recorder,
        views: Runner,
        library: Library,
        counters: Callable[[Counted], TokenCounter],
        user: str,
        clock: Clock,
        reserved: Opening = lambda _, __: None,
        completer: Callable[[], Completer | None] = lambda: None,
        notices: Sequence[str] = (),
    ) -> None:
        self.project = project
        self.settings = settings
        self.folder = folder
        self.log = log
        self.user = user
        self.clock = clock
        self.blobs = blobs
        self.views = views
        self.library = library
        self.documents = Documents(self)
        self.items = Items(self)
        #: of agents the last completed task after which their items were weighed
        self.weighed: dict[tuple[str, str], int] = {}
        #: what compactions dropped
        self.cold = ColdStorage(self)
        #: the five logs of what happened to windows
        self.activity = Activity(self)
        self.reserved = Reserved(reserved)
        #: the language model; `app/completing.py` asks it
        self.language_model = Model(completer)
        self._recorder = recorder
        self._counters = counters
        self._notices = list(notices)
        self._unseen = 0
        #: the time of the newest event, as of a position of the log
        self.newest: tuple[Position | None, str] = (None, "")
        #: events that contexts show again and again
        self.lately = Lately()

    @property
    def notices(self) -> list[str]:
        """What a person should know: ignored old formats, an index made anew."""
        parts = (self.views, self.library, self.cold, self.activity, self.reserved)
        told = [notice for part in parts for notice in part.notices]
        return list(dict.fromkeys([*self._notices, *told]))

    def tell(self, notice: str) -> None:
        """Something a person should know; each is said once."""
        if notice not in self._notices:
            self._notices.append(notice)

    # ---- sessions --------------------------------------------------------------------------

    def session(
        self,
        *,
        agent: str,
        user: str | None = None,
        session_id: str | None = None,
        **details: Any,
    ) -> Session:
        """Begin a session, or go on with the one of that id: `with hf.session(agent=…) as s:`."""
        named = sessions.one("agent", agent)
        if session_id is not None:
            sessions.one("session", session_id)
        return Session(
            self, agent=named, user=self._whose(user), session_id=session_id, details=details
        )

    def sessions(self, *, agent: str | None = None, user: str | None = None) -> list[SessionInfo]:
        """A user's sessions, of one agent or of all of them (`agent="*"`); the latest first."""
        return sessions.listed(self, self._whose(user), agent)

    def active(self, *, agent: str, user: str | None = None) -> SessionInfo | None:
        """The session an agent has open for a user; of several the one used last."""
        known = sessions.listed(self, self._whose(user), sessions.one("agent", agent))
        return next((info for info in known if info.open), None)

    def end_session(
        self, session_id: str | None = None, *, user: str | None = None, reason: str = "done"
    ) -> SessionInfo:
        """End a session from outside: the one of that id, or the open one that was active last."""
        return sessions.end(self, session_id, self._whose(user), reason)

    def end_workflow(
        self,
        workflow: str,
        *,
        user: str | None = None,
        reason: str = "workflow end",
        at: When = None,
    ) -> list[SessionInfo]:
        """A workflow is over: end every open session of it, whichever agent's."""
        return sessions.end_workflow(self, workflow, self._whose(user), reason, at=at)

    def state(
        self, session_id: str | None = None, *, agent: str | None = None, user: str | None = None
    ) -> SessionState:
        """All a session knows about its own work: the one of that id, or the one active last."""
        return sessions.state(self, session_id, self._whose(user), agent)

    def status(
        self,
        session_id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        window: int | None = None,
        model: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> SessionStatus:
        """A session in figures, with its state: the one of that id, or the one active last.

        Its window is that of its last context, unless another one is named, or a model's.
        """
        self.views.read(lambda _: None, progress)
        return sessions.status(self, session_id, self._whose(user), agent, window, model)

    @overload
    def restore(
        self,
        session_id: None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        tokens: int = 4_000,
    ) -> Restored: ...

    @overload
    def restore(
        self,
        session_id: str,
        *,
        agent: str | None = None,
        user: str | None = None,
        tokens: int = 4_000,
    ) -> Any: ...

    def restore(
        self,
        session_id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        tokens: int = 4_000,
    ) -> Restored | Memory:
        """A session's context as text, to go on with; or, for a memory's id, that memory back in use."""
        if isinstance(session_id, str) and _MEMORY.fullmatch(session_id):
            return memories.restore(self, self._author(user, agent), session_id)
        if type(tokens) is not int or tokens < 1:
            raise Invalid(f"tokens must be a whole number from 1 on, not {tokens!r}")
        try:
            return sessions.restore(self, session_id, self._whose(user), agent, tokens=tokens)
        except NotFound as exc:  # a session may be called so; when none is, a memory was meant
            raise (not_there(session_id) if is_memory_id(session_id) else exc) from None

    def _whose(self, user: str | None) -> str:
        """The user that is named, or the principal; nothing stands for everybody."""
        return self.user if user is None else sessions.one("user", user)

    # ---- the log ---------------------------------------------------------------------------

    def record(self, drafts: Sequence[Draft]) -> list[Event]:
        """Record drafts as one batch, which shares one sync."""
        if not all(isinstance(draft, Draft) for draft in drafts):
            raise Invalid("record takes holdfast.Draft values")
        mine = [
            d if d.user is not None else msgspec.structs.replace(d, user=self.user) for d in drafts
        ]
        recorded = self._recorder.record(mine)
        self._unseen += len(recorded)
        weighing.done(self, recorded)
        milestone = any(event.kind in MILESTONES for event in recorded)
        if milestone or self._unseen >= self.settings.views.catch_up_events:
            self._unseen = 0
            self.views.catch_up()
        if any(event.kind == "session_ended" for event in recorded):
            self.activity.follow()
        return recorded

    def events(self, after: int = 0, *, session_id: str | None = None) -> Iterator[Event]:
        """The log from a position on, or one session of it. Damage is warned of, never hidden."""
        if not isinstance(after, int):
            raise Invalid(f"a position is an event_seq, not {after!r}")
        for found in self.log.read(after):
            if isinstance(found, Damage):
                said = self.log.note_damage(found)
                warnings.warn(f"{said}; see `holdfast verify`", DamageWarning, stacklevel=2)
            elif session_id is None or found.session_id == session_id:
                yield found

    def wait(self, position: int, timeout: float) -> bool:
        """Has the log grown past this position? Waits for it, at most `timeout` seconds."""
        return self.log.wait(position, timeout)

    def body(self, event: Event, path: str = "/text") -> Iterator[bytes]:
        """The whole of a text that was too large for its line, in pieces."""
        payload: Mapping[str, Any] = event.payload if isinstance(event.payload, dict) else {}
        for note in payload.get(NOTES, ()):
            if note.get("path") == path and "blob" in note:
                return self.blobs.read(note["blob"])
        raise NotFound(f"{event.event_id} keeps all of {path} in its line")

    def keep_body(self, pieces: Iterable[bytes], *, verbatim: bool = False) -> tuple[str, int]:
        """Store a body, redacted on the way unless it is one of our own coming home."""
        return self.blobs.keep(pieces if verbatim else self._recorder.redacted(pieces))

    def verify(self, progress: Callable[[int], None] | None = None) -> Verified:
        """Read everything and say what is there and what is wrong; `progress` gets each seq."""
        return self.log.verify(progress)

    # ---- what is derived from it -----------------------------------------------------------

    def counter(self, model: str = "") -> TokenCounter:
        """What counts tokens as a model does; the model of the settings when none is named."""
        if not isinstance(model, str):
            raise Invalid(f"a model is named by its name, not by {model!r}")
        return self._counters(resolve(model, self.settings.tokens))

    def counter_named(self, name: str) -> TokenCounter:
        """What counts as `counter(…).name` says, whatever the settings are by now."""
        encoding, _, factor = name.partition("*")
        return self._counters(Counted(encoding, float(factor or 1), True))

    def rebuild(self, progress: Callable[[int], None] | None = None) -> str:
        """Fold the whole log anew, believing no index and no snapshot; the state's hash."""
        return self.views.rebuild(progress)

    def state_hash(self) -> str:
        """SHA-256 over everything folded from the log; equal for equal logs, on any machine."""
        return self.views.state_hash()

    def close(self) -> None:
        """Sync what is left and let go of the files."""
        with ExitStack() as stack:  # whatever one of them has trouble with, the others are closed
            for part in (self.views, self.log, self.library, self.reserved):
                stack.callback(part.close)
            self.activity.finish()

    def __enter__(self) -> Holdfast:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
