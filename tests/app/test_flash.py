"""A whole working context is saved before anything leaves, and can be gone back to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import Invalid, NotFound, Unavailable
from holdfast.model.compactions import Compaction, Span
from holdfast.worker import WorkerAgent
from tests.app.test_compacting import worked
from tests.recall.replays import DAY, MINUTE, Ticking


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def busy(hf: holdfast.Holdfast) -> holdfast.Session:
    s = hf.session(agent="coder", session_id="s")
    s.user("Never use floats for money.")
    worked(s, 8)
    s.decision("prices are integers in cents")
    s.assistant("keep this at hand", pinned=True)
    s.items.save("the migration of the cart", "TASK")
    s.items.save("an old stack trace", "ERROR", importance=0.1)
    s.update_state({"current_task": "the cart"})
    return s


def test_what_is_hot_stays_and_everything_is_in_the_checkpoint(hf: holdfast.Holdfast) -> None:
    s = busy(hf)
    before = s.context("the cart", window=20_000, budget=500)
    found = s.flash_save(window=20_000)
    assert (found.hot_items_retained, found.items_archived) == (1, 1)
    assert found.tokens_after < found.tokens_before / 3
    after = s.context("the cart", window=20_000, budget=500)
    for said in (
        "Never use floats",
        "integers in cents",
        "keep this at hand",
        "migration of the cart",
    ):
        assert said in after.text
    assert "Item 3 has no price" not in after.sections["history"]
    assert "Item 3 has no price" in before.sections["history"]
    saved = s.saved_context(found.checkpoint_id)
    assert saved.items.keys() == {item.id for item in s.items.list()}
    assert saved.scratchpad == 1
    assert s.items.diff(saved.items).unchanged


def test_any_checkpoint_can_be_gone_back_to(hf: holdfast.Holdfast) -> None:
    s = busy(hf)
    first = s.flash_save(window=20_000)
    s.user("And now the invoices.")
    worked(s, 3)
    second = s.flash_save(window=20_000)
    for checkpoint, says in ((first, "Item 5 has no price"), (second, "And now the invoices.")):
        s.resume_from(checkpoint.checkpoint_id)
        pack = s.context("where were we?", window=20_000, budget=300)
        assert says in pack.sections["history"]
        assert hf.replay(pack.id).text == pack.text
    s.resume_from(first.checkpoint_id)
    named = s.context("the invoices", window=20_000, budget=0).text
    assert "total.py" in named
    assert "events " in named


def test_it_is_somebody_elses_or_none_at_all(hf: holdfast.Holdfast) -> None:
    s = busy(hf)
    found = s.flash_save(window=20_000)
    for other in (hf.session(agent="critic"), hf.session(agent="coder")):
        with pytest.raises(NotFound):
            other.saved_context(found.checkpoint_id)
        with pytest.raises(NotFound):
            other.resume_from(found.checkpoint_id)
    with pytest.raises(NotFound):
        s.resume_from("evt_nothing")
    hosts = s.record("checkpoint_saved", {"why": "compaction"}, origin="system")
    with pytest.raises(NotFound, match="of a host"):
        s.resume_from(hosts.event_id)


def test_killed_between_its_steps_it_loses_nothing(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = busy(hf)
    talk = s.context("the cart", window=20_000, budget=300).sections["history"]
    s.items.update_tiers()
    real = hf.record
    for steps in (0, 1):  # the checkpoint, then the compaction
        left = iter(range(steps))

        def dies(drafts: list[holdfast.Draft], left: Iterator[int] = left) -> object:
            if next(left, None) is None:
                raise Unavailable("the machine is gone")
            return real(drafts)

        monkeypatch.setattr(hf, "record", dies)
        with pytest.raises(Unavailable):
            s.flash_save(window=20_000)
        monkeypatch.undo()
        monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
        again = s.context("the cart", window=20_000, budget=300)
        assert again.sections["history"].startswith(talk[:2_000])
    assert s.flash_save(window=20_000).compaction


def test_a_worker_saves_it_too(hf: holdfast.Holdfast) -> None:
    worker = WorkerAgent(hf, "builder")

    async def work() -> tuple[int, int]:
        await worker.save_context_item("TASK", "build the cart")
        await worker.save_context_item("ERROR", "old", 0.05)
        await worker.update_tiers()
        found = await worker.flash_save()
        return found.hot_items_retained, found.items_archived

    assert asyncio.run(work()) == (1, 1)


# ---- going back ----------------------------------------------------------------------------------


def said(s: holdfast.Session, about: str, turns: int = 12) -> list[int]:
    """A conversation about one thing; the places of its events."""
    long = "It is so. " * 60
    return [
        event.event_seq
        for n in range(turns)
        for event in (
            s.user(f"{about} question {n} about {about}{n}.py?"),
            s.assistant(f"{about} answer {n} in src/{about}{n}.py. {long}"),
        )
    ]


def spans(made: Compaction) -> list[Span]:
    return [*made.past.lines, *made.past.shorts]


def test_whatever_came_since_an_old_checkpoint_keeps_a_handle(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    said(s, "alpha")
    first = s.flash_save(window=8_000)
    since = [*said(s, "beta"), *said(s, "gamma", 40)]
    assert s.compact("nothing of that", window=6_000) is not None
    since += [*said(s, "delta", 12)]
    assert s.compact("nothing of that", window=6_000) is not None
    since += said(s, "epsilon", 2)
    made = s.resume_from(first.checkpoint_id)
    for seq in since:
        assert any(span.first <= seq <= span.last for span in spans(made)), seq
    most = hf.settings.compact.span_tokens
    assert all(span.tokens <= most for span in spans(made) if span.last - span.first > 1)
    text = s.context("what?", window=60_000, budget=0).text
    for about in ("beta", "gamma", "delta", "epsilon"):
        assert f"src/{about}1.py" in text
    last = made.past.lines[-1]
    assert "epsilon answer 1" in s.expand(f"events {last.first}-{last.last}", 5_000).text


def test_what_a_checkpoint_and_going_back_name_are_their_sources(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    early = said(s, "alpha", 3)
    saved = s.checkpoint()
    since = said(s, "beta", 3)
    made = s.resume_from(saved.id)
    events = {event.event_seq: event.event_id for event in hf.events()}
    for found, seqs in ((saved.id, early), (made.id, since)):
        event = hf.log.find(found)
        assert event is not None
        assert {events[seq] for seq in seqs} <= set(event.sources)
    event = hf.log.find(made.id)
    assert event is not None
    assert saved.id in event.sources


def test_what_is_in_the_window_again_is_cold_no_more(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    said(s, "alpha")
    first = s.flash_save(window=8_000)
    cold = {chunk.id for chunk in hf.cold.list("s")}
    assert cold
    said(s, "beta", 3)
    s.resume_from(first.checkpoint_id)
    left = {chunk.id for chunk in hf.cold.list("s")}
    assert not left & cold
    assert {chunk.reason for chunk in hf.cold.list("s")} == {"said since"}
    assert hf.cold.count() == len(left) == len(list(Path(hf.cold.folder).rglob("*.jsonl")))
    s.context("alpha", window=20_000, budget=300)
    hf.activity.up_to_date()
    assert hf.activity.read("context-health", last=1)[0]["cold_storage_chunks"] == len(left)
    assert s.flash_save(window=8_000).compaction
    again = [chunk.id for chunk in hf.cold.list("s")]
    assert len(again) == len(set(again))
    assert cold <= set(again)
    one = min(cold)
    assert s.recover(one).note == ""
    assert hf.cold.find(one, "ana", "coder").recovered
    hf.cold.rebuild()
    assert hf.cold.get(one).note == ""


def test_what_ran_out_and_left_once_more_is_found_and_keeps_its_copy(
    tmp_path: Path,
) -> None:
    clock = Ticking()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as hf:
        s = hf.session(agent="coder", session_id="s")
        marked = s.user("The code word of the vault is ZEB3RA.").event_id
        s.assistant("Noted.")
        said(s, "alpha")
        first = s.flash_save(window=8_000)
        assert marked in {chunk.id for chunk in hf.cold.list("s")}
        clock.minutes += 29 * DAY / MINUTE
        s.user("still there?")
        clock.minutes += 5 * DAY / MINUTE
        assert marked in {chunk.id for chunk in hf.cold.expire(dry_run=False).chunks}
        assert marked not in {hit.id for hit in hf.recall("code word of the vault", k=5)}
        s.resume_from(first.checkpoint_id)
        s.flash_save(window=8_000)
        found = hf.cold.find(marked, "ana", "coder")
        assert found.living
        assert Path(hf.cold.path(found)).exists()
        assert marked in {hit.id for hit in hf.recall("code word of the vault", k=5)}
        assert marked not in {chunk.id for chunk in hf.cold.expire(dry_run=False).chunks}
        assert Path(hf.cold.path(found)).exists()


def test_nothing_that_is_in_the_window_again_runs_out(tmp_path: Path) -> None:
    clock = Ticking()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as hf:
        s = hf.session(agent="coder", session_id="s")
        said(s, "alpha")
        first = s.flash_save(window=8_000)
        s.resume_from(first.checkpoint_id)
        clock.minutes += 29 * DAY / MINUTE
        s.user("still there?")
        clock.minutes += 5 * DAY / MINUTE
        assert hf.cold.expire(dry_run=False).chunks == ()


def test_scratchpad_and_items_are_as_they_were(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    said(s, "alpha", 6)
    s.update_state({"current_task": "first", "deep": {"a": 1, "b": 2}})
    task = s.items.save("the first task", "TASK", tags=["t"])
    long = s.items.save("long text. " * 500, "CODE")
    error = s.items.save("an error", "ERROR", importance=0.1)
    same = s.items.save("unchanged", "CODE")
    first = s.flash_save(window=8_000)
    then = {one.id: one for one in s.items.list()}
    s.update_state({"current_task": "second", "deep": {"b": 3, "c": 4}, "new": "note"})
    s.items.save("the first task, rewritten", id=task.id, importance=0.3, tags=[])
    s.items.save("short by now", id=long.id, type="TASK")
    s.items.pin(error.id)
    later = s.items.save("saved since", "TASK")
    s.resume_from(first.checkpoint_id)
    assert s.scratchpad().content == {"current_task": "first", "deep": {"a": 1, "b": 2}}
    now = {one.id: one for one in s.items.list()}
    for name in ("text", "type", "tier", "pinned", "importance", "tags", "sha256"):
        for one in (task, long, error, same):
            assert getattr(now[one.id], name) == getattr(then[one.id], name), name
    assert now[later.id].text == "saved since"
    assert now[same.id].revision == 0
    events = len(list(hf.events()))
    s.resume_from(first.checkpoint_id)
    assert len(list(hf.events())) == events + 1  # the compaction alone: the rest is so already


def test_another_compaction_that_is_faster_does_not_keep_it_from_going_back(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = hf.session(agent="coder", session_id="s")
    said(s, "alpha")
    first = s.flash_save(window=8_000)
    said(s, "beta", 6)
    real, faster = hf.record, iter(range(1))

    def races(drafts: list[holdfast.Draft]) -> object:
        if drafts[0].type == "compacted" and next(faster, None) is not None:
            hf.session(agent="coder", session_id="s").compact("zz", window=2_000)
        return real(drafts)

    monkeypatch.setattr(hf, "record", races)
    s.resume_from(first.checkpoint_id)
    monkeypatch.undo()
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    assert "alpha answer 3" in s.context("q", window=30_000, budget=0).sections["history"]


def test_killed_while_going_back_it_is_as_it_was(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = busy(hf)
    first = s.flash_save(window=20_000)
    s.update_state({"current_task": "another"})
    before = [(one.id, one.text, one.tier) for one in s.items.list()]

    def dies(drafts: object) -> object:
        raise Unavailable("the machine is gone")

    monkeypatch.setattr(hf, "record", dies)
    with pytest.raises(Unavailable):
        s.resume_from(first.checkpoint_id)
    monkeypatch.undo()
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    assert s.scratchpad().content == {"current_task": "another"}
    assert [(one.id, one.text, one.tier) for one in s.items.list()] == before
    assert "Item 3 has no price" not in s.context("x", window=20_000, budget=0).sections["history"]


def test_more_than_fits_is_compacted_by_the_next_context(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    said(s, "alpha", 60)
    saved = s.checkpoint()
    s.context("alpha", window=8_000, budget=300)
    s.resume_from(saved.id)
    assert s.pressure(window=8_000).band == "full"
    pack = s.context("alpha answer 7", window=8_000, budget=300)
    assert pack.tokens <= 8_000
    assert s.pressure(window=8_000).pct < 0.8
    assert "alpha1.py" in pack.text
    kinds = [event.kind for event in hf.events()]
    s.context("alpha answer 8", window=8_000, budget=300)
    assert [event.kind for event in hf.events()].count("compacted") == kinds.count("compacted")


def test_checkpoints_are_listed_and_known_by_id_or_place(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    assert s.checkpoints() == []
    said(s, "alpha", 4)
    first = s.checkpoint()
    s.record("checkpoint_saved", {"why": "compaction"}, origin="system")
    s.gate(1, passed=True)
    second = s.flash_save(window=8_000)
    found = s.checkpoints()
    assert [one.event_id for one in found] == [second.checkpoint_id, first.id]
    assert s.saved_context(found[1].event_seq) == s.saved_context(first.id)
    assert s.resume_from(found[1].event_seq).trigger == first.id
    for none in (0, -1, 10_000, found[1].event_seq - 1):
        with pytest.raises(NotFound):
            s.saved_context(none)
    with pytest.raises(Invalid):
        s.saved_context(True)


# ---- by itself -----------------------------------------------------------------------------------


def kinds_of(hf: holdfast.Holdfast) -> Counter[str]:
    return Counter(event.kind for event in hf.events())


def test_a_full_window_is_saved_and_goes_on_with_what_is_hot(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    s.user("Never use floats for money.")
    old = s.items.save("an old stack trace", "ERROR", importance=0.5)
    s.items.save("an old stack trace", id=old.id, importance=0.1)
    said(s, "alpha", 60)
    pack = s.context("alpha answer 7", window=8_000, budget=300)
    kinds = kinds_of(hf)
    assert (kinds["checkpoint_saved"], kinds["compacted"]) == (1, 1)
    (saved,) = s.checkpoints()
    assert s.saved_context(saved.event_id).tiers == {old.id: "COLD"}
    assert "Never use floats" in pack.sections["history"]
    assert s.resume_from(saved.event_id).past.kept


def test_nothing_is_saved_when_nothing_would_leave(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    for n in range(12):
        s.assistant(f"pinned {n}: " + "it stays. " * 20, pinned=True)
    s.user("go on")
    for n in range(8):
        s.context(f"question {n}", window=1_000, budget=100)
    assert kinds_of(hf)["checkpoint_saved"] <= kinds_of(hf)["compacted"] <= 2


def test_a_number_of_tokens_alone_saves_a_window_that_is_almost_empty(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[compact]\nflash_tokens = 6000\n")
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s")
        said(s, "alpha", 8)
        s.context("alpha", window=200_000, budget=300)
        assert not kinds_of(hf)["checkpoint_saved"]
        said(s, "beta", 20)
        s.context("beta", window=200_000, budget=300)
        assert kinds_of(hf)["checkpoint_saved"] == kinds_of(hf)["compacted"] == 1
        assert s.pressure(window=200_000).tokens < 3_000
        for n in range(3):
            s.context(f"beta {n}", window=200_000, budget=300)
        assert kinds_of(hf)["checkpoint_saved"] == 1
