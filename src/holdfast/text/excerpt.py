"""A passage of a longer text, fit to be shown alone: its code fenced, marked where the text goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.text.choose import MARK

#: whatever is shown as the end of a line
_EOL = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
# Four tildes and more underline a heading in other markups.
_FENCE = re.compile(
    rf"(?:^|(?<=[{_EOL}]))[ \t]*+(`{{3,}}+(?=[^`{_EOL}]*+(?:[{_EOL}]|\Z))|~~~(?!~))([^{_EOL}]*+)"
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_BLANK_START = re.compile(r"(?:[^\S\n]*\n)*")


class _Block(msgspec.Struct, frozen=True):
    """A block of code: where its first fence, its code, its last fence and what is behind it begin."""

    start: int
    inside: int
    last: int
    end: int
    fence: str
    language: str

    def holds(self, place: int) -> bool:
        return self.inside <= place <= self.last


def excerpt(text: str, start: int, end: int) -> str:
    """The passage `text[start:end]` without white space around it; blank if there is nothing else.

    What always holds: its words are those of the passage; what is fenced in the text is fenced in it, in
    a block of the same language, and every fence is closed. The mark `…` stands before it if its
    paragraph, or its block, begins earlier, and behind it if that goes on.
    """
    found = list(_blocks(text))
    start, end = _between_fences(text, found, max(0, start), max(0, min(end, len(text))))
    if any(one.holds(start) for one in found) and start < end:  # code keeps how far it is indented
        blank = _BLANK_START.match(text, start, end)
        start = blank.end() if blank else start
        line = text.rfind("\n", 0, start) + 1
        start = line if not text[line:start].strip() else start
    else:
        start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + len(text[start:end].rstrip())
    if start >= end:
        return ""
    return fenced(
        text, start, end, before=_before(text, start, found), behind=_behind(text, end, found)
    )


def fenced(text: str, start: int, end: int, *, before: str = "", behind: str = "") -> str:
    """The passage as it stands, but for fences: one that it begins in is opened, and all are closed.

    `before` and `behind` stand beside it, inside of the fences.
    """
    found = list(_blocks(text))
    start, end = _between_fences(text, found, start, end)
    inside = next((one for one in found if one.holds(start)), None)
    head = f"{inside.fence}{inside.language}\n" if inside and start < end else ""
    return closed(f"{head}{before}{text[start:end]}{behind}")


def closed(text: str) -> str:
    """The text, with a fence behind it if it has opened one that it does not close."""
    *_, last = (None, *_blocks(text))
    if last is None or last.end > last.last:
        return text
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}{last.fence}"


def _blocks(text: str) -> Iterator[_Block]:
    """The blocks of code in order; one that is not closed has no last fence and reaches to the end."""
    opened: re.Match[str] | None = None
    if "```" not in text and "~~~" not in text:
        return
    for found in _FENCE.finditer(text):
        if opened is None:
            opened = found
        elif found[1].startswith(opened[1]) and not found[2].strip():
            yield _block(opened, found.start(), min(len(text), found.end() + 1))
            opened = None
    if opened is not None:
        yield _block(opened, len(text), len(text))


def _block(opened: re.Match[str], last: int, end: int) -> _Block:
    language = "".join(opened[2].split()[:1])
    inside = min(opened.end() + 1, last)
    return _Block(opened.start(), inside, last, end, opened[1], language)


def _between_fences(text: str, found: list[_Block], start: int, end: int) -> tuple[int, int]:
    """The passage without the parts of fences that it begins or ends with."""
    for one in found:
        if one.start < start < one.inside:
            start = one.inside
        if one.last <= start < one.end:
            start = one.end
        if one.start < end <= one.inside:
            end = one.start
        if one.last < end < one.end and text[end : one.end].strip():
            end = one.last
    return start, end


def _before(text: str, start: int, found: list[_Block]) -> str:
    """The mark of what stands before a passage in its paragraph or its block, if anything does."""
    if any(one.start == start for one in found):
        return ""
    inside = next((one for one in found if one.holds(start)), None)
    if inside is not None:
        floor = inside.inside
    else:
        floor = max((one.end for one in found if one.end <= start), default=0)
        for blank in _BLANK_LINE.finditer(text, floor, start):
            floor = blank.end()
    if not text[floor:start].strip():
        return ""
    return cut_before(text, start) or f"{MARK}\n"


def _behind(text: str, end: int, found: list[_Block]) -> str:
    """The mark of what stands behind a passage in its paragraph or its block, if anything does."""
    inside = next((one for one in found if one.inside < end <= one.last), None)
    if inside is not None:
        ceiling = inside.last
    else:
        ceiling = next((one.start for one in found if one.start >= end), len(text))
        blank = _BLANK_LINE.search(text, end, ceiling)
        ceiling = blank.start() if blank else ceiling
    if not text[end:ceiling].strip():
        return ""
    return cut_behind(text, end) or f"\n{MARK}"


def cut_before(text: str, start: int) -> str:
    """The mark of what stands before a place in its line, if anything does."""
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        return ""
    return f"{MARK} " if text[start - 1].isspace() else MARK


def cut_behind(text: str, end: int) -> str:
    """The mark of what stands behind a place in its line, if anything does."""
    line = text.find("\n", end)
    if text[end - 1 : end] == "\n" or not text[end : len(text) if line < 0 else line].strip():
        return ""
    return f" {MARK}" if text[end].isspace() else MARK
