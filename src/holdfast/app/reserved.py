"""The reserved projects: what follows a user into every project, and what everybody knows.

They lie under the same home and are opened when they are first needed. Only writing makes one; a read
that finds none goes without.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.errors import Invalid, NotFound
from holdfast.model.projects import SYSTEM, user_project

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: opens a reserved project; with False only one that is there
Opening = Callable[[str, bool], "Holdfast | None"]
_OF_A_USER = user_project("")


class Reserved:
    """The reserved projects one open project uses, each opened once."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._opened: dict[str, Holdfast] = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def find(self, project_id: str) -> Holdfast | None:
        """That project, if it is there."""
        return self._get(project_id, False)

    def make(self, project_id: str) -> Holdfast:
        """That project, made if it is not there yet."""
        found = self._get(project_id, True)
        if found is None:
            raise NotFound(f"{project_id} cannot be opened here")
        return found

    def _get(self, project_id: str, make: bool) -> Holdfast | None:
        if self._pid != os.getpid():  # a parent's thread may hold the lock we were forked with
            self._pid, self._lock = os.getpid(), threading.Lock()
        with self._lock:
            if project_id not in self._opened:
                found = self._opening(project_id, make)
                if found is None:
                    return None
                self._opened[project_id] = found
            return self._opened[project_id]

    @property
    def notices(self) -> list[str]:
        """What a person should know about them."""
        return [notice for log in [*self._opened.values()] for notice in log.notices]

    def close(self) -> None:
        """Let go of them all."""
        while self._opened:
            self._opened.popitem()[1].close()


def own_scope(hf: Holdfast) -> str | None:
    """The one scope a reserved project is for; None in a project of its own."""
    if hf.project.id == SYSTEM:
        return "system"
    return "user" if hf.project.id.startswith(_OF_A_USER) else None


def home_of(hf: Holdfast, scope: str, user: str) -> Holdfast:
    """The project that keeps what this user learns for this scope."""
    mine = own_scope(hf)
    if mine is not None:
        if scope != mine:
            raise Invalid(f"{hf.project.id} keeps memories of scope {mine}, not {scope}")
        if mine == "user" and hf.project.id != user_project(user):
            raise Invalid(f"{hf.project.id} keeps nothing of {user}")
        return hf
    if scope in ("session", "project"):
        return hf
    return hf.reserved.make(SYSTEM if scope == "system" else user_project(user))


def logs(hf: Holdfast, user: str) -> list[Holdfast]:
    """Where what this user may see is kept: here, with the user, with everybody."""
    found = [hf]
    for project_id in (user_project(user), SYSTEM):
        if project_id != hf.project.id:
            other = hf.reserved.find(project_id)
            found += [other] if other is not None else []
    return found
