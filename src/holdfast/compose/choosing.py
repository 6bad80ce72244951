"""Choosing: which candidates are shown, at which level, under which number, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.model.compose import ComposeSettings
from holdfast.model.packs import Shown, Weighed

from . import render
from .items import Item
from .packing import Choice, Offer, packed
from .render import Part

Count = Callable[[str], int]
#: a section's rules, or its data
Block = tuple[str, bool]


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An item that may be shown in a section."""

    item: Item
    section: str
    #: what it is worth at full length
    score: float
    relevance: float = 0.0
    parts: dict[str, float] = {}
    #: why it is not shown, where that is known before anything is packed
    verdict: str = ""
    why: str = ""
    #: what must be shown comes before anything else
    must: bool = False
    #: the level at which it is shown already: only more than that is worth anything
    known: int | None = None


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What may be taken: of each section, and together."""

    caps: Mapping[str, int]
    total: int
    #: the word for what ends it: the budget, or the cap on new tokens
    ends: str = "budget"


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown of the candidates, and what became of each."""

    parts: tuple[Part, ...]
    shown: tuple[Shown, ...]
    weighed: tuple[Weighed, ...]
    #: tokens of each section, as they are written
    tokens: dict[str, int]


def _blocks(candidates: Sequence[Candidate], places: Iterable[int]) -> frozenset[Block]:
    return frozenset((candidates[n].section, candidates[n].item.rule) for n in places)


def shown_as(item: Item, section: str, number: int = 0, level: int = 0) -> Shown:
    """An item as the record names it."""
    return Shown(
        number=number,
        section=section,
        kind=item.kind,
        id=item.id,
        seq=item.seq,
        level=level,
        tokens=0,
        project=item.project,
        beside=item.beside,
        span=item.span,
    )


