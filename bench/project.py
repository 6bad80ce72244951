"""A coding project of several sessions, through the hooks only. `python -m bench.project`

A stand-in for the host calls the hooks as the host does, one process for each event, and keeps the
window as the host does. In between the resident and hooks are killed, the index and the socket deleted,
what hooks read is spoiled, a second agent works at the same time. Printed is what the model could know
when it was asked about something decided earlier, what that cost, and whether anything was lost. On a
machine that does much else, hooks run out of time: `--deadline-ms 5000` shows what they say otherwise.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from statistics import mean, quantiles
from typing import Any

from bench.project_host import Window
from bench.project_machine import Machine, Watch, key_of, watched
from bench.project_play import Asked, Count, Play, played
from bench.report import show

Row = dict[str, Any]
#: what stands before an entry's own words
_BEFORE = re.compile(r"^(?:- )?\[\d+\+?\] (?:[^:\n]{1,60}: )?")
#: a shorter line may well occur twice
_SHORTEST = 25


def main() -> None:
    """Play, count, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--killed", type=float, default=0.05, help="share of hooks that are killed")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--deadline-ms", type=int, default=500, help="what a hook may take")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-project-") as place:
        machine = Machine(place, chosen.deadline_ms)
        try:
            with machine.opened() as hf:
                count = lru_cache(maxsize=None)(hf.counter().count)
            with watched(machine) as watch:
                plays = played(machine, count, chosen.seed, chosen.killed)
            show("Was it there when it was asked for?", recalled(plays), as_json=chosen.json)
            rows = [*injected(plays, count), *kept(machine), *processes(watch)]
            show("What it cost, and what came of the deaths", rows, as_json=chosen.json)
        finally:
            machine.end()


# ---- what the model could know -------------------------------------------------------------------


def recalled(plays: list[Play]) -> list[Row]:
    """A row for each situation, and one for all."""
    asked = [one for play in plays for one in play.asked]
    when = dict.fromkeys(one.when for one in asked)
    rows = [_recall(name, [one for one in asked if one.when == name]) for name in when]
    return [
        *rows,
        _recall("all", asked),
        _recall("all, somebody there to answer", [one for one in asked if one.attended]),
    ]


def _recall(what: str, asked: list[Asked]) -> Row:
    return {
        "what": what,
        "asked": len(asked),
        "told": sum(one.told for one in asked),
        "in the turn": sum(one.in_the_turn for one in asked),
        "without hooks": sum(one.alone for one in asked),
        "as many last tokens": sum(one.tail for one in asked),
        "last 4,000 tokens": sum(one.longer_tail for one in asked),
        "missed": ", ".join(one.fact for one in asked if not one.in_the_turn),
    }


# ---- what it cost --------------------------------------------------------------------------------


def windows_of(plays: list[Play]) -> list[Window]:
    """Every window of the play."""
    return [one for play in plays for mine in play.host.windows.values() for one in mine]


def repeats(window: Window) -> list[tuple[str, bool]]:
    """Lines hooks gave although the window showed them; whether a hook had given them before."""
    found, own, given = [], set[str](), set[str]()
    for piece in window.pieces:
        lines = {_BEFORE.sub("", line).strip(): line for line in piece.text.split("\n")}
        if not piece.given:
            own |= set(lines)
            continue
        for words, line in lines.items():
            odd = len(words) < _SHORTEST or line.startswith(("<", "#", "Continuing from"))
            if not odd and words in given | own:
                found.append((line, words in given))
        given |= set(lines)
    return found


def kept_prefixes(windows: list[Window]) -> Iterator[bool]:
    """Of each request but the first of a window: does it begin with the one before?"""
    for window in windows:
        for before, after in zip(window.sent, window.sent[1:], strict=False):
            yield after.startswith(before)


def injected(plays: list[Play], count: Count) -> list[Row]:
    """Tokens by turn, what was given twice, what a provider's cache keeps."""
    windows = windows_of(plays)
    turns = [sum(map(count, turn)) for play in plays for turn in play.host.turns]
    total = sum(turns)
    twice = [(line, again) for window in windows for line, again in repeats(window)]
    again = sum(count(line) for line, before in twice if before)
    shown = sum(count(line) for line, before in twice if not before)
    cached = [
        count(before) / count(after)
        for window in windows
        for before, after in zip(window.sent, window.sent[1:], strict=False)
    ]
    stable = list(kept_prefixes(windows))
    opened = [one for play in plays for one in play.host.openings]
    tools = sum(
        call.said["hook_event_name"] == "PreToolUse" for call in plays[0].host.machine.calls
    )
    going_on = [
        text for n, (_, text) in enumerate(opened) if n and text.count("Continuing from checkpoint")
    ]
    return [
        {"what": "prompts, calls of tools", "value": f"{len(turns) - len(opened)}, {tools}"},
        {"what": "tokens given, mean / p95 / max a turn", "value": _spread(turns)},
        {
            "what": "given again in the same window",
            "value": f"{len([1 for _, b in twice if b])} lines, {_share(again, total)}",
        },
        {
            "what": "given though the conversation shows it",
            "value": f"{len([1 for _, b in twice if not b])} lines, {_share(shown, total)}",
        },
        {
            "what": "requests that begin with the one before",
            "value": f"{sum(stable)} of {len(stable)}",
        },
        {
            "what": "tokens of a request that stay cached, mean",
            "value": _share(sum(cached), len(cached)),
        },
        {
            "what": "starts that go on from a checkpoint",
            "value": f"{len(going_on)} of {len(opened) - 1}",
        },
    ]


def _spread(values: list[int]) -> str:
    return f"{mean(values):.0f} / {quantiles(values, n=20)[-1]:.0f} / {max(values)}"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


# ---- what came of the deaths ---------------------------------------------------------------------


def lost(machine: Machine) -> tuple[Counter[Any], Counter[Any]]:
    """Events that ought to be in the log and are not; and those that are there too often."""
    must, may = Counter[Any](), Counter[Any]()
    for key, finished in machine.expected():
        may[key] += 1
        must[key] += finished
    with machine.opened() as hf:
        hf.record([])  # takes what waits
        there = Counter(
            key_of(event.kind, event.session_id or "", event.payload) for event in hf.events()
        )
    there = Counter({key: n for key, n in there.items() if key in may})
    return must - there, there - may


def kept(machine: Machine) -> list[Row]:
    """What was acknowledged, what is in the log, whether the log is sound."""
    missing, too_many = lost(machine)
    finished = sum(call.finished for call in machine.calls)
    must = sum(done for _, done in machine.expected())
    report = machine.program("verify")
    return [
        {"what": "hooks called, ended well", "value": f"{len(machine.calls)}, {finished}"},
        {"what": "hooks that used up their time", "value": sum(c.late for c in machine.calls)},
        {
            "what": "events of those, lost, twice",
            "value": f"{must}, {missing.total()}, {too_many.total()}",
        },
        {"what": "the log", "value": "sound" if report["sound"] else "DAMAGED"},
        *({"what": what, "value": number} for what, number in machine.troubles.items()),
    ]


def processes(watch: Watch) -> list[Row]:
    """How many residents there were."""
    return [
        {"what": "residents, in all", "value": len(watch.ever)},
        {"what": "residents at once, most", "value": watch.most},
    ]


if __name__ == "__main__":
    main()
