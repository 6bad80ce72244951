"""A session that goes on for hours: does anything break, grow, or get lost?

    python -m bench.soak DATA [--tokens N] [--windows 16000,32000,100000] [--every K] [--kills N]
        [--facts N] [--place FOLDER] [--json]

DATA is a folder with `swe-agent/` and `tau-bench/`. Their sessions are chained and repeated, never the
same twice (`bench/soak_story.py`), into one session for each window. Ten seconds pass with each message.
Before every K-th step of the model a context is made, and each is looked at: the window is passed by no
token, what the person said last and what is pinned stand in it, calls stand with their results. What a
compaction did is looked at too, and in the end the whole log, its copies and samples of contexts and
spans (`bench/soak_look.py`). Whatever is not as it should be is counted and named on standard error.

The session is lived by a process (`bench/soak_live.py`) that is killed with signal 9 now and then and
followed by another one, in the first half; the second half is lived by one process, whose memory and
time are compared between its beginning and its end.

Tokens sent are compared with the full history before each step, which no window holds, and with the last
tokens that fit the window. Facts stand in for tasks that can be completed: told once, asked for later,
found in the context, in one expansion of the line that is most like the question, or by one search.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

import holdfast
from bench.economy_data import Script, alone
from bench.report import show
from bench.soak_live import Task
from bench.soak_story import MOST_FACTS, Story, story
from bench.soak_story import WINDOWS as WINDOWS_BETWEEN
from holdfast.errors import Invalid

WINDOWS = (16_000, 32_000, 100_000)
#: of the window, for memory
BUDGET = 8
STEP_MS = 10_000
_REPLAYED, _LOOKED = 40, 5
_SEED = 7
_MINUTE = 60.0

Row = dict[str, Any]
Progress = Callable[[str], None]


class Course:
    """What the processes of one session said, one after the other."""

    def __init__(self) -> None:
        self.events = -1
        self.contexts: list[Row] = []
        #: where in `contexts` the last process began
        self.last_begins = 0
        self.wrong: list[str] = []
        self.kills = 0
        self.seconds = 0.0

    def take(self, line: bytes) -> None:
        """One more thing that was acknowledged."""
        said = msgspec.json.decode(line)
        if "event" in said:
            self.events = max(self.events, said["event"])
        elif "refused" in said:
            self.wrong.append(f"refused: {said['refused']}")
        else:
            self.contexts.append(said)
            self.wrong += said["wrong"]

    def told(self, moves: int) -> str:
        """How far it is, in words."""
        return (
            f"{self.events:,} of {moves:,} events, {len(self.contexts):,} contexts, "
            f"{self.kills} kills, {len(self.wrong)} wrong"
        )


# ---- living it -----------------------------------------------------------------------------------


def lived(place: Path, told: Story, task: Task, kills: int, progress: Progress) -> Course:
    """Live the story in a folder, with so many sudden deaths in its first half."""
    (place / "story.json").write_bytes(msgspec.json.encode(told))
    (place / "task.json").write_bytes(msgspec.json.encode(task))
    course, of, began = Course(), random.Random(_SEED), time.monotonic()
    half = len(told.moves) // 2
    ends = sorted(of.sample(range(min(20, half), half), min(kills, max(0, half - 20))))
    for end in [*ends, None]:
        course.last_begins = len(course.contexts)
        _one(place, course, end, of, progress, len(told.moves))
        course.kills += end is not None
    course.seconds = time.monotonic() - began
    return course


def _one(
    place: Path,
    course: Course,
    end: int | None,
    of: random.Random,
    progress: Progress,
    moves: int,
) -> None:
    """One process, killed a moment after it acknowledged a move, or at its end."""
    deadly: threading.Timer | None = None
    with (
        _child(place, course.events + 1) as child,
        (place / "course.ndjson").open("ab") as kept,
    ):
        assert child.stdout is not None
        for line in child.stdout:
            if not line.endswith(b"\n"):
                break  # cut short: nobody was told
            course.take(line)
            kept.write(line)
            if end is not None and deadly is None and course.events >= end:
                deadly = threading.Timer(of.uniform(0, 0.4), child.kill)
                deadly.start()
            if course.events % 200 == 0:
                progress(course.told(moves))
        status = child.wait()
    if deadly is not None:
        deadly.cancel()
        deadly.join()
    if status not in ((-9, 0) if end is not None else (0,)):
        raise RuntimeError(f"the session ended with {status} after move {course.events}")


def _child(place: Path, first: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench.soak_live", str(place), str(first)]
    here = Path(__file__).parents[1]
    env = {"HOLDFAST_EMBEDDER": "static", **os.environ}
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=here, env=env)


def looked(place: Path, course: Course) -> Row:
    """What another process finds in the end."""
    handed = {one["context"]: one["text"] for one in course.contexts}
    (place / "handed.json").write_bytes(msgspec.json.encode(handed))
    said, _ = _child(place, -1).communicate()
    found: Row = msgspec.json.decode(said.splitlines()[-1])["looked"]
    course.wrong += found["wrong"]
    return found


# ---- figures -------------------------------------------------------------------------------------


def figures(told: Story, task: Task, course: Course, found: Row) -> Row:
    """One window's column."""
    contexts = course.contexts
    sent = {name: sum(one[name] for one in contexts) for name in ("sent", "last", "full")}
    kinds = found["kinds"]
    wrong = Counter(one.partition(":")[0] for one in course.wrong)
    return {
        "events": len(told.moves),
        "tokens told": sum(move.tokens for move in told.moves),
        "hours of the session": len(told.moves) * task.step / 3_600_000,
        "contexts": len(contexts),
        "a context every": f"{task.every} steps",
        "processes killed": course.kills,
        "wrong": len(course.wrong),
        **{f"wrong: {name}": times for name, times in sorted(wrong.items())},
        "largest context": max(one["sent"] for one in contexts),
        "tokens a context": round(sent["sent"] / len(contexts)),
        "the last that fit": round(sent["last"] / len(contexts)),
        "fewer than those %": 100 * (1 - sent["sent"] / sent["last"]),
        "full history": round(sent["full"] / len(contexts)),
        "fewer than that %": 100 * (1 - sent["sent"] / sent["full"]),
        "compactions": kinds.get("compacted", 0),
        "saved before": kinds.get("checkpoint_saved", 0),
        "epochs": kinds.get("epoch_started", 0),
        "came back": kinds.get("chunk_recovered", 0),
        "cold chunks": found["chunks"],
        **_found(contexts),
        **_grown(course),
        **{f"MB of {name}": size for name, size in sorted(found["megabytes"].items())},
        "minutes": course.seconds / 60,
    }


