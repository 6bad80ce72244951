"""A worker agent by its own names, and items through the async facade."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import Invalid
from holdfast.model.items import ContextItem
from holdfast.worker import WorkerAgent


def test_a_worker_saves_loads_and_moves_its_own_items(tmp_path: Path) -> None:
    async def work(hf: holdfast.Holdfast) -> None:
        worker, other = holdfast.WorkerAgent(hf, "backend-1"), holdfast.WorkerAgent(hf, "qa-1")
        task = await worker.save_context_item("TASK", "Build the login page")
        note = await worker.save_context_item("CODE", "x = 1", 0.1)
        await other.save_context_item("TASK", "Test the login page")
        assert [(item.id, item.accesses) for item in await worker.load_context()] == [(task, 1)]
        assert [item.id for item in await worker.load_context("COLD")] == [note]
        moved = await worker.update_tiers()
        assert moved.before == moved.after == {"HOT": 1, "WARM": 0, "COLD": 1}
        assert await other.load_context("WARM") == []

    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        asyncio.run(work(hf))
        assert len(hf.items.list()) == 3
        with pytest.raises(Invalid):
            holdfast.WorkerAgent(hf, "*")


def test_workers_may_save_at_once(tmp_path: Path) -> None:
    async def work(hf: holdfast.Holdfast) -> None:
        workers = [holdfast.WorkerAgent(hf, f"w{n}") for n in range(4)]
        saved = [
            w.save_context_item("TASK", f"{w.agent_id} {k}") for w in workers for k in range(5)
        ]
        assert len(set(await asyncio.gather(*saved))) == 20
        for worker in workers:
            texts = {item.text for item in await worker.load_context()}
            assert texts == {f"{worker.agent_id} {k}" for k in range(5)}

    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        asyncio.run(work(hf))


def test_items_through_the_async_facade(tmp_path: Path) -> None:
    async def work() -> None:
        async with holdfast.aio.open(tmp_path, project="p", user="ana") as hf:
            async with hf.session(agent="coder") as s:
                item = await s.items.save("Build it", type="TASK")
                assert [one.id for one in await s.items.load()] == [item.id]
            assert (await hf.items.stats(agent="coder")).total_items == 1

    asyncio.run(work())


def test_an_item_has_the_names_that_other_agents_know(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        worker = WorkerAgent(hf, "builder")

        async def work() -> ContextItem:
            await worker.save_context_item("TASK", "build the cart")
            found = await worker.flash_save(window=2_000)
            assert found.hot_items_retained == 1
            return (await worker.load_context())[0]

        item = asyncio.run(work())
        assert (item.content, item.item_type, item.tier) == ("build the cart", "TASK", "HOT")
        assert (item.importance_score, item.access_count) == (1.0, 1)
        assert item.created_at <= (item.last_accessed or "")
