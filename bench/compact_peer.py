"""Compactions that are not ours, for `bench.compact`: agent-memfas, installed apart, kept offline.

It is given every message as a text of its context, what the person said last as the prompt, and a window
it has filled, so that it compacts by itself. Three ways of using it:

- `agent-memfas`: nothing set. It compares words with the prompt, drops what scores low and keeps the
  rest as it is, for its summaries need a paid model of MiniMax.
- `… with its memory`: `memfas_memory_path` given, as its README does. Nothing is in its memory then,
  every text scores the same, and the first five stay.
- `… to the share`: its thresholds set so that `min_chunks_to_keep` alone decides, and that as large as
  the room allows, which its users would have to find out by trying. It is the one to compare with.

Its README hands it messages as dictionaries, which ends in an AttributeError; it takes texts. What it
dropped lies in its cold storage, from which it recovers nothing by itself: `recover` is asked with the
question where an expansion is asked for of ours, and counts as far as it fits the same tokens. Of
conversations it keeps as many tokens as ours keep and are given for memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from bench.compact_terms import named_in
from bench.data import Conversation
from bench.economy_data import Script
from bench.peer_embedding import EmbeddingServer
from bench.peer_process import Child, Failed, Peer, environment, namespace
from bench.peer_stores import spoken
from holdfast.engines.embedders.choose import embedders
from holdfast.model.embed import EmbedSettings
from holdfast.text.quoting import quoted

_PACKAGES = ("agent-memfas[context]",)
_NAMED = ("agent-memfas",)
#: what a way is called in the table, what its process is told, and whether it is fitted to the room
_WAYS = (
    ("agent-memfas", "words", False),
    ("agent-memfas, with its memory", "memory", False),
    ("agent-memfas, to the share", "words", True),
)
#: texts it recovers at once
_RECOVERED = 5

Count = Callable[[str], int]
Row = dict[str, Any]


class Stands(Protocol):
    """Which of some turns stand in a text."""

    def __call__(self, gold: Sequence[int], text: str) -> set[int]:
        """Their places."""
        ...


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction made of a context."""

    window: tuple[str, ...]
    #: the texts its cold storage holds
    cold: frozenset[str]
    seconds: float


class Other:
    """One way that is not ours; once it failed, `cannot` says why and it is asked no more."""

    def __init__(self, name: str, child: Child | None, *, fitted: bool, cannot: str = "") -> None:
        self.name = name
        self.cannot = cannot
        self._child = child
        self._fitted = fitted

    def compacted(self, texts: Sequence[str], prompt: str, room: int, count: Count) -> Left:
        """A context compacted; Failed with the peer's own error."""
        if not self._fitted:
            return self._tried(texts, prompt, None)
        few, many = 0, len(texts)
        while few < many:
            middle = (few + many + 1) // 2
            if count("\n".join(self._tried(texts, prompt, middle).window)) <= room:
                few = middle
            else:
                many = middle - 1
        return self._tried(texts, prompt, few)

    def _tried(self, texts: Sequence[str], prompt: str, keep: int | None) -> Left:
        self._ask("add", turns=[(f"t{n}", text) for n, text in enumerate(texts)])
        said = self._ask("compact", prompt=prompt, keep=keep)
        return Left(
            window=tuple(said["window"]), cold=frozenset(said["cold"]), seconds=said["seconds"]
        )

    def recovered(self, question: str) -> list[int]:
        """The places of texts it takes back from its cold storage for a question."""
        found = self._ask("ask", question=question, k=_RECOVERED)["found"]
        return [int(key.removeprefix("t")) for key in found]

    def _ask(self, op: str, **more: Any) -> dict[str, Any]:
        if self._child is None or self.cannot:
            raise Failed(self.cannot)
        try:
            return self._child.ask(op, **more)
        except Failed as exc:
            self.cannot = str(exc)
            raise


