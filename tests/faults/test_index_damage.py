"""index.db in every state it can be found in: the answers are those of the log, and nothing is lost."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.engines.files import FileLog
from holdfast.model.events import Event
from holdfast.views import every
from tests.faults.index_children import (
    INDEX_FILES,
    SNAPSHOTS,
    VANDALS,
    check,
    fill,
    ongoing,
    opened,
    right,
    sound,
    talk,
    wrong,
)
from tests.faults.start import start

PAGE = 4096


@pytest.fixture
def home(place: Path) -> Path:
    """A project whose index is current and closed; a part of it is not in the snapshots."""
    home = place / "home"
    with opened(home) as hf:
        fill(hf)
        talk(hf, "s4")
        hf.sessions()
    return home


def folder_of(home: Path) -> Path:
    """Where the project lies."""
    with opened(home) as hf:
        return Path(hf.folder)


class Trials:
    """The same project again and again, its index each time in another state."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = folder_of(home)
        self.pristine = (self.folder / "index.db").read_bytes()
        self.log = (self.folder / "events.ndjson").read_bytes()
        self.want = right(str(self.folder))
        self.snapshots = [(self.folder / name).read_bytes() for name in SNAPSHOTS]
        self.said: list[str] = []

    def index(self, data: bytes, where: str) -> None:
        """Lay this down as the index, and look at the answers before and after an event."""
        for name in INDEX_FILES:
            (self.folder / name).unlink(missing_ok=True)
        for name, kept in zip(SNAPSHOTS, self.snapshots, strict=True):
            (self.folder / name).write_bytes(kept)
        (self.folder / "events.ndjson").write_bytes(self.log)
        (self.folder / "index.db").write_bytes(data)
        try:
            with opened(self.home) as hf:
                self.said += wrong(hf, where)
                talk(hf, "s1", words=1)
                talk(hf, "s4", words=1)
                self.said += wrong(hf, f"{where}, after recording")
        except Exception as exc:  # noqa: BLE001  (whatever it is, a caller met it)
            self.said.append(f"{where}: {type(exc).__name__}: {exc}")

    def check(self) -> None:
        """Every answer of every trial was right."""
        assert not self.said, f"{len(self.said)} wrong answers\n" + "\n".join(self.said[:20])


@pytest.fixture
def trials(home: Path) -> Trials:
    """See above."""
    return Trials(home)


def test_an_index_cut_at_any_length_is_made_anew(trials: Trials) -> None:
    size = len(trials.pristine)
    lengths = {0, 1, 15, 16, 99, 100, 101, 511, 512, 1023, 4095, size - 1, size - PAGE - 7}
    lengths |= {*range(0, size, PAGE), *range(37, size, 2999)}
    for length in sorted(lengths):
        trials.index(trials.pristine[:length], f"cut to {length} of {size}")
    trials.check()


@pytest.mark.parametrize("with_what", ["zeros", "noise", "text"])
def test_a_page_of_something_else_never_becomes_an_answer(trials: Trials, with_what: str) -> None:
    noise = random.Random(5)
    for at in range(0, len(trials.pristine), PAGE):
        page = {
            "zeros": bytes(PAGE),
            "noise": noise.randbytes(PAGE),
            "text": (b"not a page of an index\n" * PAGE)[:PAGE],
        }[with_what]
        data = trials.pristine[:at] + page + trials.pristine[at + PAGE :]
        trials.index(data, f"{with_what} at {at}")
    trials.check()


def test_a_page_in_the_place_of_another_never_becomes_an_answer(trials: Trials) -> None:
    """A write that went astray, or one that was lost: each page is whole, only not this one."""
    pages = range(0, len(trials.pristine), PAGE)
    for to in pages:
        for source in pages:
            if source == to:
                continue
            page = trials.pristine[source : source + PAGE]
            data = trials.pristine[:to] + page + trials.pristine[to + PAGE :]
            trials.index(data, f"page {source // PAGE} at {to // PAGE}")
    trials.check()


def test_a_page_from_an_earlier_time_never_becomes_an_answer(home: Path) -> None:
    """A write that never reached the disk although it was said to have."""
    folder = folder_of(home)
    earlier = (folder / "index.db").read_bytes()
    with opened(home) as hf:
        talk(hf, "s0", 2)
        talk(hf, "s4", 2)
        hf.sessions()
    trials = Trials(home)
    for at in range(0, len(earlier), PAGE):
        if trials.pristine[at : at + PAGE] == earlier[at : at + PAGE]:
            continue
        data = trials.pristine[:at] + earlier[at : at + PAGE] + trials.pristine[at + PAGE :]
        trials.index(data, f"page {at // PAGE} of before")
    trials.check()


