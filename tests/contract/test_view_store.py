"""What ports/views.py promises, on every engine: rows, ids and snapshots."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from holdfast.capture.disk import Disk
from holdfast.capture.layout import ACTIVE, INDEX, SNAPSHOT, SNAPSHOT_BEFORE
from holdfast.engines.files import FileLog, FileSnapshots
from holdfast.engines.files import ids as seen_ids
from holdfast.engines.reference.views import MemorySnapshots, MemoryViews
from holdfast.engines.sqlite import Index, SqliteIds, SqliteViews
from holdfast.errors import Conflict, Damaged, HoldfastError, Unavailable
from holdfast.model.events import Position
from holdfast.ports.views import Snapshots, ViewStore
from tests.contract.entries import entry, erasure, file_log, folder_for, plain
from tests.property.effort import examples

ROOT = str(Path(__file__).parents[2])
INDEX_FILES = (INDEX, f"{INDEX}-wal", f"{INDEX}-shm")


def at(seq: int, generation: int = 1, crc: str | None = None) -> Position:
    return Position(generation=generation, event_seq=seq, crc=crc or f"{seq:08x}")


def views_in(folder: Path | str, *, shape: str = "s", project: str = "p") -> SqliteViews:
    return SqliteViews(Index(str(folder), project_id=project), shape=shape)


class Engine:
    """Opens stores on the same rows; several of them when the engine can."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._folder = folder
        self._memory = MemoryViews()
        self._shared = Index(str(folder), project_id="p")
        self._made: list[ViewStore] = []

    def open(self) -> ViewStore:
        made: ViewStore = self._memory
        if self.kind == "sqlite":
            made = views_in(self._folder)
        elif self.kind == "sqlite-shared":  # two stores over one Index, as threads of a process
            made = SqliteViews(self._shared, shape="s")
        self._made.append(made)
        return made

    def close(self) -> None:
        for store in self._made:
            store.close()


