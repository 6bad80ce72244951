"""The process that lives the session of `bench/soak.py`, and may be killed at any moment.

    python -m bench.soak_live PLACE FROM

PLACE holds `story.json` and `task.json`; the session goes on with move FROM. Every line on standard
output is one thing that was acknowledged: an event, a context with what it took and what was wrong with
it. Whatever is not said here may be lost and nothing else; a killed process is followed by another one
that begins where this one last spoke. `FROM` -1 lives nothing and looks at everything: the log, the
copies, contexts handed out on the way, spans that left.
"""

from __future__ import annotations

import bisect
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, TextIO

import msgspec

import holdfast
from bench.economy_ways import USER, question, written
from bench.soak_look import Looker, apart, digest, look
from bench.soak_story import IMPORTANT, PINNED, Move, Story, message_of
from holdfast.app.compacting import known_of
from holdfast.errors import HoldfastError
from holdfast.model.packs import Pack
from holdfast.text.quoting import quoted

AGENT, SESSION = "worker", "soak"
_BEGUN = 1_767_225_600_000  # 2026-01-01
#: of a question, the words that are before its eyes
_ASKED = 2
#: words of a person that are longer may be shown in short
_SHORT = 1_000


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """How the session is lived."""

    window: int
    budget: int
    #: a context before each so manieth step
    every: int
    #: milliseconds that pass with each move
    step: int
    #: every so manieth context is replayed, of every so manieth compaction everything is looked at
    replayed: int
    looked: int


