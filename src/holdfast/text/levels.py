"""One memory at four levels of detail, each cheaper than the one before."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.text.extract import content_words, cut, keywords, one_line, summary

LONGEST_SUMMARY = 240
LONGEST_COMPRESSED = 80
LONGEST_INDEX = 50
#: what is no longer need not lose a word
_SHORT = 40
_STEP_WORDS = 2
_STEP = 24
_ARROW = "→"


class Levels(msgspec.Struct, frozen=True):
    """The same memory at falling cost.

    What always holds: no level is longer than the one before it; `index` is one line of at most 50
    characters; none is blank when the memory says anything; every word stands in what was given.
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
    """The levels of a memory of this kind: fact, episode, pattern or workflow."""
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
    if kind in ("pattern", "workflow"):
        return _procedure(said)
    return _fact(said) if kind == "fact" else _episode(said)


def _fact(said: _Said) -> Levels:
    line = _line(said.key, said.value)
    scoped = f"{line} ({said.applies_to})" if said.applies_to and line else line
    full = said.text if said.text.strip() else scoped or said.title
    if said.value:
        return _falling(
            full, scoped, _line(said.key, _short(said.value)), said.key or _topic(said.value)
        )
    short = summary(full, LONGEST_SUMMARY, 1)
    index = said.key or said.title or _topic(short)
    return _falling(full, short, _line(said.key, _short(short)), index)


def _episode(said: _Said) -> Levels:
    full = said.text if said.text.strip() else said.title or _line(said.key, said.value)
    title = said.title or said.key
    told = {word.lower() for word in title.split()}
    short = summary(full, LONGEST_SUMMARY)
    words = [word for word in keywords(short, 8) if word.lower() not in told]
    return _falling(full, short, _line(title, " ".join(words)), title or _topic(short))


def _procedure(said: _Said) -> Levels:
    """A pattern or a workflow: what starts it and its steps, on one line."""
    lead = said.trigger or said.title or said.key
    hint = _line(lead, _ARROW.join(said.steps))
    full = said.text
    if not full.strip():
        full = hint or _line(said.key, said.value)
    elif any(step not in full for step in said.steps):
        full = f"{full}\n{hint}"
    if said.steps:
        short, compressed = hint, _line(lead, _ARROW.join(map(_brief, said.steps)))
    else:
        short = summary(full, LONGEST_SUMMARY)
        compressed = _line(lead, _short(said.value or short))
    index = said.title or said.trigger or said.key or _topic(short)
    return _falling(full, short, compressed, index)


def _falling(full: str, *shorter: str) -> Levels:
    """The levels, each cut to its limit; one that would be longer than the one before is that one."""
    found = [full]
    limits = (LONGEST_SUMMARY, LONGEST_COMPRESSED, LONGEST_INDEX)
    for level, limit in zip(shorter, limits, strict=True):
        before = found[-1]
        short = cut(level, limit)
        if not short or len(short) > len(before):
            short = cut(before, min(limit, len(before)))
        found.append(short)
    return Levels(*found)


def _line(lead: str, rest: str) -> str:
    return f"{lead}: {rest}" if lead and rest else lead or rest


def _short(text: str) -> str:
    """The text if it is short, else without the words that carry no content, in its own order."""
    text = one_line(text)
    return text if len(text) <= _SHORT else " ".join(content_words(text))


def _topic(text: str) -> str:
    return cut(" ".join(keywords(text, 3)), _SHORT)


def _brief(step: str) -> str:
    return cut(" ".join(step.split()[:_STEP_WORDS]), _STEP)
