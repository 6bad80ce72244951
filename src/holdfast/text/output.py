"""What a tool printed, in fewer of its lines: those that say what happened."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.text import code, values
from holdfast.text.choose import MARK, Part, chosen, ends, marked, marks
from holdfast.text.extract import cut
from holdfast.text.markdown import without_fences
from holdfast.text.outline import is_import
from holdfast.text.telegram import telegram

#: a longer line is cut; so much of a line is looked at
_LONGEST = 240
#: so many characters of values are read for each one that is shown
_READ = 40
#: so many characters of values make a title
_TITLE = 50
#: what the mark of a run takes at most: "… 123456 more like it"
_RUN = 24
#: a line that goes wrong, warns, counts up, names a place in a file, is a command or a change
_WRONG, _WARNS, _SUMS, _PLACE, _ACTS = 4.0, 2.0, 4.0, 1.5, 1.0
#: what any line tells, told once
_LEAST = 0.05
#: what does not say what happened tells half as much, and so does what looks like the line before it
_AGAIN = 0.5

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|.\x08|[\x00-\x08\x0b-\x1f\x7f]")
_IS_WRONG = re.compile(
    r"(?:error|exception|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|traceback|assert\w*|denied|refused|"
    r"not found|no such|cannot|can't|could not|undefined|unexpected|invalid|abort(?:ed)?|killed|"
    r"timed? ?out|segmentation fault|core dumped|conflict)\b",
    re.IGNORECASE,
)
#: one of these is in most lines that go wrong: looked for where there are too many lines to weigh
_WRONG_WORDS = ("error", "exception", "fail", "fatal", "panic", "traceback", "denied", "refused")
_IS_REPORT = re.compile(
    r"(?:E\s{1,8})?(?:Traceback \(most recent|(?:\w{1,40}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception): "
    r"|(?:\S{1,120}:\d+:? )?(?:fatal )?(?:error|panic|fatal)(?:\[\w+\])?: )"
)
_IS_NAMED = re.compile(r"[A-Z]\w*(?:Error|Exception|Warning)\b|\b[A-Z]{1,3}\d{3,4}\b")
_IS_WARNING = re.compile(r"warn(?:ing)?\b|deprecat|skipp(?:ed|ing)\b", re.IGNORECASE)
_IS_SUM = re.compile(
    r"\b\d+ (?:passed|failed|errors?|warnings?|skipped|tests?|files?|insertions?|deletions?|total|"
    r"match(?:es)?|problems?|changed|found)\b|\bRan \d+|^(?:ok|passed|success|done|finished)\b|"
    r"\bexit(?:ed)?(?: with)?(?: code| status)?:? ?\d+|returned non-zero|successfully",
    re.IGNORECASE,
)
_IS_PLACE = re.compile(r"\w\.\w{1,5}:\d+|\", line \d+|:\d+:\d+")
_IS_COMMAND = re.compile(r"(?:\$|>>>|>|\+\+?|%|#) \S")
_IS_CHANGE = re.compile(r"[+-](?![+-])\s*\S")
_IS_DIFF = re.compile(r"^(?:diff --git|@@ )", re.MULTILINE)
_LISTED = re.compile(r"[ \t]*\d+(?:[:|\t]| \| )")
_RULE = re.compile(r"[-=*_~#<>]{4,} ?")
_SAYS = re.compile(r"\w")


def summary(text: str, room: int) -> str:
    """The lines that say what happened, in their order; runs of similar ones by a count."""
    if values.are_keyed(text):
        return values.flat(text, room)
    lines = _lines(text)
    if _is_listing(lines):
        return _listing(lines, room)
    return _shown(lines, room)


def printed(lines: Sequence[str], room: int) -> str:
    """The same of lines that stand among others."""
    return summary("\n".join(lines), room)


def compressed(text: str, room: int) -> str:
    """The line that says most, then what else is named."""
    if values.are_keyed(text):
        return telegram(values.flat(text, _READ * room, keys=False), room)
    lines = _lines(text)
    lead = cut(_headline(lines), room * 2 // 3) if len(lines) > 1 else ""
    if _is_listing(lines):
        bare = [line[_listed(line) :] for line in lines]
    else:
        runs = _runs(lines)
        bare = [line for n, line in enumerate(lines) if runs[n] == n or not _is_more(line)]
    return telegram("\n".join(bare), room, lead)


def title(text: str) -> str:
    """The one line that says most about what happened; the first values of those with keys."""
    return (
        values.flat(text, _TITLE, keys=False) if values.are_keyed(text) else _headline(_lines(text))
    )


def _lines(text: str) -> list[str]:
    """The lines that say something, as a terminal would have shown them."""
    every = (_RULE.sub("", _CONTROL.sub("", line)).rstrip() for line in text.splitlines())
    said = [line for line in every if _SAYS.search(line)]
    return ends(said, MARK, telling=_may_be_wrong) or [text.strip()]


def _headline(lines: Sequence[str]) -> str:
    """The weightiest line, if any says what happened; of a listing or a change alone its path."""
    said = [line for line in lines if not _listed(line)] if _is_listing(lines) else lines
    worths = [
        worth + min(_ACTS / 2, _LEAST * sum(marks(line).values()))
        for line, worth in zip(said, _worths(said), strict=True)
    ]
    best = max(range(len(said)), key=lambda number: (worths[number], -number), default=-1)
    if (_is_listing(lines) and (best < 0 or worths[best] < _WRONG)) or _is_diff(lines):
        return code.path_in(lines[0]) or lines[0]
    return cut(said[best], _LONGEST) if worths[best] >= _ACTS else ""


def _shown(lines: Sequence[str], room: int) -> str:
    runs = _runs(lines)
    longest = max(1, min(_LONGEST, room // 2))
    parts: list[Part] = []
    for number, (line, worth) in enumerate(zip(lines, _worths(lines), strict=True)):
        part = _part(line, worth, longest, again=runs[number] != number)
        followed = runs[number + 1 : number + 2] == [runs[number]]
        parts.append(replace(part, beside=_RUN) if followed else part)
    # The first and the last line are always shown: there is room for both of them.
    slighter = 0 if parts[0].worth < parts[-1].worth else -1
    text = parts[slighter].text
    if len(text) > longest * 2 // 3:
        parts[slighter] = replace(parts[slighter], text=cut(text, max(1, longest * 2 // 3)))
    return _joined(parts, chosen(parts, room - 2, always=(0, len(parts) - 1)), runs)


def _part(line: str, worth: float, longest: int, *, again: bool) -> Part:
    """A line as it may be shown; one that looks like those before it only if it is a name or wrong."""
    text = without_fences(line)
    text = cut(text, longest) if len(text) > longest else text
    if again and _is_more(line):
        return Part(text, {})
    tells = {} if is_import(line) else marks(line)
    tells[line.strip()] = _LEAST
    if again or not worth:
        tells = {name: one * _AGAIN for name, one in tells.items()}
    return Part(text, tells, worth)


def _is_more(line: str) -> bool:
    """Whether a line that looks like the one before it says nothing more: no name, nothing wrong."""
    return " " in line.strip() and not _IS_WRONG.search(line)


def _joined(parts: Sequence[Part], taken: Sequence[int], runs: Sequence[int]) -> str:
    pieces = [MARK] if not taken or taken[0] else []
    for place, after in zip(taken, [*taken[1:], len(parts)][: len(taken)], strict=True):
        alike = sum(runs[number] == runs[place] for number in range(place + 1, after))
        text = parts[place].text
        more = f"{text} {MARK} {alike} more like it" if alike > 1 else ""
        pieces.append(more or marked(text, after > place + 1))
    return "\n".join(pieces)


# ---- what a line says ----------------------------------------------------------------------------


def _worths(lines: Sequence[str]) -> list[float]:
    changes = _is_diff(lines)
    return [_changed(line) if changes else _worth(line[:_LONGEST]) for line in lines]


def is_report(lines: Sequence[str]) -> bool:
    """Whether lines are what a program printed as something went wrong, not what it is made of."""
    return any(_IS_REPORT.match(line[:_LONGEST]) for line in lines)


def _may_be_wrong(line: str) -> bool:
    low = line[:_LONGEST].lower()
    return any(word in low for word in _WRONG_WORDS)


def _is_diff(lines: Sequence[str]) -> bool:
    return any(_IS_DIFF.match(line) for line in lines)


def _worth(line: str) -> float:
    worth = 0.0
    if _IS_WRONG.search(line):
        worth += _WRONG + (_WARNS if _IS_NAMED.search(line) else 0.0)
    elif _IS_WARNING.search(line):
        worth += _WARNS
    worth += _SUMS if _IS_SUM.search(line) else 0.0
    worth += _PLACE if _IS_PLACE.search(line) else 0.0
    return worth + (_ACTS if _IS_COMMAND.match(line) else 0.0)


def _changed(line: str) -> float:
    """Of a change the files and what changed: what goes wrong in its code did not go wrong."""
    if _IS_DIFF.match(line):
        return _SUMS if line[0] == "d" else 0.0
    if _IS_CHANGE.match(line):
        return _SUMS if line[0] == "+" else _WARNS
    return 0.0


def _runs(lines: Sequence[str]) -> list[int]:
    """For each line the number of the first in its run: lines in a row that look alike, no changes."""
    if _is_diff(lines):
        return list(range(len(lines)))
    found: list[int] = []
    before: object = None
    for number, line in enumerate(lines):
        shape = _shape(line)
        found.append(found[-1] if shape == before else number)
        before = shape
    return found


def _shape(line: str) -> tuple[object, ...]:
    """What lines that look alike share: how they begin, and words and names in turn behind it."""
    bare = line.strip()[:_LONGEST]
    wrong = _IS_WRONG.search(bare) is not None
    words = bare.split()
    if len(words) == 1:
        return (1, wrong)
    first = words[0] if words[0].isalpha() else ""
    sorts = ["word" if word.strip(".,:;()").isalpha() else "name" for word in words[1:8]]
    turns = [one for place, one in enumerate(sorts) if place == 0 or one != sorts[place - 1]]
    return (first, wrong, line[:1].isspace(), *turns[:4])


# ---- a listing with line numbers -----------------------------------------------------------------


def _is_listing(lines: Sequence[str]) -> bool:
    return 2 * sum(_LISTED.match(line) is not None for line in lines) > len(lines)


def _listed(line: str) -> int:
    found = _LISTED.match(line)
    return found.end() if found else 0


def _listing(lines: Sequence[str], room: int) -> str:
    """The listing as the code it lists, with what was said around it."""
    labels = [line[: _listed(line)] for line in lines]
    bare = [line[len(label) :] for line, label in zip(lines, labels, strict=True)]
    around = [number for number, label in enumerate(labels) if not label]
    worths = {
        number: _worth(lines[number]) + (_PLACE if code.path_in(lines[number]) else 0.0)
        for number in around
    }
    for number in (0, len(lines) - 1):
        worths[number] = worths.get(number, 0.0) + _SUMS
    return code.shown(bare, room, labels=labels, worths=worths)
