"""What is looked at in a session that goes on and on: calls, compactions, copies, the log itself."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import holdfast
from bench.compact import _LINE, _SHORT, EXPANSION
from bench.measures import SEED
from bench.soak_story import Fact, Move, Story
from holdfast.app import compactions
from holdfast.app.cold import EVERY
from holdfast.compact.scoring import likeness
from holdfast.errors import HoldfastError
from holdfast.model.compactions import Compaction, Span
from holdfast.model.events import Event
from holdfast.model.packs import Pack
from holdfast.text.quoting import quoted

#: how many of everything are looked at in the end
_LOOKED = 60
#: hits of one search, as a model that asks would get them
_HITS = 5


def digest(text: str) -> str:
    """What a text is known by."""
    return sha256(text.encode()).hexdigest()


def apart(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Calls whose result is elsewhere, and results without a call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"a result answers {message['tool_call_id']}, which nobody called"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"{waiting} is not answered before something else is said"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
    if waiting:
        yield f"{waiting} is not answered at all"


class Looker:
    """Looks at compactions, and for facts."""

    def __init__(self, hf: holdfast.Holdfast, s: holdfast.Session, story: Story) -> None:
        self._hf = hf
        self._s = s
        self._story = story
        #: of each call and each result, by its move: the number of the pair
        self._pairs = paired(story.moves)

    # ---- compactions -----------------------------------------------------------------------

    def compaction(self, past: str, *, deep: bool) -> Iterator[str]:
        """What one compaction did wrong."""
        event = self._hf.log.find(past)
        if event is None:
            yield f"compaction: {past} is not in the log"
            return
        made = compactions.read(self._hf, event)
        yield from self._torn(made)
        for one in made.decided:
            path = self._hf.cold.place(self._s.id, one.id)
            if one.verdict == "drop" and not os.path.exists(path):
                yield f"cold: there is no copy of {one.id}, which {past} dropped"
        if deep:
            yield from self._unlike(made)

    def _torn(self, made: Compaction) -> Iterator[str]:
        """Of a call and its result one stayed and the other left."""
        sides: dict[int, set[bool]] = {}
        kept = set(made.past.kept)
        for one in made.decided:
            for event in self._between(one.first, one.last):
                pair = self._pairs.get(_place(event))
                if pair is not None:
                    sides.setdefault(pair, set()).add(event.event_seq in kept)
        for pair, both in sides.items():
            if len(both) > 1:
                yield f"torn: {made.id} keeps one side alone of what move {pair} called"

    def _between(self, first: int, last: int) -> Iterator[Event]:
        for event in self._hf.events(first - 1):
            if event.event_seq > last:
                return
            if event.session_id == self._s.id:
                yield event

    def _unlike(self, made: Compaction) -> Iterator[str]:
        """Spans and chunks that do not come back as they were said."""
        of = random.Random(made.id)
        spans = [*made.past.lines, *made.past.shorts]
        for span in of.sample(spans, min(3, len(spans))):
            yield from self._span(span)
        gone = [one.id for one in made.decided if one.verdict == "drop"]
        for chunk in of.sample(gone, min(3, len(gone))):
            yield from self.chunk(chunk)

    def _span(self, span: Span) -> Iterator[str]:
        text, ref = "", f"events {span.first}-{span.last}"
        while ref:
            found = self._s.expand(ref, 8_000)
            text, ref = text + found.text, found.more
        for event in self._between(span.first, span.last):
            place = _place(event)
            if place >= 0 and quoted(self._story.moves[place].text).strip("\n") not in text:
                yield f"expand: events {span.first}-{span.last} lack move {place}"

    def chunk(self, chunk_id: str) -> Iterator[str]:
        """A cold chunk that is not what was said."""
        try:
            back = self._hf.cold.get(chunk_id, agent=self._s.agent)
        except HoldfastError as exc:
            yield f"recover: {chunk_id}: {exc}"
            return
        if back.note or digest(back.content) != back.sha256:
            yield f"recover: {chunk_id}: {back.note or 'its checksum is another'}"
        for part in back.parts:
            place, (begin, end) = _numbered(part.event_id), part.span
            said = self._story.moves[place].text if place >= 0 else None
            if part.words and said is not None and back.content[begin:end] != said:
                yield f"recover: {part.event_id} of {chunk_id} is not what was said"

    # ---- facts -----------------------------------------------------------------------------

    def expanded(self, fact: Fact, pack: Pack) -> bool:
        """Is it there, or in one expansion of the line that is most like the question?"""
        if fact.value in pack.text:
            return True
        handles = [*_LINE.findall(pack.text), *_SHORT.findall(pack.text)]
        if not handles:
            return False
        alike = likeness(fact.asked, [said for _, said in handles])
        best = max(range(len(handles)), key=lambda n: (alike[n], n))
        return fact.value in self._s.expand(handles[best][0], EXPANSION).text

    def searched(self, fact: Fact) -> bool:
        """Is it among what one search finds?"""
        found = self._hf.recall(fact.asked, _HITS, agent=self._s.agent)
        return any(fact.value in hit.text for hit in found)


def paired(moves: Sequence[Move]) -> dict[int, int]:
    """Of each call and its result the move that called; an id may be used again once it is answered."""
    waiting: dict[str, list[int]] = {}
    pairs: dict[int, int] = {}
    for n, move in enumerate(moves):
        if move.kind == "call":
            waiting.setdefault(move.call_id, []).append(n)
        elif move.kind == "result" and waiting.get(move.call_id):
            pairs[n] = call = waiting[move.call_id].pop(0)
            pairs[call] = call
    return pairs


def _place(event: Event) -> int:
    """The move an event is of; -1 for one of our own."""
    return _numbered(event.event_id)


def _numbered(event_id: str) -> int:
    number = event_id.removeprefix("evt_")
    return int(number) if len(number) == 26 and number.isdigit() else -1


# ---- in the end ----------------------------------------------------------------------------------


def look(
    hf: holdfast.Holdfast,
    s: holdfast.Session,
    story: Story,
    handed: Mapping[str, str],
    event_id: Callable[[int], str],
) -> dict[str, Any]:
    """Everything that was told is there once and as it was said; what is derived is what it was."""
    wrong: list[str] = []
    kinds, there = Counter[str](), Counter[str]()
    for event in hf.events():
        kinds[event.kind] += 1
        there[event.event_id] += 1
        place = _place(event)
        if place >= 0 and not _same(event, story.moves[place]):
            wrong.append(f"log: {event.event_id} is not what was said")
    wrong += [f"log: move {n} is lost" for n in range(len(story.moves)) if not there[event_id(n)]]
    wrong += [f"log: {one} is there {times} times" for one, times in there.items() if times > 1]
    wrong += [f"log: the context {one} is lost" for one in handed if not there[one]]
    if not hf.verify().sound:
        wrong.append("log: it does not verify")
    wrong += _replayed(hf, handed)
    before = hf.state_hash()
    if hf.rebuild() != before:
        wrong.append("state: built anew it is another")
    chunks = hf.cold.list(s.id, agent=s.agent, limit=EVERY)
    wrong += [
        f"cold: {one.id} has no copy" for one in chunks if not os.path.exists(hf.cold.path(one))
    ]
    looker = Looker(hf, s, story)
    for one in random.Random(SEED).sample(chunks, min(_LOOKED, len(chunks))):
        wrong += looker.chunk(one.id)
    return {
        "wrong": wrong,
        "kinds": dict(kinds),
        "chunks": len(chunks),
        "megabytes": {name: size / 1e6 for name, size in sizes(Path(hf.folder)).items()},
    }


def _same(event: Event, move: Move) -> bool:
    if move.kind == "call":
        said = event.payload if isinstance(event.payload, dict) else {}
        return (said.get("tool"), said.get("call_id")) == (move.tool, move.call_id)
    return event.text == move.text


def _replayed(hf: holdfast.Holdfast, handed: Mapping[str, str]) -> Iterator[str]:
    for one in random.Random(SEED).sample(sorted(handed), min(_LOOKED, len(handed))):
        try:
            if digest(hf.replay(one).text) != handed[one]:
                yield f"replay: {one} is not the same any more"
        except HoldfastError as exc:
            yield f"replay: {one}: {exc}"


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of a home: its log, what is derived from it, copies of what left."""
    found = Counter[str]()
    for path in folder.rglob("*"):
        if path.is_file():
            top = path.relative_to(folder).parts[0]
            named = {"cold-storage": "cold", "logs": "logs", "blobs": "log", "vectors": "vectors"}
            kind = "log" if top.startswith("events") else named.get(top, "index")
            found[kind] += path.stat().st_size
    return dict(found)
