"""The benchmark of items: what becomes one, when it is needed, and what the figures mean."""

from __future__ import annotations

import pytest

from bench import items_cost
from bench.economy_data import Call, Message, Script, Sitting
from bench.items import Way, by_type, formula, judged, ways
from bench.items_data import GAP, Work, work_of
from holdfast.model.compact import ItemSettings


def did(command: str, said: str, result: str) -> list[Message]:
    call = Call("1", "bash", {"command": command})
    return [
        Message(role="assistant", text=said, calls=(call,)),
        Message(role="tool", text=result, tool="bash", answers="1"),
    ]


def work() -> Work:
    messages = [
        Message(role="user", text="Fix the rounding in money.py"),
        *did("open src/money.py", "Look.", "[File: src/money.py]\n1:def to_cents(amount):"),
        *did("ls", "What else?", "README.md\nsetup_tools.cfg"),
        *did("python test_money.py", "Run it.", "AssertionError in test_rounding_up"),
        *did("rm x", "Clean.", "rm: x: No such file or directory"),
        *did("edit src/money.py", "Now to_cents must round.", "done"),
    ]
    script = Script(name="s", system="", sittings=(Sitting(name="s", messages=tuple(messages)),))
    return work_of(script)


def test_messages_become_items_of_their_types() -> None:
    kinds = [one.type for one in work().items]
    assert kinds == ["TASK", "CODE", "OUTPUT", "TEST_RESULT", "ERROR", "CODE"]


def test_what_is_named_again_after_a_while_was_needed() -> None:
    found = work()
    needed = {turn: sorted(some) for turn, some in found.needs.items() if some}
    assert needed == {5: [0, 1]}
    assert all(found.turns - found.items[n].turn > GAP for n in needed[5])


def test_the_figures_of_simple_ways_are_what_they_must_be() -> None:
    found = [work()]
    rows = {way.name: judged(found, way).row(way.name) for way in ways()}
    hot = rows["everything hot"]
    assert (hot["needed"], hot["hot"], hot["tokens hot"], hot["ranked right"]) == (2, 1, 1, 0.5)
    never = judged(found, Way("", lambda *_: 0.0)).row("")
    assert (never["hot or warm"], never["tokens both"]) == (0, 0)
    right = judged(found, Way("", lambda one, _, __: float(one.type in ("TASK", "CODE")))).row("")
    assert right["ranked right"] == 1
    assert judged(found, Way("", formula(ItemSettings()))).needed == 2


def test_needs_are_counted_by_type() -> None:
    rows = {row["what"]: row for row in by_type([work()])}
    assert rows["TASK"]["median gap"] == 5
    assert rows["OUTPUT"]["needed per turn"] == 0


def test_saving_is_measured_in_a_window_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items_cost, "MANY", 20)
    monkeypatch.setattr(items_cost, "SAVES", 1)
    rows = {row["what"]: row for row in items_cost.saving()}
    assert list(rows) == ["checkpoint", "flash save"]
    for row in rows.values():
        assert 0.8 * items_cost.WINDOW <= row["tokens"] < items_cost.WINDOW
        assert row["KiB"] > 0
    assert rows["flash save"]["KiB"] > rows["checkpoint"]["KiB"]
