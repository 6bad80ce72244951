"""What a host is told at a moment of its work: little, new, and worth its tokens.

A host that keeps the conversation itself is given what its window lacks, and each thing once. At the
start of a session that is where the work stands, what always holds and what there is to ask for; at a
prompt what it is about; before a file is read what is known about that file.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from holdfast.compose import render
from holdfast.model.packs import Signals
from holdfast.model.sessions import Checkpoint, SessionInfo
from holdfast.text.quoting import quoted

from . import context, sessions

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: a host that goes on with its own window needs a reminder only
_REMINDER = 3
#: files of sessions that were told about already
_MOST_FILES = 10_000
#: where a page goes over to the conversation, and what there is nobody's words
_SAID = "\n## Said last\n"
_CONTINUED = re.compile(r"- \[\d+\] system_event: session: .* through: \d+ what: continued")
_MINUTE = len("2026-01-01T00:00")
#: a block with fewer lines, its marks among them, is not split
_SPLITS = 5


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Where a host stands, as its hook says."""

    at: Literal["start", "prompt", "file"]
    session: str
    agent: str
    user: str
    #: of a start: startup, resume, clear, compact or fork
    source: str = ""
    text: str = ""
    file: str = ""


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is told; nothing where there is nothing worth it."""

    text: str = ""
    #: the context it comes from, for `holdfast debug`
    pack: str = ""


class Injector:
    """Answers the hooks of one project."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._told: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def words(self, moment: Moment) -> Words:
        """What is worth saying now."""
        self._hf.record([])  # what waits in the spool belongs to what is known
        s = self._hf.session(agent=moment.agent, user=moment.user, session_id=moment.session)
        s.check()
        if moment.at == "start":
            return self._start(s, moment.source)
        if moment.at == "prompt":
            return self._added(s, moment.text, self._hf.settings.hooks.turn_tokens)
        file = self._named(moment.file)
        if self._said_before(moment, file):
            return Words()
        return self._added(s, "", self._hf.settings.hooks.file_tokens, Signals(file=file))

    def page(self, user: str, agent: str, *, apart_from: str = "") -> str:
        """Where the latest work of an agent stands, for whoever goes on with it."""
        found = self._latest(user, agent, apart_from)
        return "" if found is None else self._written(found, self._hf.settings.hooks.start_tokens)

    def own_page(self, of: SessionInfo) -> str:
        """Where a session stands, for itself when it goes on."""
        return self._written(of, self._hf.settings.hooks.start_tokens)

    def _start(self, s: Session, source: str) -> Words:
        own = source in ("resume", "compact")
        if source == "compact":
            self._forget_files(s)
        of = s.info() if own else self._latest(s.principal, s.agent, s.id)
        tokens = self._hf.settings.hooks.start_tokens
        page = ""
        if of is not None and of.turns:
            page = self._written(of, tokens, reminder=source == "resume")
            told = {"what": "continued", "session": of.id, "through": of.last_seq}
            s.record("system_event", told, origin="system")
        given = self._added(s, "", self._hf.settings.hooks.turn_tokens)
        return replace(given, text="\n\n".join(filter(None, (page, given.text))))

    def _added(self, s: Session, query: str, tokens: int, signals: Signals | None = None) -> Words:
        # the host keeps the conversation and shortens it itself
        wanted = {"new_tokens": tokens, "signals": signals, **_how(self._hf)}
        pack = context.context(s, query, wanted, compacts=False)
        return Words(text=pack.new, pack=pack.id)

    def _latest(self, user: str, agent: str, apart_from: str) -> SessionInfo | None:
        known = self._hf.sessions(agent=agent, user=user)
        return next((info for info in known if info.turns and info.id != apart_from), None)

    def _written(self, of: SessionInfo, tokens: int, *, reminder: bool = False) -> str:
        """The page of a session: from which checkpoint on, then what is open, decided, failed, said.

        A reminder is for a host that still has the conversation, and leaves out what was said.
        """
        most = tokens // _REMINDER if reminder else tokens
        found = sessions.restore(self._hf, of.id, of.user or "", of.agent, tokens=most)
        points = found.state.checkpoints
        page = found.text.partition(_SAID)[0] if reminder else found.text
        lines = [quoted(line) for line in page.split("\n")[1:] if not _CONTINUED.fullmatch(line)]
        told = _from(points[-1] if points else None, of)
        return f"{told}\n{render.block('memory', 'checkpoint', lines)}"

    def _named(self, file: str) -> str:
        """A file as the project calls it."""
        root = self._hf.project.root
        return os.path.relpath(file, root) if root and file.startswith(root + os.sep) else file

    def _forget_files(self, s: Session) -> None:
        """Its window shows nothing of them any more."""
        for key in list(self._told):
            if key[:2] == (s.agent, s.id):
                self._told.pop(key, None)

    def _said_before(self, moment: Moment, file: str) -> bool:
        """Was this session told about the file already? Remembered as long as this process lives."""
        key = (moment.agent, moment.session, file)
        if key in self._told:
            return True
        self._told[key] = None
        if len(self._told) > _MOST_FILES:
            self._told.popitem(last=False)
        return False


def parted(text: str, chars: int) -> tuple[str, str]:
    """What is said now, in at most so many characters as hosts count them, and what is said later.

    Blocks stay whole; one that is too long for any answer is two, each with its marks.
    """
    blocks = [piece for block in _blocks(text) for piece in _pieces(block, chars)]
    now: list[str] = []
    for block in blocks:
        if _length("\n\n".join([*now, block])) > chars:
            break
        now.append(block)
    return "\n\n".join(now), "\n\n".join(blocks[len(now) :])


def _blocks(text: str) -> list[str]:
    """The blocks of a text, each with the line that leads to it."""
    found = re.split(r"\n\n(?=<hf:|Continuing from checkpoint )", text)
    return [block for block in found if block.strip()]


def _pieces(block: str, chars: int) -> list[str]:
    lines = block.split("\n")
    opening = next((n for n, line in enumerate(lines) if line.startswith("<hf:")), None)
    if _length(block) <= chars or opening is None or len(lines) - opening < _SPLITS:
        return [block]
    middle = (opening + len(lines)) // 2
    first = [*lines[:middle], lines[-1]]
    second = [lines[opening], *lines[middle:]]
    return [*_pieces("\n".join(first), chars), *_pieces("\n".join(second), chars)]


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _from(point: Checkpoint | None, of: SessionInfo) -> str:
    if point is None:
        seq, why, at = of.last_seq, "the last event", of.last_at
    else:
        seq, why, at = point.event_seq, quoted(point.why), point.at
    when = at[:_MINUTE].replace("T", " ")
    return f"Continuing from checkpoint {seq} ({why}, {when}) of session {quoted(of.id)}:"


def _how(hf: Holdfast) -> dict[str, Any]:
    """What is the same for every context of a session, so that its epoch goes on."""
    hooks, compose = hf.settings.hooks, hf.settings.compose
    chosen = replace(
        compose,
        shares=hooks.shares,
        profiles={},
        floor=hooks.floor,
        first_tokens=hooks.turn_tokens,
    )
    return {"budget": hooks.budget, "settings": chosen}
