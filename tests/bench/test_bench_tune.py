"""The benchmark of tuning: what it records, and the rows it makes of the answer."""

from __future__ import annotations

import pytest

from bench.compact import USER, opened
from bench.economy_data import Call, Message, Script, Sitting
from bench.tune import in_a_row, proposed, recorded, rows


def script(number: int) -> Script:
    """Files looked at one after the other."""
    said = [Message(role="user", text="Find what counts.")]
    for n in range(8):
        call = Call(f"c{n}", "bash", {"command": f"cat src/part_{number}_{n}.py"})
        said.append(Message(role="assistant", text=f"I look at part {n}.", calls=(call,)))
        said.append(
            Message(role="tool", text=f"count_{n} += 1\n" * 30, tool="bash", answers=call.id)
        )
    sitting = Sitting(name=f"s{number}", messages=tuple(said))
    return Script(name=f"s{number}", system="", sittings=(sitting,))


def test_scripts_in_a_row_are_one_with_all_that_was_said() -> None:
    found = in_a_row([script(0), script(1)])
    assert [one.name for one in found.sittings] == ["s0", "s1"]


def test_rows_stand_for_all_sessions_and_for_both_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with opened() as hf:
        recorded(hf, [script(n) for n in range(8)])
        tuned = hf.tune(window=2_000, user=USER, quick=True)
    table = rows(tuned)
    assert [(row["what"], row["half"], row["sessions"]) for row in table[:2]] == [
        ("everything", "all", 8),
        ("defaults", "all", 8),
    ]
    assert {row["window"] for row in table} == {2_000}
    assert [row["half"] for row in table[2:]] in ([], ["chose", "chose", "other", "other"])
    assert (table[0]["saved %"], table[0]["missed %"]) == (0, 0)
    assert proposed(tuned).keys() == {"knobs", "on the others", "wins"}