class Clock:
    """Goes on with the story, whoever tells it."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.at = 0

    def __call__(self) -> int:
        return _BEGUN + self.at * self.step


def event_id(n: int) -> str:
    """The id of the event of a move."""
    return f"evt_{n:026d}"


def resident() -> float:
    """Megabytes this process has in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Life:
    """One process's part of the session."""

    def __init__(self, place: Path, out: TextIO) -> None:
        self.story = msgspec.json.decode((place / "story.json").read_bytes(), type=Story)
        self.task = msgspec.json.decode((place / "task.json").read_bytes(), type=Task)
        self.clock = Clock(self.task.step)
        self._out = out
        self.hf = holdfast.open(place / "home", project="soak", user=USER, now=self.clock)
        self.s = self.hf.session(agent=AGENT, session_id=SESSION)
        self.count = self.hf.counter().count
        self._sizes: dict[str, int] = {}
        self._sums = [0, *accumulate(move.tokens for move in self.story.moves)]
        self._looker = Looker(self.hf, self.s, self.story)
        self._steps = self._contexts = self._compactions = 0

    def say(self, **what: Any) -> None:
        """Acknowledged."""
        self._out.write(msgspec.json.encode(what).decode() + "\n")
        self._out.flush()

    def live(self, first: int) -> None:
        """From a move on, to the end."""
        self.clock.at = max(0, first - 1)
        if first == 0:
            self.s.start()
        self._past = known_of(self.s).past
        self._steps = sum(move.step for move in self.story.moves[:first])
        for n in range(first, len(self.story.moves)):
            self.clock.at = n
            move = self.story.moves[n]
            if move.step:
                self._steps += 1
                if self._steps % self.task.every == 0 or self._asks(n) >= 0:
                    self._context(n)
            self._record(n, move)
            self.say(event=n)
        self.hf.close()

    def _asks(self, n: int) -> int:
        return self.story.moves[n - 1].asks if n else -1

    def _record(self, n: int, move: Move) -> None:
        marks: dict[str, Any] = {"event_id": event_id(n)}
        marks |= {"pinned": True} if move.pinned else {}
        marks |= {"important": True} if move.important else {}
        s = self.s
        tell: dict[str, Callable[[], Any]] = {
            "user": lambda: s.user(move.text, **marks),
            "assistant": lambda: s.assistant(move.text, **marks),
            "decision": lambda: s.decision(move.text, **marks),
            "result": lambda: s.tool_result(move.tool, move.text, call_id=move.call_id, **marks),
            "call": lambda: s.tool_call(move.tool, move.arguments, call_id=move.call_id, **marks),
        }
        tell[move.kind]()

    # ---- a context -------------------------------------------------------------------------

    def _context(self, n: int) -> None:
        tools = self.s.tools()
        began, used = time.perf_counter(), time.process_time()
        try:
            pack = self.s.context(
                question([message_of(move) for move in self.story.moves[max(0, n - _ASKED) : n]]),
                window=self.task.window,
                budget=self.task.budget,
                system=self.story.system,
                tools=tools,
            )
        except HoldfastError as exc:
            self.say(refused=f"before move {n}: {type(exc).__name__}: {exc}")
            return
        took = time.perf_counter() - began, time.process_time() - used
        self._contexts += 1
        pieces = (msgspec.json.encode(tools, order="sorted").decode(), *written(pack.messages))
        sent = sum(map(self._size, pieces))
        self.say(
            context=pack.id,
            move=n,
            text=digest(pack.text),
            ms=took[0] * 1000,
            cpu=took[1] * 1000,
            rss=resident(),
            sent=sent,
            epoch=pack.receipt.epoch_began,
            full=self._system + self._sums[n],
            last=self._last(n)[1],
            wrong=[*self._wrong(n, pack, sent), *self._left()],
            found=self._found(n, pack),
        )

    def _size(self, piece: str) -> int:
        known = self._sizes.get(piece)
        if known is None:
            if len(self._sizes) > 2_000:
                self._sizes.clear()
            known = self._sizes[piece] = self.count(piece)
        return known

    @property
    def _system(self) -> int:
        return self._size(self.story.system)

    def _wrong(self, n: int, pack: Pack, sent: int) -> Iterator[str]:
        window, counted = self.task.window, self.count(pack.text)
        if counted > window:
            yield f"window: the text of {pack.id} takes {counted} tokens"
        if counted != pack.tokens:
            yield f"count: {pack.id} says {pack.tokens} tokens and takes {counted}"
        if sent > window:
            yield f"messages: those of {pack.id} take {sent} tokens"
        said = next((m for m in range(n - 1, -1, -1) if self.story.moves[m].kind == "user"), 0)
        words = self.story.moves[said]
        shown = quoted(words.text).strip() in pack.text
        if not shown and (words.tokens <= _SHORT or event_id(said) not in pack.text):
            yield f"words: {pack.id} lacks what the person said last, move {said}"
        if PINNED not in pack.text:
            yield f"pinned: {pack.id} lacks what is"
        if n > 1 and IMPORTANT not in pack.text:
            yield f"important: {pack.id} lacks what is"
        yield from (f"apart: in {pack.id} {what}" for what in apart(pack.messages))
        if self._contexts % self.task.replayed == 0:
            again = self.hf.replay(pack.id)
            if (again.text, again.messages) != (pack.text, pack.messages):
                yield f"replay: {pack.id} is not the same"

    def _left(self) -> Iterator[str]:
        """What a compaction that has just been did wrong."""
        past = known_of(self.s).past
        if past == self._past:
            return
        self._past = past
        self._compactions += 1
        yield from self._looker.compaction(past, deep=self._compactions % self.task.looked == 0)

    # ---- facts -----------------------------------------------------------------------------

    def _last(self, n: int) -> tuple[int, int]:
        """The first of the latest moves that fit the window, and what is sent with them."""
        room = self.task.window - self._system
        first = bisect.bisect_left(self._sums, self._sums[n] - room, 0, n)
        while first < n and self.story.moves[first].kind == "result":
            first += 1
        return first, self._system + self._sums[n] - self._sums[first]

    def _found(self, n: int, pack: Pack) -> dict[str, Any] | None:
        asks = self._asks(n)
        if asks < 0:
            return None
        fact = self.story.facts[asks]
        moves = self.story.moves[self._last(n)[0] : n]
        return {
            "by": fact.by,
            "far": fact.far,
            "pack": fact.value in pack.text,
            "expanded": self._looker.expanded(fact, pack),
            "searched": self._looker.searched(fact),
            "last": any(fact.value in move.text for move in moves),
        }


def main(arguments: Sequence[str]) -> None:
    """Live, or look."""
    place, first = Path(arguments[0]), int(arguments[1])
    life = Life(place, sys.stdout)
    if first >= 0:
        life.live(first)
        return
    life.clock.at = len(life.story.moves) - 1
    handed = msgspec.json.decode((place / "handed.json").read_bytes(), type=dict[str, str])
    with life.hf:
        life.say(looked=look(life.hf, life.s, life.story, handed, event_id))


if __name__ == "__main__":
    main(sys.argv[1:])
