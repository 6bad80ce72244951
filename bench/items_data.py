"""Items out of real work: what an agent would have saved, and when it needed it again.

The task as it was stated is a TASK, a file that was read or edited CODE, what failed an ERROR, what a
test run printed a TEST_RESULT; every other result is a type of its own, OUTPUT. An item is needed at a
turn when the agent's words or commands there name something (a file, a name in code, the number of a
record) that the item names and at most two others do, and the item is older than what everybody still
sees: two turns. Rules are followed without being named, so nothing is said here about PRD_SECTION.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec

from bench.economy_data import Dataset, Message, Script, alone
from holdfast.text.entities import entities

#: an item is seen anyhow for so many turns
GAP = 2
#: a name that more items share says little about any of them
SHARED = 3
_CHUNK, _CHUNKS = 2_000, 10
_READS = re.compile(r"^\s*(cat|open|edit|create|goto|scroll\w*|sed -n|view|head|tail)\b")
_TESTS = re.compile(r"pytest|unittest|\btox\b|test\w*\.py|reproduce|make test")
_FAILS = re.compile(
    r"Traceback|\w*(Error|Exception)\b:?|^FAILED|command not found|No such file", re.M
)
_RECORD = re.compile(r"\b[A-Z]{3}\d{3}\b|\b[A-Z0-9]{6}\b|\b\d{7}\b|\b[a-z]+_[a-z]+_\d{4}\b")


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """An item as it was saved."""

    type: str
    text: str
    turn: int
    names: frozenset[str]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One trajectory: what was saved, and which of it was needed at which turn."""

    name: str
    turns: int
    items: tuple[Saved, ...]
    #: by turn, the places of the items that were needed
    needs: dict[int, frozenset[int]]


def works(data: Path, dataset: Dataset) -> list[Work]:
    """Every trajectory of a data set in which something was needed again."""
    found = [work_of(script) for script in alone(data, dataset)]
    return [work for work in found if any(work.needs.values())]


def work_of(script: Script) -> Work:
    """What one trajectory saved and needed."""
    items: list[Saved] = []
    needs: dict[int, frozenset[int]] = {}
    command, turn = "", 0
    for message in script.sittings[0].messages:
        if message.role == "assistant":
            turn += 1
            needs[turn] = _needed(items, named(message.plain), turn)
            command = " ".join(message.asked) or message.text
        else:
            kind = kind_of(message, command, first=not any(one.type == "TASK" for one in items))
            if kind and message.text.strip():
                items.append(_saved(kind, message.text, turn))
    return Work(name=script.name, turns=turn, items=tuple(items), needs=needs)


def kind_of(message: Message, command: str, *, first: bool) -> str:
    """What a message would be saved as; nothing for what nobody would save."""
    if message.role == "user":
        return "TASK" if first else ""
    if _TESTS.search(command) and not _READS.search(command):
        return "TEST_RESULT"
    if "[File:" in message.text or _READS.search(command):
        return "CODE"
    return "ERROR" if _FAILS.search(message.text) else "OUTPUT"


def _saved(kind: str, text: str, turn: int) -> Saved:
    return Saved(type=kind, text=text, turn=turn, names=named(text))


def named(text: str) -> frozenset[str]:
    """Everything a text names, files by their last part."""
    chunks = (text[n : n + _CHUNK] for n in range(0, min(len(text), _CHUNK * _CHUNKS), _CHUNK))
    found = [name for chunk in chunks for name in (*entities(chunk), *_RECORD.findall(chunk))]
    return frozenset(
        name.rstrip("/").rpartition("/")[2].casefold() for name in found if len(name) > 3
    )


def _needed(items: list[Saved], names: frozenset[str], turn: int) -> frozenset[int]:
    often = Counter(name for one in items for name in one.names)
    telling = {name for name in names if often[name] <= SHARED}
    return frozenset(
        n for n, one in enumerate(items) if turn - one.turn > GAP and one.names & telling
    )
