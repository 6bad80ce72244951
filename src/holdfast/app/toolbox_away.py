"""The desk of another process: calls go to the project's resident, so that a client's own process needs
neither index nor embedder, however many clients there are.

Nobody there: one is started and waited for. When none comes, the project is opened here after all.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from holdfast import errors
from holdfast.capture import resident
from holdfast.errors import HoldfastError, Unavailable
from holdfast.model.projects import Project
from holdfast.model.settings import Settings

from . import hooking
from .open import locate, project_folder
from .residents import in_seconds
from .toolbox_desk import LEAVE, Caller, Desk

#: a call may take so long, and a resident to come
_CALL, _COMES = 120.0, 20.0
_POLL = 0.1


class Away:
    """A caller that asks the resident, and keeps a desk of its own for the day there is none."""

    def __init__(
        self, chosen: Settings, project: Project, how: Mapping[str, Any], own: Desk
    ) -> None:
        self._folder = project_folder(chosen, project.id)
        self._chosen = chosen
        self._project = project
        self._how = dict(how)
        self._own = own
        #: a resident is known by the root of its project, and lives in the project's folder
        self._here = not project.root or not os.path.isdir(self._folder)

    def __call__(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Do it there; what goes wrong there is raised here."""
        if not self._here:
            if operation != LEAVE and not self._comes():
                self._here = True
                return self._own(operation, asked)
            return self._told(operation, asked)
        return self._own(operation, asked)

    def _told(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        wanted: dict[str, object] = {"do": "tools", "how": self._how, "operation": operation}
        wanted["asked"] = dict(asked)
        try:
            said = resident.ask(self._folder, wanted, in_seconds(_CALL))
        except (OSError, ValueError) as exc:
            if operation == LEAVE:
                return {}  # it is gone, and with it whoever sat there
            raise Unavailable(
                f"the process that keeps the project open is gone ({exc}); try again"
            ) from exc
        if "error" in said:
            raise _kind(str(said["error"]))(str(said.get("message", "")))
        answer = said.get("answer")
        return answer if isinstance(answer, dict) else {}

    def _comes(self) -> bool:
        """Is somebody there? Started when nobody is."""
        left = in_seconds(_COMES)
        while left() > 0:
            try:
                resident.ask(self._folder, {"do": "status"}, in_seconds(_CALL))
            except (OSError, ValueError):
                hooking.note(self._chosen, self._project)
                resident.start(sys.executable, self._chosen.home, self._project.root, self._folder)
                time.sleep(_POLL)
            else:
                return True
        return False


def at_the_resident(
    own: Desk, how: Mapping[str, Any], home: str | None, project: str | None
) -> Caller:
    """The caller of a project's clients; their own desk where no project is found, which says so."""
    try:
        found, chosen = locate(home, project)
    except HoldfastError:
        return own
    return Away(chosen, found, how, own)


def _kind(name: str) -> Callable[[str], HoldfastError]:
    kind = getattr(errors, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, HoldfastError) else Unavailable
