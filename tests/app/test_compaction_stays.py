"""What is pinned, important, decided or told stays, however often a window is compacted by itself.

All of it together is a fifth of the window here: more than a compaction is to leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.compact.deciding import Left, Window, decide
from holdfast.text.quoting import quoted
from tests.app.test_compacting import LONG, worked
from tests.recall.replays import Ticking

WAYS = ["adaptive", "sliding_window", "token_truncation", "recursive_summarization"]


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[holdfast.Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def told(s: holdfast.Session, window: int, part: float = 0.19) -> list[str]:
    """Everything that must stay: documents, notes, rules and decisions, a part of the window."""
    said = list[str]()

    def filled(share: float) -> Iterator[int]:
        while s.pressure(window=window).tokens < share * window:
            yield len(said)

    page = "".join(f"- Rule {n} of the page: keep function {n} short.\n" for n in range(12))
    for n in filled(part / 2):
        said.append(f"# Page {n}\n\n{page}")
        s.assistant(said[-1], pinned=True)
    for n in filled(part * 3 / 4):
        said.append(f"Note {n}: the staging database of service {n} is called otter.")
        s.assistant(said[-1], important=True)
    for n in filled(part):
        said += [f"Always run check {n} before you push.", f"carts of kind {n} expire"]
        s.user(said[-2])
        s.decision(said[-1])
    return said


@pytest.mark.parametrize("window", [4_000, 8_000, 32_000])
def test_a_fifth_of_the_window_stays_word_for_word(hf: holdfast.Holdfast, window: int) -> None:
    s = hf.session(agent="coder", session_id="s")
    must = [quoted(text).strip() for text in told(s, window)]
    compactions = set[str]()
    for n in range(8):
        worked(s, window // 700)
        s.user(f"What about question {n}? {LONG}")
        pack = s.context(f"What about question {n}?", window=window, budget=window // 20)
        assert pack.tokens <= 0.85 * window
        shown = pack.sections["history"]
        assert [text for text in must if text not in shown] == []
        compactions |= {event.event_id for event in hf.events() if event.kind == "compacted"}
    assert len(compactions) > 1


@pytest.mark.parametrize("strategy", WAYS)
def test_so_it_does_in_every_way_of_compacting(hf: holdfast.Holdfast, strategy: str) -> None:
    s = hf.session(agent="coder", session_id="s")
    must = told(s, 8_000)
    worked(s, 30)
    made = s.compact("the heron", window=8_000, strategy=strategy)
    assert made is not None
    kept = {event.text for event in hf.events() if event.event_seq in made.past.kept}
    assert [text for text in must if text not in kept] == []


def test_the_last_steps_stay_beside_it(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    told(s, 8_000, part=0.1)
    worked(s, 30)
    made = s.compact("the heron", window=8_000)
    assert made is not None
    late = [one for one in made.decided[-10:] if one.verdict != "drop"]
    assert len(late) > 2


def test_a_rule_in_a_long_text_is_named_where_the_text_has_left(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    for n in range(12):
        s.user(f"Always ask before you touch table {n}. {LONG * 12}")
        worked(s, 3)
    s.user("What is next?")
    made = s.compact("What is next?", window=8_000)
    assert made is not None
    history = s.context("What is next?", window=8_000, budget=200).sections["history"]
    assert [n for n in range(12) if f"Always ask before you touch table {n}." not in history] == []


def test_where_nothing_can_leave_the_beginning_of_a_context_stays(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More turns than a window waits for, and each of them stays: what is cached is worth more."""
    decisions = list[int]()

    def counting(window: Window, *given: Any) -> Left | None:
        decisions.append(len(window.chunks))
        return decide(window, *given)

    monkeypatch.setattr("holdfast.app.compacting.decide", counting)
    s = hf.session(agent="coder", session_id="s")
    before = ""
    for n in range(45):
        s.user(f"Always run check {n} before you push table {n}.")
        s.decision(f"carts {n} expire after {n} minutes, as decided")
        if n >= 28:
            pack = s.context(f"check {n}", window=6_000, budget=200)
            assert pack.text.startswith(before)
            assert pack.receipt.stable_prefix_tokens or not before
            before = pack.text
    assert 0 < len(decisions) < 5  # of 17 contexts; what saves little is no reason for another one
    assert [e.kind for e in hf.events() if e.kind in ("epoch_started", "compacted")] == [
        "epoch_started"
    ]
    assert s.pressure(window=6_000) == s.pressure()
    worked(s)
    s.context("check 3", window=6_000, budget=200)
    assert [e.kind for e in hf.events()].count("compacted") == 1
