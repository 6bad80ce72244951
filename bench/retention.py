"""What a reader would miss: how much of it does each level keep, beside plain cuts of the same size?

    python -m bench.retention DATA [--sets] [--json]

DATA is a folder with `swe-agent/`, `tau-bench/`, `beam/` and `locomo/`. Every different text in it is
shown as a turn, as code (fenced blocks, windows of a file), as tool output or as a document (turns with
headings, system prompts, the parts of a policy), and remembered as a fact (a sentence), an episode (ten
turns), a pattern (a sentence that says when, with the one behind it) or a workflow (the commands of a
trajectory, the calls of a dialogue). Of each level that leaves something out: the share of the text's
key terms (`bench/key_terms.py`) that it keeps, averaged over the texts; the same of the text's first
tokens, and of its first and last ones, as many as the level has. The cuts may end anywhere and need no
mark for what they leave out.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.calibration import _shaped
from bench.data import Conversation, Dataset, find, read
from bench.key_terms import held, key_terms
from bench.measures import mean
from bench.report import show
from holdfast.engines.tokenizers.vocabulary import counter
from holdfast.errors import HoldfastError, Invalid, NotFound
from holdfast.model.tokens import Counted
from holdfast.text.levels import Levels, levels, shown_as
from holdfast.text.sentences import sentences

SHOWN = ("turn", "code", "tool_output", "document")
KINDS = (*SHOWN, "fact", "episode", "pattern", "workflow")
LEVELS = ("summary", "compressed", "index")
#: at these every kind should keep more than a cut does
JUDGED = LEVELS
ENCODING = "o200k_base"
_SAID: tuple[Dataset, ...] = ("beam", "locomo")
_TURNS = 10
#: an episode is read so far, as in `bench.levels`
_MOST = 60_000
#: a shorter sentence loses nothing but at the index
_SENTENCE = 80
#: a turn with so many headings is a page, a listing with so many lines is code
_HEADINGS, _LINES = 3, 8
_FENCED = re.compile(r"^```[^\n`]*\n(.*?)\n```", re.MULTILINE | re.DOTALL)
_LISTED = re.compile(r"^\d+:", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_CONDITION = re.compile(r"(?:if|when|whenever|before|after|unless|once)\b", re.IGNORECASE)
_SECTION = re.compile(r"^(?=## )", re.MULTILINE)


class Sample(msgspec.Struct, frozen=True):
    """A text of a data set, as what it is taken, and the steps it is made of if it is a workflow."""

    kind: str
    source: str
    text: str
    steps: tuple[str, ...] = ()


class Kept(msgspec.Struct, frozen=True):
    """Shares of one text's key terms, and of its tokens."""

    level: float
    first: float
    ends: float
    tokens: float


#: by kind, data set and level
Measured = dict[tuple[str, str, str], list[Kept]]


# ---- texts ---------------------------------------------------------------------------------------


class _Step(msgspec.Struct):
    action: str = ""
    observation: str | None = ""
    thought: str | None = ""


class _Called(msgspec.Struct):
    name: str
    arguments: str = ""


class _Call(msgspec.Struct):
    function: _Called


class _Message(msgspec.Struct):
    role: str
    content: Any = None
    tool_calls: Any = None


class _Trajectory(msgspec.Struct):
    history: list[_Message] = []
    trajectory: list[_Step] = []


class _Dialogue(msgspec.Struct):
    traj: list[_Message]


def samples(data: Path) -> list[Sample]:
    """Every different text, in the order of the files."""
    found = [one for one in _every(data) if one.text.strip()]
    if not found:
        raise Invalid(f"{data} holds no text to shorten")
    return list(dict.fromkeys(found))


def _every(data: Path) -> Iterator[Sample]:
    for dataset in _SAID:
        try:
            conversations = read(find(data, dataset), dataset)
        except NotFound:
            continue
        for conversation in conversations:
            yield from _conversation(dataset, conversation)
    for path in sorted(data.glob("swe-agent/*.traj")):
        yield from _trajectory("swe-agent", _shaped(path, _Trajectory))
    for path in sorted(data.glob("tau-bench/*.json")):
        for dialogue in _shaped(path, list[_Dialogue]):
            yield from _dialogue("tau-bench", dialogue)


def _conversation(source: str, conversation: Conversation) -> Iterator[Sample]:
    for turn in conversation.turns:
        page = len(_HEADING.findall(turn.text)) >= _HEADINGS
        yield Sample("document" if page else "turn", source, turn.text)
        for block in _FENCED.findall(turn.text):
            yield Sample("code", source, block)
        yield from _sayings(source, _FENCED.sub("", turn.text))
    told = [f"{turn.speaker or turn.role}: {turn.text}" for turn in conversation.turns]
    yield from _episodes(source, told)


def _trajectory(source: str, run: _Trajectory) -> Iterator[Sample]:
    for said in run.history:
        if said.role == "system" and isinstance(said.content, str):
            yield Sample("document", source, said.content)
    for step in run.trajectory:
        seen = step.observation or ""
        yield Sample("turn", source, f"{step.thought or ''}\n```\n{step.action}\n```")
        yield Sample("tool_output", source, seen)
        listed = [line for line in seen.splitlines() if _LISTED.match(line)]
        if len(listed) > _LINES:
            yield Sample("code", source, "\n".join(_LISTED.sub("", line) for line in listed))
        yield from _sayings(source, step.thought or "")
    told = [f"{one.thought}\n{one.action}\n{one.observation}" for one in run.trajectory]
    yield from _episodes(source, told)
    commands = [one.action.strip().partition("\n")[0] for one in run.trajectory]
    yield _workflow(source, [command for command in commands if command])


