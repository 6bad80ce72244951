"""Anything an agent knows at four levels of detail, each cheaper than the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from holdfast.text import code, documents, output, steps, turns
from holdfast.text.choose import MARK, marked
from holdfast.text.extract import cut, keywords, one_line, summary
from holdfast.text.fitting import fit
from holdfast.text.markdown import is_closed, without_fences
from holdfast.text.steps import ARROW, with_lead
from holdfast.text.telegram import telegram

LONGEST_SUMMARY = 240
LONGEST_COMPRESSED = 80
LONGEST_INDEX = 50
#: what is no longer need not lose a word
_SHORT = 40
#: characters of a text whose levels are kept at hand, as the same one is shown again and again
_REMEMBERED = 4_096


class Levels(msgspec.Struct, frozen=True):
    """The same thing at falling cost.

    What always holds: no level is longer than the one before it; `index` is one line of at most 50
    characters; none is blank when the first says anything.
    """

    full: str
    summary: str
    compressed: str
    index: str


class _Said(msgspec.Struct, frozen=True):
    """What is known of one memory."""

    text: str
    key: str
    value: str
    applies_to: str
    title: str
    steps: tuple[str, ...]
    trigger: str


def levels(  # noqa: PLR0913 - one name for each field of a memory
    kind: str,
    text: str,
    *,
    key: str = "",
    value: str = "",
    applies_to: str = "",
    title: str = "",
    steps: Sequence[str] = (),
    trigger: str = "",
) -> Levels:
    """The levels of a memory of this kind: fact, episode, pattern or workflow.

    Every word stands whole in what was given, or has the mark `…` where it is cut.
    """
    plain = [one_line(field) for field in (key, value, applies_to, title, trigger)]
    said = _Said(
        text=text,
        key=plain[0],
        value=plain[1],
        applies_to=plain[2],
        title=plain[3],
        steps=tuple(step for step in map(one_line, steps) if step),
        trigger=plain[4],
    )
    return _made(kind, said) if len(text) <= _REMEMBERED else _made.__wrapped__(kind, said)


@lru_cache(maxsize=2_048)
def _made(kind: str, said: _Said) -> Levels:
    if kind in ("pattern", "workflow"):
        return _procedure(said)
    return _fact(said) if kind == "fact" else _episode(said)


def _fact(said: _Said) -> Levels:
    line = with_lead(said.key, said.value)
    scoped = f"{line} ({said.applies_to})" if said.applies_to and line else line
    full = said.text if said.text.strip() else scoped or said.title
    if said.value:
        short = line if len(line) <= LONGEST_COMPRESSED else _short(said.key, said.value)
        return _falling(full, scoped, short, said.key or _topic(said.value))
    short = summary(full, LONGEST_SUMMARY, 1)
    index = said.key or said.title or _topic(short)
    return _falling(full, short, _short(said.key, short), index)


def _episode(said: _Said) -> Levels:
    full = said.text if said.text.strip() else said.title or with_lead(said.key, said.value)
    title = said.title or said.key
    short = summary(full, LONGEST_SUMMARY)
    words = telegram(full, LONGEST_COMPRESSED, title)
    return _falling(full, short, words, title or _topic(short))


def _procedure(said: _Said) -> Levels:
    """A pattern or a workflow: what starts it and its steps, on one line."""
    lead = said.trigger or said.title or said.key
    full = whole(said.text, lead, said.steps) or with_lead(said.key, said.value)
    if said.steps:
        short = steps.in_full(lead, said.steps, LONGEST_SUMMARY)
        compressed = steps.by_first_words(lead, said.steps, LONGEST_COMPRESSED)
    else:
        short = summary(full, LONGEST_SUMMARY)
        compressed = _short(lead, said.value or short)
    named = said.title or said.trigger or said.key
    if not named:
        named = steps.by_first_words("", said.steps, LONGEST_INDEX) or _topic(short)
    return _falling(full, short, compressed, named)


def whole(text: str, lead: str, steps: Sequence[str]) -> str:
    """A text, and behind it what it leads to on one line, unless every step stands in the text.

    This is the first of the levels of a pattern or a workflow; its lead is its trigger, else its title,
    else its key.
    """
    steps = [step for step in map(one_line, steps) if step]
    hint = with_lead(one_line(lead), ARROW.join(steps))
    if not text.strip():
        return hint
    return f"{text}\n{hint}" if any(step not in text for step in steps) else text


def _falling(full: str, *shorter: str) -> Levels:
    """The levels, each cut to its limit; one that would be longer than the one before is that one."""
    found = [full]
    limits = (LONGEST_SUMMARY, LONGEST_COMPRESSED, LONGEST_INDEX)
    for level, limit in zip(shorter, limits, strict=True):
        before = found[-1]
        short = cut(without_fences(level), limit)
        if not short or len(short) > len(before):
            short = cut(without_fences(before), min(limit, len(before)))
        found.append(short)
    return Levels(*found)


def _short(lead: str, text: str) -> str:
    """The text behind its lead if it is short, else the words of it that tell most."""
    line = with_lead(lead, one_line(text))
    return line if len(text) <= _SHORT else telegram(text, LONGEST_COMPRESSED, lead)


def _topic(text: str) -> str:
    return cut(" ".join(keywords(text, 3, _SHORT)), _SHORT)


# ---- what is not a memory ------------------------------------------------------------------------

MOST_SUMMARY = 1_200
MOST_COMPRESSED = 160
#: a summary is at most so much of a long text
_SHARE = 0.3
#: what says nothing by itself
_NOTHING = f" \n{MARK}"


class _Rules(msgspec.Struct, frozen=True):
    """How one kind of text is said in fewer words."""

    summary: Callable[[str, int], str]
    compressed: Callable[[str, int], str]
    title: Callable[[str], str]


_SHOWN = {
    "turn": _Rules(turns.summary, turns.compressed, turns.title),
    "code": _Rules(code.summary, code.compressed, code.title),
    "tool_output": _Rules(output.summary, output.compressed, output.title),
    "document": _Rules(documents.summary, documents.compressed, documents.title),
}


def shown_as(kind: str, text: str) -> Levels:
    """The levels of what is no memory: a turn, code, tool_output or a document; else as of a turn.

    What always holds beside what holds of `Levels`: a level that leaves something out has the mark `…`;
    a fence that a level opens is closed in it; a summary takes at most 30 % of the text, or 240
    characters, and never more than 1,200, the compressed level 160.
    """
    if not text.strip():
        return Levels(text, "", "", "")
    rules = _SHOWN.get(kind, _SHOWN["turn"])
    return _shown(rules, text) if len(text) <= _REMEMBERED else _shown.__wrapped__(rules, text)


@lru_cache(maxsize=2_048)
def _shown(rules: _Rules, text: str) -> Levels:
    room = min(MOST_SUMMARY, max(LONGEST_SUMMARY, int(_SHARE * len(text))))
    short = text
    if len(text) > room or not is_closed(text):
        room = min(room, len(text))
        short = _checked(rules.summary(text, room), text, room)
    line = one_line(text)
    if len(line) <= LONGEST_INDEX and len(line) <= len(short) and is_closed(line):
        return Levels(text, short, line, line)
    room = min(MOST_COMPRESSED, len(short))
    compressed = _checked(one_line(rules.compressed(text, room)), text, room)
    room = min(LONGEST_INDEX, len(compressed))
    return Levels(
        text, short, compressed, _checked(_named(rules.title(text), text, room), text, room)
    )


def fitted(kind: str, text: str, chars: int) -> str:
    """A turn, code, tool_output or a document in at most `chars` characters: whole, if that fits.

    Else its beginning and its end as they are, and between them what its summary would tell. Whatever
    is left out has the mark `…`, and every fence is closed.
    """
    rules = _SHOWN.get(kind, _SHOWN["turn"])
    return fit(text, chars, lambda part, room: _checked(rules.summary(part, room), part, room))


def _named(title: str, text: str, room: int) -> str:
    """The title with a mark for the rest of the text; of a long path its end, of others the words."""
    title = without_fences(one_line(title))
    if not title:
        return telegram(text, room)
    if len(title) <= room - 2:
        return marked(title, True)
    if " " in title or "/" not in title:
        return telegram(title, room)
    end = title[-max(1, room - 1) :]
    return MARK + end[max(0, end.find("/")) :]


def _checked(level: str, text: str, room: int) -> str:
    """The level, provided that it keeps what it must; else the beginning of the text."""
    line = one_line(text)
    if MARK not in level and one_line(level) != line and level.strip():
        level = f"{level}\n{MARK}" if level.endswith("```") else f"{level} {MARK}"
    if level.strip(_NOTHING) and len(level) <= room and is_closed(level):
        return level
    plain = without_fences(line)
    return plain if plain == line and len(plain) <= room else cut(f"{plain} {MARK}", room)
