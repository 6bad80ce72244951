"""Putting a context together from what is shown in it: the same for a new one and for a replay."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.compose import history, render
from holdfast.compose.budget import budget_for
from holdfast.compose.choosing import Room
from holdfast.compose.render import Part
from holdfast.model.epochs import Epoch
from holdfast.model.events import Event
from holdfast.model.packs import Shown
from holdfast.model.sessions import Scratchpad
from holdfast.ports.tokens import TokenCounter

from .showing import Showing
from .wanting import Wanted

#: the sections that are filled turn by turn
IN_TURNS = ("critical", "relevant")
#: tokens of the mark that names what is left out of the conversation
_NAMING = 40


class Sheet:
    """What every context of the same kind is written on."""

    def __init__(
        self,
        wanted: Wanted,
        counter: TokenCounter,
        showing: Showing,
        version: int = render.VERSION,
    ) -> None:
        self.showing = showing
        self._version = version
        self.count = counter.count
        self.fixed = render.system(wanted.system, wanted.tools)
        self.budget = budget_for(
            wanted.compose,
            wanted.signals.activity,
            wanted.budget,
            wanted.space,
            self.size(self.fixed),
        )
        self.turns = history.Turns(self.budget.event, self.count, self.budget.words)
        self._first_tokens = wanted.compose.first_tokens
        self._added: dict[str, list[Part]] = {}

    def size(self, parts: Sequence[Part]) -> int:
        """The tokens of these parts as they are written."""
        return self.count(render.text_of(parts)) if parts else 0

    def entries(self, shown: Sequence[Shown]) -> list[Part]:
        """Entries, section by section, in the order of their numbers."""
        parts = []
        for section in dict.fromkeys(one.section for one in shown):
            mine = [one for one in shown if one.section == section]
            items = [self.showing.item(one, whole=one.level == 0) for one in mine]
            of = [(item, one.number, one.level) for item, one in zip(items, mine, strict=True)]
            parts += render.memory(section, of)
        return parts

    def added(self, epoch: Epoch) -> dict[str, list[Part]]:
        """What each context of an epoch added."""
        for one in epoch.added:
            if one.pack not in self._added:
                self._added[one.pack] = self.entries(one.shown)
        return {one.pack: self._added[one.pack] for one in epoch.added}

    def talk(self, epoch: Epoch, events: Sequence[Event], first: int) -> list[Part]:
        """The conversation, with what was added to it; what is left out is named if there is room."""
        before: list[tuple[int, Part]] = []
        if epoch.past:
            held = self.showing.compaction(epoch.past)
            before, first = render.past(held.past, self._version), held.through + 1
        if self.budget.history > _NAMING:
            before += history.left_out(first, epoch.history_from)
        return history.parts(self.turns, epoch, events, self.added(epoch), before)

    def room(self, epoch: Epoch, events: Sequence[Event], left: int, new_tokens: int) -> Room:
        """What a turn may add: much at the beginning of an epoch, little afterwards."""
        added = self.added(epoch)
        before = [part for parts in added.values() for part in parts]
        caps = {
            name: self.budget.caps[name] - self.size([p for p in before if p.section == name])
            for name in IN_TURNS
        }
        if not epoch.first:
            first = left if self._first_tokens is None else self._first_tokens
            return Room(caps=caps, total=min(left, first), ends="cap" if first < left else "budget")
        position = events[-1].event_seq if events else 0
        this_turn = [one for one in epoch.added if one.position >= position]
        spent = self.size([part for one in this_turn for part in added[one.pack]])
        new = new_tokens - spent
        return Room(caps=caps, total=min(left, new), ends="cap" if new < left else "budget")

    def notes(self, pad: Scratchpad) -> list[Part]:
        """The scratchpad; where it is too long the longest notes are only named."""
        left, named = dict(pad.content), list[str]()
        while left or named:
            text = render.scratchpad(left, pad.version, named)
            if self.count(text) <= self.budget.scratchpad:
                return [Part(section="scratchpad", text=text, passing=True)]
            if not left:
                break
            longest = max(sorted(left), key=lambda name: len(render.note(name, left[name])))
            named = sorted([*named, longest])
            del left[longest]
        return []
