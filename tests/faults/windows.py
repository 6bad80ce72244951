"""A session whose window was compacted before, what can be done to it, and what must hold after it died.

A window is what a session shows of its conversation: events as they are, summaries, lines that name what
left. Each way of changing one is done to a copy of the same prepared home, with the same clock, so what
it leaves can be compared with what it leaves when nothing goes wrong.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.compact.activity import NAMES
from holdfast.compact.cold import decoded, verbatim
from holdfast.engines.files import FileLog
from holdfast.errors import Invalid
from holdfast.model.events import Event
from tests.app.places import held, out_of_place

USER, AGENT, SESSION = "ana", "coder", "s"
#: tokens of its window; what was said in it is more
WINDOW = 2_000
_BEGIN = 1_772_355_600_000
_MINUTE, _DAY = 60_000, 86_400_000
#: days after the first compaction everything else is done
_LATER = 10
LONG = "src/cart/total.py line 7: KeyError: 'price' while adding an item of the cart\n" * 5


class Window(NamedTuple):
    """What a session shows of its conversation, however it came to be."""

    past: bytes
    shown: tuple[str, ...]


class Change(NamedTuple):
    """One way of changing a window."""

    name: str
    run: Callable[[Holdfast, Session], object]
    #: days since something was said last
    days: int = 0


class Clock:
    """Stands still; set by whoever opens."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes

    def __call__(self) -> int:
        return _BEGIN + round(self.minutes * _MINUTE)


@contextmanager
def opened(home: str | Path, days: int = 0) -> Iterator[Holdfast]:
    """The project, so many days after something was said in it last."""
    clock = Clock(10 + (_LATER + days) * _DAY / _MINUTE)
    with holdfast.open(home, project="p", user=USER, now=clock) as hf:
        yield hf


def ongoing(hf: Holdfast) -> Session:
    """The session."""
    return hf.session(agent=AGENT, session_id=SESSION)


def worked(s: Session, first: int, last: int) -> None:
    """Some turns with tools."""
    for n in range(first, last):
        s.user(f"Please look at item {n} of the cart.")
        s.tool_call("Bash", {"command": f"python total.py {n}"}, call_id=f"c{n}")
        s.tool_result("Bash", f"{n}: {LONG}", call_id=f"c{n}", is_error=True)
        s.assistant(f"Item {n} has no price; I gave it one.")


def prepare(home: str | Path) -> None:
    """A session with a compaction, a checkpoint and more than its window holds."""
    with holdfast.open(home, project="p", user=USER, now=Clock(0)) as hf:
        s = ongoing(hf).start()
        s.user("The cart is called Wombat.", pinned=True)
        s.decision("prices are integers in cents")
        worked(s, 0, 6)
        s.items.save("the migration of the cart", "TASK")
        s.compact("item 5", to=500, window=WINDOW)
        worked(s, 6, 8)
        s.checkpoint("asked")
        worked(s, 8, 11)
    with opened(home) as hf:
        ongoing(hf).user("And item 11?")
        hf.sessions()
        hf.activity.up_to_date()


def _old_copies_run_out(hf: Holdfast, _: Session) -> object:
    return hf.cold.expire(dry_run=False)


def _back(hf: Holdfast, s: Session) -> object:
    saved = [event for event in hf.events() if event.kind == "checkpoint_saved"]
    return s.resume_from(saved[0].event_id)


CHANGES = {
    change.name: change
    for change in (
        Change("compact", lambda _, s: s.compact("item 11", to=400, window=WINDOW)),
        Change("flash save", lambda _, s: s.flash_save(window=WINDOW)),
        Change("context", lambda _, s: s.context("item 11", budget=200, window=WINDOW)),
        Change("expire", _old_copies_run_out, days=25),
        Change("resume", _back),
    )
}


