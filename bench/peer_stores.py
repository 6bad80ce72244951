"""A conversation in everyone's store, each filled and asked by the verbs its own users call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache

from msgspec.structs import replace

import holdfast
from bench import measures, recall
from bench.data import AGENT, USER, Conversation, Question, Turn
from bench.measures import Answer
from bench.peer_process import Child, Failed

#: how many are asked for where time counts, and where only tokens do
FEW, MANY = 10, 200

#: the hits of one question, each a place and its tokens, and the seconds it took
Hits = tuple[list[tuple[int, int]], float]
Ask = Callable[[str, int], Hits]
#: a store that holds a conversation: the seconds it took to fill, and how to ask it
Held = AbstractContextManager[tuple[float, Ask]]
Count = Callable[[str], int]


def spoken(turn: Turn) -> str:
    """A turn as it is told to a store that has no field for the speaker."""
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text


@contextmanager
def our_store(conversation: Conversation, embedder: str) -> Iterator[tuple[float, Ask]]:
    """Holdfast by its public verbs: a call for each turn, then everything recall needs."""
    with recall.opened(conversation, embedder) as hf:
        start = time.perf_counter()
        places = told(conversation, hf)
        hf.index(progress=None)
        seconds = time.perf_counter() - start
        count = cache(hf.counter().count)

        def ask(question: str, k: int) -> Hits:
            start = time.perf_counter()
            found = hf.recall(question, k=k, min_relevance=0, user=USER, agent=AGENT)
            taken = time.perf_counter() - start
            return [(places.get(hit.id, -1), count(hit.text)) for hit in found], taken

        yield seconds, ask


def told(conversation: Conversation, hf: holdfast.Holdfast) -> dict[str, int]:
    """Tell Holdfast a conversation, one session for each of upstream's; the place of each event."""
    sessions: dict[int, list[int]] = {}
    for place, turn in enumerate(conversation.turns):
        sessions.setdefault(turn.session, []).append(place)
    found: dict[str, int] = {}
    for number, places in sessions.items():
        turns = [conversation.turns[place] for place in places]
        name = f"{conversation.name}-{number + 1}"
        session = hf.session(agent=AGENT, user=USER, session_id=name).start(at=turns[0].at)
        for place, turn in zip(places, turns, strict=True):
            say = session.user if turn.role == "user" else session.assistant
            named = {"speaker": turn.speaker} if turn.speaker else {}
            found[say(turn.text, at=turn.at, **named).event_id] = place
        session.end(at=turns[-1].at)
    return found


@contextmanager
def full_text(conversation: Conversation, count: Count) -> Iterator[tuple[float, Ask]]:
    """The baseline of `bench.recall`, told who speaks."""
    turns = [replace(turn, text=spoken(turn)) for turn in conversation.turns]
    tokens = [count(turn.text) for turn in conversation.turns]
    start = time.perf_counter()
    with recall.full_text(turns, lambda _: 0) as baseline:
        seconds = time.perf_counter() - start

        def ask(question: str, k: int) -> Hits:
            answer = baseline(Question(text=question, category="", gold=()))
            return [(place, tokens[place]) for place in answer.places[:k]], answer.seconds

        yield seconds, ask


@contextmanager
def peers_store(
    conversation: Conversation, child: Child, count: Count
) -> Iterator[tuple[float, Ask]]:
    """A peer's store; what it finds counts as many tokens as the turn itself."""
    places = {f"t{place}": place for place in range(len(conversation.turns))}
    tokens = [count(turn.text) for turn in conversation.turns]
    said = [(key, spoken(conversation.turns[place])) for key, place in places.items()]
    seconds = child.ask("add", turns=said)["seconds"]

    def ask(question: str, k: int) -> Hits:
        answer = child.ask("ask", question=question, k=k)
        strange = [key for key in answer["found"] if key not in places]
        if strange:
            raise Failed(f"it found {strange[0]!r}, which nobody told it")
        found = [places[key] for key in answer["found"]]
        return [(place, tokens[place]) for place in found], answer["seconds"]

    yield seconds, ask


def asked(question: Question, ask: Ask) -> Answer:
    """Ask for a few, which is timed, and for many, which only go behind them."""
    few, seconds = ask(question.text, FEW)
    many, _ = ask(question.text, MANY)
    seen = {place for place, _ in few}
    hits = few + [hit for hit in many if hit[0] not in seen]
    places, tokens = tuple(hit[0] for hit in hits), tuple(hit[1] for hit in hits)
    return Answer(
        question=question,
        places=places,
        tokens=tokens,
        inject=lambda budget: measures.in_order(places, tokens, budget),
        seconds=seconds,
    )
