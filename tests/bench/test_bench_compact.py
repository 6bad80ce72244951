"""Compactions that are not ours beside ours: what is measured of them, and what one that fails costs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.compact import Judge, unaided
from bench.compact_peer import Left, Other, asked, cannot, restored, worked
from bench.compact_terms import named_in
from bench.data import Conversation, Question, Turn
from bench.economy_data import Message, Script, Sitting
from bench.peer_embedding import EmbeddingServer
from bench.peer_process import Child, Failed, Peer
from tests.bench.test_bench_peers import Letters

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@contextmanager
def other(way: str = "", *, fitted: bool = False) -> Iterator[Other]:
    module = "tests.bench.toy_compaction"
    peer = Peer(name="toy", module=module, way=way, packages=("toy",), named=("msgspec",))
    with (
        EmbeddingServer(Letters()) as server,
        Child(peer, Path(sys.executable), server, []) as child,
    ):
        yield Other("toy", child, fitted=fitted)


def count(text: str) -> int:
    return len(text.split())


SCRIPT = Script(
    name="s",
    system="",
    sittings=(
        Sitting(
            name="s",
            messages=(
                Message(role="user", text="Fix src/cart.py"),
                Message(role="tool", text="KeyError: 'price' in src/total.py line 3 ", tool="bash"),
                Message(role="user", text="price"),
            ),
        ),
    ),
)


@pytest.mark.parametrize("room", [0, 1, 3, 8, 9, 20])
def test_one_fitted_to_its_room_keeps_as_much_as_fits(room: int) -> None:
    texts = ["a b c", "d e", "f", "g h i j"]
    with other(fitted=True) as one:
        left = one.compacted(texts, "", room, count)
    in_order = sorted(texts, key=lambda text: (-len(text), text))
    sizes = [sum(map(count, in_order[:n])) for n in range(len(texts) + 1)]
    assert count(" ".join(left.window)) == max(size for size in sizes if size <= room)


def test_names_that_stay_and_texts_that_are_copied_as_they_were_are_counted() -> None:
    with other() as one:
        ((name, row),) = worked(one, SCRIPT, 4, count)
    assert name == "toy"
    # what holds "price" stays; of the rest its copy is the same, a blank at the end is not
    assert row["restored"] == (1, 1)
    assert row["left"] == pytest.approx(7 / 9)
    whole = "Fix src/cart.py\nKeyError: 'price' in src/total.py line 3 \nprice"
    kept = "KeyError: 'price' in src/total.py line 3 \nprice"
    assert row["named"] == named_in(whole, kept)
    assert row["named"]["path"][0] < row["named"]["path"][1]


def test_a_copy_that_differs_by_a_byte_is_no_copy() -> None:
    left = Left(window=("a",), cold=frozenset({"b", "c"}), seconds=0.0)
    assert restored(["a", "b", "c ", "b"], left) == (1, 2)


CONVERSATION = Conversation(
    name="c",
    turns=tuple(
        Turn(id=f"t{n}", session=0, role="user", text=text, at=NOW)
        for n, text in enumerate(["the otter sleeps", "a heron", "bye now all of you"])
    ),
    questions=(
        Question(text="otter", category="c", gold=(0, 2)),
        Question(text="heron", category="c", gold=(1,)),
        Question(text="nothing", category="c", gold=()),
    ),
)


def test_evidence_in_the_window_is_told_from_evidence_that_was_asked_back() -> None:
    judge = Judge(CONVERSATION, {})
    with other(fitted=True) as one:
        rows = asked(one, CONVERSATION, 6, 2, judge.stands, count)
        wide = asked(one, CONVERSATION, 6, 3, judge.stands, count)
    assert [(row["pack"], row["chosen"]) for row in rows] == [(0.5, 0.5), (0.0, 1.0)]
    assert [(row["pack"], row["chosen"]) for row in wide] == [(0.5, 1.0), (0.0, 1.0)]
    assert all(row["recovered"] == row["false"] == 0 for row in rows)


def test_the_last_tokens_alone_show_the_last_turns() -> None:
    long = Conversation(
        name="c",
        turns=tuple(
            Turn(id=f"t{n}", session=0, role="user", text=f"number {n} " * 60, at=NOW)
            for n in range(100)
        ),
        questions=(
            Question(text="?", category="c", gold=(0,)),
            Question(text="?", category="c", gold=(99,)),
        ),
    )
    first, last = unaided(long, 0.1, None, 2_000)
    assert (first["pack"], last["pack"]) == (0.0, 1.0)
    assert 2_000 < last["tokens"] <= 2_000 + 0.1 * 100 * 60 * 4


def test_one_that_fails_has_its_reason_in_a_row_and_is_asked_no_more() -> None:
    with other("breaks") as one:
        assert list(worked(one, SCRIPT, 4, count)) == []
        assert "the toy broke" in one.cannot
        with pytest.raises(Failed, match="the toy broke"):
            one.recovered("price")
        (row,) = cannot([one], {"what": "", "way": "", "n": 3}, "SWE-agent")
    assert row == {"what": "SWE-agent", "way": f"toy cannot: {one.cannot}", "n": ""}
    missing = Other("gone", None, fitted=True, cannot="no network")
    assert list(worked(missing, SCRIPT, 4, count)) == []