@pytest.fixture(params=["reference", "sqlite", "sqlite-shared"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(engine: Engine) -> ViewStore:
    return engine.open()


def everything(store: ViewStore) -> list[tuple[str, str, bytes]]:
    """Every row of the views these tests make."""
    return store.rows_of(
        ["v", "w", "é", "a", "v w", "sessions", "decisions", "other", "scratchpad"]
    )


def content(store: ViewStore) -> tuple[Position | None, list[tuple[str, str, bytes]]]:
    return store.position(), everything(store)


def child(script: str, *given: object) -> subprocess.Popen[str]:
    """Another process that runs a script with the tests at hand."""
    start = f"import sys; sys.path.insert(0, {ROOT!r})\n"
    command = [sys.executable, "-c", start + script, *map(str, given)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said_by(process: subprocess.Popen[str]) -> list[str]:
    said, trouble = process.communicate(timeout=120)
    assert process.returncode == 0, trouble
    return said.split()


# ---- rows and position --------------------------------------------------------------------------


def test_an_empty_store_holds_nothing(store: ViewStore) -> None:
    assert content(store) == (None, [])
    assert store.row("v", "k") is None
    assert store.rows("v") == []
    assert store.note("exported") == ""


def test_rows_and_position_come_together(store: ViewStore) -> None:
    assert store.commit(None, [("v", "k", b"1"), ("w", "k", b"2")], at(3))
    assert store.position() == at(3)
    assert store.row("v", "k") == b"1"
    assert store.row("w", "k") == b"2"
    assert store.row("v", "other") is None
    assert store.row("other", "k") is None
    assert store.rows("v") == [("k", b"1")]


def test_a_further_store_sees_what_was_committed(engine: Engine, store: ViewStore) -> None:
    store.commit(None, [("v", "k", b"1")], at(3), notes={"exported": "3 100"})
    further = engine.open()
    assert content(further) == (at(3), [("v", "k", b"1")])
    assert further.note("exported") == "3 100"
    assert further.commit(at(3), [("v", "k", b"2")], at(4))
    assert content(store) == (at(4), [("v", "k", b"2")])


def test_a_commit_replaces_adds_and_removes(store: ViewStore) -> None:
    store.commit(None, [("v", "a", b"1"), ("v", "b", b"1"), ("w", "a", b"1")], at(1))
    assert store.commit(
        at(1),
        [("v", "a", b"2"), ("v", "b", None), ("v", "c", b""), ("v", "not there", None)],
        at(2),
    )
    assert content(store) == (at(2), [("v", "a", b"2"), ("v", "c", b""), ("w", "a", b"1")])


def test_a_row_is_any_bytes_and_a_key_any_text(store: ViewStore) -> None:
    keys = ["", "\0", "a\0b", "%", "_", "'\"\\", "ü", "\u2028", "\ud7ff", "\U0010ffff", "k" * 5_000]
    rows = [("v", key, bytes(range(256)) * n) for n, key in enumerate(keys)]
    store.commit(None, rows, at(1))
    assert sorted(everything(store)) == sorted(rows)
    for view, key, row in rows:
        assert store.row(view, key) == row


NAMES = [
    "",
    "a",
    "a,",
    "aa",
    "b",
    "z",
    "\x7f",
    "é",
    "ÿ",
    "中",
    "\ud7ff",
    "\uffff",
    "😀",
    "\U0010ffff",
]


def test_rows_come_by_the_bytes_of_their_keys(store: ViewStore) -> None:
    dice = random.Random(1)
    mixed = dice.sample(NAMES, len(NAMES))
    store.commit(None, [("v", name, name.encode()) for name in mixed], at(1))
    expected = sorted(NAMES, key=str.encode)
    assert [key for key, _ in store.rows("v")] == expected
    assert [key for key, _ in store.rows("v", "")] == expected
    assert [key for _, key, _ in everything(store)] == expected


def test_everything_comes_by_view_and_key(store: ViewStore) -> None:
    rows = [(view, key, b"x") for view in ("é", "a", "w", "v w") for key in ("ü", "z", "a")]
    store.commit(None, rows, at(1))
    found = [(view, key) for view, key, _ in everything(store)]
    assert found == sorted((view, key) for view, key, _ in rows)


@pytest.mark.parametrize("prefix", [*NAMES[1:], '["ana",', "%", "_", "*", "[", "\0"], ids=repr)
def test_a_prefix_gives_exactly_the_keys_that_begin_with_it(store: ViewStore, prefix: str) -> None:
    near = ["", prefix[:-1], prefix, prefix + "\0", prefix + "x", prefix + "\U0010ffff", *NAMES]
    keys = {*near, "x" + prefix, prefix * 2, prefix.upper() + "!", prefix[:-1] + "~"}
    store.commit(None, [(v, key, v.encode()) for v in ("v", "w") for key in keys], at(1))
    expected = sorted((key for key in keys if key.startswith(prefix)), key=str.encode)
    assert store.rows("v", prefix) == [(key, b"v") for key in expected]


# ---- the base of a commit -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [None, at(2), at(4), at(3, generation=2), at(3, crc="ffffffff")],
    ids=["none", "before", "behind", "generation", "checksum"],
)
@pytest.mark.parametrize("anew", [False, True])
def test_a_commit_for_another_position_changes_nothing(
    store: ViewStore, base: Position | None, anew: bool
) -> None:
    store.commit(None, [("v", "k", b"1")], at(3), notes={"n": "1"})
    changes = [("v", "k", None), ("v", "new", b"2")]
    assert not store.commit(base, changes, at(9), anew=anew, notes={"n": "2", "m": "2"})
    assert content(store) == (at(3), [("v", "k", b"1")])
    assert (store.note("n"), store.note("m")) == ("1", "")


def test_a_commit_for_a_position_that_an_empty_store_never_had_changes_nothing(
    store: ViewStore,
) -> None:
    assert not store.commit(at(3), [("v", "k", b"1")], at(4))
    assert content(store) == (None, [])


def test_a_commit_that_fails_half_way_changes_nothing(store: ViewStore) -> None:
    def changes() -> Iterator[tuple[str, str, bytes | None]]:
        yield "v", "k", b"2"
        yield "v", "new", b"2"
        raise RuntimeError("out of breath")

    store.commit(None, [("v", "k", b"1")], at(3), notes={"n": "1"})
    for anew in (False, True):
        with pytest.raises(RuntimeError):
            store.commit(at(3), changes(), at(4), anew=anew, notes={"n": "2"})
        assert content(store) == (at(3), [("v", "k", b"1")])
        assert store.note("n") == "1"
    assert store.commit(at(3), [("v", "k", b"3")], at(4))


def test_anew_lets_go_of_every_row_that_is_not_among_the_changes(store: ViewStore) -> None:
    store.commit(None, [("v", "a", b"1"), ("v", "b", b"1"), ("w", "c", b"1")], at(5))
    assert store.commit(at(5), [("v", "b", b"2"), ("v", "d", None)], at(2, 2), anew=True)
    assert content(store) == (at(2, 2), [("v", "b", b"2")])


def test_a_log_that_became_empty_leaves_an_empty_store(store: ViewStore) -> None:
    store.commit(None, [("v", "a", b"1")], at(5))
    assert store.commit(at(5), (), None, anew=True)
    assert content(store) == (None, [])
    assert store.commit(None, [("v", "b", b"2")], at(1))
    assert content(store) == (at(1), [("v", "b", b"2")])


def test_notes_stay_until_they_are_named_again_or_everything_begins_anew(store: ViewStore) -> None:
    store.commit(None, (), at(1), notes={"left_out": 'a\n["ü","\\"",null]', "exported": "1 10"})
    store.commit(at(1), [("v", "k", b"1")], at(2))
    assert store.note("left_out") == 'a\n["ü","\\"",null]'
    store.commit(at(2), (), at(2), notes={"left_out": ""})
    assert (store.note("left_out"), store.note("exported")) == ("", "1 10")
    assert content(store) == (at(2), [("v", "k", b"1")])
    store.commit(at(2), (), at(3), anew=True, notes={"left_out": "b"})
    assert (store.note("left_out"), store.note("exported")) == ("b", "")


def test_discard_throws_everything_away_for_everybody(engine: Engine, store: ViewStore) -> None:
    further = engine.open()
    store.commit(None, [("v", "k", b"1")], at(3), notes={"n": "1"})
    assert further.position() == at(3)
    store.discard()
    for each in (store, further, engine.open()):
        assert content(each) == (None, [])
        assert each.note("n") == ""
    assert not further.commit(at(3), (), at(4))
    assert further.commit(None, [("v", "k", b"2")], at(1))
    assert content(store) == (at(1), [("v", "k", b"2")])
    store.discard()
    store.discard()
    assert content(further) == (None, [])


# ---- several at once ----------------------------------------------------------------------------


def test_what_is_read_inside_one_block_belongs_to_one_position(
    engine: Engine, store: ViewStore
) -> None:
    rows: list[tuple[str, str, bytes | None]] = [("v", str(n), b"1") for n in range(10)]
    store.commit(None, rows, at(1))
    other = engine.open()
    moved = threading.Thread(
        target=lambda: other.commit(at(1), [(v, k, b"2") for v, k, _ in rows], at(2))
    )
    with store.reading():
        before = store.row("v", "0")
        moved.start()
        moved.join(0.2)  # where a reader keeps writers out, the writer waits for it
        assert before == b"1"
        assert store.position() == at(1)
        assert {row for _, row in store.rows("v")} == {b"1"}
        assert {row for _, _, row in everything(store)} == {b"1"}
    moved.join()
    with store.reading():
        assert store.position() == at(2)
        assert {row for _, row in store.rows("v")} == {b"2"}


_COMMIT = """
from tests.contract.test_view_store import at, views_in
folder, base, to, row = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()
store = views_in(folder)
print(store.commit(at(base) if base else None, [("v", str(n), row) for n in range(10)], at(to)))
store.close()
"""


def test_another_process_may_commit_while_a_block_is_read(tmp_path: Path) -> None:
    assert said_by(child(_COMMIT, tmp_path, 0, 1, "1")) == ["True"]
    store = views_in(tmp_path)
    with store.reading():
        assert store.position() == at(1)
        assert said_by(child(_COMMIT, tmp_path, 1, 2, "2")) == ["True"]
        assert store.position() == at(1)
        assert {row for _, row in store.rows("v")} == {b"1"}
        assert {row for _, _, row in everything(store)} == {b"1"}
    assert store.position() == at(2)
    assert {row for _, row in store.rows("v")} == {b"2"}
    assert not store.commit(at(1), (), at(3))
    store.close()


def advance(store: ViewStore, name: str, goal: int) -> list[int]:
    """Take every step nobody else took yet, up to a goal; the steps that were ours."""
    mine: list[int] = []
    while True:
        base = store.position()
        step = (base.event_seq if base else 0) + 1
        if step > goal:
            return mine
        if store.commit(base, [("steps", f"{step:06d}", name.encode())], at(step)):
            mine.append(step)


def check_steps(store: ViewStore, taken: dict[str, list[int]], goal: int) -> None:
    """Each step happened once, and was whose the rows say."""
    assert sorted(step for mine in taken.values() for step in mine) == list(range(1, goal + 1))
    rows = {int(key): row.decode() for key, row in store.rows("steps")}
    assert rows == {step: name for name, mine in taken.items() for step in mine}
    assert store.position() == at(goal)


def test_of_threads_that_race_each_advance_happens_once(engine: Engine) -> None:
    taken: dict[str, list[int]] = {}
    stores = {name: engine.open() for name in "abcd"}

    def work(name: str) -> None:
        taken[name] = advance(stores[name], name, 80)

    threads = [threading.Thread(target=work, args=(name,)) for name in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_steps(engine.open(), taken, 80)


_ADVANCE = """
from tests.contract.test_view_store import advance, views_in
store = views_in(sys.argv[1])
print(*advance(store, sys.argv[2], int(sys.argv[3])))
store.close()
"""


def test_of_processes_that_race_each_advance_happens_once(tmp_path: Path) -> None:
    running = {name: child(_ADVANCE, tmp_path, name, 120) for name in "abc"}
    taken = {name: [int(word) for word in said_by(running[name])] for name in running}
    store = views_in(tmp_path)
    check_steps(store, taken, 120)
    store.close()


def test_two_stores_of_one_process_and_one_of_another_take_turns(tmp_path: Path) -> None:
    """Opening a second Index must not cost the first one its hold on the file."""
    first, second = views_in(tmp_path), views_in(tmp_path)
    assert first.commit(None, [("v", "1", b"1")], at(1))
    assert second.position() == at(1)
    assert said_by(child(_COMMIT, tmp_path, 1, 2, "2")) == ["True"]
    assert first.commit(at(2), [("v", "first", b"3")], at(3))
    assert said_by(child(_COMMIT, tmp_path, 3, 4, "4")) == ["True"]
    assert first.position() == second.position() == at(4)
    first.close()
    second.close()
    last = views_in(tmp_path)
    assert last.position() == at(4)
    assert (last.row("v", "0"), last.row("v", "first")) == (b"4", b"3")
    last.close()


_ADVANCE_WITH_TWO = """
from tests.contract.test_view_store import advance, views_in
folder, name, goal = sys.argv[1], sys.argv[2], int(sys.argv[3])
mine, step = [], 10
stores = [views_in(folder), views_in(folder)]
while step <= goal:
    mine += advance(stores[step % 2], name, step)
    if step % 30 == 0:
        stores[0].close()
    step += 10
print(*mine)
for store in stores:
    store.close()
"""


def test_of_processes_with_two_stores_each_every_advance_happens_once(tmp_path: Path) -> None:
    running = {name: child(_ADVANCE_WITH_TWO, tmp_path, name, 120) for name in "abc"}
    taken = {name: [int(word) for word in said_by(running[name])] for name in running}
    store = views_in(tmp_path)
    check_steps(store, taken, 120)
    store.close()


# ---- SQLite: whose file it is -------------------------------------------------------------------


def raw(folder: Path, statement: str, *given: Any) -> list[Any]:
    """Ask the file behind everybody's back."""
    with closing(sqlite3.connect(folder / INDEX)) as db:
        found = db.execute(statement, given).fetchall()
        db.commit()
        return found


def rest(folder: Path) -> None:
    """Put everything into the one file and close it."""
    with closing(sqlite3.connect(folder / INDEX)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_nobody_else_may_read_the_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = views_in(tmp_path)
        store.commit(None, [("v", "k", b"1")], at(1))
        modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
        assert set(INDEX_FILES) <= set(modes)
        assert set(modes.values()) == {0o600}
        store.close()
    finally:
        os.umask(before)


def test_rows_of_another_shape_are_not_read_and_go_with_the_next_commit(tmp_path: Path) -> None:
    old, new = views_in(tmp_path, shape="old"), views_in(tmp_path, shape="new")
    old.commit(None, [("v", "a", b"1"), ("v", "b", b"1")], at(5), notes={"left_out": "x"})
    assert new.position() is None
    assert not new.commit(at(5), [("v", "a", b"2")], at(6))
    assert old.position() == at(5)
    assert new.commit(None, [("v", "a", b"2")], at(3))
    assert content(new) == (at(3), [("v", "a", b"2")])
    assert new.note("left_out") == ""
    assert old.position() is None
    old.close()
    new.close()


def begun_anew(store: ViewStore) -> ViewStore:
    """What is not an index of ours is said to be damaged, and goes."""
    with pytest.raises(Damaged):
        store.position()
    store.discard()
    assert content(store) == (None, [])
    return store


def test_the_index_of_another_project_is_not_read(tmp_path: Path) -> None:
    other = views_in(tmp_path, project="other")
    other.commit(None, [("v", "a", b"secret of the other")], at(5), notes={"n": "1"})
    SqliteIds(Index(str(tmp_path), project_id="other")).add(None, [("own-1", 1)], at(5))
    other.close()
    mine = begun_anew(views_in(tmp_path))
    assert mine.note("n") == ""
    assert SqliteIds(Index(str(tmp_path), project_id="p")).seq("own-1") is None
    mine.close()
    assert b"secret of the other" not in (tmp_path / INDEX).read_bytes()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_the_index_of_a_newer_holdfast_is_left_as_it_is(tmp_path: Path, journal: str) -> None:
    older = views_in(tmp_path)
    older.commit(None, [("v", "a", b"1")], at(5))
    older.close()
    raw(tmp_path, "CREATE TABLE more (thing TEXT)")
    raw(tmp_path, "PRAGMA user_version=99")
    raw(tmp_path, f"PRAGMA journal_mode={journal}")
    rest(tmp_path)
    before = sha256((tmp_path / INDEX).read_bytes()).hexdigest()
    store = views_in(tmp_path)
    asked: list[Callable[[], object]] = [
        store.position,
        lambda: store.row("v", "a"),
        lambda: store.rows("v"),
        lambda: everything(store),
        lambda: store.note("n"),
        lambda: store.commit(None, [("v", "a", b"2")], at(6)),
        SqliteIds(Index(str(tmp_path), project_id="p")).position,
    ]
    for ask in asked:
        with pytest.raises(Unavailable):
            ask()
    store.close()
    assert sha256((tmp_path / INDEX).read_bytes()).hexdigest() == before


@pytest.mark.parametrize(
    "found",
    [b"\0" * 4096, b"not a database " * 1000, b"SQLite format 3\0"],
    ids=["0", "text", "cut"],
)
def test_a_file_that_is_no_index_is_replaced(tmp_path: Path, found: bytes) -> None:
    (tmp_path / INDEX).write_bytes(found)
    store = begun_anew(views_in(tmp_path))
    assert store.commit(None, [("v", "a", b"1")], at(1))
    assert content(store) == (at(1), [("v", "a", b"1")])
    store.close()


def test_an_empty_file_is_an_empty_index(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_bytes(b"")
    store = views_in(tmp_path)
    assert content(store) == (None, [])
    assert store.commit(None, [("v", "a", b"1")], at(1))
    store.close()


def test_files_that_are_removed_or_replaced_while_open_are_noticed(tmp_path: Path) -> None:
    store, further = views_in(tmp_path), views_in(tmp_path)
    for seq in range(1, 5):
        assert store.commit(None, [("v", "a", b"%d" % seq)], at(seq))
        assert content(further) == (at(seq), [("v", "a", b"%d" % seq)])
        for name in INDEX_FILES[: 3 if seq % 2 else 1]:
            (tmp_path / name).unlink()
        assert content(further) == (None, [])
    store.close()
    further.close()


# ---- SQLite: damage -----------------------------------------------------------------------------

ROWS = [
    ("sessions", '["ana","coder","ses_1"]', b'{"events":3}' * 10),
    ("sessions", '["ana","coder","ses_2"]', b'{"events":4}' * 10),
    ("scratchpad", '["ana","coder","ses_1"]', b'{"content":{"a":1}}'),
    ("decisions", '["ana","coder","ses_1","000000000007"]', b'{"text":"integers"}'),
    ("decisions", '["bo","coder","ses_3","000000000009"]', b'{"text":"cents"}' * 400),
]


def answers(store: ViewStore) -> list[Callable[[], object]]:
    """Everything the rows can be asked."""
    asked: list[Callable[[], object]] = [
        lambda view=view, key=key: store.row(view, key)  # type: ignore[misc]
        for view, key, _ in ROWS
    ]
    asked += [lambda: store.row("sessions", "not there"), lambda: everything(store)]
    for view in ("sessions", "scratchpad", "decisions", "none"):
        asked.append(lambda view=view: store.rows(view))  # type: ignore[misc]
        asked.append(lambda view=view: store.rows(view, '["ana",'))  # type: ignore[misc]
    return asked


@pytest.mark.parametrize(
    "change",
    [
        "row = cast('{' || substr(cast(row as text), 2) || ' ' as blob)",
        "row = cast(row as text)",
        "row = x''",
        "row = 7",
        "sum = sum + 1",
        "sum = 'x'",
        "key = replace(key, 'ses_1', 'ses_9')",
        "view = 'sessionz'",
    ],
)
def test_a_row_that_was_changed_is_damaged_and_never_an_answer(tmp_path: Path, change: str) -> None:
    first = views_in(tmp_path)
    first.commit(None, ROWS, at(9))
    first.close()
    view, key, _ = ROWS[0]
    raw(tmp_path, f"UPDATE rows SET {change} WHERE view=? AND key=?", view, key)
    for n in range(4):
        with pytest.raises(Damaged):
            asked_afresh(tmp_path, n)


def asked_afresh(folder: Path, question: int) -> object:
    """What somebody finds who opens the index for it."""
    view, key, _ = ROWS[0]
    store = views_in(folder)
    ask: list[Callable[[], object]] = [
        lambda: store.row(view, key),
        lambda: store.rows(view),
        lambda: store.rows(view, '["ana","coder",'),
        lambda: everything(store),
    ]
    try:
        store.position()
        return ask[question]()
    finally:
        store.close()


def test_a_row_that_is_gone_is_noticed_when_the_file_is_opened(tmp_path: Path) -> None:
    first = views_in(tmp_path)
    first.commit(None, ROWS, at(9))
    first.commit(at(9), [("sessions", "more", b"1"), (*ROWS[1][:2], None)], at(10))
    first.close()
    assert views_in(tmp_path).position() == at(10)
    raw(tmp_path, "DELETE FROM rows WHERE key='more'")
    with pytest.raises(Damaged):
        views_in(tmp_path).position()


def filled(folder: Path) -> bytes:
    """The bytes of an index with ROWS in it."""
    folder.mkdir()
    store = views_in(folder)
    store.commit(None, ROWS, at(9), notes={"exported": "9 100"})
    SqliteIds(Index(str(folder), project_id="p")).add(
        None, [(f"own-{n}", n) for n in range(9)], at(9)
    )
    store.close()
    rest(folder)
    return (folder / INDEX).read_bytes()


def test_a_flipped_bit_anywhere_in_the_file_gives_no_other_answer(tmp_path: Path) -> None:
    """Right, or Damaged; or the file is not believed as a whole and everything is folded anew."""
    whole = filled(tmp_path / "whole")
    first = views_in(tmp_path / "whole")
    expected = [ask() for ask in answers(first)]
    first.close()
    used = [n for n, byte in enumerate(whole) if byte]  # a page's unused bytes mean nothing
    dice = random.Random(7)
    wrong = []
    for _ in range(examples(400)):
        offset, bit = dice.choice(used), dice.randrange(8)
        broken = bytearray(whole)
        broken[offset] ^= 1 << bit
        place = Path(tempfile.mkdtemp(dir=tmp_path))
        (place / INDEX).write_bytes(broken)
        wrong += [(offset, bit, what) for what in sorted(set(other_answers(place, expected)))]
        shutil.rmtree(place)
    assert wrong == []


def other_answers(place: Path, expected: list[object]) -> Iterator[str]:
    """Which questions a damaged index answers wrongly, or with an error that is not ours."""
    store = views_in(place)
    for n, ask in enumerate(answers(store)):
        try:
            if store.position() == at(9) and ask() != expected[n]:
                yield f"another answer to question {n}"
        except HoldfastError:
            pass
        except Exception as exc:  # noqa: BLE001  (whatever it is, it is not ours)
            yield repr(exc)
    store.close()


def test_a_damaged_file_can_be_discarded_and_used_again(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole")
    for length in (10, 100, 4_096, 5_000, len(whole) - 1):
        place = tmp_path / str(length)
        place.mkdir()
        (place / INDEX).write_bytes(whole[:length])
        store = views_in(place)
        store.discard()
        assert content(store) == (None, [])
        assert store.commit(None, ROWS, at(9))
        assert sorted(everything(store)) == sorted(ROWS)
        store.close()


def test_a_file_cut_short_is_damaged_or_begun_anew(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole")
    for length in range(0, len(whole), 1_111):
        place = tmp_path / str(length)
        place.mkdir()
        (place / INDEX).write_bytes(whole[:length])
        store = views_in(place)
        try:
            assert content(store) in ((None, []), (at(9), sorted(ROWS)))
        except Damaged:
            store.discard()
            assert content(store) == (None, [])
        store.close()


# ---- ids ----------------------------------------------------------------------------------------


def ids_in(folder: Path | str) -> SqliteIds:
    return SqliteIds(Index(str(folder), project_id="p"))


def test_an_id_store_says_where_an_id_is(tmp_path: Path) -> None:
    ids = ids_in(tmp_path)
    assert ids.position() is None
    assert ids.seq("own-1") is None
    assert ids.add(None, [("own-1", 1), ("ü\0'", 2)], at(2))
    assert (ids.position(), ids.seq("own-1"), ids.seq("ü\0'")) == (at(2), 1, 2)
    assert ids.seq("own-") is None
    assert ids.add(at(2), iter([("own-3", 3)]), at(3))
    assert [ids_in(tmp_path).seq(name) for name in ("own-1", "own-3")] == [1, 3]


def test_of_an_id_that_is_there_the_first_place_counts(tmp_path: Path) -> None:
    ids = ids_in(tmp_path)
    ids.add(None, [("own-1", 1), ("own-1", 2)], at(2))
    ids.add(at(2), [("own-1", 3)], at(3))
    assert ids.seq("own-1") == 1


@pytest.mark.parametrize("base", [None, at(1), at(3), at(2, 2), at(2, 1, "ffffffff")])
def test_ids_for_another_position_change_nothing(tmp_path: Path, base: Position | None) -> None:
    ids = ids_in(tmp_path)
    ids.add(None, [("own-1", 1)], at(2))
    assert not ids.add(base, [("own-9", 9)], at(9))
    assert (ids.position(), ids.seq("own-9")) == (at(2), None)


def test_ids_that_are_cleared_are_gone_and_the_rows_are_not(tmp_path: Path) -> None:
    ids, store = ids_in(tmp_path), views_in(tmp_path)
    ids.add(None, [("own-1", 1)], at(2))
    store.commit(None, ROWS, at(9))
    ids.clear()
    assert (ids.position(), ids.seq("own-1")) == (None, None)
    assert content(store) == (at(9), sorted(ROWS))
    ids.add(None, [("own-2", 2)], at(2))
    store.commit(at(9), (), at(1, 2), anew=True)
    assert (ids.position(), ids.seq("own-2")) == (at(2), 2)
    store.close()


@pytest.mark.parametrize("change", ["seq = 'x'", "seq = x'ff'"])
def test_an_id_that_was_changed_is_damaged_and_never_an_answer(tmp_path: Path, change: str) -> None:
    ids = ids_in(tmp_path)
    ids.add(None, [("own-1", 1), ("own-2", 2)], at(2))
    raw(tmp_path, f"UPDATE ids SET {change}")
    with pytest.raises(Damaged):
        ids.seq("own-1")


@pytest.mark.parametrize("value", [7, 7.5, b"\xff", "{}", "[]", "x", '{"generation":"1"}'])
@pytest.mark.parametrize("name", ["ids", "views"])
def test_a_position_that_is_none_is_damaged(tmp_path: Path, name: str, value: Any) -> None:
    ids, store = ids_in(tmp_path), views_in(tmp_path)
    ids.add(None, [("own-1", 1)], at(2))
    store.commit(None, ROWS, at(2))
    raw(tmp_path, "UPDATE facts SET value=? WHERE name=?", value, name)
    with pytest.raises(Damaged):
        ids.position() if name == "ids" else store.position()
    store.close()


# ---- ids of a log: the store only saves time ----------------------------------------------------


def log_with_ids(folder: Path, index: Index | None = None) -> FileLog:
    made = file_log(folder)
    return FileLog(
        made.folder, made.settings, ids=SqliteIds(index or Index(made.folder, project_id="p"))
    )


def own(n: int, text: str | None = None) -> Any:
    return entry(text or f"text {n}", f"own-{n}")


def told(log: FileLog, count: int) -> list[object]:
    """All a log says about ids."""
    names = [f"own-{n}" for n in range(count + 3)]
    there = sorted(log.present(names))
    return [there, [event and plain(event) for event in map(log.find, names)]]


def check_ids(folder: Path, log: FileLog, count: int = 12) -> None:
    """It says what a log without a store says."""
    truth = file_log(folder)
    assert told(log, count) == told(truth, count)
    truth.close()


def fill(log: FileLog, *numbers: int) -> None:
    for n in numbers:
        log.append([own(n)])


_APPEND = """
from pathlib import Path
from tests.contract.test_view_store import log_with_ids, own
log = log_with_ids(Path(sys.argv[1]))
print(*[log.append([own(int(n))])[0].event_seq for n in sys.argv[2:]])
log.close()
"""


def test_ids_brought_by_several_processes_are_there_once(tmp_path: Path) -> None:
    place = tmp_path / "log"
    folder_for(place)
    assert said_by(child(_APPEND, place, 1, 2, 3)) == ["1", "2", "3"]
    log = log_with_ids(place)
    assert log.append([own(2)])[0].event_seq == 2
    fill(log, 4)
    assert said_by(child(_APPEND, place, 4, 1, 5)) == ["4", "1", "5"]
    assert log.append([own(5)])[0].event_seq == 5
    with pytest.raises(Conflict):
        log.append([own(3, "something else")])
    check_ids(place, log)
    log.close()
    check_ids(place, log_with_ids(place))


def test_processes_that_bring_the_same_ids_at_once_record_each_once(tmp_path: Path) -> None:
    place = tmp_path / "log"
    folder_for(place)
    running = [child(_APPEND, place, *range(first, 30)) for first in (0, 5, 10)]
    said = [said_by(process) for process in running]
    assert said[0][5:] == said[1]
    assert said[1][5:] == said[2]
    check_ids(place, log_with_ids(place), 30)


def test_a_store_that_is_behind_is_read_on_from(tmp_path: Path) -> None:
    first = log_with_ids(tmp_path / "log")
    fill(first, 1, 2, 3)
    first.close()
    fill(file_log(tmp_path / "log"), 4, 5)  # a writer without a store
    check_ids(tmp_path / "log", log_with_ids(tmp_path / "log"))


def test_a_store_that_was_cleared_or_removed_is_filled_again(tmp_path: Path) -> None:
    place = tmp_path / "log"
    log = log_with_ids(place)
    fill(log, 1, 2, 3)
    log.close()
    other = log_with_ids(place)
    check_ids(place, other)
    ids_in(place).clear()
    check_ids(place, log)
    check_ids(place, other)
    for name in INDEX_FILES:
        (place / name).unlink(missing_ok=True)
    fill(other, 4)
    check_ids(place, log)
    check_ids(place, other)


def test_a_store_of_another_log_is_not_believed(tmp_path: Path) -> None:
    mine, other = log_with_ids(tmp_path / "mine"), log_with_ids(tmp_path / "other")
    fill(mine, 1, 2, 3, 4)
    fill(other, 4, 3, 2, 9)
    mine.close()
    other.close()
    for _ in range(2):
        rest(tmp_path / "other")
        shutil.copy(tmp_path / "other" / INDEX, tmp_path / "mine" / INDEX)
        check_ids(tmp_path / "mine", log_with_ids(tmp_path / "mine"))
        fill(log_with_ids(tmp_path / "mine"), 5, 6)


def restored(place: Path, data: bytes) -> None:
    """The log from a backup: the same file name, another file."""
    (place / "backup").write_bytes(data)
    os.replace(place / "backup", place / ACTIVE)


def test_a_store_that_is_ahead_of_a_log_from_a_backup_is_not_believed(tmp_path: Path) -> None:
    place = tmp_path / "log"
    log = log_with_ids(place)
    fill(log, 1, 2, 3)
    backup = (place / ACTIVE).read_bytes()
    fill(log, 4, 5, 6)
    log.close()
    restored(place, backup)
    check_ids(place, log_with_ids(place))
    fill(log_with_ids(place), 6, 7, 8, 9)
    check_ids(place, log_with_ids(place))


def test_a_log_that_stays_open_does_not_believe_ids_another_gave_and_a_backup_took(
    tmp_path: Path,
) -> None:
    place = tmp_path / "log"
    log = log_with_ids(place)
    fill(log, 1, 2, 3)
    backup = (place / ACTIVE).read_bytes()
    other = log_with_ids(place)
    fill(other, 4, 5, 6)
    other.close()
    restored(place, backup)
    check_ids(place, log)


def test_a_log_closed_twice_after_its_store_was_removed_leaves_no_store_with_holes(
    tmp_path: Path,
) -> None:
    place = tmp_path / "log"
    first = log_with_ids(place)
    fill(first, 1, 2, 3)
    first.close()
    log = log_with_ids(place)
    fill(log, 4, 5)
    for name in INDEX_FILES:
        (place / name).unlink(missing_ok=True)
    log.close()
    log.close()
    check_ids(place, log_with_ids(place))


def test_a_log_used_again_after_its_store_began_anew_leaves_no_store_with_holes(
    tmp_path: Path,
) -> None:
    place = tmp_path / "log"
    early = log_with_ids(place)
    fill(early, 1, 2)  # it knows these two and has handed nothing on yet
    log = log_with_ids(place)
    fill(log, 3, 4)
    log.close()
    fill(log, 5, 6)
    ids_in(place).clear()
    early.close()
    log.close()
    fill(log, 7)
    log.close()
    check_ids(place, log_with_ids(place))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ids SET seq = seq + 1",
        "UPDATE ids SET seq = 'x'",
        "UPDATE ids SET seq = 99",
        "UPDATE ids SET seq = -1",
        "UPDATE ids SET hash = hash + 1 WHERE hash = (SELECT max(hash) FROM ids)",
        "DELETE FROM ids WHERE seq = 2",
        "DROP TABLE ids",
        "UPDATE facts SET value = 'x' WHERE name = 'ids'",
        "UPDATE facts SET value = 7 WHERE name = 'ids'",
        "DELETE FROM facts",
    ],
)
def test_a_store_that_was_tampered_with_changes_no_answer(tmp_path: Path, change: str) -> None:
    place = tmp_path / "log"
    log = log_with_ids(place)
    fill(log, 1, 2, 3, 4)
    log.close()
    raw(place, change)
    check_ids(place, log_with_ids(place))
    again = log_with_ids(place)
    assert [again.append([own(n)])[0].event_seq for n in (3, 1, 2, 4)] == [3, 1, 2, 4]


def test_a_store_that_is_replaced_between_two_looks_records_nothing_twice(tmp_path: Path) -> None:
    place = tmp_path / "log"
    filled = log_with_ids(place)
    fill(filled, 1, 2, 3)
    filled.close()
    index = Index(str(place), project_id="p")

    class Replaced(SqliteIds):
        def seq(self, event_id: str) -> int | None:
            if not self.done:
                self.done = True
                Index(str(place), project_id="p").discard()
            return super().seq(event_id)

        done = False

    log = FileLog(str(place), ids=Replaced(index))
    assert log.append([own(2)])[0].event_seq == 2
    assert log.head().event_seq == 3
    log.close()


def test_a_store_that_is_garbage_changes_no_answer(tmp_path: Path) -> None:
    place = tmp_path / "log"
    log = log_with_ids(place)
    fill(log, 1, 2, 3, 4)
    log.close()
    (place / INDEX).write_bytes(b"garbage" * 5_000)
    check_ids(place, log)
    check_ids(place, log_with_ids(place))
    (place / INDEX).unlink()
    (place / INDEX).mkdir()
    check_ids(place, log_with_ids(place))
    fill(log_with_ids(place), 5)


STEPS = (
    "new new new batch retry other find reopen close close-twice erase clear remove seal garbage"
)
steps = st.lists(
    st.tuples(
        st.sampled_from(STEPS.split()),
        st.integers(0, 1),
        st.integers(0, 30),
    ),
    max_size=25,
)


@settings(max_examples=examples(40), phases=[Phase.explicit, Phase.generate])
@given(steps, st.booleans(), st.sampled_from([1, 2, 3, 10_000]))
def test_two_logs_with_stores_answer_as_one_without(
    monkeypatch: pytest.MonkeyPatch, plan: list[tuple[str, int, int]], shared: bool, held: int
) -> None:
    monkeypatch.setattr(seen_ids, "_HELD", held)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "log"
        index = Index(folder_for(place), project_id="p") if shared else None
        pair = Pair(place, index)
        for step in plan:
            pair.take(*step)
            for log in pair.logs:
                check_ids(place, log, pair.made)
        pair.close()
        last = log_with_ids(place)
        check_ids(place, last, pair.made)
        last.close()


class Pair:
    """Two logs on one folder, and what was recorded."""

    def __init__(self, place: Path, index: Index | None) -> None:
        self.place = place
        self.index = index
        self.made = 0
        self.gone: set[int] = set()
        self.logs = [log_with_ids(place, index), log_with_ids(place, index)]

    def take(self, what: str, which: int, number: int) -> None:
        log, known = self.logs[which], number % (self.made or 1)
        if what == "new":
            log.append([own(self.made)])
            self.made += 1
        elif what == "batch":
            old = [own(known)] if self.made and known not in self.gone else []
            log.append([own(self.made), *old, own(self.made + 1)])
            self.made += 2
        elif what in ("retry", "other", "erase") and self.made:
            self.again(log, what, known)
        elif what == "find":
            log.find(f"own-{number}")
        elif what.startswith("close"):
            for _ in what.split("-"):
                log.close()
        elif what == "seal":
            log.seal()
        elif what == "reopen":
            log.close()
            self.logs[which] = log_with_ids(self.place, self.index)
        else:
            self.harm(what)

    def again(self, log: FileLog, what: str, known: int) -> None:
        before = log.head()
        if what == "erase":
            log.erase([f"own-{known}"], subject=erasure([f"own-{known}"]))
            self.gone.add(known)
        elif what == "other" and known not in self.gone:
            with pytest.raises(Conflict):
                log.append([own(known, "something else")])
            assert log.head() == before
        else:
            assert log.append([own(known)])[0].event_id == f"own-{known}"
            assert log.head() == before

    def harm(self, what: str) -> None:
        if what == "clear":
            with suppress(Damaged):
                ids_in(self.place).clear()
            return
        for name in INDEX_FILES:
            (self.place / name).unlink(missing_ok=True)
        if what == "garbage":
            (self.place / INDEX).write_bytes(b"garbage" * 999)

    def close(self) -> None:
        for log in self.logs:
            log.close()


# ---- snapshots ----------------------------------------------------------------------------------


@pytest.fixture(params=["reference", "files"])
def snapshots(request: pytest.FixtureRequest, tmp_path: Path) -> Snapshots:
    return MemorySnapshots() if request.param == "reference" else FileSnapshots(str(tmp_path))


def test_no_snapshot_is_kept_before_the_first(snapshots: Snapshots) -> None:
    assert list(snapshots.load()) == []
    snapshots.drop()
    assert list(snapshots.load()) == []


def test_the_last_two_snapshots_are_kept_newest_first(snapshots: Snapshots) -> None:
    kept: list[bytes] = []
    for n in range(5):
        data = bytes([n]) * (100_000 * n)
        snapshots.save(data, 1)
        kept = [data, *kept[:1]]
        assert list(snapshots.load()) == kept


def test_dropped_snapshots_are_gone_and_the_next_stands_alone(snapshots: Snapshots) -> None:
    snapshots.save(b"1", 1)
    snapshots.save(b"2", 1)
    snapshots.drop()
    assert list(snapshots.load()) == []
    snapshots.save(b"3", 1)
    assert list(snapshots.load()) == [b"3"]


def test_snapshots_in_files_outlive_whoever_saved_them(tmp_path: Path) -> None:
    FileSnapshots(str(tmp_path)).save(b"1", 1)
    FileSnapshots(str(tmp_path)).save(b"2", 1)
    assert list(FileSnapshots(str(tmp_path)).load()) == [b"2", b"1"]
    (tmp_path / SNAPSHOT).unlink()
    assert list(FileSnapshots(str(tmp_path)).load()) == [b"1"]
    assert (tmp_path / SNAPSHOT_BEFORE).stat().st_mode & 0o777 == 0o600


class Elsewhere(Disk):
    """A disk on which another process does the same just before us."""

    def unlink(self, path: str) -> None:  # type: ignore[override]
        os.unlink(path)
        os.unlink(path)

    def replace(self, old: str, new: str) -> None:  # type: ignore[override]
        os.replace(old, new)
        if new.endswith(SNAPSHOT_BEFORE):
            os.replace(old, new)


def test_two_who_save_or_drop_at_once_harm_nobody(tmp_path: Path) -> None:
    FileSnapshots(str(tmp_path)).save(b"1", 1)
    FileSnapshots(str(tmp_path), Elsewhere()).save(b"2", 1)
    assert list(FileSnapshots(str(tmp_path)).load()) == [b"2", b"1"]
    FileSnapshots(str(tmp_path), Elsewhere()).drop()
    assert list(FileSnapshots(str(tmp_path)).load()) == []
