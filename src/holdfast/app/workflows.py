"""What the prompt file of a session's workflow says about it.

The file lies in the project and is found by the workflow's name. It is repository data: it may choose
among ways of compacting and of recalling, and nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.agents.front_matter import workflow
from holdfast.errors import HoldfastError, Unavailable
from holdfast.model.compact import CompactSettings
from holdfast.model.recall import Hit
from holdfast.model.workflows import Workflow
from holdfast.views import state as views

if TYPE_CHECKING:
    from .session import Session

#: where prompt files lie below a project's root, and what they are called
_PLACES = (
    ".holdfast/workflows/{}.md",
    ".claude/workflows/{}.prompt.md",
    ".github/prompts/{}.prompt.md",
)
_NAME = re.compile(r"[\w][\w.-]{0,99}")
_LARGEST = 1 << 20


def of(s: Session) -> Workflow:
    """What the workflow of a session says; nothing where there is none or it has no file.

    A session at work goes on as its file said before, whatever becomes of that.
    """
    try:
        s.workflow = _read(_named(s), s._hf.project.root)
    except HoldfastError as exc:
        if s.workflow is None:
            raise
        s._hf.tell(f"{exc}; until it is mended, this session goes on as it said before")
    return s.workflow


def _read(name: str, root: str) -> Workflow:
    if not root or not _NAME.fullmatch(name):
        return Workflow(name=name)
    for place in _PLACES:
        path = Path(root) / place.format(name)
        try:
            if path.is_file() and path.stat().st_size <= _LARGEST:
                return workflow(name, path.read_text("utf-8", "replace"), place.format(name))
        except OSError as exc:
            raise Unavailable(f"{place.format(name)} cannot be read: {exc.strerror}") from exc
    return Workflow(name=name)


def _named(s: Session) -> str:
    """The workflow a session was begun for."""
    given = s._details.get("workflow")
    if isinstance(given, str):
        return given
    known = s._hf.views.read(lambda reading: views.info(reading, s.principal, s.agent, s.id))
    return known.workflow or "" if known is not None else ""


def compaction(s: Session) -> CompactSettings:
    """How a session is compacted: as its workflow says, else as the settings do."""
    found, settings = of(s), s._hf.settings.compact
    if found.strategy is not None:
        settings = replace(settings, strategy=found.strategy)
    if found.triggers is not None:
        settings = replace(settings, triggers=found.triggers)
    return settings


def recalled(found: Workflow, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Of what recall found, what the workflow wants in its contexts."""
    if not found.proactive:
        return ()
    if found.scopes is None:
        return hits
    return tuple(hit for hit in hits if _scope(hit) in found.scopes)


def _scope(hit: Hit) -> str:
    if hit.memory is not None:
        return hit.memory.scope
    return "project" if hit.path else "session"
