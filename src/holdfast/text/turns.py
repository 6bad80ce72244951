"""What somebody said, in fewer of its own sentences; its code by the lines that say what it is."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from holdfast.text import code, output
from holdfast.text.choose import MARK, WEIGHED, Part, chosen, ends, marks
from holdfast.text.extract import EMPTY_WORDS, OUTCOME, shortened
from holdfast.text.markdown import Block, blocks, without_fences
from holdfast.text.sentences import sentences
from holdfast.text.telegram import telegram
from holdfast.text.words import analyse

#: marks at both ends take so many characters
EDGES = 4
#: a longer sentence is cut
_LONGEST = 320
#: a line of prose that is broken for its length has at least so many characters
_BROKEN = 60
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_BOLD = re.compile(r"(?<!\S)\*\*(?=\S)|(?<=\S)\*\*(?=[\s.,:;!?)]|$)")
#: the words of a sentence that others use too make it central
_WORD, _SHARED = 0.1, 0.05
#: what tells how a thing came out is worth so much more, the first sentence, a block of code
_OUTCOME, _FIRST, _CODE = 3.0, 2.0, 1.5
#: a row of a table tells less than a sentence, but for the first, which says what the others mean
_ROW, _HEAD = 0.5, 3.0
#: an opening of fewer words greets and says nothing
_OPENING = 4


def summary(text: str, room: int) -> str:
    """Sentences and shortened code of a text, in its order, in at most `room` characters."""
    said = parts(blocks(text), room)
    return joined(said, chosen(said, room - EDGES))


def compressed(text: str, room: int) -> str:
    """The words that tell most."""
    return telegram(text, room)


def title(text: str) -> str:
    """The sentence that tells most for its length."""
    said = [
        part
        for part in parts(blocks(text), _LONGEST)
        if len(part.tells) >= _OPENING and not part.text.startswith("```")
    ]
    return max(said, key=_value, default=Part("", {})).text


def parts(found: Iterable[Block], room: int) -> list[Part]:
    """Everything that may be shown of a text, each so short that it fits into the room."""
    longest = max(1, min(_LONGEST, room - 2 * EDGES))
    texts: list[tuple[str, int, str]] = []
    for block in found:
        if block.sort == "code":
            shorter = output.printed if output.is_report(block.lines) else code.signatures
            most = min(room - 2 * EDGES, max(60, room // 2))
            shown = code.fenced(block.lines, block.language, most, shorter)
            texts.append((shown, block.first, "code"))
        else:
            for number, line in _flowing(block):
                head = block.sort == "table" and number == block.first
                sort = "head" if head else block.sort
                texts.extend((each, number, sort) for each in _sentences(line, longest))
    read = ends([each for each in texts if any(map(str.isalnum, each[0]))], ("", -1, "prose"))
    words = [  # in the order they are said: sums of them are the same in every process
        [one for one in dict.fromkeys(analyse(each[:WEIGHED])) if one not in EMPTY_WORDS]
        for each, _, _ in read
    ]
    shared = Counter(word for each in words for word in each)
    said = [
        _part(each, {word: shared[word] for word in of})
        for each, of in zip(read, words, strict=True)
    ]
    opening = (n for n, of in enumerate(words) if read[n][2] == "prose" and len(of) >= _OPENING)
    for place in islice(opening, 1):
        said[place] = replace(said[place], worth=said[place].worth + _FIRST)
    return said


def _part(said: tuple[str, int, str], shared: dict[str, int]) -> Part:
    text, line, sort = said
    tells = marks(text)
    if sort == "code":
        return Part(text, tells, _CODE, line)
    if len(shared) > 1 or tells:
        for word, times in shared.items():
            tells.setdefault(f" {word}", _WORD + _SHARED * min(times - 1, 4))
    if sort in ("table", "head"):
        tells = {name: worth * _ROW for name, worth in tells.items()}
    worth = _OUTCOME if OUTCOME.search(text[:_LONGEST]) else 0.0
    return Part(text, tells, worth + (_HEAD if sort == "head" else 0.0), line)


def _value(part: Part) -> float:
    """What a part tells, a long one by less than its length."""
    return (sum(part.tells.values()) + part.worth) / math.sqrt(len(part.text) + 1)


def joined(said: Sequence[Part], places: Sequence[int]) -> str:
    """The chosen parts in order, a mark wherever something is left out between them."""
    pieces: list[str] = []
    before = -1
    line = -1
    for place in places:
        part = said[place]
        gap = place != before + 1
        if pieces:
            closed = pieces[-1].endswith("```")
            if gap and not pieces[-1].endswith(MARK):
                pieces.append(f"\n{MARK}" if closed else f" {MARK}")
            pieces.append(" " if part.line == line and not closed else "\n")
        elif gap:
            pieces.append(f"{MARK}\n" if part.text.startswith(("```", "|", "#")) else f"{MARK} ")
        pieces.append(part.text)
        before, line = place, part.line
    if before != len(said) - 1 and not (pieces and pieces[-1].endswith(MARK)):
        pieces.append(f"\n{MARK}" if pieces and pieces[-1].endswith("```") else f" {MARK}")
    return "".join(pieces).strip()


def _flowing(block: Block) -> Iterator[tuple[int, str]]:
    """The lines of a block with their numbers; one that only goes on below is one with what follows."""
    number, flow = block.first, list(block.lines[:1])
    for place, line in enumerate(block.lines[1:], block.first + 1):
        if block.sort == "prose" and _goes_on(flow[-1]) and line.strip() and not _ITEM.match(line):
            flow.append(line)
            continue
        yield number, " ".join(flow)
        number, flow = place, [line]
    yield number, " ".join(flow)


def _goes_on(line: str) -> bool:
    """Whether a line is so long, and ends so, that it was broken for its length alone."""
    line = line.strip()
    return len(line) >= _BROKEN and line[-1] not in ".!?:;。！？"


def _sentences(line: str, longest: int) -> list[str]:
    """The sentences of a line, the mark of a list's item before the first of them if it fits."""
    plain = without_fences(_BOLD.sub("", line))
    item = _ITEM.match(plain)
    found = [shortened(each, longest) for each in sentences(plain[item.end() :] if item else plain)]
    if item and found and len(item[0]) + len(found[0]) < longest:
        found[0] = f"{item[0].strip()} {found[0]}"
    return found
