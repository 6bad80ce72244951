"""Counting tokens: the same ids as an independent implementation, and how fast.

    python -m bench.tokens [--strings 200000] [--json]

The reference is rs-bpe (a development requirement). The corpus is this repository's own sources; the
random strings mix letters, marks, digits, line ends and special-token text of many scripts.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

from rs_bpe.bpe import openai

from bench.report import show, side_by_side
from holdfast.engines.tokenizers.vocabulary import _load, counter
from holdfast.model.tokens import Counted

REFERENCE = {"o200k_base": openai.o200k_base, "cl100k_base": openai.cl100k_base}
_PARTS = (
    *("<|endoftext|>", "<s>", "\r\n", "\n", "\t", " ", "  ", "\x00", "\x85", "\u2028", "\u200d"),
    *("'s", "'LL", "’s", "ı", "ſ", "é", "e\u0301", "漢字", "ひら", "한글", "ไทย", "ا", "😀", "🇩🇪"),
    *(
        "123",
        "4567890",
        "²",
        "_",
        "/",
        "!",
        "...",
        "'",
        '"',
        "abc",
        "ABC",
        "snake_case",
        "camelCase",
    ),
)


def rows(encoding: str, strings: int, rounds: int) -> list[dict[str, Any]]:
    """Speed and agreement for one encoding."""
    root = Path(__file__).parents[1]
    corpus = "".join(path.read_text("utf-8") for path in sorted(root.glob("src/**/*.py"))) * 4
    start = time.perf_counter()
    ours, ids = counter(Counted(encoding, 1.0, True)), _load(encoding).encode
    ours.count("loads the vocabulary")
    load = time.perf_counter() - start
    theirs = REFERENCE[encoding]()
    mine, its = side_by_side(lambda: ours.count(corpus), lambda: len(theirs.encode(corpus)), rounds)
    dice, different, explained = random.Random(3), 0, 0
    for _ in range(strings):
        text = "".join(dice.choices(_PARTS, k=dice.randrange(1, 12)))
        if ids(text) != theirs.encode(text):
            different += 1
            explained += "'ſ" in text or "’ſ" in text
    size = len(corpus.encode()) / 1e6
    agreed = f"{different} differ, {explained} of them by an apostrophe and ſ"
    return [
        {"what": f"{encoding}: first count", "ours": f"{load * 1e3:.0f} ms", "baseline": ""},
        {
            "what": f"{encoding}: {size:.1f} MB of source",
            "ours": f"{size / mine:.0f} MB/s",
            "baseline": f"{size / its:.0f} MB/s (rs-bpe)",
        },
        {"what": f"{encoding}: ids of {strings:,} strings", "ours": agreed, "baseline": "rs-bpe"},
    ]


def main() -> None:
    """Every encoding that has a reference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--strings", type=int, default=200_000)
    given = parser.parse_args()
    found = [row for name in REFERENCE for row in rows(name, given.strings, given.rounds)]
    show("Tokens, beside an independent implementation", found, as_json=given.json)


if __name__ == "__main__":
    main()
