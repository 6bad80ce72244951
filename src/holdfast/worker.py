"""A worker agent's own view of its items: the methods agents of other frameworks expect, async.

    worker = WorkerAgent(hf, "backend-1")
    item_id = await worker.save_context_item("CODE", "def total(): ...")
    for item in await worker.load_context():  # what is hot
        print(item.text)

A thin way in: every method is one verb of `hf.items`, run in a thread.
"""

from __future__ import annotations

import asyncio

from holdfast.app.holdfast import Holdfast
from holdfast.app.items import Items
from holdfast.app.sessions import one
from holdfast.model.compactions import FlashSave
from holdfast.model.items import ContextItem, TierUpdate


class WorkerAgent:
    """One agent at work for one user: the principal unless another is named."""

    def __init__(
        self,
        hf: Holdfast,
        agent_id: str,
        *,
        user: str | None = None,
        session_id: str | None = None,
    ) -> None:
        self.agent_id = one("agent", agent_id)
        self.user = hf.user if user is None else one("user", user)
        self._items = Items(hf, user=self.user, agent=self.agent_id)
        self._session = hf.session(agent=self.agent_id, user=self.user, session_id=session_id)

    async def save_context_item(
        self, item_type: str, content: str, importance_score: float | None = None
    ) -> str:
        """Save an item; its id. Without a score of its own its type says what it is worth."""
        saved = await asyncio.to_thread(
            self._items.save, content, item_type, importance=importance_score
        )
        return saved.id

    async def load_context(self, tier: str = "HOT") -> list[ContextItem]:
        """The items of a tier, each counted as accessed."""
        return await asyncio.to_thread(self._items.load, tier)

    async def update_tiers(self) -> TierUpdate:
        """Weigh every item anew and move those whose score says so."""
        return await asyncio.to_thread(self._items.update_tiers)

    async def flash_save(self, window: int | None = None, model: str = "") -> FlashSave:
        """Save the whole working context, archive what is cold, go on with what is hot."""
        return await asyncio.to_thread(self._session.flash_save, window=window, model=model)
