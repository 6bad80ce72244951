"""One session that never ends: real work of agents, one sitting after the other, again and again.

Every time round the work is another: its files lie elsewhere, its numbers and ids are others, and its
sittings come in another order; the same word becomes the same word within one round. Everything follows
from the data and from how many tokens are asked for, so two processes tell the same story.

Facts are told on the way and asked for later in other words: by a person in passing, by a tool among
sixty lines, by the agent, and as a decision. Half of them are told in the first tenth and asked for in
the last; the others are asked for when three windows have gone by.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from bench.economy_data import Call, Message, Script
from bench.economy_ways import plainly

Kind = Literal["user", "assistant", "call", "result", "decision"]
Count = Callable[[str], int]
#: what was asked to be kept at hand, first of all; in every context from there on
PINNED = "The release is called Kestrel Ninety and goes out from branch rel-kestrel."
IMPORTANT = "Whatever else happens, the ledger of the harbour stays read-only this week."
EARLY, LATE = 0.1, 0.9
#: a fact that is asked for on the way is asked for after so many windows
WINDOWS = 3
_SEED = 20_260_101
_NUMBER = re.compile(r"(?<![\w.])[1-9]\d{2,8}(?![\w.])")
_PATH = re.compile(r"(?<![\w/.])(/?(?:[\w.-]+/)+)([\w.-]+)")
_ID = re.compile(r"(?<!\w)(?=[A-Z0-9_]*\d)(?=[A-Z0-9_]*[A-Z])[A-Z0-9_]{5,}(?!\w)")
_CITIES = (
    *("Lisbon", "Turku", "Graz", "Aarhus", "Ghent", "Porto", "Split", "Vilnius", "Malmo", "Bergen"),
    *("Sopot", "Cadiz", "Tartu", "Zadar", "Siena", "Nantes", "Leeds", "Basel", "Bruges", "Kotor"),
)
_THINGS = ("ferry berth", "archive shelf", "tram platform", "warehouse gate")
#: one thing of one city is told of once, and that is how many there can be
MOST_FACTS = len(_CITIES) * len(_THINGS)


class Fact(msgspec.Struct, frozen=True):
    """Something that is told once and asked for once."""

    told: str
    asked: str
    value: str
    #: who tells it
    by: str
    #: told in the first tenth and asked for in the last
    far: bool


class Move(msgspec.Struct, frozen=True, gc=False):
    """One event of the session."""

    kind: Kind
    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    call_id: str = ""
    #: as a chat model takes it; of a step that says and calls, each for itself
    tokens: int = 0
    #: the model's turn begins with it, so a context is made before it
    step: bool = False
    pinned: bool = False
    important: bool = False
    #: the question it asks, or else -1
    asks: int = -1

    @property
    def plain(self) -> str:
        """As a chat model takes it."""
        return plainly(message_of(self))


class Story(msgspec.Struct, frozen=True):
    """A whole session, and what is asked in it."""

    system: str
    moves: tuple[Move, ...]
    facts: tuple[Fact, ...]


def message_of(move: Move) -> Message:
    """The same as a message."""
    if move.kind == "call":
        calls = (Call(move.call_id, move.tool, move.arguments),)
        return Message(role="assistant", calls=calls)
    if move.kind == "result":
        return Message(role="tool", text=move.text, tool=move.tool, answers=move.call_id)
    return Message(role="user" if move.kind == "user" else "assistant", text=move.text)


# ---- the work ------------------------------------------------------------------------------------


class _Round:
    """What is another in one time round."""

    def __init__(self, number: int) -> None:
        self._n = number
        self._random = random.Random(f"{_SEED} {number}")
        self._numbers: dict[str, str] = {}

    def order(self, of: list[Any]) -> list[Any]:
        """The same in another order."""
        return self._random.sample(of, len(of)) if self._n else of

    def text(self, text: str) -> str:
        """The same with other paths, numbers and ids."""
        if not self._n:
            return text
        text = _ID.sub(lambda m: f"{m[0][:-1]}{self._other(m[0])[-2:]}", text)
        text = _NUMBER.sub(lambda m: self._other(m[0]), text)
        return _PATH.sub(lambda m: f"{m[1]}r{self._n}/{m[2]}", text)

    def value(self, value: Any) -> Any:
        """The same of arguments."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return {name: self.value(one) for name, one in value.items()}
        return value

    def _other(self, number: str) -> str:
        if number not in self._numbers:
            of = random.Random(f"{self._n} {number}")
            self._numbers[number] = "".join(str(of.randrange(1, 10)) for _ in number)
        return self._numbers[number]


def _worked(scripts: Sequence[Script], number: int) -> Iterator[list[Move]]:
    """One time round, sitting by sitting."""
    here = _Round(number)
    sittings = [sitting for script in scripts for sitting in script.sittings]
    for place, sitting in enumerate(here.order(sittings)):
        moves: list[Move] = []
        for message in sitting.messages:
            moves += _moves(message, here, f"{number}-{place}-")
        yield moves


