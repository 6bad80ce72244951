"""Text of any origin, fit to stand in a prompt: nothing hidden in it, nothing that passes for a mark.

What stands in the log stays as it was said; this is done where text is shown. What is done to a text
follows from the tables here and from Unicode 3.2, which every Python carries and none changes: the same
text is shown the same with every version of Python.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate
from string import ascii_uppercase
from typing import Any

#: how every mark of ours begins
MARK = "hf:"
#: what stands where a mark would have begun
BROKEN = "\u2039"

# ---- what nobody sees -------------------------------------------------------------------------

#: first and last of: controls; signs that hide, reorder or fill; surrogates; private use; what is not a
#: character; what is to be ignored though it is not assigned yet
_UNSEEN = (
    *((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C)),
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E)),
    *((0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xD800, 0xF8FF), (0xFDD0, 0xFDEF)),
    *((0xFE00, 0xFE0D), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF)),
    *((0x13430, 0x1343F), (0x16FE4, 0x16FE4), (0x1BCA0, 0x1BCA3), (0x1D159, 0x1D159)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE0FFF), (0xF0000, 0x10FFFF)),
    *((plane | 0xFFFE, plane | 0xFFFF) for plane in range(0x10000, 0xF0000, 0x10000)),
)
#: what may be shown as a picture or as text, which a selector behind it says
_PICTURES = (
    *((0xA9, 0xA9), (0xAE, 0xAE), (0x203C, 0x203C), (0x2049, 0x2049), (0x2122, 0x2122)),
    *((0x2139, 0x2139), (0x2190, 0x21FF), (0x2300, 0x23FF), (0x2460, 0x24FF), (0x25A0, 0x27BF)),
    *((0x2900, 0x297F), (0x2B00, 0x2BFF), (0x3030, 0x3030), (0x303D, 0x303D), (0x3297, 0x3299)),
    (0x1F000, 0x1FAFF),
)


def _signs(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_NEW_LINE = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = re.compile(f"[{_signs(_UNSEEN)}]")
#: a selector that selects nothing: more than a few of them carry a hidden text
_SELECTS_NOTHING = re.compile(
    f"[\ufe0e\ufe0f](?<![{_signs(_PICTURES)}].)(?<![#*0-9].(?=\u20e3))", re.DOTALL
)
_BLANK = "\n\n"
_PLAIN = re.compile(r"[\n\t -~]*")


def clean(text: str) -> str:
    """Without controls and without what is not seen; lines end in one way."""
    if _PLAIN.fullmatch(text):
        return text
    lines = _NEW_LINE.sub("\n", text)
    if _HIDDEN.search("".join(set(lines))):
        lines = _HIDDEN.sub("", lines)
    return _SELECTS_NOTHING.sub("", lines)


# ---- what passes for a mark -------------------------------------------------------------------

#: names in angle brackets that models take for the beginning or the end of something
_ANGLED = (
    *("s", "bos", "eos", "start_of_turn", "end_of_turn", "sop", "eop", "bos_token", "eos_token"),
    *("tool_call", "tool_response"),
)
#: the same in square ones, where only capitals are a mark
_SQUARE = (
    *("INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT"),
    *("gMASK", "sMASK"),
)
#: a mark of ours or of a model's own template, in a text of ASCII behind a blank line. Nothing is read
#: more than once from one bracket, so that the time grows with the text alone
_OPENS = re.compile(
    rf"""
    <(?=\s*+/?+\s*+(?i:hf)\s*+:)                        # <hf:…>
    | <(?=\s*+/?+\s*+\|)                                # <|im_start|> <|turn>
    | <(?=/?+\w{{1,40}}+\|>)                            # <turn|>
    | <(?=\s*+/?+\s*+(?i:{"|".join(_ANGLED)})\s*+>)     # <start_of_turn> </s>
    | <(?=<\s*+/?+\s*+(?i:SYS)\s*+>)                    # <<SYS>>
    | \[(?=\s*+/?+\s*+(?:{"|".join(_SQUARE)})\s*+\])    # [INST]
    | \n(?<=\n\n)[ \t]*+(?=(?:Human|Assistant)[ \t]*+:)  # a turn of its own
    """,
    re.VERBOSE | re.ASCII,
)
_FIXED: unicodedata.UCD = unicodedata.ucd_3_2_0
#: signs since Unicode 3.2 that mean one of ASCII
_LATER: dict[str, str] = dict(
    zip(
        (
            *map(chr, range(0x1F130, 0x1F14A)),
            *map(chr, range(0x1CCD6, 0x1CCF0)),
            *"ᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁᵂᵃᵇᵈᵉᵍᵏᵐᵒᵖᵗᵘᵛᵢᵣᵤᵥᶜᶠᶻₐₑₒₓₕₖₗₘₙₚₛₜⱼⱽ",
            *"\ua7f1\ua7f2\ua7f3\ua7f4\ufe13\ufe47\ufe48\U000107a5\U0001d4c1\U0001f12b\U0001f12c\u1680",
        ),
        ascii_uppercase * 2
        + "ABDEGHIJKLMNOPRTUWabdegkmoptuviruvcfzaeoxhklmnpstjV"
        + "SCFQ:[]qlCR ",
        strict=True,
    )
)
#: marks that stand on any sign before them, also those since Unicode 3.2
_ON_TOP = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe0e\ufe0f\ufe20-\ufe2f]"
)


def quoted(text: str) -> str:
    """The same, and no mark in it is one of ours or of a model's own template.

    A text is judged by what its signs mean: full width or in a circle, with an accent or without.
    """
    shown = f"{_BLANK}{clean(text)}"
    if shown.isascii():
        return _OPENS.sub(_broken, shown)[len(_BLANK) :]
    meant = {ord(sign): _meant(sign) for sign in set(shown) if not sign.isascii()}
    marks = [*_OPENS.finditer(shown.translate(meant))]
    return (_broken_at(shown, meant, marks) if marks else shown)[len(_BLANK) :]


def _broken(mark: re.Match[str]) -> str:
    return BROKEN if _bracket(mark) else f"{mark[0]}{BROKEN}"


def _bracket(mark: re.Match[str]) -> bool:
    return not mark[0].startswith("\n")


def _broken_at(shown: str, meant: Mapping[int, str], marks: list[re.Match[str]]) -> str:
    """A text with marks broken that were found in what it means."""
    ends = list(accumulate(len(meant.get(ord(sign), sign)) for sign in shown))
    pieces, done = [], 0
    for mark in marks:
        place = bisect_right(ends, mark.start() if _bracket(mark) else mark.end())
        pieces += [shown[done:place], BROKEN]
        done = place + _bracket(mark)
    return "".join([*pieces, shown[done:]])


@lru_cache(maxsize=1 << 14)
def _meant(sign: str) -> str:
    """The signs of ASCII that this one means; nothing for an accent; itself for any other."""
    if sign in _LATER:
        return _LATER[sign]
    if _ON_TOP.match(sign):
        return ""
    signs: str = _FIXED.normalize("NFKD", sign)
    plain = "".join(one for one in signs if not _FIXED.category(one).startswith("M"))
    return plain if plain.isascii() else sign


def quoted_json(value: Any) -> Any:
    """JSON with every text in it quoted."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list | tuple):
        return [quoted_json(one) for one in value]
    if isinstance(value, Mapping):
        return {quoted(str(name)): quoted_json(one) for name, one in value.items()}
    return value


def indented(text: str, by: str = "  ") -> str:
    """Every line but the first further in, so that none can pass for the beginning of an entry."""
    return text.replace("\n", f"\n{by}")