@pytest.mark.parametrize("part", range(4))
def test_a_flipped_bit_is_of_no_consequence_or_is_healed(trials: Trials, part: int) -> None:
    rng = random.Random(part)
    used = [at for at, byte in enumerate(trials.pristine) if byte]
    for n in range(110):
        at = rng.choice(used) if n % 8 else rng.randrange(len(trials.pristine))
        data = bytearray(trials.pristine)
        data[at] ^= 1 << rng.randrange(8)
        trials.index(bytes(data), f"bit of byte {at} (page {at // PAGE})")
    trials.check()


@pytest.mark.parametrize("at", [2, 5, 6])
def test_a_flipped_bit_in_a_pages_own_book_keeping_spoils_nothing_later(
    trials: Trials, at: int
) -> None:
    """Where a page has room: whoever believes it writes the next row over another one."""
    for page in range(PAGE, len(trials.pristine), PAGE):
        for bit in range(0, 8, 2):
            data = bytearray(trials.pristine)
            data[page + at] ^= 1 << (bit + at % 2)
            trials.index(bytes(data), f"bit of byte {at} of page {page // PAGE}")
    trials.check()


def test_no_flipped_bit_of_the_ids_makes_a_retry_count_twice(place: Path) -> None:
    home = place / "home"
    names = [f"given-{n}" for n in range(12)]
    with opened(home) as hf:
        for name in names:
            ongoing(hf, "s1").user(f"words of {name}", event_id=name)
    folder = folder_of(home)
    pristine, log = (folder / "index.db").read_bytes(), (folder / "events.ndjson").read_bytes()
    places = [at for name in names for at in _all_of(pristine, name.encode())]
    assert places, "the ids are not in the index"
    said = []
    for at in places:
        for offset in (-2, -1, 0, len("given-")):
            data = bytearray(pristine)
            data[at + offset] ^= 4
            for name in INDEX_FILES:
                (folder / name).unlink(missing_ok=True)
            (folder / "index.db").write_bytes(bytes(data))
            (folder / "events.ndjson").write_bytes(log)
            try:
                with opened(home) as hf:
                    for name in names:
                        ongoing(hf, "s1").user(f"words of {name}", event_id=name)
                    said += wrong(hf, f"bit at {at + offset}")
            except Exception as exc:  # noqa: BLE001  (whatever it is, a caller met it)
                said.append(f"bit at {at + offset}: {type(exc).__name__}: {exc}")
            there = [e.event_id for e in FileLog(str(folder)).read() if isinstance(e, Event)]
            if (folder / "events.ndjson").read_bytes() != log or there != names:
                said.append(f"bit at {at + offset}: a retry was written again")
    assert not said, f"{len(said)}\n" + "\n".join(said[:10])


def _all_of(data: bytes, part: bytes) -> Iterator[int]:
    at = data.find(part)
    while at >= 0:
        yield at
        at = data.find(part, at + 1)


def _directory(folder: Path) -> None:
    (folder / "index.db").mkdir()


def _full_directory(folder: Path) -> None:
    (folder / "index.db").mkdir()
    (folder / "index.db" / "file").write_text("of somebody")


def _loop(folder: Path) -> None:
    os.symlink("index.db", folder / "index.db")


def _nowhere(folder: Path) -> None:
    os.symlink("/nowhere/at/all", folder / "index.db")


def _text(folder: Path) -> None:
    (folder / "index.db").write_text("my notes\n" * 2000)


def _empty_database(folder: Path) -> None:
    with sqlite3.connect(folder / "index.db") as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("VACUUM")
    db.close()


def _other_tables(folder: Path) -> None:
    with sqlite3.connect(folder / "index.db") as db:
        db.execute("CREATE TABLE rows (something TEXT)")
        db.execute("CREATE TABLE facts (name TEXT, value TEXT)")
        db.execute("PRAGMA user_version=1")
    db.close()


def _journal_of_another(folder: Path) -> None:
    (folder / "index.db-wal").write_bytes(b"not a journal" * 1000)


