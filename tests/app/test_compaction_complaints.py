"""What people complain about in compactions elsewhere, each as a promise kept here, without a model.

The names of the sections are those of the complaints. `test_compaction_models.py` has those about the
model that summarises.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import Unavailable
from holdfast.text.quoting import quoted
from tests.app.test_compacting import LONG, compacted, worked
from tests.recall.replays import Ticking

RULE = "Never commit to main. Always run `make check` before you push."
PINNED = "The cart lives in src/cart; its prices are integers in cents."
DECIDED = "carts expire after an hour"
#: what a host puts in front of every turn, as it stands in the project's own file
PROJECT = (
    "# CLAUDE.md\n\nUse tabs. The database is called otter.\n" + "- Keep functions short.\n" * 20
)
BEFORE_A_TURN: dict[str, Any] = {"system": PROJECT, "window": 9_000, "budget": 600}


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


@pytest.fixture
def s(hf: holdfast.Holdfast) -> holdfast.Session:
    return hf.session(agent="coder", session_id="s")


# ---- project instructions are lost (claude-code#9796, #68636) ---------------------------------------


def test_instructions_survive_ten_compactions_and_a_flash_save(
    hf: holdfast.Holdfast, s: holdfast.Session
) -> None:
    s.user(RULE)
    s.assistant(PINNED, pinned=True)
    s.decision(DECIDED)
    hf.remember("Commit messages are in French.", category="rules")
    for _ in range(10):
        worked(s, 4)
        compacted(s, "the heron", to=1_200, window=9_000)
        pack = s.context("what about the heron?", **BEFORE_A_TURN)
        assert all(said in pack.sections["history"] for said in (RULE, PINNED, DECIDED))
    worked(s, 4)
    s.flash_save(window=9_000)
    pack = s.context("what about the heron?", **BEFORE_A_TURN)
    assert all(said in pack.sections["history"] for said in (RULE, PINNED, DECIDED))
    assert PROJECT.strip() in pack.messages[0]["content"]
    assert "messages are in French" in pack.messages[0]["content"]
    assert hf.replay(pack.id).text == pack.text


def test_a_long_document_that_is_pinned_stays_whole_however_full_the_window(
    s: holdfast.Session,
) -> None:
    s.user(PROJECT, pinned=True)
    for n in range(40):
        worked(s, 1)
        pack = s.context(f"item {n}", window=4_000, budget=0)
        assert pack.tokens <= 4_000
        assert PROJECT.strip() in pack.sections["history"]


@pytest.mark.parametrize("window", [1_500, 6_000])
def test_a_long_question_does_not_make_an_instruction_leave(
    s: holdfast.Session, window: int
) -> None:
    s.user(RULE)
    s.decision(DECIDED)
    worked(s, 20)
    s.user("What is wrong here?\n" + "src/cart/total.py line 7: KeyError\n" * 2_000)
    s.tool_call("Bash", {"command": "cat all.log"}, call_id="last")
    s.tool_result("Bash", LONG * 40, call_id="last")
    pack = s.context("what is wrong?", window=window, budget=0)
    assert RULE in pack.sections["history"]
    assert DECIDED in pack.sections["history"]


# ---- tool-heavy histories never shrink (cloudflare/agents#2064) -------------------------------------


def plain(s: holdfast.Session, n: int) -> None:
    s.tool_call("Bash", {"command": f"run {n}"}, call_id=f"c{n}")
    s.tool_result("Bash", f"{n}: {LONG}", call_id=f"c{n}")


def without_ids(s: holdfast.Session, n: int) -> None:
    s.tool_call("Bash", {"command": f"run {n}"})
    if n:  # the first one was stopped, and nothing says so
        s.tool_result("Bash", f"{n}: {LONG}")


def side_by_side(s: holdfast.Session, n: int) -> None:
    calls = [f"c{n}-{m}" for m in range(3)]
    for call in calls:
        s.tool_call("Read", {"path": f"src/{call}.py"}, call_id=call)
    for call in reversed(calls):
        s.tool_result("Read", LONG[:300], call_id=call)


def behind_a_slow_one(s: holdfast.Session, n: int) -> None:
    if n == 0:
        s.tool_call("Task", {"prompt": "look at everything"}, call_id="slow")
    plain(s, n)
    if n == 149:
        s.tool_result("Task", "I looked at everything.", call_id="slow")


def asked_in_between(s: holdfast.Session, n: int) -> None:
    behind_a_slow_one(s, n)
    if n % 20 == 0:
        s.user(f"How far are you? {n}")


@pytest.mark.parametrize(
    "work", [plain, without_ids, side_by_side, behind_a_slow_one, asked_in_between]
)
@pytest.mark.parametrize("to", [2_000, 4_000])
def test_hundreds_of_tool_calls_shrink_to_the_target(
    s: holdfast.Session, work: Any, to: int
) -> None:
    s.user("Go through the whole project.")
    for n in range(150):
        work(s, n)
    made = compacted(s, to=to, window=40_000)
    assert made.tokens_before > 20_000
    assert made.tokens_after <= to
    assert s.pressure(window=40_000).tokens <= to
    pack = s.context("go on", window=40_000, budget=0)
    assert pack.tokens <= to
    answered_in_place(pack.messages)


def answered_in_place(messages: list[dict[str, Any]]) -> None:
    """A model takes these: calls are answered at once, and nothing answers a call that is not there."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting |= {call["id"] for call in message.get("tool_calls", ())}
    assert not waiting


