"""A session is never left without memory because its first question used the budget up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from msgspec.structs import replace

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.model.packs import Pack
from tests.app.conversations import erased

TOPICS = ("kestrel", "walnut", "harbour", "quartz", "violin")


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana") as opened:
        opened.remember_all(
            [
                {"text": f"The {topic} module keeps its part {n} in the {topic} queue."}
                for topic in TOPICS
                for n in range(30)
            ]
        )
        yield opened


def ask(s: Session, topic: str, budget: int) -> Pack:
    query = f"how does the {topic} module keep its parts?"
    s.user(query)
    pack = s.context(query, budget=budget)
    s.assistant("Thanks.")
    return pack


def memory_tokens(pack: Pack) -> int:
    of = pack.receipt.sections
    names = ("background", "index", "critical", "relevant", "scratchpad")
    return sum(of[name].tokens for name in names)


@pytest.mark.parametrize("budget", [300, 600, 1_500])
def test_every_topic_is_told_about_however_little_there_is(hf: Holdfast, budget: int) -> None:
    with hf.session(agent="coder") as s:
        for topic in TOPICS:
            pack = ask(s, topic, budget)
            assert f"The {topic} module" in pack.sections["relevant"], topic
            assert memory_tokens(pack) <= budget


def test_the_same_question_again_begins_nothing_anew(hf: Holdfast) -> None:
    with hf.session(agent="coder") as s:
        ask(s, "kestrel", 600)
        assert [ask(s, "kestrel", 600).receipt.epoch_began for _ in range(3)] == ["", "", ""]


def test_what_holds_no_longer_is_taken_back_when_the_budget_is_full(hf: Holdfast) -> None:
    with hf.session(agent="coder") as s:
        first = ask(s, "kestrel", 500)
        shown = [one.shown for one in first.receipt.candidates if one.verdict == "taken"]
        of = [one for one in shown if one.kind == "memory"]
        assert of
        for one in of:
            hf.remember(f"The kestrel module is not part {one.number} by now.", supersedes=one.id)
        later = ask(s, "violin", 500)
        text = later.text
        for one in of:
            gone = f"[{one.number}] no longer holds" in text
            assert gone or f"[{one.number}]" not in text


@pytest.mark.parametrize("new_tokens", [30, 500])
def test_corrections_do_not_wait_for_later_turns(hf: Holdfast, new_tokens: int) -> None:
    with hf.session(agent="coder") as s:
        s.user("how does the kestrel module keep its parts?")
        first = s.context("how does the kestrel module keep its parts?", new_tokens=new_tokens)
        shown = [one.shown for one in first.receipt.candidates if one.verdict == "taken"]
        of = [one for one in shown if one.kind == "memory"]
        assert len(of) > 20
        for one in of:
            hf.remember(f"The kestrel module is not part {one.number} by now.", supersedes=one.id)
        later = s.context("how does the kestrel module keep its parts?", new_tokens=new_tokens)
        for one in of:
            gone = f"[{one.number}] no longer holds" in later.text
            assert gone or f"[{one.number}]" not in later.text


def test_contexts_made_at_once_follow_each_other(hf: Holdfast) -> None:
    packs: list[Pack] = []
    with hf.session(agent="coder") as s:
        ask(s, "kestrel", 1_600)
        start = Barrier(6)

        def one(topic: str) -> None:
            mine = hf.session(agent="coder", session_id=s.id)
            start.wait()
            packs.append(mine.context(f"the {topic} module and its parts", budget=1_600))

        threads = [Thread(target=one, args=(topic,)) for topic in (*TOPICS, "last")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        last = s.context("the walnut module and its parts", budget=1_600)
    assert len(packs) == len(threads)
    for pack in (*packs, last):
        assert memory_tokens(pack) <= 1_600
        assert hf.replay(pack.id).text == pack.text
    shown = [
        one.shown.number
        for pack in packs
        for one in pack.receipt.candidates
        if one.verdict == "taken"
    ]
    assert len(shown) == len(set(shown))


def test_an_erase_in_the_users_own_log_ends_an_epoch(hf: Holdfast) -> None:
    mine = hf.remember("Ana's cat is called Zyzzogeton.", scope="user")
    with hf.session(agent="coder") as s:
        s.user("what is the cat called?")
        first = s.context("what is the cat called?")
        assert "Zyzzogeton" in first.text
        (log,) = [one for one in hf.logs("ana") if one is not hf]
        made = next(e for e in log.events() if mine.event_seq == e.event_seq)
        erased(log, made.event_id)
        s.user("and now?")
        later = s.context("and now?")
        assert later.receipt.epoch_began != ""
        assert "Zyzzogeton" not in later.text


def test_shares_that_promise_too_much_do_not_pass_the_budget(hf: Holdfast) -> None:
    hf.remember_all(
        [{"text": f"Rule {n}: always say it {n} times.", "category": "rules"} for n in range(80)]
    )
    shares = replace(hf.settings.compose.shares, background=0.9, index=0.9)
    for scratchpad in (0.1, 0.8, 1.0):
        chosen = replace(hf.settings.compose, shares=shares, scratchpad=scratchpad)
        with hf.session(agent="coder") as s:
            s.update_state({"a": "word " * 300, "b": "word " * 300})
            pack = s.context("the walnut module", budget=1_000, settings=chosen)
        assert 0 < memory_tokens(pack) <= 1_000


def test_a_note_that_is_too_long_is_named_and_hides_no_other(hf: Holdfast) -> None:
    with hf.session(agent="coder") as s:
        s.update_state({"a_log": "word " * 2_000, "task": "paint the boat"})
        notes = s.context("x", budget=1_000).sections["scratchpad"]
        assert "task: paint the boat" in notes
        assert "a_log" in notes
        assert "word word" not in notes


def test_the_stable_prefix_is_what_two_contexts_have_in_common(hf: Holdfast) -> None:
    count = hf.counter().count
    calls: list[dict[str, Any]] = [
        {"system": "Be brief."},
        {"system": "Be brief.", "budget": 900},
        {"system": "Be long."},
    ]
    with hf.session(agent="coder") as s:
        before = ""
        for call in calls:
            s.user("the walnut module?")
            pack = s.context("the walnut module?", **call)
            same = pack.text.startswith("Be brief.") and before.startswith("Be brief.")
            told = pack.receipt.stable_prefix_tokens
            assert told == (count("Be brief.") if same else 0)
            before = pack.text
