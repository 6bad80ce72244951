"""What a window still knows after a compaction. `python -m bench.compact DATA [--share 0.1] [--json]`

DATA is a folder with `swe-agent/`, `tau-bench/`, `beam/` and `qmsum/`. A whole session is recorded and
compacted to a share of its tokens, in each of the four ways and by keeping its last tokens alone.

Beside them in the same run: agent-memfas, as `bench.compact_peer` says. Of conversations the last tokens
are as many as ours keep and are given for memory together.

Work of agents: of the file paths, errors and commands of the session (`bench/key_terms.py`), the share
that is still named in the window; of the spans that left, the share whose every event comes back byte
for byte through `expand`. Sessions stand alone and in a row: all of one repository are one session.

Conversations with questions: of the gold turns, the share that stands in the context made for the
question (`pack`), and the share that stands there or in one expansion of at most 2,000 tokens. The
expansion is chosen from the visible lines alone: by the words they share with the question (`chosen`),
which reads no line; `any` takes the best of all lines, which nobody can know. A model that reads them
lies between the two. Recovered: entries of the context that had left
the window; `false` are those among them that are not gold and not beside it.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import holdfast
from bench import compact_peer
from bench.compact_terms import SORTS, Named, named_in
from bench.compose_seen import Extent, seen
from bench.data import Conversation, Question, find, last_moment, read, record
from bench.economy_data import Message, Script, alone, chained
from bench.measures import SEED, mean
from bench.peer_process import Failed
from bench.report import show
from holdfast.compact.scoring import likeness
from holdfast.model.compactions import Compaction
from holdfast.model.packs import Pack
from holdfast.text.quoting import quoted

AGENT, USER = "assistant", "reader"
WAYS = ("adaptive", "sliding_window", "token_truncation", "recursive_summarization")
#: tokens of one expansion
EXPANSION = 2_000
#: spans that are read back of one session
_READ = 40
_LINE = re.compile(r"^(events \d+-\d+): (.*)$", re.MULTILINE)
_SHORT = re.compile(
    r'<hf:earlier expand="(events \d+-\d+)" note="in short">\n(.*?)\n</hf:', re.DOTALL
)


_SHARES, _COUNTED = ("pack", "chosen", "any"), ("recovered", "false", "gold back")

Row = dict[str, Any]


@contextmanager
def opened(now: int | None = None) -> Iterator[holdfast.Holdfast]:
    """A project of its own."""
    with tempfile.TemporaryDirectory() as home:
        clock = None if now is None else (lambda: now)
        with holdfast.open(home, project="bench", user=USER, now=clock) as hf:
            yield hf


# ---- work of agents ------------------------------------------------------------------------------


def heard(s: holdfast.Session, script: Script) -> list[str]:
    """Record a whole script as one session; what was said."""
    told = []
    for sitting in script.sittings:
        for message in sitting.messages:
            _hear(s, message)
            told.append(message.plain)
    return told


def _hear(s: holdfast.Session, message: Message) -> None:
    if message.role == "user":
        s.user(message.text)
    elif message.role == "tool":
        s.tool_result(message.tool, message.text, call_id=message.answers)
    else:
        if message.text:
            s.assistant(message.text)
        for call in message.calls:
            s.tool_call(call.tool, call.arguments, call_id=call.id)


def worked(
    script: Script, share: float, others: Sequence[compact_peer.Other]
) -> Iterator[tuple[str, Row]]:
    """What each way leaves of one script."""
    for way in WAYS:
        with opened() as hf:
            s = hf.session(agent=AGENT, user=USER)
            told, count = heard(s, script), hf.counter().count
            whole = "\n".join(told)
            tokens = count(whole)
            room = max(1, int(share * tokens))
            began = time.perf_counter()
            made = s.compact(to=room, window=tokens, strategy=way)
            seconds = time.perf_counter() - began
            window = s.context("", budget=0, window=max(tokens, 2_000)).sections["history"]
            yield (
                way,
                {
                    "tokens": tokens,
                    "left": count(window) / tokens,
                    "seconds": seconds,
                    "named": named_in(whole, window),
                    "restored": restored(hf, s, made) if made else (0, 0),
                },
            )
            if way == WAYS[0]:
                last = _last(whole, room, count)
                yield (
                    "last tokens alone",
                    {
                        "tokens": tokens,
                        "left": count(last) / tokens,
                        "seconds": 0.0,
                        "named": named_in(whole, last),
                        "restored": (0, 0),
                    },
                )
                for other in others:
                    yield from compact_peer.worked(other, script, room, count)


def _last(text: str, room: int, count: Any) -> str:
    size = room * 4
    while count(text[-size:]) > room:
        size = size * 9 // 10
    return text[-size:]


def restored(hf: holdfast.Holdfast, s: holdfast.Session, made: Compaction) -> tuple[int, int]:
    """Of events that left, how many come back as they were, and how many were looked at."""
    spans = [*made.past.lines, *made.past.shorts]
    events = {e.event_seq: e for e in hf.events(session_id=s.id)}
    good = seen = 0
    for span in random.Random(SEED).sample(spans, min(_READ, len(spans))):
        text, ref = "", f"events {span.first}-{span.last}"
        while ref:
            found = s.expand(ref, 8_000)
            text, ref = text + found.text, found.more
        for event in (events[n] for n in range(span.first, span.last + 1) if n in events):
            if event.text:
                seen += 1
                good += quoted(event.text).strip("\n") in text
    return good, seen


def agents(data: Path, share: float, others: Sequence[compact_peer.Other]) -> list[Row]:
    """A row for each data set and way."""
    rows = []
    for name, scripts in (
        ("SWE-agent, alone", alone(data, "swe-agent")),
        ("SWE-agent, in a row", chained(data, "swe-agent")),
        ("tau-bench, in a row", chained(data, "tau-bench") or alone(data, "tau-bench")[:20]),
    ):
        found: dict[str, list[Row]] = {}
        for script in scripts:
            for way, row in worked(script, share, others):
                found.setdefault(way, []).append(row)
        for way, of in found.items():
            good, seen = (sum(row["restored"][n] for row in of) for n in (0, 1))
            rows.append(
                {
                    "what": name,
                    "way": way,
                    "n": len(of),
                    "tokens": round(mean([row["tokens"] for row in of])),
                    "left %": 100 * mean([row["left"] for row in of]),
                    **{f"{sort} %": _named([row["named"] for row in of], sort) for sort in SORTS},
                    "restored %": 100 * good / seen if seen else "",
                    "s": mean([row["seconds"] for row in of]),
                }
            )
        rows += compact_peer.cannot(others, rows[0], name)
    return rows


def _named(found: Sequence[Named], sort: str) -> float:
    there = sum(one[sort][0] for one in found)
    every = sum(one[sort][1] for one in found)
    return 100 * there / every if every else 100.0


# ---- conversations with questions ----------------------------------------------------------------


class Judge:
    """Which gold turns stand in a text, whole or by a passage."""

    def __init__(self, conversation: Conversation, places: Mapping[str, int]) -> None:
        self._turns = conversation.turns
        self._places = places
        self._whole = [" ".join(quoted(turn.text).split()) for turn in conversation.turns]

    def in_pack(self, gold: Sequence[int], pack: Pack) -> set[int]:
        """Of these turns, those a context shows."""
        entries = seen(pack, self._places, self._turns)
        shown = {one.place for one in entries if one.extent >= Extent.PASSAGE}
        return (shown & set(gold)) | self.stands(gold, pack.text)

    def stands(self, gold: Sequence[int], text: str) -> set[int]:
        """Of these turns, those that are there whole."""
        plain = " ".join(text.split())
        return {place for place in gold if self._whole[place] in plain}


def asked(conversation: Conversation, share: float, way: str, budget: int) -> list[Row]:
    """What each question finds after a compaction."""
    with opened(last_moment(conversation)) as hf:
        one = one_session(conversation)
        places = record(one, hf, user=USER)
        sessions = hf.sessions(user=USER, agent=AGENT)
        s = hf.session(agent=AGENT, user=USER, session_id=sessions[0].id)
        count, judge = hf.counter().count, Judge(conversation, places)
        tokens = sum(count(turn.text) for turn in conversation.turns)
        made = s.compact(to=int(share * tokens), window=tokens, strategy=way)
        kept = set(made.past.kept) if made else set()
        there = {e.event_id: e.event_seq for e in hf.events(session_id=s.id)}
        questions = [one for one in conversation.questions if one.gold]
        return [
            _answered(
                s, question, budget + n, max(tokens, 4 * budget), judge, places, (there, kept)
            )
            for n, question in enumerate(questions)
        ]


def _answered(
    s: holdfast.Session,
    question: Question,
    budget: int,
    window: int,
    judge: Judge,
    places: Mapping[str, int],
    window_of: tuple[Mapping[str, int], set[int]],
) -> Row:
    there, kept = window_of
    pack = s.context(question.text, budget=budget, window=window)
    in_pack = judge.in_pack(question.gold, pack)
    handles = [found for form in (_LINE, _SHORT) for found in form.findall(pack.text)]
    alike = likeness(question.text, [said for _, said in handles])
    best = max(range(len(handles)), key=lambda n: (alike[n], n), default=None)
    missing = [place for place in question.gold if place not in in_pack]
    chosen = set(in_pack)
    if best is not None and missing:
        chosen |= judge.stands(missing, s.expand(handles[best][0], EXPANSION).text)
    any_ = len(in_pack) / len(question.gold)
    if missing:
        found = [judge.stands(missing, s.expand(ref, EXPANSION).text) for ref, _ in handles]
        any_ = (len(in_pack) + max(map(len, found), default=0)) / len(question.gold)
    shown = [one.shown.id for one in pack.receipt.candidates if one.verdict == "taken"]
    back = [one for one in shown if one in there and there[one] not in kept]
    fit = {*question.gold, *question.near}
    return {
        "pack": len(in_pack) / len(question.gold),
        "chosen": len(chosen) / len(question.gold),
        "any": any_,
        "tokens": pack.tokens,
        "recovered": len(back),
        "false": sum(places.get(one, -1) not in fit for one in back),
        "gold back": sum(places.get(one, -1) in question.gold for one in back),
    }


def one_session(conversation: Conversation) -> Conversation:
    """The same as one session."""
    return replace(
        conversation, turns=tuple(replace(turn, session=0) for turn in conversation.turns)
    )


def unaided(
    conversation: Conversation, share: float, other: compact_peer.Other | None, budget: int
) -> list[Row]:
    """What each question finds in the last tokens alone, or in what another way leaves."""
    with opened() as hf:
        count, judge = hf.counter().count, Judge(conversation, {})
    room = int(share * sum(count(turn.text) for turn in conversation.turns)) + budget
    if other is not None:
        return compact_peer.asked(other, conversation, room, EXPANSION, judge.stands, count)
    last = _last("\n".join(turn.text for turn in conversation.turns), room, count)
    return [
        compact_peer.found(question.gold, last, "", judge.stands, count)
        for question in conversation.questions
        if question.gold
    ]


def conversations(
    data: Path, given: argparse.Namespace, others: Sequence[compact_peer.Other]
) -> list[Row]:
    """A row for each data set and way."""
    rows: list[Row] = []
    for name in ("beam", "qmsum"):
        every = read(find(data / name, name), name)[: given.most]
        ways: dict[str, Callable[[Conversation], list[Row]]] = {
            way: partial(asked, share=given.share, way=way, budget=given.budget) for way in WAYS
        }
        alone_ = partial(unaided, share=given.share, budget=given.budget)
        ways["last tokens alone"] = partial(alone_, other=None)
        ways |= {one.name: partial(alone_, other=one) for one in others}
        for way, ask in ways.items():
            try:
                found = [row for one in every for row in ask(one)]
            except Failed:  # its reason stands in a row of its own
                continue
            sums = {key: sum(row[key] for row in found) for key in _COUNTED}
            rows.append(
                {
                    "what": name,
                    "way": way,
                    "questions": len(found),
                    "tokens": round(mean([row["tokens"] for row in found])),
                    **{f"{key} %": 100 * mean([row[key] for row in found]) for key in _SHARES},
                    "recovered": sums["recovered"],
                    "gold": sums["gold back"],
                    "false": sums["false"],
                }
            )
        rows += compact_peer.cannot(others, rows[0], name)
    return rows


def main() -> None:
    """Two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--budget", type=int, default=8_000, help="tokens of memory in a context")
    parser.add_argument("--most", type=int, default=5, help="conversations of a data set")
    parser.add_argument("--environments", type=Path, help="where agent-memfas is kept installed")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    title, kept = f"compacted to {given.share:.0%} of the tokens", given.environments
    with (
        nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder,
        compact_peer.others(Path(folder).resolve()) as others,
    ):
        rows = agents(given.data, given.share, others)
        show(f"work of agents, {title}", rows, as_json=given.json)
        rows = conversations(given.data, given, others)
    show(f"conversations with questions, {title}", rows, as_json=given.json)


if __name__ == "__main__":
    main()
