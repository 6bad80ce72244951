"""The same verbs for async callers: `async with holdfast.aio.open(…) as hf:`.

There is one facade for everything, not a second set of verbs. Each call runs in a thread and can be used
as its answer allows: awaited, entered with `async with`, or iterated with `async for`.

    async with holdfast.aio.open(project="my-project") as hf:
        async with hf.session(agent="coder") as s:
            await s.user("Amounts are integers in cents.")
            pad = await s.update_state({"current_task": "the migration"}, expect=0)
        async for event in hf.events(after=0):
            print(event.event_seq)
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from itertools import islice
from typing import Any

from holdfast.app.activity import Activity
from holdfast.app.cold import ColdStorage
from holdfast.app.documents import Documents
from holdfast.app.holdfast import Holdfast
from holdfast.app.items import Items
from holdfast.app.open import open as open_
from holdfast.app.session import Session
from holdfast.errors import Invalid

#: how many items of an iteration are fetched by one trip to a thread
_AT_ONCE = 256


def open(*args: Any, **kwargs: Any) -> Call:  # noqa: A001  (the public name)
    """What `holdfast.open` does, in a thread."""
    return Call(lambda: open_(*args, **kwargs))


class Names:
    """Something whose methods are async."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        if isinstance(value, Activity | Documents | Items | ColdStorage):
            return Names(value)
        if not callable(value):
            return value
        return lambda *args, **kwargs: Call(lambda: value(*args, **kwargs))


class Verbs(Names):
    """A Holdfast or a Session whose methods are async."""

    def __init__(self, of: Holdfast | Session) -> None:
        super().__init__(of)

    async def __aenter__(self) -> Verbs:
        await asyncio.to_thread(self._of.__enter__)
        return self

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self._of.__exit__, *error)


class Call:
    """One call of a verb, not made yet."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._entered: Verbs | None = None
        self._used = False

    def __del__(self) -> None:
        if not self._used:
            warnings.warn("a verb of holdfast.aio was called and never awaited", RuntimeWarning, 2)

    def __await__(self) -> Generator[Any, None, Any]:
        return self._answer().__await__()

    async def _answer(self) -> Any:
        self._used = True
        answer = await asyncio.to_thread(self._make)
        return Verbs(answer) if isinstance(answer, Holdfast | Session) else answer

    async def __aenter__(self) -> Verbs:
        answer = await self._answer()
        if not isinstance(answer, Verbs):
            raise Invalid(
                "only a project and a session are entered with `async with`; await the rest"
            )
        self._entered = answer
        return await answer.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        if self._entered is not None:
            await self._entered.__aexit__(*error)

    async def __aiter__(self) -> AsyncIterator[Any]:
        found: Iterator[Any] = iter(await self._answer())
        trouble = None
        while trouble is None:
            some, trouble = await asyncio.to_thread(_some, found)
            for item in some:
                yield item
            if len(some) < _AT_ONCE:
                break
        if trouble is not None:
            raise trouble


def _some(found: Iterator[Any]) -> tuple[list[Any], Exception | None]:
    """The next few items, and what came instead of more."""
    some: list[Any] = []
    try:
        some.extend(islice(found, _AT_ONCE))
    except Exception as exc:  # noqa: BLE001  (raised again when the items before it are handed out)
        return some, exc
    return some, None