def _old_style_journal(folder: Path) -> None:
    (folder / "index.db-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(4088))


REPLACED: dict[str, Callable[[Path], None]] = {
    "nothing": lambda folder: None,
    "a folder": _directory,
    "a folder with something in it": _full_directory,
    "a link to itself": _loop,
    "a link to nowhere": _nowhere,
    "a text": _text,
    "an empty database": _empty_database,
    "other tables": _other_tables,
    "nothing but a journal": _journal_of_another,
}


@pytest.mark.parametrize("what", REPLACED)
@pytest.mark.parametrize("snapshots", [True, False], ids=["with snapshots", "without"])
def test_something_else_in_the_place_of_the_index_costs_no_answer(
    home: Path, what: str, snapshots: bool
) -> None:
    folder = folder_of(home)
    for name in (*INDEX_FILES, *(() if snapshots else SNAPSHOTS)):
        (folder / name).unlink(missing_ok=True)
    REPLACED[what](folder)
    with opened(home) as hf:
        check(hf, what)
        sound(hf)
    with opened(home) as hf:
        check(hf, f"{what}, opened again")


def test_a_pipe_in_the_place_of_the_index_keeps_nobody_waiting(home: Path) -> None:
    folder = folder_of(home)
    _unlink_index(folder)
    os.mkfifo(folder / "index.db")
    found = start("index_children", what="within", seconds=8, home=str(home))
    assert not found["wrong"], "\n".join(found["wrong"])


def _of_another(folder: Path) -> None:
    with opened(folder.parents[1], "other") as other:
        fill(other)
    shutil.copy(Path(other.folder) / "index.db", folder / "index.db")


@pytest.mark.parametrize("what", [_text, _other_tables, _of_another])
def test_that_somebody_elses_file_was_thrown_away_is_said(
    home: Path, what: Callable[[Path], None]
) -> None:
    folder = folder_of(home)
    _unlink_index(folder)
    what(folder)
    with opened(home) as hf:
        hf.sessions()
        assert any("made anew" in notice for notice in hf.notices), hf.notices


@pytest.mark.parametrize("what", ["-wal", "-journal"])
def test_a_foreign_journal_beside_a_whole_index_costs_no_answer(home: Path, what: str) -> None:
    folder = folder_of(home)
    (_journal_of_another if what == "-wal" else _old_style_journal)(folder)
    with opened(home) as hf:
        check(hf, what)


def test_the_index_of_another_project_is_not_believed(home: Path) -> None:
    with opened(home, "other") as other:
        fill(other, sessions=5, turns=2)
    folder = folder_of(home)
    _unlink_index(folder)
    shutil.copy(Path(other.folder) / "index.db", folder / "index.db")
    with opened(home) as hf:
        check(hf)
    with opened(home, "other") as other:
        check(other)


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_an_index_of_a_newer_holdfast_is_left_as_it_is(home: Path, journal: str) -> None:
    folder = folder_of(home)
    db = sqlite3.connect(folder / "index.db")
    db.execute(f"PRAGMA journal_mode={journal}")
    db.execute("PRAGMA user_version=2")
    db.commit()
    db.close()
    before = (folder / "index.db").read_bytes()
    for _ in range(2):
        with opened(home) as hf:
            check(hf)
    assert (folder / "index.db").read_bytes() == before, "a newer one's index was changed"


def test_that_the_index_is_a_newer_holdfasts_is_said(home: Path) -> None:
    _facts(folder_of(home), "PRAGMA user_version=2")
    with opened(home) as hf:
        hf.sessions()
        assert any("newer" in notice for notice in hf.notices), hf.notices


@pytest.mark.parametrize("names", [("index.db-wal",), ("index.db-shm",), INDEX_FILES])
def test_what_belongs_to_a_newer_holdfast_beside_its_index_is_left_too(
    home: Path, names: tuple[str, ...]
) -> None:
    """It has been killed: its last commits are in the journal."""
    folder = folder_of(home)
    db = sqlite3.connect(folder / "index.db")
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("PRAGMA user_version=2")
    db.execute("CREATE TABLE news (of TEXT)")
    db.commit()
    kept = {name: (folder / name).read_bytes() for name in INDEX_FILES}
    db.close()
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    with opened(home) as hf:
        check(hf)
    if "index.db-wal" in names:
        db = sqlite3.connect(folder / "index.db")
        assert db.execute("SELECT count(*) FROM news").fetchone() == (0,)
        db.close()
    assert (folder / "index.db").exists()


def test_rows_of_other_views_are_not_believed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer Holdfast of the same tables was here, and left; then it comes back."""
    folder = folder_of(home)
    _facts(folder, "UPDATE facts SET value='another' WHERE name='shape'")
    _facts(folder, "UPDATE rows SET row='{}'")
    with opened(home) as hf:
        check(hf)
        assert every.shape() in _facts(folder, "SELECT value FROM facts WHERE name='shape'")


def test_rows_that_say_nothing_of_their_shape_are_not_believed(home: Path) -> None:
    folder = folder_of(home)
    _facts(folder, "DELETE FROM facts WHERE name='shape'")
    _facts(folder, "UPDATE rows SET row='{}'")
    with opened(home) as hf:
        check(hf)


@pytest.mark.parametrize(
    "position",
    [
        "",
        "null",
        "{}",
        "[]",
        "7",
        "not JSON",
        '{"generation":1,"event_seq":3,"crc":"00000000"}',
        '{"generation":1,"event_seq":999999,"crc":"00000000"}',
        '{"generation":1,"event_seq":-5,"crc":""}',
        '{"generation":1,"event_seq":0,"crc":""}',
        '{"generation":7,"event_seq":3,"crc":"00000000"}',
        '{"generation":1,"event_seq":99999999999999999999999,"crc":""}',
        '{"generation":1,"event_seq":9223372036854775807,"crc":""}',
    ],
)
@pytest.mark.parametrize("name", ["views", "ids"])
def test_a_position_that_is_none_is_not_believed(home: Path, position: str, name: str) -> None:
    with opened(home) as hf:
        ongoing(hf, "s1").user("brought its id", event_id="brought")
    folder = folder_of(home)
    _facts(folder, f"INSERT OR REPLACE INTO facts VALUES ('{name}', '{position}')")
    with opened(home) as hf:
        check(hf, position)
        again = ongoing(hf, "s1").user("brought its id", event_id="brought")
        found = [e for e in hf.events() if e.event_id == "brought"]
        assert [again] == found
        sound(hf)


@pytest.mark.parametrize("value", ["7", "1.5", "x'00ff'", "x''"])
@pytest.mark.parametrize("name", ["views", "ids", "shape", "project", "note exported"])
def test_a_fact_of_another_kind_is_not_believed(home: Path, name: str, value: str) -> None:
    """One flipped bit in a record's header makes a number or a blob of a text."""
    folder = folder_of(home)
    _facts(folder, "ALTER TABLE facts RENAME TO old")
    _facts(folder, "CREATE TABLE facts (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID")
    _facts(folder, "INSERT INTO facts SELECT * FROM old")
    _facts(folder, f"INSERT OR REPLACE INTO facts VALUES ('{name}', {value})")
    with opened(home) as hf:
        check(hf, f"{name} is {value}")
        ongoing(hf, "s1").user("brings its id", event_id="brought")
        sound(hf)


def test_a_row_that_is_gone_is_noticed(home: Path) -> None:
    """As after a page that was lost: what is left is whole, only not all of it."""
    folder = folder_of(home)
    _facts(folder, "DELETE FROM rows WHERE view='sessions' AND key LIKE '%s0%'")
    with opened(home) as hf:
        check(hf)


def test_a_row_under_another_key_is_noticed(home: Path) -> None:
    """As after one flipped bit: the row's own checksum covers its key, if only somebody asks for it."""
    folder = folder_of(home)
    _facts(folder, "UPDATE rows SET key=replace(key, 's0', 's8') WHERE view='scratchpad'")
    with opened(home) as hf:
        check(hf)


def _unlink_index(folder: Path) -> None:
    for name in INDEX_FILES:
        (folder / name).unlink(missing_ok=True)


def _facts(folder: Path, statement: str) -> list[str]:
    db = sqlite3.connect(folder / "index.db")
    found = [str(row[0]) for row in db.execute(statement).fetchall()]
    db.commit()
    db.close()
    return found


@pytest.mark.parametrize("how", VANDALS)
def test_an_index_vandalised_while_others_use_it_costs_no_answer(place: Path, how: str) -> None:
    found = start("index_children", what="vandalised", home=str(place / "home"), how=how)
    assert not found["wrong"], "\n".join(found["wrong"])