# ---- one item is larger than the budget -------------------------------------------------------------

HUGE = "".join(f"{n}: src/part{n}.py says KeyError: 'otter {n}'\n" for n in range(4_000))


def huge_result(s: holdfast.Session) -> list[str]:
    s.tool_call("Bash", {"command": "cat all.log"}, call_id="c")
    return [s.tool_result("Bash", HUGE, call_id="c").event_id]


def huge_call(s: holdfast.Session) -> list[str]:
    made = s.tool_call("Write", {"path": "all.log", "content": HUGE}, call_id="c")
    s.tool_result("Write", "written", call_id="c")
    return [made.event_id]


def huge_question(s: holdfast.Session) -> list[str]:
    return [s.user(f"What is wrong here?\n{HUGE}").event_id]


def huge_answer(s: holdfast.Session) -> list[str]:
    return [s.assistant(HUGE).event_id]


def huge_results_side_by_side(s: holdfast.Session) -> list[str]:
    for n in range(6):
        s.tool_call("Read", {"path": f"{n}.log"}, call_id=f"c{n}")
    return [s.tool_result("Read", f"{n}\n{HUGE}", call_id=f"c{n}").event_id for n in range(6)]


@pytest.mark.parametrize(
    "say", [huge_result, huge_call, huge_question, huge_answer, huge_results_side_by_side]
)
@pytest.mark.parametrize("window", [700, 3_000])
def test_what_is_larger_than_the_window_fits_and_comes_back_whole(
    hf: holdfast.Holdfast, s: holdfast.Session, say: Any, window: int
) -> None:
    s.user("Look at it.")
    huge = say(s)
    for turn in range(3):
        pack = s.context("what is wrong?", window=window, budget=100)
        assert pack.tokens == hf.counter().count(pack.text) <= window
        answered_in_place(pack.messages)
        s.user(f"And now? {turn}")
        s.assistant("I look further.")
    worked(s, 8)
    s.compact(to=window // 4, window=window)
    assert s.context("and now?", window=window, budget=0).tokens <= window
    for event_id in huge:
        whole, ref = "", event_id
        while ref:
            found = s.expand(ref, 20_000)
            whole, ref = whole + found.text, found.more
        assert quoted(HUGE).strip() in whole or json.dumps(HUGE)[1:-1] in whole


# ---- the configured window is not the one that is served (opencode#50187) ---------------------------


@pytest.mark.parametrize("served", [8_000, 2_000, 600])
def test_a_window_that_turns_out_smaller_is_kept_at_once(
    hf: holdfast.Holdfast, s: holdfast.Session, served: int
) -> None:
    s.user(RULE)
    worked(s, 60)
    s.user("Where is the otter?")
    full = s.context("where is the otter?", model="claude-3-haiku", window=200_000, budget=500)
    assert full.tokens > 10_000
    pack = s.context("where is the otter?", model="claude-3-haiku", window=served, budget=100)
    assert pack.tokens <= served
    assert "Where is the otter?" in pack.text
    assert RULE in pack.text
    assert hf.replay(full.id).text == full.text


# ---- what the model wrote is counted twice (letta#3242) ---------------------------------------------


def test_a_window_is_as_full_as_what_the_model_is_shown(
    hf: holdfast.Holdfast, s: holdfast.Session
) -> None:
    count = hf.counter().count
    spent = {"input_tokens": 90_000, "output_tokens": 9_000}
    compactions = 0
    for n in range(24):
        s.user(f"Please look at item {n}.")
        s.tool_call("Bash", {"command": f"python total.py {n}"}, call_id=f"c{n}", usage=spent)
        s.tool_result("Bash", f"{n}: {LONG}", call_id=f"c{n}")
        s.assistant(f"Item {n} has no price. " * 20, usage=spent)
        before = s.pressure(window=9_000)
        pack = s.context(f"item {n}", window=9_000, budget=0)
        made = [event.event_id for event in hf.events() if event.kind == "compacted"]
        if len(made) == compactions:
            assert before.tokens == pack.tokens
        else:
            assert before.tokens >= 0.5 * 9_000
        compactions = len(made)
        assert s.pressure(window=9_000).tokens == pack.tokens == count(pack.text)
    assert 1 <= compactions <= 8


# ---- sessions without end (openai-agents#1539, adk#4673) --------------------------------------------


def test_a_context_reads_no_more_events_in_a_longer_session(
    hf: holdfast.Holdfast, s: holdfast.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for turns in (40, 40, 160):
        worked(s, turns)
        s.context("item 3", window=6_000, budget=300)
        worked(s, 1)
        with monkeypatch.context() as patched:
            read = counted_reads(hf, patched)
            s.context("item 3", window=6_000, budget=300)
            s.pressure(window=6_000)
            found.append(read())
    assert len(list(hf.events())) > 900
    assert found[2] <= max(found[:2]) * 1.2


def counted_reads(hf: holdfast.Holdfast, patched: pytest.MonkeyPatch) -> Any:
    """How many events were read from the log since."""
    real, read = hf.log.read, 0

    def counting(*given: Any, **named: Any) -> Iterator[Any]:
        nonlocal read
        for event in real(*given, **named):
            read += 1
            yield event

    patched.setattr(hf.log, "read", counting)
    return lambda: read


def test_a_session_of_any_length_has_a_window_of_one_size(
    hf: holdfast.Holdfast, s: holdfast.Session
) -> None:
    sizes = []
    for n in range(60):
        worked(s, 3)
        sizes.append(s.context(f"item {n}", window=5_000, budget=200).tokens)
    assert max(sizes) <= 5_000
    assert max(sizes[40:]) <= 1.2 * max(sizes[:20])
    past = [event for event in hf.events() if event.kind == "compacted"]
    payloads = [len(str(event.payload)) for event in past]
    assert max(payloads[len(payloads) // 2 :]) <= 2 * max(payloads[: len(payloads) // 2])


# ---- whatever fails, the window is as it was --------------------------------------------------------


def test_a_compaction_that_cannot_be_written_leaves_the_window_as_it_was(
    hf: holdfast.Holdfast, s: holdfast.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(s, 12)
    before = s.context("item 3", window=90_000, budget=0)
    head = hf.log.head()

    def full(*_: Any, **__: Any) -> None:
        raise Unavailable("no space left on the disk")

    with monkeypatch.context() as patched:
        patched.setattr(hf.log, "append", full)
        for again in range(3):
            with pytest.raises(Unavailable):
                s.compact(f"item {again}", to=600, window=4_000)
            with pytest.raises(Unavailable):
                s.context("item 3", window=2_000, budget=0)
    assert hf.log.head() == head
    after = s.context("item 3", window=90_000, budget=0)
    assert after.text == before.text
    assert compacted(s, to=600, window=4_000).tokens_after <= 600


def test_a_last_step_larger_than_the_window_is_compacted_once_and_says_what_it_was(
    hf: holdfast.Holdfast, s: holdfast.Session
) -> None:
    s.user("Read all of it.")
    for n in range(5):
        s.tool_call("Read", {"path": f"{n}.log"}, call_id=f"c{n}")
    for n in range(5):
        s.tool_result("Read", f"{n}\n{HUGE}", call_id=f"c{n}")
    made = compacted(s, to=600, window=4_000)
    assert made.tokens_after < made.tokens_before
    for _ in range(3):
        pack = s.context("what is wrong?", window=4_000, budget=0)
        assert pack.tokens <= 4_000
        assert all(f"{n}.log" in pack.text for n in range(5))
        assert "Read all of it." in pack.text
    head = hf.log.head()
    assert s.compact(to=600, window=4_000) is None
    assert hf.log.head() == head
