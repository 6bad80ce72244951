"""One threshold for every store: does relevance mean the same in small and large ones?

    python -m bench.calibration DATA [--sizes 1000,100000] [--embedder static|none|auto|minilm] [--json]

DATA is a folder with `locomo/` and `beam/`, and for padding `qmsum/`, `swe-agent/`, `tau-bench/`. Every
question is asked in the store of its own conversation, then in stores of each size: as many
conversations as fit, one project, one user, one agent, so that each distracts from the others, filled up
with meetings, trajectories and dialogues, then with texts made of real words. A hit is right when it is
gold of its own question. Precision is of the hits at or above a threshold among the first twenty; the
error of calibration is over the same twenty. The spread is half of the distance between the highest and
the lowest precision at one threshold: the goal is at most five points.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec

import holdfast
from bench import measures, zipf
from bench.data import (
    AGENT,
    USER,
    Conversation,
    Dataset,
    Question,
    Turn,
    find,
    last_moment,
    read,
    record,
)
from bench.measures import SEED, THRESHOLDS, TOP, Answer
from bench.recall import opened
from bench.report import show
from bench.scale import sizes
from holdfast.errors import HoldfastError, Invalid, NotFound

SETS: tuple[Dataset, ...] = ("locomo", "beam")
ALONE = "alone"
SIZES = "1000,100000"
_BEGUN = datetime(2020, 1, 1, tzinfo=UTC)
_GAP = timedelta(seconds=5)
#: made texts of one session
_SESSION = 50
_SPREAD = 5.0

#: by data set and size: what was answered, by conversation
Answers = dict[tuple[str, str], dict[str, list[Answer]]]


# ---- padding -------------------------------------------------------------------------------------


class _Message(msgspec.Struct):
    role: str
    content: Any = None


class _Trajectory(msgspec.Struct):
    history: list[_Message]


class _Dialogue(msgspec.Struct):
    traj: list[_Message]


def padding(data: Path) -> Iterator[Conversation]:
    """Conversations nobody asks about: what was really said first, then made ones without end."""
    yield from (_unasked(one) for one in _real(data))
    texts = zipf.texts()
    for number in count(1):
        yield _said(f"made-{number}", [("user", text) for text in islice(texts, _SESSION)])


def _real(data: Path) -> Iterator[Conversation]:
    try:
        yield from read(find(data, "qmsum"), "qmsum")
    except NotFound:
        _say("no meetings to pad with")
    for path in sorted(data.glob("swe-agent/*.traj")):
        held = _shaped(path, _Trajectory)
        yield _said(path.stem, [(one.role, one.content) for one in held.history])
    for path in sorted(data.glob("tau-bench/*.json")):
        for number, dialogue in enumerate(_shaped(path, list[_Dialogue])):
            said = [(one.role, one.content) for one in dialogue.traj]
            yield _said(f"{path.stem}-{number + 1}", said)


def _shaped(path: Path, shape: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except msgspec.DecodeError as exc:
        raise Invalid(f"{path.name} is not what it is called: {exc}") from exc


def _said(name: str, messages: Sequence[tuple[str, Any]]) -> Conversation:
    """One session of what was said in words, by a person or by anything else."""
    spoken = [(who, text) for who, text in messages if isinstance(text, str) and text.strip()]
    turns = tuple(
        Turn(
            id=str(place),
            session=0,
            role="user" if who == "user" else "assistant",
            text=text,
            at=_BEGUN + place * _GAP,
        )
        for place, (who, text) in enumerate(spoken)
    )
    return Conversation(name=name, turns=turns, questions=())


def _unasked(conversation: Conversation) -> Conversation:
    return msgspec.structs.replace(conversation, questions=())


def padded(
    asked: Sequence[Conversation], size: int, rest: Iterator[Conversation]
) -> list[Conversation]:
    """These conversations and as much of the rest as makes `size` turns, the last one cut."""
    lacking = size - sum(len(one.turns) for one in asked)
    found: list[Conversation] = []
    while lacking > 0:
        following = next(rest)
        found.append(msgspec.structs.replace(following, turns=following.turns[:lacking]))
        lacking -= len(found[-1].turns)
    return [*found, *asked]


def together(conversations: Sequence[Conversation], size: int) -> list[list[Conversation]]:
    """Groups of at most so many turns, each conversation in the first that has room for it."""
    groups: list[list[Conversation]] = []
    for one in conversations:
        room = (g for g in groups if sum(len(of.turns) for of in [*g, one]) <= size)
        group = next(room, None)
        if group is None:
            groups.append(group := [])
        group.append(one)
    return groups


# ---- asking --------------------------------------------------------------------------------------


def answered(
    group: Sequence[Conversation], embedder: str, rest: Sequence[Conversation] = ()
) -> dict[str, list[Answer]]:
    """Every question of a group with gold, asked in one store that holds the group and the rest."""
    with opened(max(group, key=last_moment), embedder) as hf:
        for other in rest:
            record(other, hf)
        places = {one.name: record(one, hf) for one in group}
        hf.index()
        return {
            one.name: [_ask(hf, q, places[one.name]) for q in one.questions if _judged(q)]
            for one in group
        }


def _judged(question: Question) -> bool:
    return bool(question.gold) and question.answerable


def _ask(hf: holdfast.Holdfast, question: Question, places: Mapping[str, int]) -> Answer:
    found = hf.recall(question.text, k=TOP, min_relevance=0, user=USER, agent=AGENT)
    return Answer(
        question=question,
        places=tuple(places.get(hit.id, -1) for hit in found),
        tokens=(0,) * len(found),
        relevance=tuple(hit.relevance for hit in found),
        confidence=found.confidence,
        inject=lambda _: (),
    )


def run(data: Path, embedder: str, wanted: Sequence[int]) -> Answers:
    """All of it."""
    of = {one: read(find(data, one), one) for one in SETS}
    belongs = {one.name: name for name, some in of.items() for one in some}
    every = [one for some in of.values() for one in some]
    if not any(_judged(question) for one in every for question in one.questions):
        raise Invalid("nothing is asked there")
    found: Answers = {}

    def keep(size: str, made: Mapping[str, list[Answer]]) -> None:
        for name, answers in made.items():
            found.setdefault((belongs[name], size), {})[name] = answers

    for one in every:
        _say(f"{one.name} alone: {len(one.turns)} turns")
        keep(ALONE, answered([one], embedder))
    for size in wanted:
        for group in together(every, size):
            rest = padded(group, size, padding(data))[: -len(group)]
            names = ", ".join(one.name for one in group)
            _say(f"{names}: {sum(len(one.turns) for one in [*rest, *group]):,} turns")
            keep(f"{size:,}", answered(group, embedder, rest))
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- what came of it -----------------------------------------------------------------------------


def report(found: Mapping[tuple[str, str], Mapping[str, Sequence[Answer]]]) -> list[dict[str, Any]]:
    """For each set and size: calibration as `measures` has it, with intervals, and recall beside it."""
    rows = []
    for (name, size), answers in sorted(found.items(), key=_order):
        asked = [one for some in answers.values() for one in some]
        rows.append(
            {
                "set": name,
                "size": size,
                "questions": len(asked),
                "R@10": measures.mean([measures.values(one)["R@10"] for one in asked]),
                **measures.calibration(asked),
                "intervals": {f"{at:g}": interval(asked, at) for at in THRESHOLDS},
            }
        )
    return rows


def _order(one: tuple[tuple[str, str], Any]) -> tuple[int, int]:
    (name, size), _ = one
    return SETS.index(name), 0 if size == ALONE else int(size.replace(",", ""))


def interval(asked: Sequence[Answer], threshold: float) -> tuple[float, float]:
    """95 % interval of the precision above a threshold, whole questions drawn."""
    passed = {
        str(number): [
            float(place in one.question.gold)
            for place, value in zip(one.places, one.relevance, strict=True)
            if value >= threshold
        ]
        for number, one in enumerate(asked)
    }
    return measures.interval(passed)


def spread(rows: Sequence[Mapping[str, Any]], threshold: str) -> float:
    """Half of the distance between the highest and the lowest precision, in points."""
    known = [p for row in rows if math.isfinite(p := row["precision"][threshold])]
    return 50 * (max(known) - min(known)) if known else math.nan


def table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """A line for each set and size, and one for the spread."""
    lines = [
        {
            "what": f"{row['set']}, {row['size']}",
            "questions": str(row["questions"]),
            "R@10": _known("{:.1f}", 100 * row["R@10"]),
            "error": _known("{:.3f}", row["error"]),
            **{f"≥ {at}": _precision(row, at) for at in row["precision"]},
        }
        for row in rows
    ]
    spreads = {f"≥ {at}": _known("± {:.1f}", spread(rows, at)) for at in rows[0]["precision"]}
    last = {"what": f"spread (goal ± {_SPREAD:g})", "questions": "", "R@10": "", "error": ""}
    return [*lines, {**last, **spreads}]


def _known(form: str, value: float) -> str:
    return form.format(value) if math.isfinite(value) else "–"


def _precision(row: Mapping[str, Any], at: str) -> str:
    value, (low, high) = row["precision"][at], row["intervals"][at]
    if not math.isfinite(value):
        return "no hit"
    return f"{100 * value:.1f} ({100 * low:.0f}–{100 * high:.0f}) of {row['hits'][at]:,}"


def main() -> None:
    """Both sets, alone and in every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder of data sets")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument(
        "--embedder", choices=("static", "none", "auto", "minilm"), default="static"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        rows = report(run(given.data, given.embedder, sizes(given.sizes)))
    except HoldfastError as exc:
        raise SystemExit(f"bench.calibration: {exc}") from exc
    if given.json:
        spreads = {at: spread(rows, at) for at in rows[0]["precision"]}
        told = {"embedder": given.embedder, "seed": SEED, "rows": rows, "spread": spreads}
        # what is not a number, the precision of no hit, becomes null
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return
    title = f"Gold among hits above a threshold, percent: {given.embedder}, first {TOP} hits"
    show(title, table(rows), as_json=False)


if __name__ == "__main__":
    main()
