"""Sessions in which windows fill up, shrink and are looked into, whatever is said in them.

A history is told move by move: turns in any writing, calls made together, calls that nobody answers,
results of calls that never were, texts longer than any window, events that are erased; between them
contexts and compactions of any size. Whoever tells it gets what was handed out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hypothesis import strategies as st

import holdfast
from holdfast.model.compactions import Compaction
from holdfast.model.events import Event
from holdfast.model.packs import Pack
from tests.app.conversations import erased
from tests.compose.wordings import WAYS_OUT
from tests.recall.replays import Ticking

#: a window is never smaller here, so that what a test pins has its room
SMALLEST = 500
#: so much is pinned in one history: a small part of the smallest window
PINS = 2
BRIEF = "Be brief. "

_WORDS = st.sampled_from(
    [
        *("deploy", "the cache", "src/auth/login.ts", "KeyError: 'user'", "make test", "8080"),
        *(
            "retry",
            "parser",
            "never",
            "we use PostgreSQL",
            "\u4e0d\u8981\u518d",
            "\u0645\u0631\u062d",
        ),
    ]
)
_plain = st.lists(_WORDS, min_size=1, max_size=30).map(" ".join)
_odd = st.lists(
    st.one_of(_WORDS, st.sampled_from(WAYS_OUT), st.text(max_size=12)), min_size=1, max_size=12
).map(" ".join)
texts = st.one_of(_plain, _odd)
windows = st.one_of(st.integers(SMALLEST, 1_500), st.integers(SMALLEST, 20_000))

WHAT = (
    *("user", "user", "assistant", "tools", "tools", "call", "result", "late", "decision", "error"),
    *("pinned", "huge", "huge result", "erase", "gate", "context", "context", "compact", "flash"),
    *("save", "resume"),
)


class Step(NamedTuple):
    """One thing that happens; `which` picks among what is there."""

    what: str
    which: int
    text: str
    window: int


steps = st.builds(Step, st.sampled_from(WHAT), st.integers(0, 7), texts, windows)
histories = st.lists(steps, min_size=3, max_size=30)


class Told:
    """A session that was told a history."""

    def __init__(self, hf: holdfast.Holdfast, clock: Ticking) -> None:
        self.hf = hf
        self.s = hf.session(agent="coder", session_id="s")
        #: every context, with the window it was made for
        self.packs: list[tuple[Pack, int]] = []
        #: how full the window was right after each of them
        self.measured: list[int] = []
        self.compactions: list[tuple[Compaction, int]] = []
        #: what is pinned, by id
        self.pinned: list[str] = []
        self._clock = clock
        self._n = 0
        self._late: list[str] = []

    def tell(self, step: Step) -> None:
        """Take one step."""
        self._n += 1
        self._clock.minutes += 1
        getattr(self, f"do_{step.what.replace(' ', '_')}")(step)

    def events(self) -> list[Event]:
        """What was said in the session and stands in the log."""
        return [event for event in self.hf.events(session_id=self.s.id) if not event.erased]

    # ---- steps -----------------------------------------------------------------------------

    def do_user(self, step: Step) -> None:
        self.s.user(step.text)

    def do_assistant(self, step: Step) -> None:
        self.s.assistant(step.text)

    def do_tools(self, step: Step) -> None:
        """Calls made together, their results in any order, now and then one missing."""
        named = step.which % 2 == 0
        calls = [{"call_id": f"c{self._n}-{n}"} if named else {} for n in range(1 + step.which % 3)]
        for n, call in enumerate(calls):
            self.s.tool_call("Bash", {"command": f"{step.text} {n}"}, **call)
        for call in reversed(calls[step.which // 6 :]):
            self.s.tool_result("Bash", step.text * (1 + step.which), **call)

    def do_call(self, step: Step) -> None:
        """A call that nobody answers, or much later."""
        call_id = f"late{self._n}" if step.which % 2 else None
        self.s.tool_call("Task", {"prompt": step.text}, call_id=call_id)
        self._late += [call_id] if call_id else []

    def do_late(self, step: Step) -> None:
        """The result of a call that was made some time ago."""
        if self._late:
            self.s.tool_result("Task", step.text, call_id=self._late.pop(0))

    def do_result(self, step: Step) -> None:
        """The result of a call that never was."""
        self.s.tool_result("Read", step.text * (1 + step.which))

    def do_decision(self, step: Step) -> None:
        self.s.decision(step.text)

    def do_error(self, step: Step) -> None:
        self.s.error(step.text)

    def do_gate(self, step: Step) -> None:
        self.s.gate(step.which, passed=step.which % 2 == 0)

    def do_pinned(self, step: Step) -> None:
        if len(self.pinned) < PINS:
            long = step.window // 4 if step.which > 5 else 40
            event = self.s.assistant(f"pin {self._n}: {step.text[:long]}", pinned=True)
            self.pinned.append(event.event_id)

    def do_huge(self, step: Step) -> None:
        say = self.s.user if step.which % 2 else self.s.assistant
        say(f"{step.text}\n" * 200)

    def do_huge_result(self, step: Step) -> None:
        call = f"h{self._n}"
        self.s.tool_call(
            "Bash", {"command": step.text * (80 if step.which > 5 else 1)}, call_id=call
        )
        self.s.tool_result("Bash", f"{step.text}\n" * 300, call_id=call)

    def do_erase(self, step: Step) -> None:
        """Something that was said is gone for good, unless it is pinned."""
        kinds = ("user_message", "model_message", "tool_call", "tool_result")
        there = [
            event.event_id
            for event in self.events()
            if event.kind in kinds and event.event_id not in self.pinned
        ]
        if there and step.which < 3:
            erased(self.hf, there[(step.which * 7 + self._n) % len(there)])

    def do_crowded(self, step: Step) -> None:
        """A context whose system text takes three quarters of the window."""
        self._context(step, BRIEF * (3 * step.window // (4 * self.hf.counter().count(BRIEF))))

    def do_context(self, step: Step) -> None:
        self._context(step)

    def _context(self, step: Step, system: str = "") -> None:
        budget = 0 if system else (0, 150)[step.which % 2]
        form: Any = ("openai", "anthropic")[step.which // 2 % 2]
        pack = self.s.context(
            step.text, window=step.window, budget=budget, format=form, system=system
        )
        self.packs.append((pack, step.window))
        self.measured.append(self.s.pressure().tokens)

    def do_compact(self, step: Step) -> None:
        to = max(150, step.window // (2 + step.which)) if step.which < 6 else None
        made = self.s.compact(step.text, to=to, window=step.window)
        if made is not None:
            self.compactions.append((made, to or step.window))

    def do_flash(self, step: Step) -> None:
        if step.which < 2:
            self.s.flash_save(window=step.window)

    def do_save(self, step: Step) -> None:
        self.s.checkpoint()

    def do_resume(self, step: Step) -> None:
        """Back to one of the working contexts that were saved, if there is one."""
        points = self.s.checkpoints()
        if points:
            self.s.resume_from(points[step.which % len(points)].event_id)


@contextmanager
def told(history: list[Step]) -> Iterator[Told]:
    """A session that was told a history, as long as the block lasts."""
    clock = Ticking()
    with (
        TemporaryDirectory() as home,
        holdfast.open(home, project="p", user="ana", now=clock) as hf,
    ):
        made = Told(hf, clock)
        for step in history:
            made.tell(step)
        yield made
