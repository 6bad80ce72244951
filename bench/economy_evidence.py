"""What a prompt must hold so that the next step can be taken: key terms that are used again, gold turns.

A term is a file path, the name of an error, an identifier or, in what a tool is asked to do, a command
with the two words behind it (`bench/key_terms.py`); or an id of letters and digits. It is evidence of a
step when the step uses it, it was said before, and the system prompt does not say it. It is near when
one of the last ten messages says it, far when an earlier one of the same session does, and elsewhere
when only another session does. A model often says again what it would have thought of by itself, so all
of these are upper bounds of what is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from bench.economy_data import Message
from bench.key_terms import Sort, held, key_terms
from holdfast.text.quoting import quoted

_SORTS: frozenset[Sort] = frozenset({"path", "error", "identifier"})
_IDS = re.compile(
    r"(?<!\w)((?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,}"
    r"|(?=[a-f0-9]*\d)(?=[a-f0-9]*[a-f])[a-f0-9]{7,40})(?!\w)"
)
#: so many messages are near
LAST = 10
Where = Literal["near", "far", "elsewhere"]
NEAR: Where = "near"
FAR: Where = "far"
ELSEWHERE: Where = "elsewhere"
#: `held` does not ask of what sort a term is
_ANY: Sort = "identifier"
_BLOCK = re.compile(r"<hf:(?:memory|instructions) [^>]*>\n(.*?)\n</hf:", re.DOTALL)
_ENTRY = re.compile(r"^\[(\d+)\+?\]", re.MULTILINE)
#: what left the window, named in a line or summarised
_LEFT = re.compile(r'^(events \d+-\d+): |^<hf:earlier expand="(events \d+-\d+)"', re.MULTILINE)
_SHORTENED = re.compile(r"\[shortened to \w+; expand (\S+) for all of it\]")

#: what a handle stands for
Expand = Callable[[str], str]


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What one step needs to know."""

    #: key terms, and where they were said last
    terms: dict[str, Where] = {}
    #: whole texts, all of them of other sessions
    gold: tuple[str, ...] = ()

    def where(self) -> dict[str, Where]:
        """Everything that is needed, and where it was said."""
        return {**self.terms, **dict.fromkeys(self.gold, ELSEWHERE)}


class Share(msgspec.Struct, frozen=True):
    """Of what is needed: how much there is, stands in the prompt, or is at most one expansion away."""

    needed: int = 0
    there: int = 0
    within_reach: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(
            self.needed + other.needed,
            self.there + other.there,
            self.within_reach + other.within_reach,
        )


#: by where it was said
Kept = dict[Where, Share]


def terms_of(step: Message) -> set[str]:
    """The terms of a message that name something."""
    done = "\n".join(step.asked)
    found = {term for term, sort in key_terms(step.plain).items() if sort in _SORTS}
    commands = {term for term, sort in key_terms(done).items() if sort == "command"}
    return found | commands | {match[1] for match in _IDS.finditer(step.plain)}


def needed(step: Message, here: Sequence[Message], others: Sequence[Message], system: str) -> Need:
    """The terms of a step that were said before it, and not by the system prompt."""
    terms = dict.fromkeys(terms_of(step), _ANY)
    for known in held(terms, system):
        del terms[known]
    found: dict[str, Where] = dict.fromkeys(held(terms, _told(others)), ELSEWHERE)
    found |= dict.fromkeys(held(terms, _told(here)), FAR)
    found |= dict.fromkeys(held(terms, _told(here[-LAST:])), NEAR)
    return Need(terms=dict(sorted(found.items())))


def _told(messages: Iterable[Message]) -> str:
    return "\n".join(message.plain for message in messages)


def kept(need: Need, prompt: Sequence[str], expand: Expand | None = None) -> Kept:
    """What of it stands in a prompt, and what one expansion of something shown there would bring."""
    text = "\n".join(prompt)
    missing = _missing(need, text)
    out_of_reach = missing
    if missing and expand is not None:
        out_of_reach = missing & _missing(need, *expanded(text, expand))
    found: Kept = {}
    for one, where in need.where().items():
        share = Share(1, int(one not in missing), int(one not in out_of_reach))
        found[where] = found.get(where, Share()) + share
    return found


def _missing(need: Need, *texts: str) -> set[str]:
    """What stands in none of these texts."""
    terms = dict.fromkeys(need.terms, _ANY)
    wanted = {gold: {_line(gold), _line(quoted(gold))} for gold in need.gold}
    found: set[str] = set()
    for text in texts:
        found |= held(terms, text) | held(terms, _unescaped(text)) if terms else set()
        line = _line(text) if wanted else ""
        found |= {gold for gold, forms in wanted.items() if any(form in line for form in forms)}
    return {*terms, *wanted} - found


def _unescaped(text: str) -> str:
    """Arguments of calls are JSON; a term is looked for as it was said."""
    return text.replace("\\r", " ").replace("\\n", "\n").replace("\\t", " ").replace('\\"', '"')


def _line(text: str) -> str:
    return " ".join(text.split())


# ---- one expansion away --------------------------------------------------------------------------


def handles(text: str) -> list[str]:
    """What the lines of a prompt offer to show in full: entries of memory, shortened turns, what left.

    The mark that stands for everything before the conversation's beginning is none: it does not say
    what there is.
    """
    entries = [number for block in _BLOCK.findall(text) for number in _ENTRY.findall(block)]
    left = [line or short for line, short in _LEFT.findall(text)]
    return list(dict.fromkeys([*entries, *_SHORTENED.findall(text), *left]))


def expanded(text: str, expand: Expand) -> list[str]:
    """What each handle of a prompt stands for."""
    return [expand(handle) for handle in handles(text)]
