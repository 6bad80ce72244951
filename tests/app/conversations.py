"""Conversations in which contexts are asked for, while everything around them goes on.

A life is told move by move, one a minute: turns, tools, notes, memories that come, change and go, other
sessions and other people. Whoever tells it gets every context that was handed out, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.capture.stamp import fresh_id
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.model.epochs import Epoch
from holdfast.model.events import Draft
from holdfast.model.memories import Memory
from holdfast.model.packs import Pack, Shown
from holdfast.views.epochs import shown_in
from tests.compose.wordings import said, sentences
from tests.faults.logs import subject
from tests.recall.replays import Ticking, stamp

SCOPES = ("project", "project", "user", "system")

#: what is said and done in the session itself
TALK = ("user", "assistant", "tools", "call", "result", "error", "decision", "gate", "task", "note")
#: what is learned
LEARN = (
    "stock",
    "fact",
    "rule",
    "preference",
    "workflow",
    "episode",
    "important",
    "guess",
    "foreign",
)
#: what corrects something that may have been shown
CORRECT = ("slot", "supersede", "replace", "revise", "expire", "merge")
#: what else may happen to it without anything being taken back
AROUND = ("retag", "restore", "wait", "elsewhere", "critic", "ben")
#: what a host that keeps the conversation does to it
HOST = ("compacted",)
#: what takes something back for good
TAKE_BACK = ("forget", "distrust")
#: what becomes of the files of the project
FILES = ("document", "source", "unwritten")
EVERYTHING = (*TALK, *LEARN, *CORRECT, *AROUND, *HOST, *TAKE_BACK, *FILES)


class Move(NamedTuple):
    """One thing that happens; `which` picks among what is there."""

    what: str
    which: int
    text: str


def moves(
    kinds: tuple[str, ...] = EVERYTHING, texts: st.SearchStrategy[str] = said
) -> st.SearchStrategy[Move]:
    """Moves of these kinds; every third one asks for a context."""
    return st.one_of(
        st.builds(Move, st.just("ask"), st.integers(0, 7), sentences),
        st.builds(Move, st.sampled_from(kinds), st.integers(0, 7), texts),
        st.builds(Move, st.sampled_from(kinds), st.integers(0, 7), texts),
    )


def lives(
    kinds: tuple[str, ...] = EVERYTHING,
    texts: st.SearchStrategy[str] = said,
    most: int = 14,
) -> st.SearchStrategy[list[Move]]:
    """Lives that begin with something learned and end with a context."""
    begun = st.lists(
        st.builds(Move, st.sampled_from(LEARN), st.integers(0, 7), texts), min_size=1, max_size=4
    )
    last = st.builds(Move, st.just("ask"), st.integers(0, 7), sentences)
    return st.builds(
        lambda first, then, end: [*first, *then, end],
        begun,
        st.lists(moves(kinds, texts), min_size=2, max_size=most),
        last,
    )


class Life:
    """One project, one session of one agent in it, and everything around it."""

    def __init__(self, hf: Holdfast, clock: Ticking, **call: Any) -> None:
        self.hf = hf
        self.clock = clock
        self.call = call
        #: what else each question is asked with, by turns
        self.calls: tuple[dict[str, Any], ...] = ({},)
        self.s = hf.session(agent="coder", session_id="s").start()
        self.made: list[str] = []
        self.packs: list[Pack] = []
        #: where the files of the project lie
        self.files = Path("nowhere")
        #: the number of the person's turn each context was asked for in
        self.turns: list[int] = []
        self._turn = 0

    def live(self, told: list[Move]) -> list[Pack]:
        """Take every move; the contexts that were handed out."""
        for move in told:
            self.take(move)
        return self.packs

    def take(self, move: Move) -> None:
        """Take one move; what cannot be done is not done."""
        self.clock.minutes += 1
        try:
            done = self._verbs(move)[move.what]()
        except (Conflict, Invalid, NotFound):
            return
        learned = done if isinstance(done, list) else [done]
        self.made += [one.id for one in learned if isinstance(one, Memory)]

    def ask(self, query: str, **more: Any) -> Pack:
        """What a person asks, and the context for it."""
        self.user(query)
        return self.context(query, **more)

    def user(self, text: str) -> None:
        """What a person says."""
        self._turn += 1
        self.s.user(text)

    def context(self, query: str, **more: Any) -> Pack:
        """A context, kept with the others."""
        pack = self.s.context(query, **{**self.call, **more})
        self.packs.append(pack)
        self.turns.append(self._turn)
        return pack

    # ---- moves -----------------------------------------------------------------------------

    def _verbs(self, move: Move) -> Mapping[str, Callable[[], Any]]:
        one = self.made[move.which % len(self.made)] if self.made else "mem_none"
        call = self.calls[move.which % len(self.calls)]
        spoken = {"ask": lambda: self.ask(move.text, **call), **self._talk(self.s, move)}
        told = {**spoken, **self._learn(move), **self._change(move, one)}
        return {**told, **self._around(move), **self._files(move)}

    def _talk(self, s: Session, move: Move) -> dict[str, Callable[[], Any]]:
        text, name = move.text, ("Bash", "Read", "mcp.search:find it")[move.which % 3]

        def tools() -> None:
            calls = [f"call-{self.clock.minutes}-{n}" for n in range(1 + move.which % 2)]
            for call in calls:
                s.tool_call(name, {"command": text}, call_id=call)
            for call in calls:
                s.tool_result(name, text, call_id=call)

        return {
            "user": lambda: self.user(text),
            "assistant": lambda: s.assistant(text),
            "tools": tools,
            "call": lambda: s.tool_call(name, {"path": text}),
            "result": lambda: s.tool_result(name, text),
            "error": lambda: s.error(text),
            "decision": lambda: s.decision(text),
            "gate": lambda: s.gate(move.which, passed=move.which % 2 == 0, note=text),
            "task": lambda: s.task_done(text),
            "note": lambda: s.update_state({f"note {move.which % 3}": text}),
        }

    def _learn(self, move: Move) -> dict[str, Callable[[], Any]]:
        hf, text, scope = self.hf, move.text, SCOPES[move.which % 4]
        return {
            "stock": lambda: hf.remember_all(stock(move)),
            "fact": lambda: hf.remember(text, scope=scope),
            "rule": lambda: hf.remember(text, category="rules", scope=scope),
            "preference": lambda: hf.remember(text, category="preferences", scope="user"),
            "workflow": lambda: hf.remember(text, kind="workflow", title="ship", steps=[text[:90]]),
            "episode": lambda: hf.remember(text, kind="episode"),
            "important": lambda: hf.remember(text, importance=0.9, scope=scope),
            "guess": lambda: self.s.remember(text, category=("facts", "rules")[move.which % 2]),
            "foreign": lambda: hf.record([imported(text, ("facts", "rules")[move.which % 2])]),
        }

    def _change(self, move: Move, one: str) -> dict[str, Callable[[], Any]]:
        hf, text, now = self.hf, move.text, self.clock.minutes
        other = self.made[(move.which + 1) % len(self.made)] if self.made else one
        return {
            "slot": lambda: hf.remember(text, key=f"key {move.which % 2}", value=text[:40]),
            "supersede": lambda: hf.remember(text, supersedes=one),
            "replace": lambda: hf.remember(text, supersedes=list({one, other})),
            "revise": lambda: hf.revise(one, text=text),
            "expire": lambda: hf.revise(one, expires_at=stamp(now + 0.5)),
            "merge": lambda: hf.merge([one, other]),
            "retag": lambda: hf.revise(one, tags=[f"tag{move.which}"]),
            "restore": lambda: hf.restore(one),
            "forget": lambda: hf.forget(one, reason="tidy"),
            "distrust": lambda: hf.trust(one, move.which % 3, reason="seen"),
        }

    def _around(self, move: Move) -> dict[str, Callable[[], Any]]:
        hf, text = self.hf, move.text
        of_ben = {"agent": "coder", "user": "ben", "session_id": "of ben"}
        return {
            "wait": lambda: setattr(self.clock, "minutes", self.clock.minutes + 10 * move.which),
            "elsewhere": lambda: hf.session(agent="coder", session_id="elsewhere").user(text),
            "critic": lambda: hf.session(agent="critic", session_id="of critic").assistant(text),
            "ben": lambda: hf.session(**of_ben).user(text),
            "compacted": lambda: self.s.record("compacted", {"by": "host"}, origin="system"),
        }

    def _files(self, move: Move) -> dict[str, Callable[[], Any]]:
        """Files that are read in, changed and removed; a few, so that each of that happens."""
        root, number = self.files, move.which % 3

        def wrote(name: str, text: str) -> None:
            if not root.is_dir():
                raise NotFound("this life has no files")
            (root / name).write_text(text, encoding="utf-8", errors="replace")
            self.hf.documents.add(["*"], root=root)

        def gone() -> None:
            (root / f"note{number}.md").unlink(missing_ok=True)
            self.hf.documents.refresh(root=root)

        parts = "\n\n".join(f"## Part {n}\n\n{move.text}, part {n}" for n in range(move.which))
        return {
            "document": lambda: wrote(f"note{number}.md", f"# Notes\n\n{move.text}\n\n{parts}\n"),
            "source": lambda: wrote(f"tool{number}.py", f"def work():\n    {move.text!r}\n"),
            "unwritten": gone,
        }


def stock(move: Move) -> list[dict[str, Any]]:
    """Many memories at once, of several kinds, each another text."""
    kinds: tuple[dict[str, Any], ...] = (
        *({"importance": 0.9}, {"category": "rules"}, {"kind": "episode"}, {"importance": 0.2}),
        *({}, {}, {}),
    )
    return [
        {"text": f"{move.text[: 40 + 60 * (n % 5)]} as of {n}", **kinds[(n + move.which) % 7]}
        for n in range(5 * move.which)
    ]


def imported(text: str, category: str = "facts") -> Draft:
    """A memory that comes from outside: trust 0."""
    said = {"memory": fresh_id("mem"), "scope": "project", "text": text, "category": category}
    return Draft(type="memory_learned", payload=said, origin="import", user="ana")


@contextmanager
def lived(
    told: list[Move], home: Path | str | None = None, **call: Any
) -> Iterator[tuple[Life, list[Pack]]]:
    """A life in a home of its own, which is gone afterwards unless one is given."""
    with TemporaryDirectory() as place, TemporaryDirectory() as files:
        clock = Ticking()
        with holdfast.open(home or place, project="p", user="ana", now=clock) as hf:
            life = Life(hf, clock, **call)
            life.files = Path(files)
            yield life, life.live(told)


def erased(hf: Holdfast, *ids: str) -> None:
    """Take events out of the log for good."""
    hf.log.erase(ids, subject=subject(fresh_id("evt"), ids))


# ---- what was handed out ------------------------------------------------------------------------


def lasting(pack: Pack) -> str:
    """The text of a context without its notes, which are not there any more in the next one."""
    notes = pack.sections["scratchpad"]
    assert pack.text.endswith(notes)
    return pack.text.removesuffix(notes).removesuffix("\n\n") if notes else pack.text


def epoch_of(hf: Holdfast, pack: Pack) -> Epoch:
    """The epoch a context belongs to, as its first event tells it."""
    event = hf.log.find(pack.receipt.epoch)
    assert event is not None
    return Epoch(
        id=event.event_id,
        event_seq=event.event_seq,
        key=event.payload["key"],
        history_from=event.payload["history_from"],
        shown=shown_in(event.payload["shown"]),
    )


def taken(pack: Pack) -> list[Shown]:
    """What a context added, as its receipt says."""
    return [one.shown for one in pack.receipt.candidates if one.verdict == "taken"]


def plain(pack: Pack) -> dict[str, Any]:
    """All of a context but its name and the moment it was made."""
    told: dict[str, Any] = msgspec.to_builtins(pack)
    del told["id"]
    for name in ("pack", "epoch", "at"):
        del told["receipt"][name]
    return told