def _moves(message: Message, here: _Round, ids: str) -> list[Move]:
    if message.role == "user":
        return [Move("user", here.text(message.text))]
    if message.role == "tool":
        call_id = f"{ids}{message.answers}"
        return [Move("result", here.text(message.text), tool=message.tool, call_id=call_id)]
    made = [Move("assistant", here.text(message.text))] if message.text.strip() else []
    for call in message.calls:
        arguments = here.value(call.arguments)
        made.append(Move("call", tool=call.tool, arguments=arguments, call_id=f"{ids}{call.id}"))
    if made:
        made[0] = msgspec.structs.replace(made[0], step=True)
    return made


# ---- facts ---------------------------------------------------------------------------------------


def _facts(count: int) -> list[Fact]:
    of = random.Random(_SEED)
    places = of.sample([(thing, city) for thing in _THINGS for city in _CITIES], count)
    tellers = ("person", "tool", "agent", "decision")
    return [
        Fact(
            told=f"The {thing} in {city} is {value}.",
            asked=f"Which {thing} was it in {city}?",
            value=value,
            by=tellers[n // 2 % len(tellers)],
            far=n % 2 == 0,
        )
        for n, (thing, city) in enumerate(places)
        for value in [f"{of.choice('BDFHKMPRT')}{of.randrange(100, 999)}-{of.randrange(10, 99)}"]
    ]


def _telling(fact: Fact, n: int) -> list[Move]:
    if fact.by == "person":
        return [Move("user", f"By the way, for later: {fact.told} Now go on."), _nod(n)]
    if fact.by == "agent":
        return [Move("assistant", f"I looked that up as well. {fact.told}", step=True)]
    if fact.by == "decision":
        return [Move("decision", f"It was settled with the port office: {fact.told}")]
    lines = [f"record {n}{line:02d}: checked, nothing to report" for line in range(60)]
    lines[37] = fact.told
    asked = {"name": f"register-{n}"}
    return [
        Move("call", tool="lookup", arguments=asked, call_id=f"fact-{n}", step=True),
        Move("result", "\n".join(lines), tool="lookup", call_id=f"fact-{n}"),
    ]


def _nod(n: int) -> Move:
    return Move("assistant", f"I keep that in mind and go on with point {n}.", step=True)


def _asking(fact: Fact, n: int) -> list[Move]:
    answer = Move("assistant", "I will see to it that you get it.", step=True)
    return [Move("user", fact.asked, asks=n), answer]


def _schedule(facts: Sequence[Fact], total: int, window: int) -> list[tuple[int, list[Move]]]:
    """At how many tokens which facts are told and asked for."""
    found: list[tuple[int, list[Move]]] = []
    far = [n for n, fact in enumerate(facts) if fact.far]
    for place, n in enumerate(far):
        share = (place + 0.5) / len(far)
        found.append((int(EARLY * total * share), _telling(facts[n], n)))
        found.append((int((LATE + (0.98 - LATE) * share) * total), _asking(facts[n], n)))
    near = [n for n, fact in enumerate(facts) if not fact.far]
    last = max(0.0, LATE - WINDOWS * window / total)
    for place, n in enumerate(near):
        told = int(total * last * (place + 0.5) / len(near))
        found.append((told, _telling(facts[n], n)))
        found.append((told + WINDOWS * window, _asking(facts[n], n)))
    return sorted(found, key=lambda one: one[0])


# ---- all of it -----------------------------------------------------------------------------------


def story(scripts: Sequence[Script], total: int, window: int, facts: int, count: Count) -> Story:
    """So many tokens of work, with so many facts."""
    every = _facts(facts)
    waiting = _schedule(every, total, window)
    moves = [
        Move("user", PINNED, pinned=True),
        Move("assistant", IMPORTANT, important=True, step=True),
    ]
    done = 0
    for part in _until(scripts, total, count):
        while waiting and waiting[0][0] <= done:
            moves += [_counted(move, count) for move in waiting.pop(0)[1]]
        moves += part
        done += sum(move.tokens for move in part)
    for _, late in waiting:
        moves += [_counted(move, count) for move in late]
    return Story(scripts[0].system, tuple(moves), tuple(every))


def _until(scripts: Sequence[Script], total: int, count: Count) -> Iterator[list[Move]]:
    """The work until there is enough of it, in parts between which something may be said."""
    done, number = 0, 0
    while done < total:
        for sitting in _worked(scripts, number):
            for part in _parted(sitting):
                counted = [_counted(move, count) for move in part]
                yield counted
                done += sum(move.tokens for move in counted)
                if done >= total:
                    return
        number += 1


def _parted(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """Cut where everything that was called is answered."""
    part: list[Move] = []
    for move in moves:
        if part and (move.step or move.kind == "user"):
            yield part
            part = []
        part.append(move)
    if part:
        yield part


def _counted(move: Move, count: Count) -> Move:
    return msgspec.structs.replace(move, tokens=count(move.plain))
