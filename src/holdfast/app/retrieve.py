"""Memories by their tags, and the latest ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.capture.stamp import timestamp
from holdfast.errors import Invalid
from holdfast.model.memories import Memory, current, visible
from holdfast.model.search import EVERYBODY, Wanted
from holdfast.views import knowledge

from .asking import Asked, check_k, latest, logs, mended, wanted_by

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
    narrowed = replace(asked, since=since)
    return mended(hf, asked, lambda: _latest(hf, narrowed, ("what:memory",), k))


def _latest(hf: Holdfast, asked: Asked, any_label: tuple[str, ...], most: int) -> list[Memory]:
    return [memory for memory, _ in labelled(hf, asked, [any_label], most)[0]]


def labelled(
    hf: Holdfast, asked: Asked, groups: Sequence[tuple[str, ...]], most: int
) -> list[list[tuple[Memory, str]]]:
    """For each group the current memories with any of its labels, the newest first.

    Each is named with its project.
    """
    wanted = wanted_by(hf, asked)
    now = timestamp(wanted.now)
    found: list[list[tuple[Memory, str]]] = [[] for _ in groups]
    for log in logs(hf, asked):
        ids = [_ids(log, asked, replace(wanted, any_label=group), most) for group in groups]
        rows = _rows(log, {one for of in ids for one in of})
        mine = {m.id: m for m in rows if current(m, now) and visible(m, asked.user, asked.agent)}
        for group, of in zip(found, ids, strict=True):
            group += [(mine[one], log.project.id) for one in of if one in mine]
    return [
        sorted(group, key=lambda one: (_backwards(one[0].created_at), one[0].id))[:most]
        for group in found
    ]


def _ids(log: Holdfast, asked: Asked, wanted: Wanted, most: int) -> list[str]:
    return [document.id for document in latest(log, [asked.user, EVERYBODY], wanted, most)]


def _rows(log: Holdfast, ids: Iterable[str]) -> list[Memory]:
    found = log.views.read(lambda reading: [knowledge.memory(reading, one) for one in ids])
    return [memory for memory in found if memory is not None]


def _backwards(moment: str) -> tuple[int, ...]:
    """Sorts the later time first."""
    return tuple(-ord(letter) for letter in moment)
