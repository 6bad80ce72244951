"""What stays visible of something that left: its paths, errors, commands, decisions, numbers, words.

What always holds: every name stands in what left; a line says no more than its room; the facts of two
spans together are the facts of both, as far as they fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

import msgspec
from msgspec.structs import replace

from holdfast.model.compactions import Facts
from holdfast.model.events import Event
from holdfast.text.entities import entities
from holdfast.text.extract import EMPTY_WORDS, cut, keywords, one_line
from holdfast.text.instructions import told
from holdfast.text.markdown import blocks
from holdfast.text.output import title
from holdfast.text.spoken import said

from .chunks import by_person

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
#: how files end; what ends otherwise is a name in some code
_FILE = re.compile(
    r"[\w@~+-]\.(?:[a-z][a-z0-9]{0,3}|[A-Z]{1,3}|cmake|csproj|gradle|graphql|ipynb|jinja2?|jsonl|markdown"
    r"|parquet|patch|plist|prisma|properties|proto|scala|sqlite3?|svelte|swift|tfvars|woff2|xhtml)$"
)
_NUMBER = re.compile(r"(?:([A-Za-z_]+)[ :=]{1,2})?([$€£]?\d[\d.,:/-]*\d?%?)(?: ([a-z]{2,12}))?")
#: a number that says something: of several digits, with a unit, or of something
_TELLING = re.compile(r"\d.*\d|[^\W\d]")
#: the end of an element in a page, which is no path
_CLOSING = re.compile(r"</[A-Za-z][\w:.-]*>")
_HYPHENED = re.compile(r"(?<![\w/.@-])\w+(?:-\w+)+\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w/-])")
#: a command as people write it down: a program, then what it is to do; and the marks before one
_COMMAND = re.compile(r"[a-z][\w.+-]*(?: (?![=:(])\S.*)?")
_PROMPT = re.compile(r"^\s*[$%] (?=[a-z])")
#: what only a command line has: something in backticks, a flag, one program feeding another
_SHELL = re.compile(r"`([^`\n]+)`|(?<!\S)(--?[A-Za-z][\w-]*)|(\S+ (?:\||&&|>>?) \S+)")
#: a number as a whole, but for those that number the lines of a list
_FIGURE = re.compile(r"(?<![\w.])(?!(?<=\n)\d+[.)] )\d+(?:[.,:]\d+)*")
#: what makes a number of digits another one
_GOES_ON = re.compile(r"[.,:]\d")
_SHELLS = ("", "bash", "sh", "shell", "console", "zsh")
#: what begins a line of code, and no command
_NO_COMMANDS = """
import from def class return for if while with print const let var function public use async await
select insert update raise try else elif assert
"""
_CODE = frozenset(_NO_COMMANDS.split())
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
        commands=_some(_commands(event, text)),
        errors=_some([*errors, *others]),
        decisions=_some([event.text] if event.kind == "decision" else []),
        rules=_some(told(event.text) if by_person(event) else []),
        numbers=() if failed else _some(_numbers(text)),
        words=_some(
            word
            for word in (*(n for n in names if not _is_path(n)), *keywords(text, _WORDS, 40))
            if _TELLING.search(word)
        ),
    )


def _numbers(text: str) -> Iterator[str]:
    """The numbers of a text, each with the word that says what it counts."""
    for match in _NUMBER.finditer(text):
        before, _, behind = (word or "" for word in match.groups())
        start = match.start(2 if before.lower() in EMPTY_WORDS else 0)
        end = match.end(2 if behind.lower() in EMPTY_WORDS else 0)
        number = text[start:end].strip(" .,:/-")
        if _TELLING.search(number):
            yield number


def exact(text: str) -> tuple[str, ...]:
    """What a text says that must stand so in what it is about: paths, errors, numbers, commands."""
    errors = [match[0] for match in _NAMED_ERROR.finditer(text)]
    paths = (name for name in _names(text) if _is_path(name))
    commands = [next(filter(None, found.groups())) for found in _SHELL.finditer(text)]
    figures = _FIGURE.findall(f"\n{text}")
    return tuple(dict.fromkeys([*paths, *errors, *figures, *commands, *_told(text)]))


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
    for line in (_CLOSING.sub(" ", line[:1_000]) for line in text.splitlines()):
        for name in (*entities(line), *_HYPHENED.findall(line)):
            if name not in seen:
                seen.add(name)
                yield name


def _is_path(name: str) -> bool:
    return "/" in name or _FILE.search(name) is not None


def _commands(event: Event, text: str) -> Iterator[str]:
    """What was asked of a tool, or what a text tells to ask."""
    given = event.payload.get("input") if isinstance(event.payload, dict) else None
    if event.kind != "tool_call":
        yield from _told(text)
        return
    if isinstance(given, dict):
        for key in _KEYS:
            if isinstance(given.get(key), str) and given[key].strip():
                yield given[key].strip().splitlines()[0]
                return
    tool = event.payload.get("tool") if isinstance(event.payload, dict) else ""
    yield f"{tool} {' '.join(_values(given))}"


def _told(text: str) -> Iterator[str]:
    """The commands a text writes down: behind a prompt, or at the beginning of what a fence holds."""
    if "```" not in text and not _PROMPT.search(text) and "\n$ " not in text:
        return
    for block in blocks(text):
        shell = block.sort == "code" and block.language in _SHELLS
        for n, line in enumerate(block.lines):
            plain = _PROMPT.sub("", line).strip()
            asked = plain != line.strip() or (shell and not n)
            if asked and _COMMAND.fullmatch(plain) and plain.split()[0] not in _CODE:
                yield plain


def _some(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, short and on one line, not too many."""
    told = (name for name in names if name and not name.isspace())
    return _once(cut(one_line(name), _LONGEST) for name in told)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, not too many."""
    found: dict[str, None] = {}
    for name in names:
        found.setdefault(name)
        if len(found) == MOST:
            break
    return tuple(found)


def together(one: Facts, other: Facts) -> Facts:
    """The facts of two spans."""
    return Facts(
        **{name: _once(_in_turn(getattr(one, name), getattr(other, name))) for name in _SORTS}
    )


_SORTS = Facts.__struct_fields__


def _in_turn(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    """The names of both; where there are too many, each gives its first."""
    if len(one) + len(other) <= MOST:
        yield from (*one, *other)
        return
    for first, second in zip_longest(one, other):
        yield from (name for name in (first, second) if name is not None)


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """What lines may take, in tokens."""

    #: all of them, and each
    room: int
    most: int = 1_000_000
    #: of the room, so much is for what the person told to be done from then on
    rules: int = 0
    #: once all of it takes so many, no words are added
    enough: int | None = None


def lines(
    spans: Sequence[Facts],
    sheet: Sheet,
    count: Callable[[str], int],
    *,
    beside: Sequence[Facts] = (),
    visible: str = "",
    lasting: str = "",
) -> list[str]:
    """A line for each span, each and all of them within their room.

    First every line gets what it names exactly and neither `visible` nor a line before it does, then
    what the person told to be done from then on, then the words that tell it from the others, then what
    others name too; each time all of them have the same room, and what one does not need is the others'.
    Those `beside` are summarised: theirs are exact names alone, which their summaries, being visible,
    leave out. What the person told is left out only where `lasting` says it: what others repeat leaves.
    """
    room, most = sheet.room, sheet.most
    every = [*spans, *beside]
    taken: list[list[str]] = [[] for _ in every]
    held = Counter(word for of in spans for word in of.words)
    telling = [replace(of, words=tuple(sorted(of.words, key=held.__getitem__))) for of in spans]
    known: set[str] = set()
    exact = [_new(_by_turns(of, _EXACT), visible, known) for of in every]
    left = room - _fill(exact, taken, max(0, room - sheet.rules), count, most)
    rules = [_new(of.rules, lasting, known) for of in every]
    left -= _fill(rules, taken, left, count, most)
    words = [_new(_by_turns(of, _WORDS_OF), "", known) for of in telling]
    if sheet.enough is not None:
        left = min(left, max(0, sheet.enough - (room - left)))
    left -= _fill(words, taken, left, count, most)
    _fill([list(_by_turns(of, _EXACT)) for of in spans], taken, left, count, most)
    return ["; ".join(names) for names in taken]


def _new(names: Iterable[str], visible: str, known: set[str]) -> list[str]:
    """Those that nobody names yet; of two of which one holds the other, the longer."""
    fresh = [name for name in dict.fromkeys(names) if name not in known]
    fresh = [name for name in fresh if not stands(name, visible)]
    found = [
        name
        for name in fresh
        if not any(len(other) > len(name) and stands(name, other) for other in fresh)
    ]
    known.update(fresh)
    return found


def stands(name: str, text: str) -> bool:
    """Does a name stand in a text, and not as a part of another word or number?"""
    place = text.find(name)
    while place >= 0:
        around = text[place - 1 : place] if place else "", text[place + len(name) :][:1]
        if name[-1].isdigit() and _GOES_ON.match(text, place + len(name)):
            around = around[0], "0"
        edges = zip(around, (name[0], name[-1]), strict=True)
        if not any(_is_word(beside) and _is_word(edge) for beside, edge in edges):
            return True
        place = text.find(name, place + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _fill(
    wanted: Sequence[Sequence[str]],
    taken: Sequence[list[str]],
    room: int,
    count: Callable[[str], int],
    most: int,
) -> int:
    """Give each line what it wants: all of them the same room, what one does not need to the others."""
    sizes = [[count(f"; {name}") for name in names] for names in wanted]
    full = [most - sum(count(f"; {name}") for name in names) for names in taken]
    left = room
    order = sorted(range(len(wanted)), key=lambda n: (sum(sizes[n]), n))
    for place, n in enumerate(order):
        share = min(left // (len(order) - place), full[n])
        for name, size in zip(wanted[n], sizes[n], strict=True):
            if size <= share and name not in taken[n]:
                taken[n].append(name)
                share -= size
                left -= size
    return room - left


def _by_turns(of: Facts, sorts: Sequence[str]) -> Iterator[str]:
    """The names of some sorts, sort by sort in turn."""
    queues = [list(getattr(of, sort)) for sort in sorts]
    for together in zip_longest(*queues):
        yield from (name for name in together if name is not None)
