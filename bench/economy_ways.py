"""Five ways of making a prompt from the same work, each told every message and asked before each step.

A prompt is a list of pieces, one for each message as a chat model takes it: models put tokens of their
own between messages, so each is counted alone. Ids of calls are left out. All have the same system
prompt.

- full history: everything, whatever the window: the reference.
- sliding window: the latest that fit the window, from anything but a tool's result on.
- summarised: past 80 % of the window everything but the last ten messages gives way to a summary of at
  most 2,000 tokens. The summary is extractive and costs nothing, where a model's would be paid for.
- memory on top: the sliding window, and behind it a block of at most 1,000 tokens of what recall finds,
  made anew for each step. Recall is Holdfast's own, from the same store: a stand-in for any memory
  service.
- Holdfast: `Session.context`, each session of the work a session of the same agent; the tools it offers
  are part of the prompt.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Protocol

import msgspec

import holdfast
from bench.economy_data import Message, Script, Sitting
from holdfast import Session
from holdfast.errors import Invalid, NotFound
from holdfast.text import turns

Prompt = tuple[str, ...]
Count = Callable[[str], int]
AGENT, USER = "worker", "reader"
SUMMARISE_AT = 0.8
LAST = 10
SUMMARY_TOKENS = 2_000
MEMORY_TOKENS = 1_000
_HITS = 30
_CHARACTERS = 4  # of a token, about
_BEGUN = 1_767_225_600_000  # 2026-01-01
_STEP = 10_000
#: characters of a message that are part of a question
_ASKED = 500


class Way(Protocol):
    """A way of making prompts."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def expand(self) -> Callable[[str], str] | None:
        """What something shown in short stands for; None where nothing is."""

    def begin(self, sitting: Sitting) -> None:
        """A session begins."""

    def hear(self, message: Message) -> None:
        """Something was said."""

    def prompt(self, query: str) -> Prompt:
        """What is sent now."""


def question(said: Sequence[Message]) -> str:
    """What memory is asked for before a step: the last two messages, as far as they are short."""
    return "\n".join(message.plain.strip()[:_ASKED] for message in said[-2:]).strip()


# ---- pieces --------------------------------------------------------------------------------------


def written(messages: Sequence[dict[str, Any]]) -> Prompt:
    """Messages in OpenAI's format as a model reads them, a piece each."""
    return tuple(map(_piece, messages))


def _piece(message: dict[str, Any]) -> str:
    lines = [f"<{message['role']}>"]
    if message.get("content"):
        lines.append(message["content"])
    for call in message.get("tool_calls", ()):
        asked = call["function"]
        lines.append(f"<call {asked['name']}>\n{asked['arguments']}")
    return "\n".join(lines)


def plainly(message: Message) -> str:
    """One message as a piece."""
    calls = [
        {"function": {"name": call.tool, "arguments": _json(call.arguments)}}
        for call in message.calls
    ]
    return _piece({"role": message.role, "content": message.text, "tool_calls": calls})


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _system(text: str) -> Prompt:
    return (f"<system>\n{text}",) if text.strip() else ()


# ---- without Holdfast ----------------------------------------------------------------------------


class FullHistory:
    """Everything."""

    name = "full history"
    expand = None

    def __init__(self, script: Script, count: Count) -> None:
        self._count = count
        self._system = _system(script.system)
        self._said: list[Message] = []
        self._pieces: list[str] = []

    def begin(self, sitting: Sitting) -> None:
        """It goes on as it was."""

    def hear(self, message: Message) -> None:
        """One more."""
        self._said.append(message)
        self._pieces.append(plainly(message))

    def prompt(self, query: str) -> Prompt:  # noqa: ARG002  (nothing is looked for)
        """All there is."""
        return (*self._system, *self._pieces)

    def _from(self, room: int) -> int:
        """The first of the latest messages that fit, unless it is a result without its call."""
        sizes = list(accumulate(map(self._count, reversed(self._pieces))))[::-1]
        fit = (n for n, size in enumerate(sizes) if size <= room)
        return next((n for n in fit if self._said[n].role != "tool"), len(sizes))

    def _room(self, window: int) -> int:
        return window - sum(map(self._count, self._system))


class SlidingWindow(FullHistory):
    """The latest that fit."""

    name = "sliding window"

    def __init__(self, script: Script, count: Count, window: int) -> None:
        super().__init__(script, count)
        self._window = window

    def prompt(self, query: str) -> Prompt:  # noqa: ARG002  (nothing is looked for)
        """The end of it."""
        return (*self._system, *self._pieces[self._from(self._room(self._window)) :])


class Summarised(FullHistory):
    """Everything, until it is too much; then what was said before the last ten is summarised."""

    name = "summarised at 80 %"

    def __init__(self, script: Script, count: Count, window: int) -> None:
        super().__init__(script, count)
        self._window = window
        self._summary: Prompt = ()

    def prompt(self, query: str) -> Prompt:  # noqa: ARG002  (nothing is looked for)
        """The summary, if there is one, and what came since."""
        if self._size() > SUMMARISE_AT * self._window:
            self._fold(len(self._pieces) - LAST)
        if self._size() > self._window:  # the last ten alone are too much
            self._fold(self._from(self._room(self._window) - SUMMARY_TOKENS))
        return (*self._system, *self._summary, *self._pieces)

    def _size(self) -> int:
        return sum(map(self._count, (*self._system, *self._summary, *self._pieces)))

    def _fold(self, end: int) -> None:
        while 0 < end < len(self._said) and self._said[end].role == "tool":
            end -= 1
        if end <= 0:
            return
        text = "\n\n".join([*self._summary, *(message.plain for message in self._said[:end])])
        room = SUMMARY_TOKENS * _CHARACTERS
        while self._count(short := turns.summary(text, room)) > SUMMARY_TOKENS - 10:
            room = room * 9 // 10
        self._summary = (f"<user>\nSummary of what was said before:\n{short}",)
        del self._said[:end], self._pieces[:end]