class Chooser:
    """Chooses for one context; numbers go up from `first`."""

    def __init__(self, settings: ComposeSettings, count: Count, first: int) -> None:
        self._values = (
            1.0,
            settings.value_summary,
            settings.value_compressed,
            settings.value_index,
        )
        self._count = count
        self._first = first
        #: the tokens of what was counted already
        self._known: dict[str, int] = {}

    def choose_from(self, offered: Callable[[bool], Sequence[Candidate]], room: Room) -> Chosen:
        """The best of what is offered whole, if there is room for all of it; else at every level.

        Most of the time there is, and to say things in fewer words takes time.
        """
        whole = offered(True)
        return self.choose(whole if self._holds(whole, room) else offered(False), room)

    def _holds(self, candidates: Sequence[Candidate], room: Room) -> bool:
        """Is there room for all of them at full length?"""
        sizes = [self._sizes(candidate) for candidate in candidates]
        blocks = _blocks(candidates, [n for n, of in enumerate(sizes) if of])
        taken = {name: self._marks(blocks, name) for name in room.caps}
        for candidate, of in zip(candidates, sizes, strict=True):
            taken[candidate.section] += of[0] if of else 0
        within = all(tokens <= room.caps[name] for name, tokens in taken.items())
        return within and sum(taken.values()) <= room.total

    def choose(self, candidates: Sequence[Candidate], room: Room) -> Chosen:
        """The best that fits, written and counted; never more than there is room for."""
        sizes = [self._sizes(candidate) for candidate in candidates]
        levels = self._packed(candidates, sizes, room)
        while True:
            parts, shown = self._written(candidates, levels, list(room.caps))
            tokens = {name: self._counted(parts, name) for name in room.caps}
            over = [name for name, cap in room.caps.items() if tokens[name] > max(cap, 0)]
            if not over and self._count(render.text_of(parts)) <= max(room.total, 0):
                break
            self._step_down(candidates, sizes, levels, over)
        return Chosen(
            parts=tuple(parts),
            shown=tuple(replace(one, tokens=sizes[n][one.level]) for n, one in shown.items()),
            weighed=tuple(self._weighed(candidates, sizes, levels, room, tokens)),
            tokens=tokens,
        )

    def _sizes(self, candidate: Candidate) -> tuple[int, ...]:
        """The tokens of an entry at each level; a level that is no shorter is none of its own."""
        if candidate.verdict:
            return ()
        found: list[int] = []
        for level, text in enumerate(candidate.item.levels):
            if level and text == candidate.item.levels[level - 1]:
                found.append(found[-1])
            else:
                found.append(self._tokens(render.entry(candidate.item, 999, level) + "\n"))
        return tuple(found)

    def _tokens(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._count(text)
        return self._known[text]

    def _packed(
        self, candidates: Sequence[Candidate], sizes: Sequence[tuple[int, ...]], room: Room
    ) -> list[int | None]:
        """The best choice: among all blocks, or among those of what must be shown alone."""
        every = _blocks(candidates, [n for n, of in enumerate(sizes) if of])
        must = _blocks(candidates, [n for n, c in enumerate(candidates) if c.must and sizes[n]])
        tried = [
            self._within(candidates, sizes, room, blocks)
            for blocks in ([every, must] if must and must != every else [every])
        ]
        return max(tried, key=lambda levels: self._worth(candidates, levels))

    def _within(
        self,
        candidates: Sequence[Candidate],
        sizes: Sequence[tuple[int, ...]],
        room: Room,
        blocks: frozenset[Block],
    ) -> list[int | None]:
        """The best of these blocks; the marks of a block take room, unless nothing is in it."""
        while True:
            levels = packed(
                [
                    Offer(candidate.section, self._choices(candidate, of))
                    if (candidate.section, candidate.item.rule) in blocks
                    else Offer(candidate.section, ())
                    for candidate, of in zip(candidates, sizes, strict=True)
                ],
                {name: cap - self._marks(blocks, name) for name, cap in room.caps.items()},
                room.total - sum(self._marks(blocks, name) for name in room.caps),
            )
            used = _blocks(candidates, [n for n, level in enumerate(levels) if level is not None])
            if used == blocks or not used:
                return levels
            blocks = used

    def _choices(self, candidate: Candidate, sizes: tuple[int, ...]) -> tuple[Choice, ...]:
        return tuple(Choice(size, self._value(candidate, n)) for n, size in enumerate(sizes))

    def _marks(self, blocks: frozenset[Block], section: str) -> int:
        """The tokens of the marks around what a section holds."""
        names = ["instructions" if rule else "memory" for of, rule in blocks if of == section]
        marks = "\n\n".join(render.block(mark, section, []) for mark in sorted(names))
        return self._count(f"{marks}\n\n") if marks else 0

    def _worth(self, candidates: Sequence[Candidate], levels: Sequence[int | None]) -> float:
        pairs = zip(candidates, levels, strict=True)
        return sum(self._value(one, level) for one, level in pairs if level is not None)

    def _value(self, candidate: Candidate, level: int) -> float:
        worth = self._values[level]
        if candidate.known is not None:
            worth = max(0.0, worth - self._values[candidate.known])
        return worth * (candidate.score + (1_000.0 if candidate.must else 0.0))

    def _written(
        self, candidates: Sequence[Candidate], levels: Sequence[int | None], sections: list[str]
    ) -> tuple[list[Part], dict[int, Shown]]:
        """The parts, numbered in the order they are read: section by section, the best first."""
        parts: list[Part] = []
        shown: dict[int, Shown] = {}
        number = self._first
        for section in sections:
            entries = []
            places = [n for n, c in enumerate(candidates) if c.section == section]
            for n in sorted(places, key=lambda n: (-candidates[n].score, candidates[n].item.id)):
                level, item = levels[n], candidates[n].item
                if level is None:
                    continue
                entries.append((item, number, level))
                shown[n] = shown_as(item, section, number, level)
                number += 1
            parts += render.memory(section, entries)
        return parts, shown

    def _counted(self, parts: Sequence[Part], section: str) -> int:
        mine = [part for part in parts if part.section == section]
        return self._count(render.text_of(mine)) if mine else 0

    def _step_down(
        self,
        candidates: Sequence[Candidate],
        sizes: Sequence[tuple[int, ...]],
        levels: list[int | None],
        over: Sequence[str],
    ) -> None:
        """The entry that is worth least for its tokens is shown in short, or not at all."""

        def worth(n: int) -> tuple[float, str]:
            level = levels[n]
            assert level is not None  # noqa: S101  (only those that are shown are asked)
            return self._value(candidates[n], level) / sizes[n][level], candidates[n].item.id

        taken = [n for n, level in enumerate(levels) if level is not None]
        among = [n for n in taken if candidates[n].section in over] or taken
        n = min(among, key=worth)
        level = levels[n]
        shorter = (m for m in range((level or 0) + 1, 4) if sizes[n][m] < sizes[n][level or 0])
        levels[n] = next(shorter, None)

    def _weighed(
        self,
        candidates: Sequence[Candidate],
        sizes: Sequence[tuple[int, ...]],
        levels: Sequence[int | None],
        room: Room,
        tokens: Mapping[str, int],
    ) -> list[Weighed]:
        _, shown = self._written(candidates, levels, list(room.caps))
        weighed = []
        for n, candidate in enumerate(candidates):
            item, of = candidate.item, sizes[n]
            one = shown.get(n) or shown_as(item, candidate.section)
            verdict = "taken" if n in shown else candidate.verdict
            if not verdict:
                left = room.caps[candidate.section] - tokens[candidate.section]
                if not tokens[candidate.section]:
                    left -= self._marks(
                        frozenset({(candidate.section, item.rule)}), candidate.section
                    )
                verdict = "share" if min(of, default=0) > left else room.ends
            level_tokens = of[one.level] if n in shown else 0
            weighed.append(
                Weighed(
                    shown=replace(one, tokens=level_tokens),
                    verdict=verdict,
                    score=candidate.score,
                    relevance=candidate.relevance,
                    parts=candidate.parts,
                    sizes=of,
                    why=candidate.why,
                )
            )
        return weighed
