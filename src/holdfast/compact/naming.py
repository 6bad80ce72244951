"""What stays visible of something that left: its paths, errors, commands, decisions, numbers, words.

What always holds: every name stands in what left; a line says no more than its room; the facts of two
spans together are the facts of both, as far as they fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from msgspec.structs import replace

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
#: sorts that name exactly, and those that tell what something is about
_EXACT, _WORDS_OF = ("paths", "errors", "commands", "decisions"), ("words", "numbers")
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
    text = _text(event)[:_READ]
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


def exact(text: str) -> tuple[str, ...]:
    """The paths and errors a text names."""
    errors = [match[0] for match in _NAMED_ERROR.finditer(text)]
    return _some([*(name for name in _names(text) if _is_path(name)), *errors])


def _text(event: Event) -> str:
    """What an event says; of a call the values it was given, a line each."""
    given = event.payload.get("input") if isinstance(event.payload, dict) else None
    if event.kind == "tool_call" and isinstance(given, dict | list):
        return "\n".join(_values(given))
    return said(event)


def _values(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _values(one)
    elif value is not None:
        yield str(value)


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
    yield f"{tool} {' '.join(_values(given))}"


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


def lines(spans: Sequence[Facts], room: int, count: Callable[[str], int]) -> list[str]:
    """A line for each span, all of them within a room of tokens.

    First every line gets what it names exactly and no line before it does, then the words that tell
    it from the others, then what others name too; each time all of them have the same room.
    """
    taken: list[list[str]] = [[] for _ in spans]
    known: set[str] = set()
    held = Counter(word for of in spans for word in of.words)
    spans = [replace(of, words=tuple(sorted(of.words, key=held.__getitem__))) for of in spans]
    left = room
    for sorts, again in ((_EXACT, False), (_WORDS_OF, False), (_EXACT, True)):
        for n, of in enumerate(spans):
            share = left // (len(spans) - n)
            for name in _by_turns(of, sorts):
                size = count(f"; {name}")
                if size <= share and name not in taken[n] and (again or name not in known):
                    taken[n].append(name)
                    known.add(name)
                    share -= size
                    left -= size
    return ["; ".join(names) for names in taken]


def _by_turns(of: Facts, sorts: Sequence[str]) -> Iterator[str]:
    """The names of some sorts, sort by sort in turn."""
    queues = [list(getattr(of, sort)) for sort in sorts]
    for together in zip_longest(*queues):
        yield from (name for name in together if name is not None)
