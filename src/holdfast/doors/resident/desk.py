"""What the resident can be asked: each request calls one verb of `app`."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import msgspec

import holdfast
from holdfast.app import toolbox_desk
from holdfast.app.injecting import Injector, Moment, parted
from holdfast.capture import prepared
from holdfast.capture.disk import Disk
from holdfast.errors import Invalid, NotFound
from holdfast.model.hooks import HookSettings

#: so long nothing happens before the page for the next session is made
_QUIET = 2.0
_MOST_AGENTS = 8
#: sessions that were at work last, and may go on
_MOST_SESSIONS = 8
#: what a host without a limit of its own is told at once
_MOST_CHARS = 100_000


class How(msgspec.Struct, frozen=True, kw_only=True):
    """What the tools of a client are offered as."""

    agent: str | None = None
    session_id: str | None = None
    compat: bool = False


class Desk:
    """One open project, asked by many."""

    def __init__(self, hf: holdfast.Holdfast) -> None:
        self._hf = hf
        self._injector = Injector(hf)
        self._since = time.time()
        self._answered = 0
        self._lock = threading.Lock()
        self._laying = threading.Lock()
        self._desks: dict[How, toolbox_desk.Desk] = {}
        #: up to which event the pages are made, and since when the log stands there
        self._made = -1
        self._seen = (-1, 0.0)

    @property
    def settings(self) -> HookSettings:
        """How it should behave."""
        return self._hf.settings.hooks

    def warm(self) -> None:
        """Load what the first question would wait for."""
        self._catch_up()
        self._hf.counter().count("holdfast")

    def answer(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """What is asked for; a HoldfastError says what is wrong with it."""
        with self._lock:
            self._answered += 1
        known = {
            "inject": self._inject,
            "tools": self._tools,
            "status": self._status,
            "stop": self._status,
        }
        do = known.get(str(wanted.get("do")))
        if do is None:
            raise NotFound(f"nobody knows how to do {wanted.get('do')!r}")
        return do(wanted)

    def _inject(self, wanted: dict[str, Any]) -> dict[str, Any]:
        moment, room = _moment(wanted), wanted.get("room")
        generation = self._hf.log.head().generation
        found = self._injector.words(moment)
        now, later = parted(found.text, room if type(room) is int else _MOST_CHARS)
        if later:
            self._lay_ready(_whom(wanted), later, generation)
        return {"text": now, "pack": found.pack, "generation": generation}

    def _tools(self, wanted: dict[str, Any]) -> dict[str, Any]:
        how = msgspec.convert(wanted.get("how"), How)
        with self._lock:
            if how not in self._desks:
                self._desks[how] = toolbox_desk.Desk(
                    lambda: self._hf,
                    agent=how.agent,
                    session_id=how.session_id,
                    compat=how.compat,
                )
            desk = self._desks[how]
        asked = msgspec.convert(wanted.get("asked"), dict[str, Any])
        answer = desk(str(wanted.get("operation")), asked)
        return {"answer": answer, "session": desk.session_of(str(asked.get("client")))}

    def client_of(self, wanted: dict[str, Any]) -> str:
        """Whose calls follow one another; empty where nobody's do. Whoever leaves waits for nothing."""
        asked = wanted.get("asked")
        if not isinstance(asked, dict) or wanted.get("operation") == toolbox_desk.LEAVE:
            return ""
        return str(asked.get("client", ""))

    def has_clients(self) -> bool:
        """Does anybody sit here whose process lives?"""
        return any(desk.lives() for desk in list(self._desks.values()))

    def _status(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "version": holdfast.__version__,
            "project": self._hf.project.id,
            "seconds": round(time.time() - self._since),
            "answered": self._answered,
        }

    def too_late(self, wanted: dict[str, Any], said: dict[str, Any]) -> None:
        """Nobody took an answer: it waits for the next hook of that session."""
        if wanted.get("do") == "inject" and said.get("text"):
            self._lay_ready(_whom(wanted), str(said["text"]), int(said["generation"]))

    def _lay_ready(self, whom: tuple[str, ...], text: str, generation: int) -> None:
        """Something to be said later, made from the log as of a generation, behind what lies there."""
        with self._laying:
            lying = prepared.take(self._hf.folder, whom, Disk())
            self._lay(whom, "\n\n".join(filter(None, (lying, text))), generation)

    def _lay(self, whom: tuple[str, ...], text: str, generation: int) -> None:
        """Something in the place of what lies there; not if something was erased meanwhile."""
        prepared.prepare(self._hf.folder, whom, text, Disk())
        if self._hf.log.head().generation != generation:
            prepared.take(self._hf.folder, whom, Disk())

    def _catch_up(self) -> None:
        """Take in what a question would otherwise wait for; slow vectors come behind."""
        self._hf.recall("holdfast", 1)

    def prepare(self) -> None:
        """Take in what was recorded, so that no question waits for that.

        Once nothing happens any more, make the page each agent's next session begins with.
        """
        for desk in list(self._desks.values()):
            desk.sweep()
        head = self._hf.log.head().event_seq
        if head != self._seen[0]:
            self._seen = (head, time.monotonic())
            self._catch_up()
            self._hf.activity.follow()
        elif self._hf.activity.behind:
            self._hf.activity.follow()
        if head == self._made or time.monotonic() - self._seen[1] < _QUIET:
            return
        self._made, generation = head, self._hf.log.head().generation
        known = [info for info in self._hf.sessions() if info.agent and info.turns]
        agents = dict.fromkeys((info.agent or "", info.user or "") for info in known)
        for agent, user in list(agents)[:_MOST_AGENTS]:
            self._lay((user, agent), self._injector.page(user, agent), generation)
        for info in known[:_MOST_SESSIONS]:
            whose = (info.user or "", info.agent or "", info.id)
            self._lay((*whose, "page"), self._injector.own_page(info), generation)

    def close(self) -> None:
        """Whoever sits here leaves; who lives goes on with the same session elsewhere."""
        for desk in self._desks.values():
            desk.hand_over()
            desk.close()


def _moment(wanted: dict[str, Any]) -> Moment:
    try:
        return msgspec.convert(wanted, Moment)
    except msgspec.ValidationError as exc:
        raise Invalid(str(exc)) from exc


def _whom(wanted: dict[str, Any]) -> tuple[str, str, str]:
    return str(wanted.get("user")), str(wanted.get("agent")), str(wanted.get("session"))
