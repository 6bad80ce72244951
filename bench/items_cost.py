"""What the verbs about items cost with 1,000 of them, beside a table of the same in plain SQLite.

Saving everything is measured in sessions that have filled a window so far that it happens by itself
(`flash_at`), beside writing as many bytes to a file and syncing it.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import holdfast
from bench.report import side_by_side
from holdfast.model.items import TYPES

MANY, ROUNDS = 1_000, 30
#: saves, and the window that is full when they are made
SAVES, WINDOW = 10, 16_000
_AGENT = "bench"


def cost() -> list[dict[str, Any]]:
    """Median milliseconds of each verb, beside the baseline that does the same to a bare table."""
    with (
        tempfile.TemporaryDirectory() as place,
        holdfast.open(f"{place}/home", project="bench", user="bench") as hf,
    ):
        return _timed(hf, _table(f"{place}/bare.db"))


def _timed(hf: holdfast.Holdfast, bare: sqlite3.Connection) -> list[dict[str, Any]]:
    items = hf.items
    for n in range(MANY):
        made = items.save(_text(n), TYPES[n % len(TYPES)], agent=_AGENT, importance=(n % 100) / 100)
        row = (made.id, made.text, made.sha256, made.tier, made.score)
        bare.execute("INSERT INTO items VALUES (?,?,?,?,?,0)", row)
    bare.commit()
    before = items.stats(agent=_AGENT).hashes
    one = next(iter(before))
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "get one": (lambda: items.get(one, agent=_AGENT), lambda: _get(bare, one)),
        **{
            f"list {tier}": (
                partial(items.list, tier=tier, agent=_AGENT),
                partial(_tier, bare, tier),
            )
            for tier in ("HOT", "WARM", "COLD")
        },
        "load HOT": (lambda: items.load(agent=_AGENT), lambda: _load(bare)),
        "update_tiers": (lambda: items.update_tiers(agent=_AGENT), lambda: _move(bare)),
        "diff": (lambda: items.diff(before, agent=_AGENT), lambda: _diff(bare, before)),
        "stats": (lambda: items.stats(agent=_AGENT), lambda: _stats(bare, hf.counter().count)),
        "save": (lambda: items.save("x = 1", agent="other"), lambda: _save(bare)),
    }
    rows = []
    for name, (ours, theirs) in pairs.items():
        mine, other = side_by_side(ours, theirs, ROUNDS)
        rows.append({"what": name, "holdfast": mine * 1e3, "bare table": other * 1e3})
    return rows


def saving() -> list[dict[str, Any]]:
    """Median milliseconds of saving a whole working context, and of going on with what is hot."""
    with (
        tempfile.TemporaryDirectory() as place,
        holdfast.open(f"{place}/home", project="bench", user="bench") as hf,
    ):
        for n in range(MANY):
            kind, worth = TYPES[n % len(TYPES)], (n % 100) / 100
            hf.items.save(_text(n), kind, agent=_AGENT, importance=worth)
        bare = Path(place, "bare")
        return [
            _saved(hf, "checkpoint", lambda s: s.checkpoint(), bare),
            _saved(hf, "flash save", lambda s: s.flash_save(window=WINDOW), bare),
        ]


def _saved(
    hf: holdfast.Holdfast, name: str, save: Callable[[holdfast.Session], object], bare: Path
) -> dict[str, Any]:
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(SAVES):
        s = hf.session(agent=_AGENT, session_id=f"{name[:5]}-{number}").start()
        tokens, before = _filled(s), _bytes(hf)
        ours = _seconds(lambda: save(s))  # noqa: B023  (called at once)
        data = os.urandom(_bytes(hf) - before)
        for kept, took in zip(times, (ours, _seconds(lambda: _synced(bare, data))), strict=True):  # noqa: B023
            kept.append(took)
    mine, other = (statistics.median(one) * 1e3 for one in times)
    return {
        "what": name,
        "tokens": tokens,
        "KiB": len(data) >> 10,
        "holdfast": mine,
        "synced file": other,
    }


def _filled(s: holdfast.Session) -> int:
    """Work of an agent until the window is so full that everything is saved."""
    full, n = int(WINDOW * s._hf.settings.compact.flash_at), 0
    while (tokens := s.pressure(window=WINDOW).tokens) < full:
        said = f"Which tests of module {n} fail since the change of its imports?"
        s.user(f"{said} " + "It worked on Monday. " * 10)
        call = f"{s.id}-{n}"
        s.tool_call("Bash", {"command": f"pytest tests/test_{n}.py -q"}, call_id=call)
        wrong = f"FAILED tests/test_{n}.py::test_a - KeyError: 'page_{n}'\n"
        s.tool_result("Bash", wrong + _text(n) * 2, call_id=call, is_error=True)
        s.assistant(f"src/module_{n}.py reads page_{n} before it is set. " + "I mend it. " * 20)
        n += 1
    return tokens


def _bytes(hf: holdfast.Holdfast) -> int:
    """What the log takes, bodies beside it included."""
    files = [*Path(hf.folder).glob("events*.ndjson"), *Path(hf.folder, "blobs").rglob("*")]
    return sum(path.stat().st_size for path in files if path.is_file())


def _synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _text(n: int) -> str:
    return f"def handler_{n}(request):\n" + f"    return store.load({n}, request.user)\n" * (n % 40)


def _table(path: str) -> sqlite3.Connection:
    bare = sqlite3.connect(path)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    bare.execute("CREATE TABLE items (id TEXT PRIMARY KEY, text, sha, tier, score, accesses)")
    return bare


def _get(bare: sqlite3.Connection, one: str) -> Any:
    return bare.execute("SELECT * FROM items WHERE id=?", (one,)).fetchone()


def _tier(bare: sqlite3.Connection, tier: str) -> Any:
    return bare.execute("SELECT * FROM items WHERE tier=? ORDER BY score DESC", (tier,)).fetchall()


def _load(bare: sqlite3.Connection) -> Any:
    found = _tier(bare, "HOT")
    bare.execute("UPDATE items SET accesses=accesses+1 WHERE tier='HOT'")
    bare.commit()
    return found


def _move(bare: sqlite3.Connection) -> Any:
    bare.execute("UPDATE items SET score=score WHERE accesses>=0")
    bare.commit()


def _diff(bare: sqlite3.Connection, before: dict[str, str]) -> Any:
    rows = bare.execute("SELECT id, text FROM items").fetchall()
    return [one for one, text in rows if sha256(text.encode()).hexdigest() != before.get(one)]


def _stats(bare: sqlite3.Connection, count: Callable[[str], int]) -> Any:
    return sum(count(text) for (text,) in bare.execute("SELECT text FROM items"))


def _save(bare: sqlite3.Connection) -> Any:
    bare.execute("INSERT OR REPLACE INTO items VALUES ('x','x = 1','','WARM',0.7,0)")
    bare.commit()
