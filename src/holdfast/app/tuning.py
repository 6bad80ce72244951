"""The verb that tries other settings of compaction on recorded sessions: `hf.tune`.

What always holds: nothing is recorded, no model is asked and no clock is read; only sessions of the
asking user are replayed; settings are chosen on one half of them and judged on the other; a file is
written only where that is asked for and the judgement is good, and then what is in force is what
was proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from holdfast.compact import choosing
from holdfast.compact.choosing import NEEDED
from holdfast.compact.planning import Summarize, by_rule
from holdfast.compact.simulating import Lived, Means, Recorded, everything, outcome, simulated
from holdfast.compose import render
from holdfast.errors import Conflict, HoldfastError, Invalid
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Past
from holdfast.model.events import Event
from holdfast.model.tuning import Proposal, Row, Tuned
from holdfast.settings import load

from . import sessions, settings_file
from .rehearing import MOST_EVENTS, Heard, Room, heard, meant, ready

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: gets how much is done, of 100
Progress = Callable[[int], None]
#: sessions that are replayed; so many times that are looked at for it
MOST, _LOOKED_AT = 24, 4
#: windows to look at where nothing fills the one that is meant
_WINDOWS = (128_000, 64_000, 32_000, 16_000, 8_000, 4_000)
#: tokens that are replayed; sessions beyond the newest of so many are left aside
_MOST_TOKENS = 1_000_000
#: of all the work, what reading is, in per cent
_READING = 10
_TABLE = "compact"


class Tuning:
    """What an open project can find out about its own settings."""

    def tune(  # noqa: PLR0913  (every option by its name)
        self,
        *,
        window: int | None = None,
        model: str = "",
        user: str | None = None,
        agent: str | None = None,
        most: int = MOST,
        quick: bool = False,
        apply: bool = False,
        progress: Progress | None = None,
    ) -> Tuned:
        """Replay recorded sessions under other settings of compaction, and propose the best.

        The newest `most` sessions that fill the window are replayed: those of a user, of one agent or
        of all. Half of them choose, the other half judges; with `apply` a proposal that wins there is
        written into the user's settings file, for whatever is opened from then on. `quick` turns the
        knobs that matter most, once. `progress` gets how much is done, of 100.
        """
        hf = cast("Holdfast", self)
        if type(most) is not int or most < 1:
            raise Invalid(f"most is a number of sessions from 1 on, not {most!r}")
        tell = progress or (lambda _: None)
        known = sessions.listed(hf, hf._whose(user), agent)
        found = heard(hf, known, most * _LOOKED_AT, lambda share: tell(int(_READING * share)))
        wanted = meant(hf, window, model)
        others = [] if window is not None else [n for n in _WINDOWS if n < wanted.limit]
        chosen, room = _chosen(found, [wanted, *(Room(hf, n, model) for n in others)])
        turns = room.turns()
        replayed = _bounded([ready(hf, one, turns) for one in chosen[:most]])
        tuned = _Trial(replayed, room, hf.settings.compact, tell).tuned(quick=quick)
        notes = _notes(found, wanted, room, replayed)
        smaller = room is not wanted
        tuned = replace(tuned, short=len(found) - len(chosen), smaller=smaller, notes=notes)
        tell(100)
        return _applied(hf, tuned) if apply else tuned


def _chosen(found: Sequence[Heard], rooms: Sequence[Room]) -> tuple[list[Heard], Room]:
    """The sessions that fill a window: the first one, else the first that enough of them fill."""
    turns = rooms[0].turns()
    sizes = [sum(map(turns.tokens, one.events)) for one in found]

    def filling(room: Room) -> list[Heard]:
        return [one for one, size in zip(found, sizes, strict=True) if room.filled(size)]

    enough = next((room for room in rooms if len(filling(room)) >= NEEDED), rooms[0])
    return filling(enough), enough


def _bounded(found: Sequence[Recorded]) -> list[Recorded]:
    """The newest sessions that are replayed in reasonable time; as many as are needed in any case."""
    sums = list(accumulate(sum(one.sizes) for one in found))
    return [
        one
        for n, (one, tokens) in enumerate(zip(found, sums, strict=True))
        if n < NEEDED or tokens <= _MOST_TOKENS
    ]


def _notes(
    found: Sequence[Heard], wanted: Room, room: Room, replayed: Sequence[Recorded]
) -> tuple[str, ...]:
    notes = []
    if room is not wanted:
        notes.append(
            f"too few of {len(found)} sessions fill the window of {wanted.limit:,} tokens; this is how "
            f"one of {room.limit:,} would have filled"
        )
    if any(len(one.events) == MOST_EVENTS for one in replayed):
        notes.append(f"of the longest sessions the first {MOST_EVENTS:,} events are replayed")
    if len(replayed) < NEEDED:
        notes.append(_few(len(replayed), room.limit))
    return tuple(notes)


def _few(number: int, window: int) -> str:
    return (
        f"{number} of the recorded sessions fill a window of {window:,} tokens, and {NEEDED} are "
        "needed to tell a better setting from chance; record more, or name a smaller window"
    )


# ---- trying ----------------------------------------------------------------------------------------


class _Trial:
    """Settings tried on sessions."""

    def __init__(
        self, found: Sequence[Recorded], room: Room, now: CompactSettings, tell: Progress
    ) -> None:
        self._room = room
        self._bounds = room.bounds
        self._now = now
        self._tell = tell
        self._known: dict[Any, list[Lived]] = {}
        self._done = 0
        self._whole = 1
        shown = _remembering(by_rule(room.count))
        self._means = Means(count=room.count, summarize=shown, shown=_shown)
        by_name = {one.id: one for one in found}
        sizes = [(sum(one.sizes), one.id) for one in found]
        seen, unseen = choosing.halves(sizes)
        self._seen = [by_name[name] for name in seen]
        self._unseen = [by_name[name] for name in unseen]

    def tuned(self, *, quick: bool) -> Tuned:
        """What was tried, and what is proposed."""
        room, now = self._room, self._now
        self._whole = choosing.most_tried(quick=quick) * len(self._seen) + 2 * len(self._unseen)
        answer = Tuned(
            window=room.limit,
            history=self._bounds.history,
            seen=tuple(one.id for one in self._seen),
            unseen=tuple(one.id for one in self._unseen),
            short=0,
        )
        if not self._unseen:
            return answer
        others = [everything(one) for one in self._unseen]
        before = self._under(now, self._unseen)
        if not self._seen:  # one session, which is shown as it is
            alone = choosing.figures(others, others)
            return replace(answer, now=choosing.figures(before, others), everything=alone)
        best, tried = choosing.searched(now, self._seen_under, quick=quick)
        whole = [everything(one) for one in self._seen]
        rows = [
            Row(knobs=_other(now, settings), seen=choosing.figures(lived, whole))
            for settings, lived in tried
        ]
        answer = replace(
            answer,
            now=choosing.figures([*tried[0][1], *before], [*whole, *others]),
            everything=choosing.figures([*whole, *others], [*whole, *others]),
            rows=tuple(rows),
        )
        if best == now:
            return answer
        after = self._under(best, self._unseen)
        proposal = Proposal(
            knobs=_other(now, best),
            seen=choosing.judged(tried[0][1], dict(tried)[best]),
            unseen=choosing.judged(before, after),
            before=choosing.figures(before, others),
            after=choosing.figures(after, others),
        )
        return replace(answer, proposal=proposal)

    def _seen_under(self, settings: CompactSettings) -> list[Lived]:
        key = outcome(self._bounds, settings)
        if key in self._known:
            self._done += len(self._seen)
        else:
            self._known[key] = self._under(settings, self._seen)
        return self._known[key]

    def _under(self, settings: CompactSettings, of: Sequence[Recorded]) -> list[Lived]:
        lived = []
        for one in of:
            lived.append(simulated(one, self._bounds, settings, self._means))
            self._done += 1
            self._tell(_READING + (99 - _READING) * self._done // self._whole)
        return lived


def _other(now: CompactSettings, other: CompactSettings) -> dict[str, Any]:
    """What of some settings is other than it is set."""
    names = CompactSettings.__struct_fields__
    return {
        name: getattr(other, name) for name in names if getattr(other, name) != getattr(now, name)
    }


def _shown(past: Past) -> str:
    """What stands in a window for what left."""
    return render.text_of([part for _, part in render.past(past)])


def _remembering(summarize: Summarize) -> Summarize:
    """The same, each summary made once."""
    known: dict[tuple[str, str, int, int], tuple[str, str] | None] = {}

    def remembered(events: Sequence[Event], room: int) -> tuple[str, str] | None:
        key = (events[0].event_id, events[-1].event_id, len(events), room)
        if key not in known:
            known[key] = summarize(events, room)
        return known[key]

    return remembered


# ---- writing it down -------------------------------------------------------------------------------


def _applied(hf: Holdfast, tuned: Tuned) -> Tuned:
    """The same with its proposal in force, or why it is not."""
    refused = _refused(tuned)
    if refused or tuned.proposal is None:
        return replace(tuned, refused=refused)
    knobs = tuned.proposal.knobs
    now, root = hf.settings.compact, Path(hf.project.root) if hf.project.root else None
    meant = replace(now, **knobs)
    try:
        if load(hf.settings.home, root).compact != now:
            raise Conflict(
                "the settings were changed since this project was opened; run this again"
            )
        path = settings_file.written(
            _TABLE, knobs, lambda: load(hf.settings.home, root).compact == meant
        )
    except HoldfastError as exc:
        return replace(tuned, refused=str(exc))
    return replace(tuned, applied=path)


def _refused(tuned: Tuned) -> str:
    """Why nothing is written; empty where there is something to write."""
    number = len(tuned.seen) + len(tuned.unseen)
    if number < NEEDED:
        return _few(number, tuned.window)
    if tuned.smaller:
        return (
            f"the window in use is larger than the {tuned.window:,} tokens that were replayed; "
            "name a window to set knobs for it"
        )
    if tuned.proposal is None:
        return "nothing that was tried is better than what is set"
    if not tuned.proposal.wins:
        return f"on the sessions it was not chosen by {tuned.proposal.unseen.why}"
    return ""
