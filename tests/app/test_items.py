"""Items and tiers: saved, loaded, moved, compared, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.compact.importance import tier_of
from holdfast.errors import Conflict, Invalid, Limit, NotFound
from holdfast.model.items import TYPES, digest
from tests.property.effort import examples
from tests.recall.replays import MINUTE, Ticking

DAY = 86_400_000


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.ms = 1_767_225_600_000  # 2026-01-01

    def now_ms(self) -> int:
        return self.ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hf(tmp_path: Path, clock: Clock) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path, project="p", user="ana", now=clock) as opened:
        yield opened


def kinds(hf: holdfast.Holdfast) -> list[str]:
    return [event.kind for event in hf.events()]


# ---- saving ----------------------------------------------------------------------------------


def test_an_item_is_given_back_as_it_was_saved(hf: holdfast.Holdfast) -> None:
    item = hf.items.save("def f(): ...", type="CODE", agent="coder", tags=["api"], important=True)
    assert item.id.startswith("itm_")
    assert (item.type, item.text, item.sha256) == ("CODE", "def f(): ...", digest("def f(): ..."))
    assert (item.tier, item.score, item.tags, item.important) == ("WARM", 0.7, ("api",), True)
    assert (item.user, item.agent, item.trust, item.revision) == ("ana", "coder", 2, 0)
    assert hf.items.get(item.id, agent="coder") == item
    assert kinds(hf) == ["item_saved"]


@pytest.mark.parametrize(("kind", "tier"), [("TASK", "HOT"), ("ERROR", "WARM"), ("MINE", "WARM")])
def test_a_tier_goes_by_the_type(hf: holdfast.Holdfast, kind: str, tier: str) -> None:
    assert hf.items.save("x", type=kind, agent="coder").tier == tier


def test_a_score_of_ones_own_and_a_pin_decide_the_tier(hf: holdfast.Holdfast) -> None:
    save = hf.items.save
    assert save("a", agent="coder", importance=0.9).tier == "HOT"
    assert save("b", agent="coder", importance=0.1).tier == "COLD"
    pinned = save("c", agent="coder", importance=0.1, pinned=True)
    assert (pinned.tier, pinned.score) == ("HOT", 0.1)


def test_saving_an_id_again_makes_a_revision(hf: holdfast.Holdfast) -> None:
    first = hf.items.save("one", type="TASK", agent="coder", tags=["a"], importance=0.9)
    second = hf.items.save("two", id=first.id, agent="coder")
    assert (second.id, second.text, second.revision) == (first.id, "two", 1)
    assert (second.type, second.tags, second.importance) == ("TASK", ("a",), 0.9)
    assert second.created_at == first.created_at
    tagged = hf.items.save(id=first.id, agent="coder", tags=[])
    assert (tagged.text, tagged.tags, tagged.sha256) == ("two", (), second.sha256)
    other = hf.items.save(id=first.id, type="CODE", agent="coder")
    assert (other.text, other.type, other.revision) == ("two", "CODE", 3)
    assert len(hf.items.list(agent="coder")) == 1


def test_a_long_text_comes_back_whole(hf: holdfast.Holdfast) -> None:
    text = "line of code\n" * 4_000
    item = hf.items.save(text, agent="coder")
    assert hf.items.get(item.id).text == text == item.text
    assert [one.text for one in hf.items.load("WARM", agent="coder")] == [text]
    assert item.sha256 == digest(text)


def test_of_what_the_log_does_not_hold_any_more_the_beginning_is_known(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = hf.items.save("line of code\n" * 4_000, agent="coder")
    monkeypatch.setattr(hf.lately, "find", lambda *_: None)
    (found,) = hf.items.list(agent="coder")
    assert found.cut
    assert item.text.startswith(found.text[:-1])
    assert hf.items.diff([item], agent="coder").unchanged == (item.id,)
    with hf.session(agent="coder") as s:
        assert s.items.pin(item.id).tier == "HOT"
        assert "line of code" not in s.context("lunch?").sections["critical"]


def test_a_secret_is_not_kept(hf: holdfast.Holdfast) -> None:
    secret = "ghp_" + "a1B2" * 9
    item = hf.items.save(f"token = {secret}", agent="coder")
    assert secret not in item.text
    assert item.sha256 == digest(item.text)


def test_a_retry_with_its_own_id_is_harmless(hf: holdfast.Holdfast) -> None:
    first = hf.items.save("x", agent="coder", event_id="mine-1")
    assert hf.items.save("x", agent="coder", event_id="mine-1") == first
    with pytest.raises(Conflict):
        hf.items.save("y", agent="coder", event_id="mine-1")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"text": "  "}, Invalid),
        ({"text": 5}, Invalid),
        ({"text": "x" * (64 << 10) + "y"}, Limit),
        ({"text": "x", "type": "two words"}, Invalid),
        ({"text": "x", "importance": 1.5}, Invalid),
        ({"text": "x", "pinned": "yes"}, Invalid),
        ({"text": "x", "tags": "one"}, Invalid),
        ({"text": "x", "id": "itm_none"}, NotFound),
        ({"text": "x", "agent": None}, Invalid),
        ({"text": "x", "agent": "*"}, Invalid),
    ],
)
def test_what_cannot_be_an_item_is_refused(
    hf: holdfast.Holdfast, fields: dict[str, Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        hf.items.save(**{"agent": "coder", **fields})
    assert kinds(hf) == []


# ---- loading ---------------------------------------------------------------------------------


def test_loading_counts_once_for_all_and_listing_does_not(hf: holdfast.Holdfast) -> None:
    ids = {hf.items.save(f"task {n}", type="TASK", agent="coder").id for n in range(3)}
    hf.items.save("code", agent="coder")
    assert {one.id for one in hf.items.list(tier="HOT", agent="coder")} == ids
    loaded = hf.items.load(agent="coder")
    assert {one.id for one in loaded} == ids
    assert all(one.accesses == 1 for one in loaded)
    assert kinds(hf).count("item_accessed") == 1
    assert hf.items.list(tier="hot", agent="coder") == loaded
    assert [one.text for one in hf.items.load("warm", agent="coder")] == ["code"]
    assert len(hf.items.load("ALL", agent="coder")) == 4
    assert hf.items.load("COLD", agent="coder") == []
    assert kinds(hf).count("item_accessed") == 3
    with pytest.raises(Invalid, match="HOT, WARM or COLD"):
        hf.items.load("LUKEWARM", agent="coder")


def test_the_best_come_first_and_a_limit_holds(hf: holdfast.Holdfast) -> None:
    for share in (0.1, 0.9, 0.5):
        hf.items.save(str(share), agent="coder", importance=share)
    hf.items.save("pinned", agent="coder", importance=0.2, pinned=True)
    assert [one.text for one in hf.items.list(agent="coder")] == ["pinned", "0.9", "0.5", "0.1"]
    assert [one.text for one in hf.items.list(agent="coder", limit=1)] == ["pinned"]
    assert [one.text for one in hf.items.list(agent="coder", type="CODE", tier="COLD")] == ["0.1"]


# ---- tiers -----------------------------------------------------------------------------------


def test_what_nobody_reads_grows_cold(hf: holdfast.Holdfast, clock: Clock) -> None:
    task = hf.items.save("the task", type="TASK", agent="coder")
    pinned = hf.items.save("the rule", agent="coder", pinned=True)
    clock.ms += 10 * DAY
    moved = hf.items.update_tiers(agent="coder")
    assert moved.moved == {task.id: ("HOT", "COLD")}
    assert (moved.before["HOT"], moved.after["HOT"], moved.after["COLD"]) == (2, 1, 1)
    assert hf.items.get(task.id).tier == "COLD"
    assert [one.id for one in hf.items.load(agent="coder")] == [pinned.id]
    again = hf.items.update_tiers(agent="coder")
    assert (again.moved, again.before) == ({}, again.after)
    assert kinds(hf).count("tiers_assigned") == 1
    hf.items.load("COLD", agent="coder")
    assert hf.items.update_tiers(agent="coder").moved == {task.id: ("COLD", "HOT")}


def test_a_clock_far_in_the_future_is_not_believed(hf: holdfast.Holdfast, clock: Clock) -> None:
    hf.items.save("x", type="TASK", agent="coder")
    clock.ms += 10_000 * DAY
    assert hf.items.list(agent="coder")[0].score > 0.01


def test_a_task_that_is_done_assigns_tiers_of_its_agent(
    hf: holdfast.Holdfast, clock: Clock
) -> None:
    hf.items.save("other", type="TASK", agent="other")
    with hf.session(agent="coder") as s:
        item = s.items.save("the task", type="TASK")
        s.task_done("nothing changes yet")
        assert "tiers_assigned" not in kinds(hf)
        clock.ms += 10 * DAY
        event = s.task_done("the task")
        assert event.kind == "task_completed"
    said = next(event for event in hf.events() if event.kind == "tiers_assigned")
    assert list(said.payload["tiers"]) == [item.id]
    assert said.payload["why"] == "task_completed"
    assert type(said.payload["tiers"][item.id]["score"]) is int
    assert hf.items.list(agent="other")[0].tier == "HOT"


def test_pinning_and_unpinning(hf: holdfast.Holdfast) -> None:
    item = hf.items.save("x", agent="coder")
    assert (hf.items.pin(item.id).tier, hf.items.pin(item.id).revision) == ("HOT", 1)
    assert hf.items.unpin(item.id).tier == "WARM"
    assert hf.items.get(item.id).text == "x"
    with pytest.raises(NotFound):
        hf.items.pin("itm_none")


# ---- figures and differences -----------------------------------------------------------------


def test_stats_count_tokens_as_the_counter_does(hf: holdfast.Holdfast) -> None:
    texts = {"TASK": "do this and that", "CODE": "def f(): pass\n" * 500, "TEST_RESULT": "ok"}
    for kind, text in texts.items():
        hf.items.save(text, type=kind, agent="coder")
    hf.items.save("cold", agent="coder", importance=0.0)
    stats = hf.items.stats(agent="coder")
    count = hf.counter().count
    assert (stats.total_items, stats.hot_count, stats.warm_count, stats.cold_count) == (4, 1, 2, 1)
    assert stats.tokens["HOT"] == count(texts["TASK"])
    assert stats.total_tokens == sum(map(count, [*texts.values(), "cold"]))
    assert stats.counted_with == hf.counter().name


def test_a_diff_goes_by_what_items_say(hf: holdfast.Holdfast) -> None:
    save = hf.items.save
    same, other, gone = (save(text, agent="coder") for text in ("same", "other", "gone"))
    stats = hf.items.stats(agent="coder")
    before = {**stats.hashes}
    save("another", id=other.id, agent="coder")
    save(id=same.id, agent="coder", tags=["t"])
    hf.items.pin(gone.id)
    new = save("new", agent="coder")
    for previous in (
        before,
        stats,
        [same, other, gone],
        {"hashes": before},
        iter([same, other, gone]),
    ):
        found = hf.items.diff(previous, agent="coder", tier="WARM")
        assert [one.id for one in found.added] == [new.id]
        assert [(one.id, one.text) for one in found.changed] == [(other.id, "another")]
        assert (found.removed, found.unchanged) == ((gone.id,), (same.id,))
    assert hf.items.diff(before, agent="coder").removed == ()
    for odd in (5, "itm_1", [5], {"a": 1}):
        with pytest.raises(Invalid):
            hf.items.diff(odd, agent="coder")  # type: ignore[arg-type]


# ---- whose -----------------------------------------------------------------------------------


def test_items_are_seen_by_their_own_agent_and_user(hf: holdfast.Holdfast) -> None:
    mine = hf.items.save("mine", agent="coder")
    hf.items.save("another agent's", agent="tester")
    hf.items.save("another person's", agent="coder", user="bo")
    assert [one.text for one in hf.items.list(agent="coder")] == ["mine"]
    assert len(hf.items.list(agent="*")) == len(hf.items.list()) == 2
    assert hf.items.stats(agent="coder").total_items == 1
    other: list[dict[str, Any]] = [
        {"agent": "tester"},
        {"user": "bo"},
        {"agent": "coder", "user": "bo"},
    ]
    for whose in other:
        with pytest.raises(NotFound):
            hf.items.get(mine.id, **whose)
        if "agent" in whose:
            with pytest.raises(NotFound):
                hf.items.save("stolen", id=mine.id, **whose)
    with hf.session(agent="tester") as s:
        with pytest.raises(NotFound):
            s.items.get(mine.id)
        with pytest.raises(Invalid, match="its own agent"):
            s.items.list(agent="coder")
        assert [one.text for one in s.items.list()] == ["another agent's"]


def test_an_event_of_somebody_else_cannot_change_an_item(hf: holdfast.Holdfast) -> None:
    mine = hf.items.save("mine", agent="coder")
    for kind, payload in (
        ("item_saved", {"item": mine.id, "text": "forged"}),
        ("item_accessed", {"ids": [mine.id]}),
        ("tiers_assigned", {"tiers": {mine.id: {"tier": "COLD"}}}),
    ):
        drafts = [
            holdfast.Draft(type=kind, payload=payload, origin="agent", agent=agent, user=user)
            for agent, user in (("tester", "ana"), ("coder", "bo"))
        ]
        hf.record(drafts)
    foreign = {"item": mine.id, "text": "from outside"}
    hf.record(
        [
            holdfast.Draft(
                type="item_saved", payload=foreign, origin="import", agent="coder", user="ana"
            )
        ]
    )
    assert hf.items.get(mine.id, agent="coder") == mine


def test_items_outlive_sessions_and_restarts(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana") as hf, hf.session(agent="coder") as s:
        item = s.items.save("kept", type="TASK")
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        before = hf.state_hash()
        with hf.session(agent="coder") as s:
            assert [one.id for one in s.items.load()] == [item.id]
        assert hf.rebuild() == hf.state_hash() != before
        assert hf.items.get(item.id).accesses == 1


def test_every_type_has_a_weight(hf: holdfast.Holdfast) -> None:
    assert all(hf.items.save("x", type=kind, agent="coder").score > 0 for kind in TYPES)


# ---- at any time --------------------------------------------------------------------------------


@settings(max_examples=examples(20))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["save", "again", "pin", "unpin", "wait", "load", "task", "record", "go"]
            ),
            st.integers(0, 5),
        ),
        max_size=14,
    )
)
def test_tiers_agree_with_the_scores_beside_them_at_any_time(
    moves: list[tuple[str, int]],
) -> None:
    clock = Ticking()
    with (
        TemporaryDirectory() as home,
        holdfast.open(home, project="p", user="ana", now=clock) as hf,
    ):
        s = hf.session(agent="coder", session_id="s")
        chosen = hf.settings.items
        saved = None
        for what, n in moves:
            known = s.items.list()
            one = known[n % len(known)].id if known else None
            if what == "save":
                s.items.save(f"text {n}", TYPES[n % len(TYPES)], importance=[None, 0.5][n % 2])
            elif what == "again" and one:
                s.items.save(f"text {n}!", id=one)
            elif what == "pin" and one:
                s.items.pin(one)
            elif what == "unpin" and one:
                s.items.unpin(one)
            elif what == "wait":
                clock.minutes += n * DAY / MINUTE
            elif what == "load":
                s.items.load("ALL")
            elif what == "task":
                s.task_done("done")
            elif what == "record":
                s.record("task_completed", {"text": "done"}, origin="agent")
            elif what == "go":
                saved = saved or s.checkpoint().id
                s.resume_from(saved)
            for item in (*s.items.list(), *(s.items.get(one.id) for one in s.items.list())):
                assert item.tier == tier_of(item.score, chosen, pinned=item.pinned)


def test_a_completed_task_moves_items_however_it_was_recorded(tmp_path: Path) -> None:
    clock = Ticking()
    home = tmp_path / "home"
    with holdfast.open(home, project="p", user="ana", now=clock) as hf:
        s = hf.session(agent="coder", session_id="s")
        item = s.items.save("how it is built", "CODE")
        s.record("item_accessed", {"ids": []}, origin="system")
        clock.minutes += 6 * DAY / MINUTE
        assert s.items.get(item.id).tier == "WARM"
        hf.session(agent="critic").record("task_completed", {"text": "x"}, origin="agent")
        assert s.items.get(item.id).tier == "WARM"
        s.record("task_completed", {"text": "x"}, origin="agent")
        assert s.items.get(item.id).tier == "COLD"
        clock.minutes += 60
        again = s.items.save("another", "TASK")
        clock.minutes += 12 * DAY / MINUTE
        # as a hook writes it: into the log, past the verbs
        hf._recorder.record(
            [
                holdfast.Draft(
                    type="task_completed", payload={}, agent="coder", user="ana", origin="agent"
                )
            ]
        )
        assert s.items.get(again.id).tier == "HOT"
        s.context("what is next?")
        assert s.items.get(again.id).tier == "COLD"
        moves = sum(event.kind == "tiers_assigned" for event in hf.events())
        s.context("and then?")
        assert sum(event.kind == "tiers_assigned" for event in hf.events()) == moves


def test_a_clock_that_was_wrong_once_keeps_nothing_hot(tmp_path: Path) -> None:
    clock = Ticking()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as hf:
        s = hf.session(agent="coder", session_id="s")
        item = s.items.save("a task", "TASK")
        clock.minutes += 3650 * DAY / MINUTE
        s.items.load()
        clock.minutes -= 3650 * DAY / MINUTE
        clock.minutes += 20 * DAY / MINUTE
        assert s.items.get(item.id).score_now < 0.1
        with pytest.raises(Invalid, match="later than now"):
            s.items.save("from tomorrow", at="2099-01-01T00:00:00Z")
