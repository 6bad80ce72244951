"""Was what a context showed useful, and what it left out not? A blind rating by a person.

    python -m bench.rate HOME --project P [--user U] [--packs N] [--entries N] [--out FILE]
        [--answers FILE] [--json]

The latest contexts of a project are gone through. Of each, entries that were shown are mixed with as
many candidates that were weighed and not shown, in an order of chance that is the same in every run. Of
each the whole text is shown, cut at 1,200 characters, whatever the context showed of it; of a document,
the part that was weighed, with its file and line. Nothing tells the two apart. Press u (useful), n
(not), s (skip) or q (stop). What a context shows anyway, what took another's place and mere names are
neither. Prints the share that was useful of what was shown and of what was not, with Wilson's 95 %
interval; ratings go to a file as JSON lines. No model, no network.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import msgspec

import holdfast
from bench.report import show
from holdfast.app.open import must_exist
from holdfast.documents.whole import whole
from holdfast.errors import Erased, HoldfastError, NotFound
from holdfast.model.documents import place_of
from holdfast.model.events import Event
from holdfast.model.packs import Pack, Shown, Weighed
from holdfast.text.quoting import clean

PACKS, ENTRIES = 10, 6
_CUT = 1_200
#: candidates that were left out though they could have been shown
_LEFT_OUT = frozenset({"floor", "share", "budget", "cap", "untrusted"})
_NO_TEXT = frozenset({"topic", "correction"})
KEYS: dict[str, Verdict] = {"u": "useful", "n": "not", "s": "skip"}
_STOP = "q"

Verdict = Literal["useful", "not", "skip"]
#: asks for one key; an empty text when there is none to come
Ask = Callable[[], str]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to be rated."""

    pack: str
    query: str
    id: str
    kind: str
    shown: bool
    #: taken, or why not
    verdict: str
    text: str


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said of it."""

    entry: Entry
    rating: Verdict

    def line(self) -> bytes:
        """As it is kept: which entry, and what was said; its text lies in the project."""
        said = msgspec.to_builtins(self.entry) | {"rating": self.rating}
        del said["text"]
        return msgspec.json.encode(said) + b"\n"


# ---- what is rated -------------------------------------------------------------------------------


def packs(hf: holdfast.Holdfast, most: int, user: str | None = None) -> list[Pack]:
    """The latest contexts of a user, or of everybody, the newest first; those taken out are left out."""
    made = [event for event in hf.events() if _assembled(event, user)]
    found: list[Pack] = []
    for event in reversed(made):
        if len(found) == most:
            break
        try:
            found.append(hf.replay(event.event_id, user=event.user))
        except Erased as exc:
            print(exc, file=sys.stderr)
    return found


def _assembled(event: Event, user: str | None) -> bool:
    return event.kind == "context_assembled" and user in (None, event.user)


def entries(hf: holdfast.Holdfast, pack: Pack, most: int) -> list[Entry]:
    """Of one context as many that were shown as were not, at most so many of each, shuffled."""
    event = hf.log.find(pack.id)
    user = (event.user if event is not None else None) or hf.user
    known: set[str] = set()
    taken: list[Entry] = []
    left: list[Entry] = []
    for one in sorted(pack.receipt.candidates, key=lambda one: one.verdict != "taken"):
        side = taken if one.verdict == "taken" else left
        if one.shown.kind in _NO_TEXT or one.verdict not in {"taken", *_LEFT_OUT}:
            continue
        text = _text(hf, one, user, pack.receipt.at)
        if text and text not in known:
            known.add(text)
            side.append(_entry(pack, one, text))
    chance = random.Random(pack.id)
    number = min(len(taken), len(left), most)
    mixed = [*chance.sample(taken, number), *chance.sample(left, number)]
    chance.shuffle(mixed)
    return mixed


def _entry(pack: Pack, one: Weighed, text: str) -> Entry:
    return Entry(
        pack=pack.id,
        query=pack.receipt.query,
        id=one.shown.id,
        kind=one.shown.kind,
        shown=one.verdict == "taken",
        verdict=one.verdict,
        text=text,
    )


def _text(hf: holdfast.Holdfast, one: Weighed, user: str, at: str) -> str:
    """All it said at the time; empty for what is not there any more."""
    if one.shown.kind == "document":
        return _part(hf, one.shown)
    if not one.shown.id.startswith("mem_"):
        event = hf.log.find(one.shown.id)
        return "" if event is None or event.erased else event.words.strip()
    try:
        memory = hf.get(one.shown.id, user=user, as_of=at)
    except (NotFound, Erased):
        return ""
    return memory.text.strip() or f"{memory.key}: {memory.value}"


def _part(hf: holdfast.Holdfast, shown: Shown) -> str:
    """A part of a document, below the file and the line it begins at."""
    event_id, line, line_end = place_of(shown.id)
    event = hf.log.find(event_id)
    if event is None or event.erased:
        return ""
    text = whole(event, hf.log, hf.library.tell)
    lines = "\n".join(text.split("\n")[max(0, line - 1) : line_end])
    part = (text[slice(*shown.span)] if shown.span else lines).strip("\n").rstrip()
    return f"{event.payload.get('path')}:{line}\n{part}" if part else ""


# ---- asking --------------------------------------------------------------------------------------


def rated(every: Sequence[Entry], ask: Ask) -> Iterator[Rating]:
    """Each entry with what is said of it, until somebody stops."""
    before = ""
    for number, entry in enumerate(every, 1):
        if entry.pack != before:
            _say(f"\n=== asked: {clean(entry.query)[:_CUT] or '(nothing)'}\n")
            before = entry.pack
        _say(f"\n--- {number} of {len(every)}\n{_cut(entry.text)}\n\n[u]seful [n]ot [s]kip [q]uit ")
        key = _key(ask)
        _say(f"{key or _STOP}\n")
        if key not in KEYS:
            return
        yield Rating(entry=entry, rating=KEYS[key])


def _say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def _key(ask: Ask) -> str:
    """The first key that means something."""
    while (key := ask().casefold()) and key not in KEYS and key != _STOP:
        pass
    return key


def _cut(text: str) -> str:
    shown = clean(text)
    return shown if len(shown) <= _CUT else f"{shown[:_CUT].rstrip()} …"


def from_keyboard() -> str:
    """One key of a terminal, without the return key; of anything else one character."""
    if not sys.stdin.isatty():
        return sys.stdin.read(1)
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        return sys.stdin.read(1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def from_file(path: Path) -> Ask:
    """One character of a file after the other."""
    left = iter(path.read_text("utf-8"))
    return lambda: next(left, "")


# ---- what came of it -----------------------------------------------------------------------------


def wilson(good: int, of: int) -> tuple[float, float]:
    """95 % interval of a share."""
    if not of:
        return 0.0, 1.0
    z = 1.959964
    share, spread = good / of, z * z / of
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    low, high = (middle - half) / (1 + spread), (middle + half) / (1 + spread)
    return low if good else 0.0, high if good < of else 1.0


def report(ratings: Sequence[Rating]) -> list[dict[str, Any]]:
    """Shares of what was shown and of what was not; what was skipped counts for neither."""
    rows = []
    for name, shown in (("shown", True), ("not shown", False)):
        judged = [one for one in ratings if one.entry.shown is shown and one.rating != "skip"]
        useful = sum(one.rating == "useful" for one in judged)
        low, high = wilson(useful, len(judged))
        rows.append(
            {
                "what": name,
                "n": len(judged),
                "useful": useful,
                "useful %": round(100 * useful / len(judged), 1) if judged else None,
                "95 % from": round(100 * low, 1),
                "to": round(100 * high, 1),
                "skipped": sum(
                    one.entry.shown is shown and one.rating == "skip" for one in ratings
                ),
            }
        )
    return rows


def run(given: argparse.Namespace) -> list[Rating]:
    """Ask about everything, and keep what is said as it is said."""
    must_exist(str(given.home), given.project)
    ask = from_keyboard if given.answers is None else from_file(given.answers)
    with ExitStack() as stack:
        hf = stack.enter_context(holdfast.open(given.home, project=given.project))
        every = [
            entry
            for pack in packs(hf, given.packs, given.user)
            for entry in entries(hf, pack, given.entries)
        ]
        if not every:
            raise NotFound("no context here both showed something and left something out")
        out = stack.enter_context(given.out.open("ab")) if given.out else None
        found = []
        for rating in rated(every, ask):
            found.append(rating)
            if out is not None:
                out.write(rating.line())
                out.flush()
        return found


def _number(said: str) -> int:
    number = int(said)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number


def main() -> None:
    """Rate, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path, help="a home of Holdfast")
    parser.add_argument("--project", required=True)
    parser.add_argument("--user", help="whose contexts; else everybody's")
    parser.add_argument("--packs", type=_number, default=PACKS, help="the latest contexts")
    parser.add_argument("--entries", type=_number, default=ENTRIES, help="of each kind, of each")
    parser.add_argument("--out", type=Path, help="ratings are added to this file, a line each")
    parser.add_argument("--answers", type=Path, help="a file of keys instead of the keyboard")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        found = run(given)
    except (HoldfastError, OSError) as exc:
        raise SystemExit(f"bench.rate: {exc}") from exc
    show("Useful, by whether it was shown", report(found), as_json=given.json)


if __name__ == "__main__":
    main()