def _dialogue(source: str, dialogue: _Dialogue) -> Iterator[Sample]:
    said = [(one.role, one.content) for one in dialogue.traj if isinstance(one.content, str)]
    for role, text in said:
        if role == "system":
            for part in _SECTION.split(text):
                yield Sample("document", source, part)
        elif role == "tool":
            yield Sample("tool_output", source, text)
        else:
            yield Sample("turn", source, text)
            yield from _sayings(source, text)
    yield from _episodes(source, [f"{role}: {text}" for role, text in said if role != "system"])
    calls = [msgspec.convert(one.tool_calls or [], list[_Call]) for one in dialogue.traj]
    named = [call.function for some in calls for call in some]
    yield _workflow(source, [f"{one.name} {one.arguments}" for one in named])


def _sayings(source: str, text: str) -> Iterator[Sample]:
    said = sentences(text)
    for place, sentence in enumerate(said):
        if len(sentence) > _SENTENCE:
            yield Sample("fact", source, sentence)
        if _CONDITION.match(sentence):
            yield Sample("pattern", source, " ".join(said[place : place + 2]))


def _episodes(source: str, told: Sequence[str]) -> Iterator[Sample]:
    for first in range(0, len(told), _TURNS):
        yield Sample("episode", source, "\n".join(told[first : first + _TURNS])[:_MOST])


def _workflow(source: str, steps: Sequence[str]) -> Sample:
    return Sample("workflow", source, "\n".join(steps), tuple(steps))


# ---- cuts of the same size -----------------------------------------------------------------------


def longest(text: str, tokens: int, count: Callable[[str], int], *, end: bool = False) -> str:
    """The longest beginning of a text, or its longest end, that is no more than so many tokens."""

    def part(size: int) -> str:
        return text[len(text) - size :] if end else text[:size]

    high = max(1, 2 * tokens)
    while high < len(text) and count(part(high)) <= tokens:
        high *= 2
    low, high = 0, min(high, len(text))
    while low < high:
        middle = (low + high + 1) // 2
        if count(part(middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return part(low)


def both_ends(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """One half of the tokens from the beginning, the other from the end."""
    head = longest(text, -(-tokens // 2), count)
    return f"{head}\n{longest(text[len(head) :], tokens // 2, count, end=True)}"


# ---- what came of it -----------------------------------------------------------------------------


def made(sample: Sample) -> Levels:
    """The levels of a text."""
    if sample.kind in SHOWN:
        return shown_as(sample.kind, sample.text)
    return levels(sample.kind, sample.text, steps=sample.steps)


def measured(found: Sequence[Sample], count: Callable[[str], int]) -> Measured:
    """What every level keeps that leaves something out of a text with key terms."""
    kept: Measured = {}
    for sample in found:
        levels_ = made(sample)
        text = levels_.full
        terms, size = key_terms(text), count(text)
        for level in LEVELS if terms else ():
            short = getattr(levels_, level)
            tokens = count(short)
            if tokens >= size:
                continue
            cuts = (short, longest(text, tokens, count), both_ends(text, tokens, count))
            ours, first, ends = (len(held(terms, cut)) / len(terms) for cut in cuts)
            key = (sample.kind, sample.source, level)
            kept.setdefault(key, []).append(Kept(ours, first, ends, tokens / size))
    return kept


def report(kept: Measured, *, sets: bool = False) -> list[dict[str, Any]]:
    """A row for each kind and level, and for each of its data sets if they are asked for."""
    rows = []
    for kind in KINDS:
        sources = sorted({source for of, source, _ in kept if of == kind})
        for level in LEVELS:
            each = {source: kept.get((kind, source, level), []) for source in sources}
            every = [one for some in each.values() for one in some]
            rows.append(_row(f"{kind}, {level}", every))
            if sets:
                rows += [_row(f"{kind}, {level}, {name}", some) for name, some in each.items()]
    return [row for row in rows if row["texts"]]


def _row(what: str, kept: Sequence[Kept]) -> dict[str, Any]:
    shares = {
        "kept": [one.level for one in kept],
        "first tokens": [one.first for one in kept],
        "first and last": [one.ends for one in kept],
        "tokens": [one.tokens for one in kept],
    }
    percent = {name: round(100 * mean(some), 1) for name, some in shares.items() if some}
    return {"what": what, "texts": len(kept), **percent}


def beaten(rows: Sequence[Mapping[str, Any]], cut: str, judged: Sequence[str]) -> list[str]:
    """What keeps no more than a cut does, among the levels that are judged."""
    of = [row for row in rows if any(f", {level}" in row["what"] for level in judged)]
    return [row["what"] for row in of if row["kept"] <= row[cut]]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("data", type=Path)
    options.add_argument("--sets", action="store_true", help="each data set on its own too")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    count = counter(Counted(ENCODING, 1.0, True)).count
    try:
        rows = report(measured(samples(given.data), count), sets=given.sets)
    except HoldfastError as exc:
        raise SystemExit(f"bench.retention: {exc}") from exc
    if not rows:
        raise SystemExit("bench.retention: no level leaves anything out")
    show("Key terms kept, percent, in as many tokens as the level has", rows, as_json=given.json)
    if not given.json:
        first = beaten(rows, "first tokens", JUDGED)
        ends = beaten(rows, "first and last", JUDGED)
        print(f"the first tokens keep as much: {'; '.join(first) or 'nowhere'}")
        print(f"the first and last tokens keep as much: {'; '.join(ends) or 'nowhere'}")


if __name__ == "__main__":
    main()
