"""A context manager for a context that the host holds itself.

    from holdfast.manager import ContextManager

    ctx = ContextManager(memory_path="./memfas.json", get_context=…, set_context=…,
                         get_token_count=…, get_messages=…)
    status = ctx.before_response(max_tokens=100_000)
    if status.needs_compaction:
        ctx.compact()
    ctx.session_end()

What it sees is recorded in a session of Holdfast; what leaves comes back with `recover`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict

from holdfast.app import compactions, managed
from holdfast.app.compacting import known_of
from holdfast.app.open import locate, opened_in, project_folder
from holdfast.app.returning import Returning
from holdfast.capture.origin import person
from holdfast.compact.hosted import HOSTED, pieces, words
from holdfast.compact.pressure import pressure
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.model import knobs
from holdfast.model.cold import Cold
from holdfast.model.compactions import Band

__all__ = ["CompactionResult", "ContextManager", "ContextStatus"]

#: what the last of so many messages say is what is asked now, where nobody set a prompt
_LAST = 1
_FOUND = 5
#: the window, where nobody said how large it is
_USUAL = 100_000
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
    #: False: what is left, which cannot leave, is more than MAX_CONTEXT_PCT of the window by itself
    fits: bool = True


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
        project: str = managed.HOST,
        session_id: str | None = None,
        now: Callable[[], int] | None = None,
        **more: Any,
    ) -> None:
        """`memory_path` names where it keeps everything: a folder of that name, ending in .holdfast.

        Without it, the usual home. `config_path` is a file of knobs; each can also be given here by
        its name. `session_id` goes on with an earlier conversation. What is named after memfas is
        taken and not needed: likeness is found without it.
        """
        hooks = {
            "get_context": get_context,
            "set_context": set_context,
            "get_token_count": get_token_count,
            "get_messages": get_messages,
        }
        for name, hook in hooks.items():
            if hook is not None and not callable(hook):
                raise Invalid(f"{name} is a function, not {hook!r:.80}")
        paths = {"LOG_PATH": log_path, "COLD_STORAGE_PATH": cold_storage_path}
        given = {name: os.path.abspath(path) for name, path in paths.items() if path is not None}
        found, chosen = locate(managed.home(memory_path), project)
        given |= {n: os.path.abspath(more.pop(n)) for n in paths if isinstance(more.get(n), str)}
        here = "ContextManager" if config_path is None else f"ContextManager, {config_path}"
        tables = managed.turned(config_path, {**given, **more}, "ContextManager")
        chosen, folder = managed.chosen(chosen, tables, here), project_folder(chosen, found.id)
        if os.path.isdir(folder):
            managed.keep(folder, tables)
        self._hf = opened_in(found, chosen, now or _clock, person() if user is None else user)
        managed.keep(folder, tables)
        self._session = self._hf.session(agent=agent, session_id=session_id, skill=HOSTED).start()
        self._get = get_context or list
        self._hosting = Returning(self._session, self._get, set_context, get_token_count)
        self._messages = get_messages
        self._prompt = ""
        self._max_tokens = 0
        self._last: ContextStatus | None = None
        made = compactions.made_last(self._hf, known_of(self._session))
        self._last_compaction = made.timestamp if made is not None else None
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
        """What is asked now: what is about it stays. It holds until the answer (`after_response`).

        Then `get_messages` says what is asked; without that function it holds until another is set.
        """
        if not isinstance(prompt, str):
            raise Invalid(f"a prompt is a text, not {type(prompt).__name__}")
        self._prompt = prompt

    def on_message(self, message: str, context: Any = None) -> None:
        """Somebody said something; the context, if it is given, is recorded as it is by now."""
        self.set_current_prompt(message)
        self._at_work().look(context)

    def before_response(self, max_tokens: int = _USUAL) -> ContextStatus:
        """How full the context is by now; compacted right away where AUTO_COMPACT says so.

        What left and is about what is asked now is put back where there is room (AUTO_RECOVER).
        """
        self._max_tokens = _window(max_tokens)
        status = self._status(max_tokens)
        self._due = status.needs_compaction
        if not self._due:
            return self._reported(status, self._brought_back(max_tokens))
        if not self._hf.settings.manager.auto_compact:
            return self._reported(status, changed=False)
        done = self.compact()
        if not done.chunks_dropped + done.chunks_summarized:
            return self._reported(status, changed=False)
        return self._last or status

    def after_response(self) -> None:
        """The model has answered: what is new is recorded; what came back once and is stale goes.

        That begins at CURATION_TRIGGER_PCT of the window that `before_response` named. The prompt that
        was set is answered, too.
        """
        self._at_work().look()
        if self._max_tokens:
            self._hosting.curate(self._asked(), self._max_tokens)
        if self._messages is not None:
            self._prompt = ""

    def compact(self, max_tokens: int | None = None) -> CompactionResult:
        """Make room for what is asked now; nothing is changed where nothing would be gained."""
        limit = self._max_tokens or _USUAL if max_tokens is None else _window(max_tokens)
        asked = self._asked()
        made = self._at_work().compact(asked, limit, "tokens" if self._due else "asked")
        self._due = False
        if made.id:
            event = self._hf.log.find(made.id)
            self._last_compaction = event.timestamp if event is not None else None
            self._reported(self._status(limit), self._brought_back(limit))
        return CompactionResult(
            tokens_before=made.tokens_before,
            tokens_after=made.tokens_after,
            chunks_dropped=made.dropped,
            chunks_summarized=made.summarized,
            token_savings=made.tokens_before - made.tokens_after,
            fits=made.tokens_after <= self._hf.settings.compact.most * limit,
        )

    def session_end(self) -> None:
        """Record what is left and keep it cold, end the session and let go of the files."""
        if self._over:
            return
        try:
            self._hosting.look()
            self._hosting.archive()
            self._reported(self._status(self._max_tokens or _USUAL), changed=False)
        finally:
            self._over = True
            try:
                self._session.end()
                self._hf.activity.brought_up()
            finally:
                self._hf.close()

    def _brought_back(self, limit: int) -> bool:
        if not self._hf.settings.manager.auto_recover:
            return False
        return self._hosting.bring_back(self._asked(), limit) > 0

    def _reported(self, status: ContextStatus, changed: bool) -> ContextStatus:
        """The status as it is by now, written down."""
        status = self._status(status.max_tokens) if changed else status
        self._hosting.report(status.current_tokens, status.max_tokens, status.chunks_count)
        return status

    # ---- what left -------------------------------------------------------------------------

    def recover(self, query: str) -> list[str]:
        """What left and is needed again, verbatim: by a chunk's id, `events 3-9`, or a question."""
        self._at_work().settle()
        if not isinstance(query, str):
            raise Invalid(f"recover takes a text, not {type(query).__name__}")
        named = _EVENTS.fullmatch(query.strip())
        if named is not None:
            return self._hosting.recover(int(named[1]), int(named[2]))
        try:
            return [self.recover_chunk(query).content]
        except NotFound:
            return self._hosting.about(query, _FOUND)

    def recover_chunk(self, chunk_id: str) -> Cold:
        """One chunk by its id; NotFound when there is none."""
        self._at_work()
        return self._session.recover(chunk_id, prompt=self._prompt)

    # ---- figures ---------------------------------------------------------------------------

    def status(self) -> ContextStatus:
        """As `before_response` said last; asked now where it never did."""
        return self._last or self._status(self._max_tokens or _USUAL)

    def health_check(self) -> dict[str, Any]:
        """Figures for monitoring."""
        now = self._status(self._max_tokens or _USUAL)
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
        said = self._messages(_LAST)
        if said is None or isinstance(said, str):
            return said or ""
        if isinstance(said, Mapping):
            return words(said)
        if not isinstance(said, Sequence) and not hasattr(said, "__iter__"):
            raise Invalid(f"get_messages gives a list of messages, not {type(said).__name__}")
        return "\n".join(map(words, list(said)[-_LAST:]))

    def _at_work(self) -> Returning:
        if self._over:
            raise Conflict("this conversation is over; make another ContextManager to go on")
        return self._hosting


def _window(given: Any) -> int:
    if type(given) is not int or given < 1:
        raise Invalid(f"max_tokens is a number of tokens, not {given!r}")
    return given


def _clock() -> int:
    return time.time_ns() // 1_000_000