def fresh(template: str | Path, home: str | Path) -> None:
    """A copy of the prepared home."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template, home)


def window_of(hf: Holdfast) -> Window:
    """What its window shows now."""
    now = held(ongoing(hf), WINDOW)
    return Window(msgspec.json.encode(now.past), tuple(event.event_id for event in now.events))


def told(hf: Holdfast) -> list[tuple[str, bytes]]:
    """Every event, as it stands in the log."""
    return [(event.event_id, msgspec.json.encode(event, order="sorted")) for event in hf.events()]


# ---- what must hold ------------------------------------------------------------------------------


def broken(hf: Holdfast, before: list[tuple[str, bytes]]) -> Iterator[str]:
    """What is not as it must be, whatever happened: nothing is lost, and everything has its place.

    Nothing is mended by looking.
    """
    if not hf.verify().sound:
        yield "the log is not sound"
    now = told(hf)
    if now[: len(before)] != before:
        yield "what was in the log is not there as it was"
    if len({one for one, _ in now}) < len(now):
        yield "an event is there twice"
    yield from out_of_place(ongoing(hf), WINDOW)
    yield from _torn(hf)


def _torn(hf: Holdfast) -> Iterator[str]:
    """A copy may be missing; one that is there is whole."""
    for path in _copies(hf):
        copy = decoded(Path(path).read_bytes())
        if copy is None or sha256(copy.content.encode()).hexdigest() != copy.sha256:
            yield f"the copy {os.path.basename(path)} is torn"


def not_recovered(hf: Holdfast) -> Iterator[str]:
    """Bytes of a cold chunk that do not come back as they were. Whatever copy is asked for is mended."""
    for chunk in hf.cold.list(SESSION, agent=AGENT, expired=True):
        back = hf.cold.get(chunk.id, agent=AGENT)
        for part in back.parts:
            event = hf.log.find(part.event_id)
            if event is None or verbatim(back.content, part)[0] != event.payload:
                yield f"{part.event_id} of {chunk.id} does not come back as it was"


def unfinished(hf: Holdfast) -> Iterator[str]:
    """After another compaction: a copy that is missing, five logs that are not what they should be."""
    files = set(_copies(hf))
    chunks = hf.cold.list(SESSION, agent=AGENT)
    wanted = {hf.cold.path(chunk) for chunk in chunks}
    yield from (f"there is no copy at {os.path.basename(one)}" for one in sorted(wanted - files))
    yield from (f"{os.path.basename(one)} ran out" for one in sorted(files - wanted))
    for chunk in chunks:
        if note := hf.cold.get(chunk.id, agent=AGENT).note:
            yield f"{chunk.id}: {note}"
    yield from not_recovered(hf)
    grown = {name: hf.activity.read(name) for name in NAMES}
    shutil.rmtree(hf.activity.folder)
    for name in NAMES:
        if hf.activity.read(name) != grown[name]:
            yield f"{name}.jsonl is not what the log says"


def _copies(hf: Holdfast) -> Iterator[str]:
    for folder, _, names in os.walk(hf.cold.folder):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".jsonl"))


def goes_on(home: str | Path, change: Change) -> Iterator[str]:
    """The next process does it again, says more, compacts: everything is in its place and complete."""
    with opened(home, change.days) as hf:
        s = ongoing(hf)
        change.run(hf, s)
        worked(s, 20, 23)
        if s.compact("item 22", to=400, window=WINDOW) is None:
            yield "nothing left although there is too much"
        yield from broken(hf, [])
        yield from unfinished(hf)
        events = [event for event in FileLog(hf.folder).read() if isinstance(event, Event)]
        texts = [event.text for event in events if event.kind == "user_message"]
        if len(set(texts)) < len(texts):
            yield "something was said twice"


class Seen(NamedTuple):
    """A change as it goes when nothing goes wrong."""

    before: Window
    after: Window
    told: list[tuple[str, bytes]]


def seen(template: str | Path, home: str | Path, change: Change) -> Seen:
    """The window before and after, and what the log says before."""
    fresh(template, home)
    with opened(home, change.days) as hf:
        before, said = window_of(hf), told(hf)
        change.run(hf, ongoing(hf))
        after = window_of(hf)
    if change.name != "expire" and before == after:
        raise Invalid(f"{change.name} changes nothing in the prepared session")
    return Seen(before, after, said)


def wrong(home: str | Path, change: Change, as_it_goes: Seen) -> Iterator[str]:
    """After a death anywhere: the window as before or as after, nothing lost, and it goes on."""
    with opened(home, change.days) as hf:
        if window_of(hf) not in (as_it_goes.before, as_it_goes.after):
            yield "the window is neither as before nor as after"
        yield from broken(hf, as_it_goes.told)
    yield from goes_on(home, change)
