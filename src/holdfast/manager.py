"""A context manager for a context that the host holds itself.

    from holdfast.manager import ContextManager

    ctx = ContextManager(memory_path="./memfas.json", get_context=…, set_context=…,
                         get_token_count=…, get_messages=…)
    status = ctx.before_response(max_tokens=100_000)
    if status.needs_compaction:
        ctx.compact()
    ctx.session_end()

What it sees is recorded in a session of Holdfast; what leaves is cold and comes back with `recover`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from holdfast import settings
from holdfast.app import hosting, managing
from holdfast.app.cold import EVERY
from holdfast.app.open import locate, opened_in
from holdfast.capture.origin import person
from holdfast.compact.hosted import pieces
from holdfast.compact.pressure import pressure
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.model import knobs
from holdfast.model.cold import Cold
from holdfast.model.compactions import Band
from holdfast.model.settings import Settings

__all__ = ["CompactionResult", "ContextManager", "ContextStatus"]

#: what the last of so many messages say is what is asked now, where nobody set a prompt
_LAST = 1
_FOUND = 5
_EVENTS = re.compile(r"events ([0-9]{1,18})-([0-9]{1,18})")


class ContextStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How full a context is."""

    current_tokens: int
    max_tokens: int
    pct_used: float
    chunks_count: int
    cold_storage_count: int
    needs_compaction: bool
    last_compaction: str | None = None
    band: Band = "calm"
    next_compaction_estimate: int = 0


class CompactionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction did."""

    tokens_before: int
    tokens_after: int
    chunks_dropped: int
    chunks_summarized: int
    token_savings: int


class ContextManager:
    """Keeps the context of one conversation small; a failure leaves it as it was."""

    def __init__(  # noqa: PLR0913  (every name a caller may know)
        self,
        memory_path: str | os.PathLike[str] | None = None,
        config_path: str | os.PathLike[str] | None = None,
        log_path: str | os.PathLike[str] | None = None,
        cold_storage_path: str | os.PathLike[str] | None = None,
        memfas_memory_path: str | os.PathLike[str] | None = None,  # noqa: ARG002
        memfas_backend: str = "fts5",  # noqa: ARG002
        *,
        get_context: Callable[[], Any] | None = None,
        set_context: Callable[[Any], Any] | None = None,
        get_token_count: Callable[[], int] | None = None,
        get_messages: Callable[[int], Any] | None = None,
        agent: str = "context-manager",
        user: str | None = None,
        project: str = "context-manager",
        session_id: str | None = None,
        now: Callable[[], int] | None = None,
        **more: Any,
    ) -> None:
        """`memory_path` names where it keeps everything: a folder of that name, ending in .holdfast.

        Without it, the usual home. `config_path` is a file of knobs; each can also be given here by
        its name. `session_id` goes on with an earlier conversation. What is named after memfas is
        taken and not needed: likeness is found without it.
        """
        found, chosen = locate(_home(memory_path), project)
        paths = {"LOG_PATH": log_path, "COLD_STORAGE_PATH": cold_storage_path}
        given = {name: os.path.abspath(path) for name, path in paths.items() if path is not None}
        chosen = _turned(chosen, config_path, {**given, **more})
        self._hf = opened_in(found, chosen, now or _clock, person() if user is None else user)
        self._session = self._hf.session(
            agent=agent, session_id=session_id, skill=managing.HOSTED
        ).start()
        self._get = get_context or list
        self._hosting = hosting.Hosting(
            self._session, self._get, set_context or (lambda _: None), get_token_count
        )
        self._messages = get_messages
        self._prompt = ""
        self._max_tokens = 0
        self._last: ContextStatus | None = None
        self._last_compaction: str | None = None
        self._due = False
        self._over = False

    # ---- what it is set to, where things lie -----------------------------------------------

    @property
    def config(self) -> dict[str, Any]:
        """Every knob and what it is set to."""
        return knobs.named(self._hf.settings.compact, self._hf.settings.manager)

    @property
    def session_id(self) -> str:
        """The session everything is recorded in."""
        return self._session.id

    @property
    def log_path(self) -> Path:
        """Where the five logs lie."""
        return Path(self._hf.activity.folder)

    @property
    def cold_storage_path(self) -> Path:
        """Where copies of what left lie."""
        return Path(self._hf.cold.folder)

    # ---- as a conversation goes on ---------------------------------------------------------

    def set_current_prompt(self, prompt: str) -> None:
        """What is asked now: what is about it stays."""
        if not isinstance(prompt, str):
            raise Invalid(f"a prompt is a text, not {type(prompt).__name__}")
        self._prompt = prompt

    def on_message(self, message: str, context: Any = None) -> None:
        """Somebody said something; the context, if it is given, is recorded as it is by now."""
        self.set_current_prompt(message)
        self._at_work().look(context)

    def before_response(self, max_tokens: int = 100_000) -> ContextStatus:
        """How full the context is; compacted right away where AUTO_COMPACT says so."""
        if type(max_tokens) is not int or max_tokens < 1:
            raise Invalid(f"max_tokens is a number of tokens, not {max_tokens!r}")
        self._max_tokens = max_tokens
        status = self._status(max_tokens)
        self._at_work().report(status.current_tokens, max_tokens, status.chunks_count)
        self._due = status.needs_compaction
        if self._due and self._hf.settings.manager.auto_compact:
            self.compact()
        return status

    def after_response(self) -> None:
        """The model has answered: what is new in the context is recorded."""
        self._at_work().look()

    def compact(self, max_tokens: int | None = None) -> CompactionResult:
        """Make room for what is asked now; nothing is changed where nothing would leave."""
        limit = max_tokens or self._max_tokens or 100_000
        made = self._at_work().compact(self._asked(), limit, "tokens" if self._due else "asked")
        self._due = False
        if made.id:
            event = self._hf.log.find(made.id)
            self._last_compaction = event.timestamp if event is not None else None
        return CompactionResult(
            tokens_before=made.tokens_before,
            tokens_after=made.tokens_after,
            chunks_dropped=made.dropped,
            chunks_summarized=made.summarized,
            token_savings=made.tokens_before - made.tokens_after,
        )

    def session_end(self) -> None:
        """Record what is left, end the session and let go of the files."""
        if self._over:
            return
        try:
            self._hosting.look()
            self._session.end()
            self._hf.activity.up_to_date()
        finally:
            self._over = True
            self._hf.close()

    # ---- what left -------------------------------------------------------------------------

    def recover(self, query: str) -> list[str]:
        """What left and is needed again, verbatim: by a chunk's id, `events 3-9`, or a question."""
        self._at_work()
        hf, s = self._hf, self._session
        if not isinstance(query, str):
            raise Invalid(f"recover takes a text, not {type(query).__name__}")
        named = _EVENTS.fullmatch(query.strip())
        if named is not None:
            first, last = int(named[1]), int(named[2])
            cold = hf.cold.list(s.id, user=s.principal, agent=s.agent, expired=True, limit=EVERY)[
                ::-1
            ]
            ids = [one.id for one in cold if one.first <= last and one.last >= first]
            return [self.recover_chunk(one).content for one in ids]
        try:
            return [self.recover_chunk(query).content]
        except NotFound:
            ids = hosting.found(hf, query, (s.principal, s.agent), _FOUND)
            return [s.recover(one, prompt=query).content for one in ids]

    def recover_chunk(self, chunk_id: str) -> Cold:
        """One chunk by its id; NotFound when there is none."""
        self._at_work()
        return self._session.recover(chunk_id, prompt=self._prompt)

    # ---- figures ---------------------------------------------------------------------------

    def status(self) -> ContextStatus:
        """As `before_response` said last; asked now where it never did."""
        return self._last or self._status(self._max_tokens or 100_000)

    def health_check(self) -> dict[str, Any]:
        """Figures for monitoring."""
        now = self._status(self._max_tokens or 100_000)
        return {
            "tokens": now.current_tokens,
            "cold_storage_count": now.cold_storage_count,
            "status": asdict(now),
            "config": {name.lower(): value for name, value in self.config.items()},
        }

    def _status(self, limit: int) -> ContextStatus:
        s, tokens = self._session, self._at_work().used()
        full = pressure(tokens, limit, self._hf.settings.compact)
        self._last = ContextStatus(
            current_tokens=tokens,
            max_tokens=limit,
            pct_used=tokens / limit,
            chunks_count=len(pieces(self._get())),
            cold_storage_count=self._hf.cold.count(user=s.principal, agent=s.agent),
            needs_compaction=full.band in ("compact", "flash", "full"),
            last_compaction=self._last_compaction,
            band=full.band,
            next_compaction_estimate=full.next_at,
        )
        return self._last

    def _asked(self) -> str:
        """The prompt: as it was set, else the last message."""
        if self._prompt or self._messages is None:
            return self._prompt
        last = list(self._messages(_LAST) or ())[-1:]
        return "\n".join(one.text for one in pieces(last))

    def _at_work(self) -> hosting.Hosting:
        if self._over:
            raise Conflict("this conversation is over; make another ContextManager to go on")
        return self._hosting


def _home(memory_path: str | os.PathLike[str] | None) -> str | None:
    if memory_path is None:
        return None
    return os.fspath(Path(memory_path).expanduser().absolute().with_suffix(".holdfast"))


def _clock() -> int:
    return time.time_ns() // 1_000_000


def _turned(
    chosen: Settings, config_path: str | os.PathLike[str] | None, given: Mapping[str, Any]
) -> Settings:
    """The settings with the knobs of a file, and over them those a caller names."""
    tables: knobs.Tables = {"compact": {}, "manager": {}}
    for name, value in given.items():
        knobs.turned(tables, name, value, "ContextManager")
    if config_path is not None:
        from_file = settings.knobs(Path(config_path).expanduser(), must=True)
        tables = {table: {**from_file[table], **tables[table]} for table in tables}
    return replace(
        chosen,
        compact=msgspec.convert(
            {**asdict(chosen.compact), **tables["compact"]}, type(chosen.compact)
        ),
        manager=settings.moved(
            msgspec.convert({**asdict(chosen.manager), **tables["manager"]}, type(chosen.manager))
        ),
    )
