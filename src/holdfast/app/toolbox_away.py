"""The desk of another process: calls go to the project's resident, so that a client's own process needs
neither index nor embedder, however many clients there are.

Nobody there: one is started and waited for. When none comes, when the one that is there does not answer
or is of another version, the project is opened here; the resident is looked for again after a while. A
client keeps its session wherever it is served, and its calls follow one another.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from holdfast import errors
from holdfast.capture import place, resident
from holdfast.capture.disk import Disk
from holdfast.capture.layout import RESIDENT_LOCK
from holdfast.errors import HoldfastError, Unavailable
from holdfast.model.projects import Project
from holdfast.model.settings import Settings

from . import hooking, residents
from .open import locate, project_folder
from .residents import in_seconds
from .toolbox_desk import LEAVE, Caller, Desk

#: a call may take so long: hosts give up after a minute, and would not learn why
_CALL = 50.0
#: how it is, and that somebody leaves, is answered at once or not at all
_STATUS, _LEAVE = 3.0, 2.0
#: a resident may take so long to come
_COMES = 20.0
_POLL = 0.1
#: after this nobody who was started and does not hold the lock will come
_SOON = 1.0
#: one that hangs is asked again after so long, and one that never came
_AGAIN, _MUCH_LATER = 15.0, 600.0
#: clients whose session is known
_MOST_KNOWN = 1_000


class Away:
    """A caller that asks the resident, and keeps a desk of its own for the time there is none.

    With `lives`, its clients are this process: the resident keeps their seats as long as it runs. With a
    version, no other one is asked.
    """

    def __init__(
        self,
        chosen: Settings,
        project: Project,
        how: Mapping[str, Any],
        own: Desk,
        *,
        lives: bool = False,
        version: str = "",
    ) -> None:
        self._folder = project_folder(chosen, project.id)
        self._chosen = chosen
        self._project = project
        self._how = dict(how)
        self._own = own
        self._version = version
        self._process = {"process": os.getpid()} if lives else {}
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        #: the session of each client, and whom of them this process serves
        self._sessions: dict[str, dict[str, str]] = {}
        self._here: set[str] = set()

    def __call__(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Do it there, or here; what goes wrong there is raised here."""
        client = str(asked["client"])
        if operation == LEAVE:
            return self._leave(client, asked)
        with self._turn(client):
            full = {**asked, **self._process, **self._sessions.get(client, {})}
            if self._comes():
                return self._there(operation, full, client)
            self._here.add(client)
            answer = self._own(operation, full)
            self._keep(full, self._own.session_of(client))
            return answer

    @contextmanager
    def _turn(self, client: str) -> Iterator[None]:
        """One call of a client at a time, so that none takes the places of others."""
        with self._lock:
            turn = self._turns.setdefault(client, threading.Lock())
        if not turn.acquire(timeout=_CALL):
            raise Unavailable("earlier calls of this client are still under way; try again later")
        try:
            yield
        finally:
            turn.release()

    def _keep(self, asked: Mapping[str, Any], session: object) -> None:
        """Remember a client's session and in which name it is, the latest last."""
        client = str(asked["client"])
        if isinstance(session, str):
            with self._lock:
                self._sessions.pop(client, None)
                self._sessions[client] = {"session": session, "as": str(asked.get("as", ""))}
                while len(self._sessions) > _MOST_KNOWN:
                    del self._sessions[next(iter(self._sessions))]

    def _leave(self, client: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """It leaves wherever it is; a resident that hangs finds out later that its process is gone."""
        with self._lock:
            self._turns.pop(client, None)
            known = self._sessions.pop(client, None)
        full = {**asked, **(known or {})}
        if client in self._here:
            self._here.discard(client)
            self._own(LEAVE, full)
        elif known is not None and time.monotonic() >= self._not_before:
            try:
                resident.ask(self._folder, self._wanted(LEAVE, full), in_seconds(_LEAVE))
            except TimeoutError:
                self._not_before = time.monotonic() + _AGAIN
            except (OSError, ValueError):
                self._own(LEAVE, full)  # nobody is there who would end its session
        return {}

    # ---- at the resident -------------------------------------------------------------------

    def _wanted(self, operation: str, asked: Mapping[str, Any]) -> dict[str, object]:
        return {"do": "tools", "how": self._how, "operation": operation, "asked": dict(asked)}

    def _there(self, operation: str, asked: Mapping[str, Any], client: str) -> dict[str, Any]:
        if client in self._here:
            self._here.discard(client)
            self._own.hand_over(client)
        said = self._told(self._wanted(operation, asked))
        self._keep(asked, said.get("session"))
        if "error" in said:
            raise _kind(str(said["error"]))(str(said.get("message", "")))
        answer = said.get("answer")
        return answer if isinstance(answer, dict) else {}

    def _told(self, wanted: dict[str, object]) -> dict[str, Any]:
        """What it answers; asked again while it has no place."""
        left = in_seconds(_CALL)
        try:
            while True:
                said = resident.ask(self._folder, wanted, left)
                if said.get("error") != "Busy":
                    return said
                if left() <= _POLL:
                    raise Unavailable("too many calls are under way in this project; try again")
                time.sleep(_POLL)
        except TimeoutError as exc:
            self._not_before = time.monotonic() + _AGAIN
            raise Unavailable(
                f"the process that keeps the project open did not answer within {_CALL:.0f} s; "
                "look whether it was done before you try again"
            ) from exc
        except (OSError, ValueError) as exc:
            raise Unavailable(
                f"the process that keeps the project open is gone ({exc}); "
                "look whether it was done before you try again"
            ) from exc

    def _comes(self) -> bool:
        """Is somebody there who can be asked? Started when nobody is."""
        if time.monotonic() < self._not_before or not self._may_be():
            return False
        left = in_seconds(_COMES)
        while left() > 0:
            try:
                said = resident.ask(self._folder, {"do": "status"}, in_seconds(_STATUS))
            except TimeoutError:
                return self._not_for(_AGAIN)
            except (OSError, ValueError):
                self._start()
            else:
                if said.get("error") != "Busy":
                    ours = self._version in ("", said.get("version"))
                    return ours or self._not_for(_AGAIN)
            time.sleep(_POLL)
        return self._not_for(_MUCH_LATER)

    def _not_for(self, seconds: float) -> bool:
        self._not_before = time.monotonic() + seconds
        return False

    def _may_be(self) -> bool:
        """A project that is known by its id alone has to be there; around a root it is made."""
        return bool(self._project.root) or os.path.isdir(self._folder)

    def _start(self) -> None:
        """Start one, unless somebody just did; one that was killed since keeps nobody waiting."""
        if self._project.root:
            Disk().make_folder(self._folder)
            hooking.note(self._chosen, self._project)
        held = residents.held(os.path.join(self._folder, RESIDENT_LOCK))
        process = resident.start(
            sys.executable,
            self._chosen.home,
            self._project.root,
            self._folder,
            project="" if self._project.root else self._project.id,
            again=resident.AGAIN if held else _SOON,
        )
        if process:
            waiting = threading.Thread(target=os.waitpid, args=(process, 0), daemon=True)
            waiting.start()  # else it would stay a zombie for as long as this process lives


def at_the_resident(
    own: Desk,
    how: Mapping[str, Any],
    home: str | None,
    project: str | None,
    *,
    lives: bool = False,
    version: str = "",
) -> Caller:
    """The caller of a project's clients; their own desk where no project is found, which says so."""
    try:
        found, chosen = locate(home, project)
        if not found.root:
            found, chosen = _with_root(home, found, chosen)
    except HoldfastError:
        return own
    return Away(chosen, found, how, own, lives=lives, version=version)


def _with_root(home: str | None, of: Project, chosen: Settings) -> tuple[Project, Settings]:
    """A project named by its id, with its root where hooks know one: then both have one resident."""
    known = place.read(hooking.cache_file(chosen), Disk()).get("projects")
    for root, entry in known.items() if isinstance(known, dict) else ():
        if isinstance(entry, dict) and entry.get("id") == of.id and os.path.isdir(root):
            found, settings = locate(home, path=root)
            if found.id == of.id:
                return found, settings
    return of, chosen


def _kind(name: str) -> Callable[[str], HoldfastError]:
    kind = getattr(errors, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, HoldfastError) else Unavailable
