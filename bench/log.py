"""The log's figures: append, record, redaction, open, verify, import. `python -m bench.log [--json]`

Every row stands beside the bare loop that does the least the operating system allows: one write and
one fdatasync of the same bytes. The two are run in turns.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import holdfast
from bench.report import show, side_by_side
from holdfast.capture import line
from holdfast.capture.redact import Redactor
from holdfast.capture.stamp import fresh_id, timestamp
from holdfast.capture.writer import Writer
from holdfast.engines.files import FileLog
from holdfast.model.settings import LogSettings

Row = dict[str, Any]
_WORDS = "the agent read the file and then decided to change the column before it ran the tests "
PROSE = (_WORDS * 20)[:1000]


def entry() -> tuple[bytes, bytes]:
    """Header fields and payload of an event of about 1 kB."""
    who = ("ses_1", "coder", "ana", "user_message@1")
    fields: tuple[object, ...] = (fresh_id("evt"), *who, timestamp(), "user", 3, ())
    return line.middle(fields), line.canonical({"text": PROSE})


class Bare:
    """One write and one fdatasync: what no log can beat."""

    def __init__(self, folder: str) -> None:
        self._fd = os.open(
            os.path.join(folder, "bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
        )
        self._line = line.close(b'%b,"payload":%b' % (line.head(1, entry()[0]), entry()[1]))

    def append(self, batch: int, times: int) -> None:
        data = self._line * batch
        for _ in range(times):
            os.write(self._fd, data)
            os.fdatasync(self._fd)


def append_rows(folder: str, rounds: int) -> list[Row]:
    """Encoded lines through the Writer."""
    writer, bare, rows = Writer(os.path.join(folder)), Bare(folder), []
    for batch, times in ((1, 300), (10, 200), (100, 50)):
        entries = [entry() for _ in range(batch)]

        def ours(entries: list[tuple[bytes, bytes]] = entries, times: int = times) -> None:
            for _ in range(times):
                with writer.hold():
                    writer.put(entries)

        def theirs(batch: int = batch, times: int = times) -> None:
            bare.append(batch, times)

        mine, its = side_by_side(ours, theirs, rounds)
        rows.append(row(f"append encoded lines, batch {batch}", batch * times, mine, its, "≥ 0.80"))
    return rows


def record_rows(folder: str, rounds: int) -> list[Row]:
    """record(): shape, redact, stamp, encode, append."""
    bare, rows = Bare(folder), []
    with holdfast.open(folder, project="bench", user="ana") as hf:
        for batch, times in ((1, 300), (10, 200), (100, 50)):
            drafts = [
                holdfast.Draft(
                    type="user_message",
                    payload={"text": PROSE},
                    origin="user",
                    session_id="ses_1",
                    agent="coder",
                )
            ] * batch

            def ours(drafts: list[holdfast.Draft] = drafts, times: int = times) -> None:
                for _ in range(times):
                    hf.record(drafts)

            def theirs(batch: int = batch, times: int = times) -> None:
                bare.append(batch, times)

            mine, its = side_by_side(ours, theirs, rounds)
            goal = {1: "≥ 0.50", 100: "≥ 20k/s"}.get(batch, "")
            rows.append(row(f"record() of 1 kB, batch {batch}", batch * times, mine, its, goal))
    return rows


def row(what: str, count: int, mine: float, its: float, goal: str) -> Row:
    """One line of the table."""
    return {
        "what": what,
        "ours": f"{count / mine:,.0f}/s",
        "baseline": f"{count / its:,.0f}/s",
        "ratio": round(its / mine, 2),
        "goal": goal,
    }


def redaction_rows(rounds: int) -> list[Row]:
    """Clean text in pieces of 1 kB, beside copying the same text."""
    redactor, texts = Redactor(b"k" * 32), [PROSE + str(n) for n in range(5000)]
    size = sum(map(len, texts))

    def ours() -> None:
        for text in texts:
            redactor.text(text)

    def copy() -> None:
        for text in texts:
            text.encode()

    mine, its = side_by_side(ours, copy, rounds)
    return [
        {
            "what": "redaction of clean text, 1 kB",
            "ours": f"{size / mine / 1e6:,.0f} MB/s",
            "baseline": f"{size / its / 1e6:,.0f} MB/s (copy)",
            "ratio": round(its / mine, 3),
            "goal": "≥ 100 MB/s",
        }
    ]


def open_rows(folder: str, events: int) -> list[Row]:
    """Open for append, first read and verify of a long log, beside reading its bytes."""
    place = os.path.join(folder, "long")
    os.makedirs(place)
    log = FileLog(place, LogSettings())
    with log.writer().hold() as writer:
        for _ in range(events // 1000):
            writer.put([entry() for _ in range(1000)], durable=False)
        writer.sync()
    log.close()
    size = sum(p.stat().st_size for p in Path(place).glob("events*.ndjson"))

    def read_all() -> None:
        for path in sorted(Path(place).glob("events*.ndjson")):
            with path.open("rb") as file:
                while file.read(1 << 20):
                    pass

    def timed(run: Any) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def append_one() -> None:
        with Writer(place).hold() as writer:
            writer.put([entry()])

    plain = timed(read_all)
    rows = []
    for what, run, goal in (
        ("open for append and append one", append_one, "≤ 1 s"),
        ("read the last 100 events", lambda: list(FileLog(place).read(events - 100)), ""),
        ("verify every byte", FileLog(place).verify, "≤ 10 s for 10⁶, ≤ 30 s for 1 GB"),
    ):
        took = timed(run)
        rows.append(
            {
                "what": f"{what} ({events:,} events, {size / 1e9:.2f} GB)",
                "ours": f"{took:,.3f} s",
                "baseline": f"{plain:,.3f} s (read the bytes)",
                "ratio": round(plain / took, 2),
                "goal": goal,
            }
        )
    return rows


def import_rows(folder: str, rounds: int) -> list[Row]:
    """Whole processes: importing capture, and a hook's work from start to exit."""
    source = str(Path(holdfast.__file__).parent.parent)
    place = os.path.join(folder, "hook")
    os.makedirs(place)
    imports = f"import sys; sys.path.insert(0, {source!r}); import holdfast.capture.catch"
    hook = os.path.join(folder, "hook.py")
    Path(hook).write_text(
        f"{imports}\n"
        f"catcher = holdfast.capture.catch.Catcher({place!r}, b'k' * 32)\n"
        "who = ('ses_1', 'coder', 'ana')\n"
        "catcher.catch('user_message', {'text': 'hello'}, who=who, origin='user')\n"
    )

    def run(*words: str) -> Any:
        return lambda: subprocess.run([sys.executable, "-I", "-S", *words], check=True)

    rows = []
    for what, mine, base, goal in (
        ("import capture, whole process", run("-c", imports), "pass", ""),
        ("import capture, whole process", run("-c", imports), "import json", ""),
        ("capture one event, whole process", run(hook), "import json", "≤ 2.5 ×"),
    ):
        took, bare = side_by_side(mine, run("-c", base), rounds)
        rows.append(
            {
                "what": what,
                "ours": f"{took * 1e3:.1f} ms",
                "baseline": f"{bare * 1e3:.1f} ms ({base})",
                "ratio": round(took / bare, 2),
                "goal": goal,
            }
        )
    return rows


def main() -> None:
    """Run every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--events", type=int, default=1_000_000, help="length of the long log")
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="holdfast-bench-", dir=".")
    os.environ["XDG_CONFIG_HOME"] = os.path.join(folder, "config")
    try:
        rows = [
            *append_rows(folder, given.rounds),
            *record_rows(folder, given.rounds),
            *redaction_rows(given.rounds),
            *import_rows(folder, given.rounds),
            *open_rows(folder, given.events),
        ]
    finally:
        shutil.rmtree(folder)
    title = f"The log, beside the bare loop of the same run (median of {given.rounds} rounds)"
    show(title, rows, as_json=given.json)


if __name__ == "__main__":
    main()
