"""The soak, small: a session many times its window, killed on the way, with nothing wrong in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.economy_data import Call, Message, Script, Sitting
from bench.soak import soaked
from bench.soak_look import apart, paired
from bench.soak_story import IMPORTANT, PINNED, Move, story


def work(sittings: int = 6, steps: int = 6) -> Script:
    """Sessions of somebody who looks into files, each long enough to fill part of a window."""
    held = []
    for n in range(sittings):
        said = [Message(role="user", text=f"What is wrong with module {n} of the harbour?")]
        for step in range(steps):
            path, call = f"src/harbour/part{n}/file{step}.py", f"call-{n}-{step}"
            lines = [f"{line + 100}: crane_{n}.lift(load={line * 37 + step})" for line in range(40)]
            said += [
                Message(
                    role="assistant",
                    text=f"Step {step}: I look into file {step}.",
                    calls=(Call(call, "bash", {"command": f"cat {path}"}),),
                ),
                Message(role="tool", text="\n".join(lines), tool="bash", answers=call),
            ]
        said.append(Message(role="assistant", text=f"Module {n} lifts more than it may."))
        held.append(Sitting(name=f"sitting-{n}", messages=tuple(said)))
    return Script(name="harbour", system="You mend cranes.", sittings=tuple(held))


def words(text: str) -> int:
    """As many tokens as words."""
    return len(text.split())


def test_a_session_of_many_windows_passes_none_and_loses_nothing(tmp_path: Path) -> None:
    row, wrong = soaked([work()], tmp_path, tokens=100_000, window=8_000, every=6, kills=2, facts=8)
    assert not wrong, "\n".join(wrong[:20])
    assert row["processes killed"] == 2
    assert row["tokens told"] > 100_000
    assert row["largest context"] <= 8_000
    assert row["compactions"] > 5
    assert row["cold chunks"] > 50
    assert row["hours of the session"] > 0.5
    assert row["fewer than that %"] > 80
    for when in ("after 3 windows", "told early, asked late"):
        assert row[f"{when}: in the last tokens"] == "0 of 4"
        assert int(row[f"{when}: or one search"][0]) >= 2


def test_the_same_story_is_told_twice_and_no_round_is_like_another() -> None:
    told = story([work(2, 2)], 6_000, 1_000, 6, words)
    assert story([work(2, 2)], 6_000, 1_000, 6, words) == told
    texts = [move.text for move in told.moves if move.kind == "result" and "crane" in move.text]
    assert len(texts) > 8
    assert len(set(texts)) == len(texts)
    assert any("r1/file0.py" in str(move.arguments) for move in told.moves)
    assert [move.text for move in told.moves[:2]] == [PINNED, IMPORTANT]


@pytest.mark.parametrize("far", [True, False])
def test_a_fact_is_told_before_it_is_asked_for_in_other_words(far: bool) -> None:
    told = story([work(3, 3)], 9_000, 800, 12, words)
    for n, fact in enumerate(told.facts):
        if fact.far is not far:
            continue
        said = [k for k, move in enumerate(told.moves) if fact.value in move.text]
        asked = [k for k, move in enumerate(told.moves) if move.asks == n]
        assert len(said) == len(asked) == 1
        between = sum(move.tokens for move in told.moves[said[0] : asked[0]])
        assert between >= (5_000 if far else 2_400)
        assert fact.value not in fact.asked


def test_calls_and_results_are_paired_and_missed_where_they_are_apart() -> None:
    moves = [
        *(Move("call", call_id="a"), Move("result", call_id="a"), Move("assistant", "again")),
        *(Move("call", call_id="a"), Move("call", call_id="b"), Move("result", call_id="a")),
    ]
    assert paired(moves) == {0: 0, 1: 0, 3: 3, 5: 3}
    call: dict[str, Any] = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call00001"}],
    }
    result: dict[str, Any] = {"role": "tool", "tool_call_id": "call00001", "content": "done"}
    other: dict[str, Any] = {"role": "user", "content": "and now?"}
    assert not list(apart([other, call, result, other]))
    for messages in ([call, other, result], [result, other], [other, call], [call, result, result]):
        assert list(apart(messages))
