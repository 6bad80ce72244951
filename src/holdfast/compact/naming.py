"""What stays visible of something that left: its paths, errors, commands, decisions, numbers, words.

What always holds: every name stands in what left; a line says no more than its room; the facts of two
spans together are the facts of both, as far as they fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from holdfast.model.compactions import Facts
from holdfast.model.events import Event
from holdfast.text.entities import entities
from holdfast.text.extract import cut, keywords, one_line
from holdfast.text.output import title
from holdfast.text.spoken import said

#: names of one sort that are kept of one span
MOST = 60
#: a longer one is cut
_LONGEST = 160
#: so much of a text is read, and so many words of it are kept
_READ, _WORDS = 40_000, 24
#: how the sorts take turns in a line
_TURNS = ("errors", "commands", "paths", "decisions", "paths", "words", "numbers", "words")
#: what a program prints as something goes wrong
_WRONG = re.compile(
    r"^(?:E\s+)?(?:[\w.]+: )?((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Failure|Fault)\b[^\n]{0,140}"
    r"|(?:fatal|error|panic)(?:\[\w+\])?: [^\n]{1,140})",
    re.MULTILINE,
)
_NAMED_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Failure|Fault)\b")
_FILE = re.compile(r"[\w@~+-]\.[A-Za-z][A-Za-z0-9]{0,7}$")
_NUMBER = re.compile(r"(?:[A-Za-z_]+[ :=]{1,2})?[$€£]?\d[\d.,:/-]*\d?%?(?: (?:[a-z]{2,12}))?")
_KEYS = ("command", "cmd", "action", "script")


def facts(events: Iterable[Event]) -> Facts:
    """The exact names in what was said and done."""
    found = Facts()
    for event in events:
        found = together(found, _of(event))
    return found


def _of(event: Event) -> Facts:
    text = said(event)[:_READ]
    names = list(_names(text))
    failed = event.kind == "error" or (
        isinstance(event.payload, dict) and event.payload.get("is_error") is True
    )
    errors = [match[1] for match in _WRONG.finditer(text)]
    if failed and not errors:
        errors = [title(text)]
    others = [name for name in _NAMED_ERROR.findall(text) if not any(name in e for e in errors)]
    return Facts(
        paths=_some(name for name in names if _is_path(name)),
        commands=_some(_commands(event)),
        errors=_some([*errors, *others]),
        decisions=_some([event.text] if event.kind == "decision" else []),
        numbers=_some(match[0].strip(" .,:") for match in _NUMBER.finditer(text))
        if not failed
        else (),
        words=_some([*(name for name in names if not _is_path(name)), *keywords(text, _WORDS, 40)]),
    )


def _names(text: str) -> Iterator[str]:
    """What a text names exactly, line by line: no line is too late to be looked at."""
    seen: set[str] = set()
    for line in text.splitlines():
        for name in entities(line[:1_000]):
            if name not in seen:
                seen.add(name)
                yield name


def _is_path(name: str) -> bool:
    return "/" in name or _FILE.search(name) is not None


def _commands(event: Event) -> Iterator[str]:
    given = event.payload.get("input") if isinstance(event.payload, dict) else None
    if event.kind != "tool_call":
        return
    if isinstance(given, dict):
        for key in _KEYS:
            if isinstance(given.get(key), str) and given[key].strip():
                yield given[key].strip().splitlines()[0]
                return
    tool = event.payload.get("tool") if isinstance(event.payload, dict) else ""
    yield f"{tool} {said(event)}"


def _some(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, short and on one line, not too many."""
    found: dict[str, None] = {}
    for name in names:
        if name and not name.isspace():
            found.setdefault(cut(one_line(name), _LONGEST))
            if len(found) == MOST:
                break
    return tuple(found)


def together(one: Facts, other: Facts) -> Facts:
    """The facts of two spans."""
    return Facts(
        **{name: _some(_in_turn(getattr(one, name), getattr(other, name))) for name in _SORTS}
    )


_SORTS = Facts.__struct_fields__


def _in_turn(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    """The names of both; where there are too many, each gives its first."""
    if len(one) + len(other) <= MOST:
        yield from (*one, *other)
        return
    for first, second in zip_longest(one, other):
        yield from (name for name in (first, second) if name is not None)


def line(of: Facts, room: int, count: Callable[[str], int], known: frozenset[str]) -> str:
    """As many of the facts as fit into a room of tokens, on one line.

    What other lines name already (`known`) comes last.
    """
    names = list(_by_turns(of))
    names = [n for n in names if n not in known] + [n for n in names if n in known]
    taken: list[str] = []
    size = 0
    for name in names:
        more = count(f"; {name}")
        if size + more <= room:
            taken.append(name)
            size += more
    while taken and count("; ".join(taken)) > room:
        taken.pop()
    return "; ".join(taken)


def _by_turns(of: Facts) -> Iterator[str]:
    """The names, sort by sort in turn, each once."""
    queues = {name: list(getattr(of, name)) for name in _SORTS}
    seen: set[str] = set()
    while any(queues.values()):
        for sort in _TURNS:
            if queues[sort]:
                name = queues[sort].pop(0)
                if name not in seen:
                    seen.add(name)
                    yield name
