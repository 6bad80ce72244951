"""A whole working context is saved before anything leaves, and can be gone back to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import NotFound, Unavailable
from holdfast.worker import WorkerAgent
from tests.app.test_compacting import worked
from tests.recall.replays import Ticking


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
