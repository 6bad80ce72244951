"""One open project: what `holdfast.open()` gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import msgspec

from holdfast.capture.parse import NOTES
from holdfast.engines.files import FileBlobs, FileLog
from holdfast.errors import Invalid, NotFound
from holdfast.model.events import Damage, Draft, Event
from holdfast.model.projects import Project
from holdfast.model.reports import Verified
from holdfast.model.settings import Settings
from holdfast.ports.clock import Clock
from holdfast.record.recorder import Recorder

from .session import Session


class DamageWarning(UserWarning):
    """Part of the log is damaged; every other event is there. `holdfast verify` lists it."""


class OldFormatWarning(UserWarning):
    """There is data of a format that is not read any more."""


class Holdfast:
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
        user: str,
        clock: Clock,
        notices: Sequence[str] = (),
    ) -> None:
        self.project = project
        self.settings = settings
        self.folder = folder
        self.log = log
        self.user = user
        self.clock = clock
        #: what a person should know: ignored old formats, for example
        self.notices = list(notices)
        self.blobs = blobs
        self._recorder = recorder

    def session(
        self,
        *,
        agent: str,
        user: str | None = None,
        session_id: str | None = None,
        **details: Any,
    ) -> Session:
        """Begin a session, or go on with the one of that id: `with hf.session(agent=…) as s:`."""
        return Session(
            self._recorder,
            agent=agent,
            user=user or self.user,
            session_id=session_id,
            details=details,
        )

    def record(self, drafts: Sequence[Draft]) -> list[Event]:
        """Record drafts as one batch, which shares one sync."""
        if not all(isinstance(draft, Draft) for draft in drafts):
            raise Invalid("record takes holdfast.Draft values")
        mine = [
            d if d.user is not None else msgspec.structs.replace(d, user=self.user) for d in drafts
        ]
        return self._recorder.record(mine)

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

    def close(self) -> None:
        """Sync what is left and let go of the files."""
        self.log.close()

    def __enter__(self) -> Holdfast:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