class MemoryOnTop(SlidingWindow):
    """The latest that fit, and behind them what recall finds for this step."""

    name = "memory on top"

    def __init__(
        self, script: Script, count: Count, window: int, recall: Callable[[str], Sequence[str]]
    ) -> None:
        super().__init__(script, count, max(0, window - MEMORY_TOKENS))
        self._recall = recall

    def prompt(self, query: str) -> Prompt:
        """The end of it, and what is remembered."""
        block = "<user>\nFrom memory:"
        for text in self._recall(query):
            longer = f"{block}\n- {text}"
            if self._count(longer) <= MEMORY_TOKENS:
                block = longer
        return (*super().prompt(query), block)


# ---- with Holdfast -------------------------------------------------------------------------------


class Clock:
    """Ten seconds pass with each thing said."""

    def __init__(self) -> None:
        self.now = _BEGUN

    def __call__(self) -> int:
        return self.now


@contextmanager
def opened(embedder: str) -> Iterator[tuple[holdfast.Holdfast, Clock]]:
    """A fresh project in a home of its own, and its clock."""
    before, clock = os.environ.get("HOLDFAST_EMBEDDER"), Clock()
    os.environ["HOLDFAST_EMBEDDER"] = embedder
    try:
        with (
            tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home,
            holdfast.open(home, project="bench", user=USER, now=clock) as hf,
        ):
            yield hf, clock
    finally:
        if before is None:
            del os.environ["HOLDFAST_EMBEDDER"]
        else:
            os.environ["HOLDFAST_EMBEDDER"] = before


class Ours:
    """What Holdfast composes."""

    name = "Holdfast"

    def __init__(
        self, script: Script, hf: holdfast.Holdfast, clock: Clock, budget: int, window: int
    ) -> None:
        self._hf = hf
        self._clock = clock
        self._wanted: dict[str, Any] = {"budget": budget, "window": window, "system": script.system}
        self._one_session = script.one_session
        self._session: Session | None = None
        self._recorded = 0
        self._opened: dict[str, str] = {}
        #: why each epoch but the first of a session began
        self.epochs: list[str] = []
        #: what was said to handles that could not be opened
        self.dead: list[str] = []

    def begin(self, sitting: Sitting) -> None:
        """The session before is over, another begins; where all are one, it goes on."""
        if self._one_session and self._session is not None:
            return
        self.end()
        self._opened.clear()
        self._session = self._hf.session(agent=AGENT, session_id=sitting.name).start()

    def end(self) -> None:
        """Nothing more is said."""
        if self._session is not None:
            self._session.end()
            self._session = None

    def hear(self, message: Message) -> None:
        """Write it down."""
        s = self._on()
        if message.role == "user":
            s.user(message.text, event_id=self._next())
        elif message.role == "tool":
            s.tool_result(
                message.tool, message.text, call_id=message.answers, event_id=self._next()
            )
        else:
            if message.text.strip():
                s.assistant(message.text, event_id=self._next())
            for call in message.calls:
                s.tool_call(call.tool, call.arguments, call_id=call.id, event_id=self._next())

    def prompt(self, query: str) -> Prompt:
        """What is handed out, as messages."""
        s = self._on()
        tools = s.tools()
        pack = s.context(query, tools=tools, **self._wanted)
        if pack.receipt.epoch_began not in ("", "the first"):
            self.epochs.append(pack.receipt.epoch_began)
        return (_json(tools), *written(pack.messages))

    def expand(self, handle: str) -> str:
        """What it stands for, as far as 2,000 tokens go."""
        if handle not in self._opened:
            try:
                self._opened[handle] = self._on().expand(handle).text
            except (NotFound, Invalid) as exc:
                self.dead.append(str(exc))
                self._opened[handle] = ""
        return self._opened[handle]

    def recall(self, query: str) -> list[str]:
        """What recall finds, best first."""
        return [hit.text for hit in self._hf.recall(query, _HITS, user=USER, agent=AGENT)]

    def _on(self) -> Session:
        if self._session is None:
            raise Invalid("no session has begun")
        return self._session

    def _next(self) -> str:
        """Ids by number, so that a prompt that names one is the same in every run."""
        self._recorded += 1
        self._clock.now += _STEP
        return f"evt_{self._recorded:026d}"


def five(
    script: Script, count: Count, window: int, ours: Ours
) -> tuple[FullHistory, SlidingWindow, Summarised, MemoryOnTop, Ours]:
    """All of them."""
    return (
        FullHistory(script, count),
        SlidingWindow(script, count, window),
        Summarised(script, count, window),
        MemoryOnTop(script, count, window, ours.recall),
        ours,
    )
