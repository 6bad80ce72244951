"""Which level of a memory should be searched: its full text, its summary, or both?

    python -m bench.levels DATA [--embedder static] [--json]

Ten turns of LoCoMo and BEAM at a time are remembered as one episode, its first 60,000 characters.
Counted is the share of the episodes with a question's evidence among the first hits; the same with
nothing but summaries remembered, and with both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holdfast
from bench.data import USER, Conversation, Dataset, find, read
from bench.measures import mean, recall_at
from bench.recall import opened
from bench.report import show
from holdfast.text.levels import levels

_TURNS = 10
_MOST = 60_000
_SETS: tuple[Dataset, ...] = ("locomo", "beam")
_LEVELS: dict[str, Callable[[str], str]] = {
    "full": lambda text: text,
    "summary": lambda text: levels("episode", text).summary,
    "full and summary": lambda text: f"{levels('episode', text).summary}\n\n{text}",
}


def asked(hf: holdfast.Holdfast, conversation: Conversation, level: str) -> list[list[float]]:
    """For each question with gold: recall of the episodes that hold it at 1, 3 and 5."""
    said: dict[int, list[str]] = {}
    for place, turn in enumerate(conversation.turns):
        said.setdefault(place // _TURNS, []).append(f"{turn.speaker or turn.role}: {turn.text}")
    made = hf.remember_all(
        [{"kind": "episode", "text": _LEVELS[level]("\n".join(said[n])[:_MOST])} for n in said],
        user=USER,
    )
    episode = {memory.id: n for memory, n in zip(made, said, strict=True)}
    found = []
    for question in conversation.questions:
        gold = sorted({place // _TURNS for place in question.gold})
        if gold and question.answerable:
            hits = hf.recall(question.text, 10, user=USER, min_relevance=0.0)
            ranked = [episode[hit.id] for hit in hits]
            found.append([recall_at(ranked, gold, k) for k in (1, 3, 5)])
    return found


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("data", type=Path)
    options.add_argument("--embedder", default="static")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    rows: list[dict[str, Any]] = []
    for dataset in _SETS:
        conversations = read(find(given.data, dataset), dataset)
        for level in _LEVELS:
            answers: list[list[float]] = []
            for conversation in conversations:
                with opened(conversation, given.embedder) as hf:
                    answers += asked(hf, conversation, level)
            at = [round(100 * mean([answer[n] for answer in answers]), 1) for n in range(3)]
            rows.append(
                {"set": dataset, "searched": level, "n": len(answers)}
                | dict(zip(("R@1", "R@3", "R@5"), at, strict=True))
            )
    show("ten turns as an episode, found by", rows, as_json=given.json)


if __name__ == "__main__":
    main()
