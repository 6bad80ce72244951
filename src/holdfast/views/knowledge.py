"""Reading what the views hold about memories: as they are, with how they were used.

Who may see a memory is not asked here; whoever answers a person asks `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from holdfast.model.memories import UNUSED, Memory, Usage, slot, visible

from .memories import MemoryView, is_memory_id
from .runner import Reading
from .slots import Slot, SlotView, slot_key
from .usage import UsageView, Used
from .view import common_key, within

MEMORIES, SLOTS, USAGE = MemoryView(), SlotView(), UsageView()
_COMMON = within(None, None, None)


def memory(reading: Reading, memory_id: str) -> Memory | None:
    """One memory."""
    found = _row(reading, memory_id)
    return None if found is None else _with_usage(found, _used(reading, memory_id))


def memories(reading: Reading) -> Iterator[Memory]:
    """Every memory, in the order of their ids."""
    used: dict[str, list[Used]] = {}
    for one in reading.rows(USAGE, _COMMON):
        used.setdefault(one.id, []).append(one)
    rows: list[Memory] = reading.rows(MEMORIES, _COMMON)
    return iter([_with_usage(found, used.get(found.id, [])) for found in rows])


def in_slot(reading: Reading, place: tuple[str, ...]) -> list[Memory]:
    """The latest memories of a slot, current or not, in the order they were learned.

    One that was over when it was learned is not among them.
    """
    row: Slot = reading.row(SLOTS, slot_key(place)) or Slot()
    found = (memory(reading, one) for one in row.ids)
    mine = [one for one in found if one is not None and slot(one) == place]
    return sorted(mine, key=lambda one: one.event_seq)


def usage(reading: Reading, events: Iterable[str], user: str) -> dict[str, Usage]:
    """How a user's own events were used; what others say of them does not count."""
    used = {one: _used(reading, one) for one in events}
    return {one: _sum([by for by in found if by.user == user]) for one, found in used.items()}


def _row(reading: Reading, memory_id: str) -> Memory | None:
    if not is_memory_id(memory_id):
        return None
    found: Memory | None = reading.row(MEMORIES, common_key(memory_id))
    return found


def _used(reading: Reading, one: str) -> list[Used]:
    found: list[Used] = reading.rows(USAGE, within(None, None, None, one))
    return found


def _with_usage(found: Memory, used: list[Used]) -> Memory:
    """Counts of people who may not see it do not count."""
    counted = _sum([one for one in used if visible(found, one.user, None)])
    return found if counted == UNUSED else replace(found, usage=counted)


def _sum(used: list[Used]) -> Usage:
    if not used:
        return UNUSED
    all_of_them = [one.usage for one in used]
    return Usage(
        retrieved=sum(one.retrieved for one in all_of_them),
        cited=sum(one.cited for one in all_of_them),
        ignored=sum(one.ignored for one in all_of_them),
        useful=sum(one.useful for one in all_of_them),
        wrong=sum(one.wrong for one in all_of_them),
        last_at=max((one.last_at for one in all_of_them if one.last_at), default=None),
    )
