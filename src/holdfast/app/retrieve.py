"""Memories by their tags, and the latest ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.capture.stamp import timestamp
from holdfast.errors import Invalid
from holdfast.model.memories import Memory, current, visible
from holdfast.model.search import EVERYBODY
from holdfast.views import knowledge

from .asking import Asked, check_k, logs, mended, wanted_by

if TYPE_CHECKING:
    from .holdfast import Holdfast


#: a hundred years, in hours
_LONGEST = 876_600
#: memories of some tags among which the most important are looked for
_ALL = 100_000


def by_tags(hf: Holdfast, tags: Sequence[str], k: int, asked: Asked) -> list[Memory]:
    """Memories with any of these tags, the important and then the newer first."""
    check_k(k)
    if not tags:
        raise Invalid("name at least one tag")
    any_label = tuple(f"tag:{tag}" for tag in tags)
    found = mended(hf, asked, lambda: _latest(hf, asked, any_label, _ALL))
    return sorted(found, key=lambda m: (-m.importance, _backwards(m.created_at), m.id))[:k]


def recent(hf: Holdfast, hours: float, k: int, asked: Asked) -> list[Memory]:
    """Memories of the last so many hours, the newest first."""
    check_k(k)
    number = isinstance(hours, int | float) and not isinstance(hours, bool)
    if not number or not 0 < hours <= _LONGEST:
        raise Invalid(f"hours is a number above 0, up to a century, not {hours!r}")
    since = timestamp(max(0, round(hf.clock.now_ms() - hours * 3_600_000)))
    narrowed = msgspec.structs.replace(asked, since=since)
    return mended(hf, asked, lambda: _latest(hf, narrowed, ("what:memory",), k))


def _latest(hf: Holdfast, asked: Asked, any_label: tuple[str, ...], most: int) -> list[Memory]:
    return [memory for memory, _ in labelled(hf, asked, any_label, most)]


def labelled(
    hf: Holdfast, asked: Asked, any_label: tuple[str, ...], most: int
) -> list[tuple[Memory, str]]:
    """Current memories with any of these labels, the newest first, each with its project."""
    wanted = msgspec.structs.replace(wanted_by(hf, asked), any_label=any_label)
    now = timestamp(wanted.now)
    memories: list[tuple[Memory, str]] = []
    for log in logs(hf, asked):
        with log.library.shelves([asked.user, EVERYBODY], wanted) as shelves:
            ids = [
                document.id
                for shelf in shelves
                for document in shelf.index.documents(
                    shelf.number, shelf.index.latest(shelf.number, wanted, most)
                ).values()
            ]
        memories += [(m, log.project.id) for m in _rows(log, ids) if current(m, now)]
    mine = [one for one in memories if visible(one[0], asked.user, asked.agent)]
    return sorted(mine, key=lambda one: (_backwards(one[0].created_at), one[0].id))[:most]


def _rows(log: Holdfast, ids: Sequence[str]) -> list[Memory]:
    found = log.views.read(lambda reading: [knowledge.memory(reading, one) for one in ids])
    return [memory for memory in found if memory is not None]


def _backwards(moment: str) -> tuple[int, ...]:
    """Sorts the later time first."""
    return tuple(-ord(letter) for letter in moment)