@contextmanager
def others(folder: Path) -> Iterator[list[Other]]:
    """Every way that is not ours, its process running until the block ends."""
    (embedder,) = embedders(EmbedSettings(embedder="static"))
    with EmbeddingServer(embedder) as server, ExitStack() as stack:
        yield [_started(*way, folder, server, stack) for way in _WAYS]


def _started(
    name: str, way: str, fitted: bool, folder: Path, server: EmbeddingServer, stack: ExitStack
) -> Other:
    peer = Peer(
        name=name,
        module="bench.peer_memfas_context",
        way=way,
        packages=_PACKAGES,
        named=_NAMED,
        embeds=False,
    )
    try:
        python = environment(folder, peer.packages)
        child = stack.enter_context(Child(peer, python, server, namespace()))
        version = child.ask("about")["versions"][_NAMED[0]]
    except Failed as exc:
        return Other(name, None, fitted=fitted, cannot=str(exc))
    return Other(name.replace(_NAMED[0], f"{_NAMED[0]} {version}"), child, fitted=fitted)


def cannot(some: Sequence[Other], like: Row, what: str) -> list[Row]:
    """A row for each that failed, with its reason and no figures."""
    blank = dict.fromkeys(like, "")
    return [
        {**blank, "what": what, "way": f"{one.name} cannot: {one.cannot}"}
        for one in some
        if one.cannot
    ]


# ---- work of agents ------------------------------------------------------------------------------


def worked(other: Other, script: Script, room: int, count: Count) -> Iterator[tuple[str, Row]]:
    """What it leaves of one script; nothing where it fails."""
    messages = [message for sitting in script.sittings for message in sitting.messages]
    texts = [message.plain for message in messages]
    asked = [message.text for message in messages if message.role == "user"]
    try:
        left = other.compacted(texts, asked[-1] if asked else "", room, count)
    except Failed:
        return
    whole, window = "\n".join(texts), "\n".join(left.window)
    tokens = count(whole)
    yield (
        other.name,
        {
            "tokens": tokens,
            "left": count(window) / tokens,
            "seconds": left.seconds,
            "named": named_in(whole, window),
            "restored": restored(texts, left),
        },
    )


def restored(texts: Sequence[str], left: Left) -> tuple[int, int]:
    """Of texts that left, how many its cold storage holds as they were, and how many left."""
    gone = set(texts) - set(left.window)
    return len(gone & left.cold), len(gone)


# ---- conversations with questions ----------------------------------------------------------------


def asked(
    other: Other,
    conversation: Conversation,
    room: int,
    expansion: int,
    stands: Stands,
    count: Count,
) -> list[Row]:
    """What each question finds in its window, and what it recovers when it is asked to."""
    texts = [spoken(turn) for turn in conversation.turns]
    said = [turn.text for turn in conversation.turns if turn.role == "user"]
    left = other.compacted(texts, said[-1] if said else texts[-1], room, count)
    window = "\n".join(left.window)
    rows = []
    for question in conversation.questions:
        if question.gold:
            back = _within([texts[n] for n in other.recovered(question.text)], expansion, count)
            rows.append(found(question.gold, window, back, stands, count))
    return rows


def _within(texts: Sequence[str], room: int, count: Count) -> str:
    """The first of them that fit together."""
    taken: list[str] = []
    for text in texts:
        if count("\n".join([*taken, text])) > room:
            break
        taken.append(text)
    return "\n".join(taken)


def found(gold: Sequence[int], window: str, more: str, stands: Stands, count: Count) -> Row:
    """What of the gold a window shows that nothing comes back to by itself, and then what more does."""
    there = stands(gold, quoted(window))
    chosen = len(there | stands(gold, quoted(more))) / len(gold)
    return {
        "pack": len(there) / len(gold),
        "chosen": chosen,
        "any": chosen,
        "tokens": count(window),
        "recovered": 0,
        "false": 0,
        "gold back": 0,
    }