_WAYS = {
    "in the context": "pack",
    "or one expansion": "expanded",
    "or one search": "searched",
    "in the last tokens": "last",
}


def _found(contexts: Sequence[Row]) -> Row:
    """Of facts, how many are found, and how."""
    row: Row = {}
    for far, name in (
        (False, f"after {WINDOWS_BETWEEN} windows"),
        (True, "told early, asked late"),
    ):
        asked = [one["found"] for one in contexts if one["found"] and one["found"]["far"] is far]
        for how, key in _WAYS.items():
            there = [one[key] or (key == "searched" and one["expanded"]) for one in asked]
            row[f"{name}: {how}"] = f"{sum(there)} of {len(there)}"
    return row


def _grown(course: Course) -> Row:
    """Time and memory at the beginning and at the end."""
    tenth = max(1, len(course.contexts) // 10)
    first, last = course.contexts[:tenth], course.contexts[-tenth:]
    living = course.contexts[course.last_begins :]
    part = max(1, len(living) // 10)
    row: Row = {}
    for name in ("ms", "cpu"):
        for when, of in (("first", first), ("last", last)):
            row[f"{name} a context, {when} tenth"] = statistics.median(one[name] for one in of)
    row["ms, worst"] = max(one["ms"] for one in course.contexts)
    row["MB in memory, last process begins"] = statistics.median(o["rss"] for o in living[:part])
    row["MB in memory, it ends"] = statistics.median(one["rss"] for one in living[-part:])
    return row


# ---- all of it -----------------------------------------------------------------------------------


class _Telling:
    """How far it is: in one line on a terminal, else in a line a minute."""

    def __init__(self, console: Console, window: int) -> None:
        self._console = console
        self._window = window
        self._told = 0.0
        self.status = console.status("")

    def __call__(self, said: str) -> None:
        words = f"window of {self._window:,}: {said}"
        self.status.update(words)
        if not self._console.is_terminal and time.monotonic() - self._told > _MINUTE:
            self._told = time.monotonic()
            self._console.print(words)


def soaked(
    scripts: Sequence[Script],
    place: Path,
    *,
    tokens: int,
    window: int,
    every: int,
    kills: int,
    facts: int,
    progress: Progress = lambda _: None,
) -> tuple[Row, list[str]]:
    """One session through one window; its figures, and everything that was wrong."""
    with holdfast.open(place / "counting", project="soak", user="reader") as hf:
        told = story(scripts, tokens, window, facts, hf.counter().count)
    task = Task(
        window=window,
        budget=window // BUDGET,
        every=every,
        step=STEP_MS,
        replayed=_REPLAYED,
        looked=_LOOKED,
    )
    course = lived(place, told, task, kills, progress)
    progress("looking at everything")
    return figures(told, task, course, looked(place, course)), course.wrong


def by_figure(columns: dict[str, Row]) -> Iterator[Row]:
    """A row for each figure, a column for each window."""
    for name in dict.fromkeys(name for column in columns.values() for name in column):
        yield {"what": name, **{window: column.get(name, 0) for window, column in columns.items()}}


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--tokens", default="3000000", help="of each session, or one for each window"
    )
    parser.add_argument("--windows", default=",".join(map(str, WINDOWS)))
    parser.add_argument(
        "--every", default="1", help="steps for one context, or one for each window"
    )
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--facts", type=int, default=64)
    parser.add_argument("--place", type=Path, help="kept there, else in a folder that is removed")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not 2 <= given.facts <= MOST_FACTS:
        raise Invalid(f"facts is a number from 2 to {MOST_FACTS}")
    windows = [int(one) for one in given.windows.split(",")]
    tokens, every = (_each(said, len(windows)) for said in (given.tokens, given.every))
    scripts = [*alone(given.data, "swe-agent"), *alone(given.data, "tau-bench")]
    columns: dict[str, Row] = {}
    console = Console(stderr=True)
    for window, total, steps in zip(windows, tokens, every, strict=True):
        telling = _Telling(console, window)
        with tempfile.TemporaryDirectory(dir=given.place) as place, telling.status:
            column, wrong = soaked(
                scripts,
                Path(place),
                tokens=total,
                window=window,
                every=steps,
                kills=given.kills,
                facts=given.facts,
                progress=telling,
            )
        for one in wrong[:50]:
            console.print(f"window of {window:,}: {one}", markup=False)
        columns[f"{window:,}"] = column
    rows = list(by_figure(columns))
    show("one session, soaked", rows, as_json=given.json)


def _each(said: str, count: int) -> list[int]:
    found = [int(one) for one in said.split(",")]
    if len(found) not in (1, count):
        raise Invalid(f"{said!r}: one number, or one for each of {count} windows")
    return found * (count if len(found) == 1 else 1)


if __name__ == "__main__":
    main()
