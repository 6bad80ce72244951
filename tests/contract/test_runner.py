"""The runner on every log and every store: its answers are the fold of the log, whatever happens."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from holdfast.capture.layout import ACTIVE, INDEX
from holdfast.engines.files import FileSnapshots
from holdfast.engines.reference.log import MemoryLog
from holdfast.engines.reference.views import MemorySnapshots, MemoryViews
from holdfast.engines.sqlite import Index, SqliteViews
from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.model.events import Damage, Entry, Event, Position
from holdfast.model.sessions import SessionInfo
from holdfast.model.settings import ViewSettings
from holdfast.ports.log import EventLog, Keeper
from holdfast.ports.views import Snapshots, ViewStore
from holdfast.views import follow, snapshot, state
from holdfast.views.decisions import Decisions
from holdfast.views.every import VIEWS, shape
from holdfast.views.fold import state_hash
from holdfast.views.runner import Reading, Runner
from holdfast.views.sessions import Sessions
from holdfast.views.view import PerSession, Rows, View, session_key
from tests.contract.entries import baseline, entry, erasure, file_log, split
from tests.property.histories import Row, folded, story

SESSIONS = Sessions()
INDEX_FILES = (INDEX, f"{INDEX}-wal", f"{INDEX}-shm")
SELDOM = ViewSettings(snapshot_every_events=1 << 30, snapshot_every_bytes=1 << 40)


class Log(EventLog, Keeper, Protocol):
    """Both ports."""


@dataclass
class Place:
    """One project: a log, a store and snapshots of some kind, and runners on them."""

    logs: str
    stores: str
    path: Path
    snapshots: Snapshots = field(default_factory=MemorySnapshots)
    memory: MemoryViews = field(default_factory=MemoryViews)
    opened: list[Log | ViewStore] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log: Log = MemoryLog() if self.logs == "memory" else self.log_at("log")
        if self.logs == "files":
            self.snapshots = FileSnapshots(str(self.path / "log"))

    def log_at(self, name: str) -> Log:
        made = file_log(self.path / name)
        self.opened.append(made)
        return made

    def another_log(self, name: str) -> Log:
        """One that was never folded."""
        return MemoryLog() if self.logs == "memory" else self.log_at(name)

    @property
    def folder(self) -> Path:
        place = self.path / "log"
        place.mkdir(exist_ok=True)
        return place

    def store(self, views: tuple[View, ...] = VIEWS) -> ViewStore:
        if self.stores == "memory":
            return self.memory
        made = SqliteViews(Index(str(self.folder), project_id="p"), shape=shape(views))
        self.opened.append(made)
        return made

    def runner(
        self,
        log: EventLog | None = None,
        store: ViewStore | None = None,
        views: tuple[View, ...] = VIEWS,
        settings: ViewSettings = SELDOM,
        **more: Any,
    ) -> Runner:
        return Runner(
            log or self.log,
            store or self.store(views),
            self.snapshots,
            spare=MemoryViews,
            project_id="p",
            settings=settings,
            views=views,
            **more,
        )

    def lose_the_store(self) -> None:
        """As if somebody had removed the files."""
        self.memory.discard()
        for name in INDEX_FILES:
            (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        for each in self.opened:
            each.close()


@pytest.fixture(params=["memory+memory", "memory+sqlite", "files+memory", "files+sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    logs, stores = request.param.split("+")
    made = Place(logs, stores, tmp_path)
    yield made
    made.close()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Place]:
    """What a project is kept in."""
    made = Place("files", "sqlite", tmp_path)
    yield made
    made.close()


def truth(log: EventLog, views: tuple[View, ...] = VIEWS) -> list[Row]:
    return folded(split(log)[0], views=views)


def rows_of(runner: Runner) -> list[Row]:
    return sorted(runner.read(lambda reading: list(reading.everything())))


def check(runner: Runner, log: EventLog, views: tuple[View, ...] = VIEWS) -> None:
    """It answers what the log says: whole, by prefix, and row by row."""
    expected = truth(log, views)
    assert rows_of(runner) == expected
    assert runner.state_hash() == state_hash(expected)
    at = runner.read(lambda reading: reading.position)
    assert (at.event_seq if at else 0) == log.head().event_seq
    by_name = {view.name: view for view in views}
    for name, key, row in expected:
        assert one_row(runner, by_name[name], key) == row
        prefix = key[: len(key) // 2]
        below = [k for v, k, _ in expected if v == name and k.startswith(prefix)]
        assert count_below(runner, by_name[name], prefix) == len(below)


def one_row(runner: Runner, view: View, key: str) -> bytes:
    return msgspec.json.encode(runner.read(lambda reading: reading.row(view, key)), order="sorted")


def count_below(runner: Runner, view: View, prefix: str) -> int:
    return runner.read(lambda reading: len(reading.rows(view, prefix)))


def infos(runner: Runner, user: str) -> list[str]:
    return runner.read(lambda reading: [info.id for info in state.sessions(reading, user)])


# ---- keeping up ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 4, 20_000])
def test_catching_up_from_any_lag_is_the_full_fold(
    place: Place, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "CHUNK", chunk)
    runner, dice, told = place.runner(), random.Random(chunk), story(chunk, 60)
    check(runner, place.log)
    while told:
        lag = dice.choice((1, 1, 2, 5, 13))
        place.log.append(told[:lag])
        told = told[lag:]
        assert rows_of(runner) == truth(place.log)
    check(runner, place.log)
    check(place.runner(), place.log)


def test_a_runner_that_was_away_for_any_time_comes_back_to_the_full_fold(place: Place) -> None:
    told = story(1, 24)
    for lag in range(len(told) + 1):
        log = place.another_log(f"log {lag}")
        place.lose_the_store()
        log.append(told[:lag])
        assert rows_of(place.runner(log)) == truth(log)
        log.append(told[lag:])
        assert rows_of(place.runner(log)) == truth(log)


def test_two_runners_on_one_store_take_turns(place: Place) -> None:
    first, second = place.runner(), place.runner()
    for n, told in enumerate(story(2, 40)):
        place.log.append([told])
        if n % 3:
            assert rows_of((first, second)[n % 2]) == truth(place.log)
    check(first, place.log)
    check(second, place.log)


def test_threads_that_read_while_others_record_meet_one_position_each(place: Place) -> None:
    runners, wrong = [place.runner(), place.runner()], []
    told = story(3, 120)

    def look(runner: Runner) -> None:
        for _ in range(25):
            at, rows = runner.read(lambda r: (r.position, list(r.everything())))
            seq = at.event_seq if at else 0
            events = [e for e in split(place.log)[0] if e.event_seq <= seq]
            if sorted(rows) != folded(events):
                wrong.append(seq)

    looking = [threading.Thread(target=look, args=(runner,)) for runner in runners * 2]
    for thread in looking:
        thread.start()
    while told:
        place.log.append(told[:3])
        told = told[3:]
    for thread in looking:
        thread.join()
    assert wrong == []
    check(runners[0], place.log)


def test_a_person_hears_how_far_it_is(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "CHUNK", 10)
    place.log.append(story(4, 35))
    said: list[int] = []
    place.runner().read(lambda _: None, said.append)
    assert said == [10, 20, 30]


def test_what_is_damaged_in_the_log_is_passed_on_and_costs_only_itself(tmp_path: Path) -> None:
    place = Place("files", "sqlite", tmp_path)
    place.log.append(story(5, 20))
    data = bytearray((place.folder / ACTIVE).read_bytes())
    data[len(data) // 2] ^= 1
    (place.folder / ACTIVE).write_bytes(data)
    met: list[Damage] = []
    runner = place.runner(damage=met.extend)
    check(runner, place.log)
    assert met == split(place.log)[1] != []
    place.close()


# ---- another log than before --------------------------------------------------------------------


def test_what_was_erased_leaves_every_row(place: Place) -> None:
    told = story(6, 30)
    place.log.append(told)
    runner = place.runner()
    check(runner, place.log)
    for n in (3, 29, 4):
        gone = told[n].event_id
        text = msgspec.json.decode(told[n].payload)["text"].encode()
        place.log.erase([gone], subject=erasure([gone]))
        check(runner, place.log)
        check(place.runner(), place.log)
        assert all(text not in row for _, _, row in rows_of(runner))


def test_what_a_retention_dropped_is_not_folded_any_more(place: Place) -> None:
    runner = place.runner()
    for seed in (7, 8):
        place.log.append(story(seed, 10))
        check(runner, place.log)
        place.log.seal()
    place.log.retain(baseline(), through=10)
    check(runner, place.log)
    check(place.runner(), place.log)


def replace_log(place: Place, entries: list[Entry]) -> Log:
    """Another log where the first one was: for files also under whoever has it open."""
    other = place.another_log("other")
    if entries:
        other.append(entries)
    if place.logs == "files":
        data = place.path / "other" / ACTIVE
        if entries:
            os.replace(data, place.folder / ACTIVE)
        else:
            (place.folder / ACTIVE).unlink()
        return place.log_at("log")
    return other


OTHERS: dict[str, Callable[[list[Entry]], list[Entry]]] = {
    "a shorter backup": lambda told: told[:11],
    "a backup that went on": lambda told: [*told[:11], *story(99, 5)],
    "a backup that went on as far": lambda told: [*told[:11], *story(99, 9)],
    "a backup that went on further": lambda told: [*told[:11], *story(99, 30)],
    "another log as long": lambda told: story(99, len(told)),
    "a longer log": lambda told: story(99, 45),
    "a log of one": lambda _: story(99, 1),
    "an empty log": lambda _: [],
}


@pytest.mark.parametrize("other", list(OTHERS))
@pytest.mark.parametrize("with_snapshot", [False, True])
def test_another_log_is_noticed_and_folded_anew(
    place: Place, other: str, with_snapshot: bool
) -> None:
    told = story(9, 20)
    place.log.append(told)
    runner = place.runner()
    check(runner, place.log)
    if with_snapshot:
        runner.export()
    log = replace_log(place, OTHERS[other](told))
    fresh = place.runner(log)
    check(fresh, log)
    assert any("is not the one" in notice for notice in fresh.notices)
    log.append(story(10, 3))
    check(place.runner(log), log)


@pytest.mark.parametrize("other", list(OTHERS))
@pytest.mark.parametrize("stores", ["memory", "sqlite"])
def test_another_log_under_a_runner_at_work_is_noticed(
    tmp_path: Path, other: str, stores: str
) -> None:
    place, told = Place("files", stores, tmp_path), story(9, 20)
    place.log.append(told)
    runner, second = place.runner(), place.runner()
    check(runner, place.log)
    check(second, place.log)
    runner.export()
    log = replace_log(place, OTHERS[other](told))
    check(runner, log)
    assert any("is not the one" in notice for notice in runner.notices)
    check(second, log)
    place.close()


# ---- snapshots: which are believed --------------------------------------------------------------


def marker(name: str) -> Row:
    """A row no log holds: where it is met, a snapshot was believed."""
    key = session_key("marker", "coder", name)
    info = SessionInfo(
        id=name, agent="coder", user="marker", started_at="", first_seq=0, last_seq=0, last_at=""
    )
    return "sessions", key, msgspec.json.encode(info, order="sorted")


def forged(
    log: EventLog,
    name: str,
    *,
    at: int | None = None,
    project_id: str = "p",
    views: tuple[View, ...] = VIEWS,
    **other: Any,
) -> bytes:
    """A snapshot of a log at a position, with a marker in it."""
    events = [e for e in split(log)[0] if at is None or e.event_seq <= at]
    position = Position(
        generation=log.head().generation, event_seq=events[-1].event_seq, crc=events[-1].crc
    )
    rows = sorted([*folded(events, views=views), marker(name)])
    position = msgspec.structs.replace(position, **other)
    return snapshot.write(holding(rows), position, project_id, views, most=1 << 30)


def holding(rows: list[Row]) -> MemoryViews:
    """A store with these rows."""
    store = MemoryViews()
    store.commit(None, rows, Position(generation=1, event_seq=1, crc=""))
    return store


def resealed(data: bytes) -> bytes:
    """With the checksum of what it says now."""
    body = data[: data.rindex(b',"sha256":"')]
    return body + b',"sha256":"' + sha256(body).hexdigest().encode() + b'"}\n'


def markers(runner: Runner) -> list[str]:
    return infos(runner, "marker")


@pytest.mark.parametrize("at", [1, 7, 20])
def test_an_empty_store_begins_from_the_snapshot(place: Place, at: int) -> None:
    place.log.append(story(11, 20))
    place.snapshots.save(forged(place.log, "before", at=min(at, 3)), place.log.head().generation)
    place.snapshots.save(forged(place.log, "newest", at=at), place.log.head().generation)
    runner = place.runner()
    assert markers(runner) == ["newest"]
    assert [row for row in rows_of(runner) if row != marker("newest")] == truth(place.log)
    assert runner.notices == []
    assert markers(place.runner()) == ["newest"]  # and it is in the store from then on


def test_a_store_that_holds_rows_needs_no_snapshot(place: Place) -> None:
    place.log.append(story(12, 20))
    check(place.runner(), place.log)
    place.snapshots.save(forged(place.log, "newest"), place.log.head().generation)
    place.log.append(story(13, 20))
    check(place.runner(), place.log)


UNFIT: dict[str, Callable[[EventLog], bytes]] = {
    "empty": lambda log: b"",
    "cut short": lambda log: forged(log, "newest")[:-1],
    "half": lambda log: forged(log, "newest")[:200],
    "not JSON": lambda log: b"garbage" * 100,
    "a flipped bit": lambda log: forged(log, "newest").replace(b"newest", b"newes\x75"),
    "its checksum changed": lambda log: forged(log, "newest")[:-10] + b'0000000"}\n',
    "JSON of another kind": lambda log: resealed(b'{"format":1,"sha256":""}\n'),
    "of another format": lambda log: resealed(
        forged(log, "newest").replace(b'"format":1', b'"format":2')
    ),
    "newer than the log": lambda log: forged(log, "newest", event_seq=21),
    "much newer than the log": lambda log: forged(log, "newest", event_seq=1 << 40),
    "of another event": lambda log: forged(log, "newest", crc="00000000"),
    "of another place": lambda log: forged(log, "newest", event_seq=19),
    "of another project": lambda log: forged(log, "newest", project_id="q"),
    "of a generation before": lambda log: forged(log, "newest", generation=0),
    "of a later generation": lambda log: forged(log, "newest", generation=2),
    "of fewer views": lambda log: forged(log, "newest", views=VIEWS[:-1]),
    "of views in another version": lambda log: forged(log, "newest", views=(_Later(), *VIEWS[1:])),
}


class _Later(Sessions):
    """The sessions as a later version would keep them."""

    version = 99


@pytest.mark.parametrize("unfit", list(UNFIT))
def test_a_snapshot_that_does_not_fit_is_not_used_and_the_one_before_it_is(
    place: Place, unfit: str
) -> None:
    place.log.append(story(14, 20))
    place.snapshots.save(forged(place.log, "before", at=5), place.log.head().generation)
    place.snapshots.save(UNFIT[unfit](place.log), place.log.head().generation)
    runner = place.runner()
    assert markers(runner) == ["before"]
    assert [row for row in rows_of(runner) if row != marker("before")] == truth(place.log)
    assert [n for n in runner.notices if n.startswith("a snapshot is not used: ")]


@pytest.mark.parametrize("unfit", list(UNFIT))
def test_when_no_snapshot_fits_the_log_is_folded(place: Place, unfit: str) -> None:
    place.log.append(story(15, 20))
    place.snapshots.save(UNFIT[unfit](place.log), place.log.head().generation)
    place.snapshots.save(UNFIT[unfit](place.log), place.log.head().generation)
    check(place.runner(), place.log)


def test_a_snapshot_from_before_an_erase_is_not_used(place: Place) -> None:
    told = story(16, 20)
    place.log.append(told)
    before = forged(place.log, "before")
    place.log.erase([told[3].event_id], subject=erasure([told[3].event_id]))
    place.snapshots.save(before, place.log.head().generation)
    check(place.runner(), place.log)


def test_every_snapshot_along_the_way_and_the_rest_is_the_full_fold(place: Place) -> None:
    told = story(17, 30)
    for n in range(0, 30, 3):
        place.log.append(told[n : n + 3])
        runner = place.runner()
        check(runner, place.log)
        runner.export()
        place.lose_the_store()
        assert rows_of(place.runner()) == truth(place.log)
    kept = snapshot.read(next(iter(place.snapshots.load())), "p", VIEWS)
    assert isinstance(kept, snapshot.Snapshot)
    assert sorted(kept.each()) == truth(place.log)
    assert kept.lacking == snapshot.Lacking()


# ---- snapshots that had to leave something out --------------------------------------------------


def ended_and_open(log: Log) -> None:
    """Five sessions that ended one after the other, two that did not; all of one size."""
    for n in range(7):
        who: dict[str, Any] = {"session_id": f"ses_{n}", "user": "ana"}
        log.append([entry(type="session_started@1", payload={"workflow": "w"}, **who)])
        log.append([entry(f"decided {n} " + "x" * 900, type="decision@1", **who)])
        log.append([entry(f"asked {n}", **who)])
    for n in (3, 1, 0, 4, 2):
        who = {"session_id": f"ses_{n}", "user": "ana"}
        log.append([entry(type="session_ended@1", payload={"reason": "done"}, **who)])


#: in the order in which a snapshot lets go of them
BY_AGE = ["ses_3", "ses_1", "ses_0", "ses_4", "ses_2", "ses_5", "ses_6"]


def sizes(place: Place) -> dict[str, tuple[int, int]]:
    """What the name and the rest of each session take."""
    found = dict.fromkeys(BY_AGE, (0, 0))
    for row in truth(place.log):
        name, rest = found[named(row)]
        size = len(row[1]) + len(row[2])
        is_name = row[0] == "sessions"
        found[named(row)] = (name + size, rest) if is_name else (name, rest + size)
    return found


def capped(place: Place, sessions: int) -> ViewSettings:
    """Room for the names of all sessions in one half, and for the rest of about so many."""
    taken = sizes(place)
    names = sum(name for name, _ in taken.values())
    rest = sum(taken[session][1] for session in BY_AGE[7 - sessions :])
    return msgspec.structs.replace(SELDOM, snapshot_most_bytes=max(2 * names, names + rest) + 10)


def held_in(place: Place) -> tuple[set[str], set[str]]:
    """The sessions a snapshot names, and those it holds whole; what it lacks it says."""
    kept = snapshot.read(next(iter(place.snapshots.load())), "p", VIEWS)
    assert isinstance(kept, snapshot.Snapshot)
    names = {named(row) for row in kept.each() if row[0] == "sessions"}
    whole = {named(row) for row in kept.each() if row[0] != "sessions"}
    expected = [
        row
        for row in truth(place.log)
        if (named(row) in names if row[0] == "sessions" else named(row) in whole)
    ]
    assert sorted(kept.each()) == expected
    marked = {session: snapshot.short(f'["ana","coder","{session}"]') for session in BY_AGE}
    assert kept.lacking.names == {marked[session] for session in set(BY_AGE) - names}
    assert kept.lacking.details == {marked[session] for session in names - whole}
    return names, whole


def named(row: Row) -> str:
    """The session a row is of."""
    return str(msgspec.json.decode(row[1])[2])


@pytest.mark.parametrize("room", range(8))
def test_a_snapshot_leaves_out_the_sessions_that_ended_longest_ago(place: Place, room: int) -> None:
    ended_and_open(place.log)
    settings = capped(place, room)
    runner = place.runner(settings=settings)
    check(runner, place.log)
    runner.export()
    names, whole = held_in(place)
    assert names == set(BY_AGE)
    assert whole == set(BY_AGE[7 - len(whole) :])
    assert len(whole) >= room
    assert len(next(iter(place.snapshots.load()))) < settings.snapshot_most_bytes + 2_000


@pytest.mark.parametrize("most", [1, 500, 1_000, 2_000, 3_000])
def test_a_snapshot_in_which_not_all_names_fit_misleads_nobody(place: Place, most: int) -> None:
    ended_and_open(place.log)
    settings = msgspec.structs.replace(SELDOM, snapshot_most_bytes=most)
    runner = place.runner(settings=settings)
    check(runner, place.log)
    runner.export()
    names, whole = held_in(place)
    assert whole <= names < set(BY_AGE)
    assert names == set(BY_AGE[7 - len(names) :])
    for question, ask in QUESTIONS.items():
        place.lose_the_store()
        assert place.runner(settings=settings).read(ask) == whole_answer(place, question)
    place.lose_the_store()
    place.log.append([entry("more", session_id="ses_3"), entry("new", session_id="ses_9")])
    check(place.runner(settings=settings), place.log)


QUESTIONS: dict[str, Callable[[Reading], Any]] = {
    "a row": lambda r: state.info(r, "ana", "coder", "ses_3"),
    "a row that is there": lambda r: state.info(r, "ana", "coder", "ses_6"),
    "a row of nobody": lambda r: state.info(r, "bo", "coder", "ses_3"),
    "a list": lambda r: state.sessions(r, "ana"),
    "a list of an agent": lambda r: state.sessions(r, "ana", "coder"),
    "a list of nobody": lambda r: state.sessions(r, "bo"),
    "by id": lambda r: state.of_that_id(r, "ses_3"),
    "decisions": lambda r: r.rows(Decisions(), '["ana","coder","ses_3",'),
    "a scratchpad": lambda r: state.scratchpad(r, "ana", "coder", "ses_3"),
    "its state": lambda r: [state.state(r, of) for of in state.sessions(r, "ana")],
    "everything": lambda r: sorted(r.everything()),
}


def after_a_cap(place: Place, room: int = 3) -> ViewSettings:
    """A log whose only snapshot leaves most sessions out, and no store."""
    ended_and_open(place.log)
    settings = capped(place, room)
    runner = place.runner(settings=settings)
    runner.catch_up()
    runner.export()
    place.lose_the_store()
    return settings


def whole_answer(place: Place, question: str) -> Any:
    fresh = Runner(
        place.log,
        MemoryViews(),
        MemorySnapshots(),
        spare=MemoryViews,
        project_id="p",
        settings=SELDOM,
    )
    return fresh.read(QUESTIONS[question])


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_what_a_snapshot_left_out_is_answered_from_the_log(place: Place, question: str) -> None:
    settings = after_a_cap(place)
    runner = place.runner(settings=settings)
    runner.catch_up()
    assert runner.read(QUESTIONS[question]) == whole_answer(place, question)
    place.lose_the_store()
    assert place.runner().read(QUESTIONS[question]) == whole_answer(place, question)
    check(runner, place.log)


@pytest.mark.parametrize("seeded", [False, True])
def test_a_new_event_of_a_session_that_was_left_out_counts_on_top_of_all_it_had(
    place: Place, seeded: bool
) -> None:
    settings = after_a_cap(place)
    runner = place.runner(settings=settings)
    if seeded:
        runner.catch_up()
    place.log.append([entry("more", session_id="ses_3"), entry("more", session_id="ses_6")])
    info = runner.read(QUESTIONS["a row"])
    assert info.events == 5
    check(runner, place.log)
    check(place.runner(settings=settings), place.log)


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_a_runner_whose_store_was_made_from_a_capped_snapshot_by_another_is_not_misled(
    place: Place, question: str
) -> None:
    """The store comes back at the very position it had, but with less in it."""
    ended_and_open(place.log)
    settings = capped(place, 3)
    runner = place.runner(settings=settings)
    runner.catch_up()
    runner.export()
    place.lose_the_store()
    place.runner(settings=settings).catch_up()
    assert runner.read(QUESTIONS[question]) == whole_answer(place, question)


@pytest.mark.parametrize("question", list(QUESTIONS))
@pytest.mark.parametrize("error", [Unavailable, Damaged])
def test_what_was_left_out_is_answered_when_the_store_cannot_be_discarded(
    place: Place, question: str, error: type[HoldfastError]
) -> None:
    settings = after_a_cap(place)
    store = Troubled(place.store(), "discard", error)
    runner = place.runner(store=store, settings=settings)
    runner.catch_up()
    assert runner.read(QUESTIONS[question]) == whole_answer(place, question)


def test_a_note_that_was_changed_misleads_nobody(files: Place) -> None:
    settings = after_a_cap(files)
    first = files.runner(settings=settings)
    first.catch_up()
    files.close()
    with closing(sqlite3.connect(files.folder / INDEX)) as db:
        found = db.execute("SELECT value FROM facts WHERE name='note lacking'").fetchone()
        gone = snapshot.short('["ana","coder","ses_3"]')
        assert gone in found[0]
        changed = found[0].replace(gone, "0" * 16)
        db.execute("UPDATE facts SET value=? WHERE name='note lacking'", (changed,))
        db.commit()
    assert files.runner().read(QUESTIONS["decisions"]) == whole_answer(files, "decisions")


def test_a_key_that_was_changed_misleads_nobody(files: Place) -> None:
    ended_and_open(files.log)
    files.runner().catch_up()
    files.close()
    with closing(sqlite3.connect(files.folder / INDEX)) as db:
        db.execute("UPDATE rows SET key=replace(key, 'ses_3', 'ses_s') WHERE view='sessions'")
        db.commit()
    files.log.append([entry("more", session_id="ses_3")])
    assert files.runner().read(QUESTIONS["a row"]) == whole_answer(files, "a row")


# ---- snapshots: when ----------------------------------------------------------------------------


class Counted(MemorySnapshots):
    """Says after which events it was asked to save."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[int] = []

    def save(self, data: bytes, generation: int) -> None:
        super().save(data, generation)
        found = snapshot.read(data, "p", VIEWS)
        assert isinstance(found, snapshot.Snapshot)
        self.saved.append(found.position.event_seq)


@pytest.fixture
def counted(place: Place) -> Counted:
    made = Counted()
    place.snapshots = made
    return made


def read_after_each(place: Place, runner: Runner, entries: Iterable[Entry]) -> None:
    for one in entries:
        place.log.append([one])
        runner.catch_up()
        runner.catch_up()


def test_a_snapshot_is_written_every_so_many_events_and_not_otherwise(
    place: Place, counted: Counted
) -> None:
    settings = msgspec.structs.replace(SELDOM, snapshot_every_events=10)
    runner = place.runner(settings=settings)
    read_after_each(place, runner, [entry(str(n)) for n in range(35)])
    assert counted.saved == [10, 20, 30]
    assert runner.snapshot_seq() == 30
    place.log.append([entry(str(n)) for n in range(35)])
    runner.catch_up()
    assert counted.saved == [10, 20, 30, 70]
    place.runner(settings=settings).catch_up()
    assert counted.saved == [10, 20, 30, 70]


@pytest.mark.parametrize("kind", ["validation_gate", "session_ended", "checkpoint_saved"])
@pytest.mark.parametrize("payload", [{"gate": 1, "passed": True}, {"gate": 1, "passed": False}])
def test_a_snapshot_is_written_at_a_gate_an_end_and_a_checkpoint(
    place: Place, counted: Counted, kind: str, payload: dict[str, Any]
) -> None:
    told = [entry(str(n)) for n in range(9)]
    told[4] = entry(type=f"{kind}@1", payload=payload)
    runner = place.runner()
    read_after_each(place, runner, told)
    assert counted.saved == [5]
    assert runner.snapshot_seq() == 5


def test_other_events_are_no_reason_for_a_snapshot(place: Place, counted: Counted) -> None:
    plain = ["user_message", "tool_call", "session_started", "task_completed", "error", "decision"]
    told = [entry(str(n), type=f"{kind}@1") for n, kind in enumerate(plain * 3)]
    read_after_each(place, place.runner(), told)
    assert counted.saved == []
    assert place.runner().snapshot_seq() == 0


def test_a_snapshot_is_written_every_so_many_bytes(place: Place, counted: Counted) -> None:
    settings = msgspec.structs.replace(SELDOM, snapshot_every_bytes=20_000)
    runner, expected, last = place.runner(settings=settings), [], 0
    for n in range(40):
        place.log.append([entry("x" * 1_500)])
        runner.catch_up()
        if place.log.size() - last >= 20_000:
            last = place.log.size()
            expected.append(n + 1)
    assert counted.saved == expected
    assert len(expected) >= 2


def test_a_log_that_begins_anew_gets_a_snapshot_of_its_own(place: Place, counted: Counted) -> None:
    told = [*story(20, 20), entry(type="validation_gate@1", event_id="gate")]
    place.log.append(told)
    runner = place.runner()
    check(runner, place.log)
    assert counted.saved == [21]
    place.log.erase(["evt-20-3"], subject=erasure(["evt-20-3"]))
    check(runner, place.log)
    newest = snapshot.read(next(iter(counted.load())), "p", VIEWS)
    assert isinstance(newest, snapshot.Snapshot)
    assert newest.position == place.log.head()


class Full(MemorySnapshots):
    """No room for a snapshot, and none to be read."""

    def save(self, data: bytes, generation: int) -> None:
        raise Unavailable("no room")

    def load(self) -> Iterator[bytes]:
        raise Unavailable("no disk")


def test_trouble_with_snapshots_is_told_and_changes_no_answer(place: Place) -> None:
    place.snapshots = Full()
    place.log.append([*story(21, 20), entry(type="session_ended@1")])
    runner = place.runner()
    check(runner, place.log)
    assert any("no room" in notice for notice in runner.notices)


# ---- making anew --------------------------------------------------------------------------------


def test_a_rebuild_is_what_was_there(place: Place) -> None:
    runner = place.runner()
    for told in (story(22, 20), story(23, 20)):
        place.log.append(told)
        live = runner.state_hash()
        assert runner.hash_on_disk() == live
        assert runner.rebuild() == live == state_hash(truth(place.log))
        check(runner, place.log)
        check(place.runner(), place.log)


def test_a_rebuild_believes_no_store_and_no_snapshot(place: Place) -> None:
    place.log.append(story(24, 20))
    runner = place.runner()
    runner.catch_up()
    at = place.log.head()
    assert place.store().commit(at, [marker("in the store")], at)
    place.snapshots.save(forged(place.log, "in a snapshot"), place.log.head().generation)
    place.snapshots.save(forged(place.log, "in another"), place.log.head().generation)
    assert markers(runner) == ["in the store"]
    said: list[int] = []
    assert runner.rebuild(said.append) == state_hash(truth(place.log))
    check(runner, place.log)
    check(place.runner(), place.log)
    assert all(b"in a" not in data for data in place.snapshots.load())


def test_extent_says_how_far_and_how_many(place: Place) -> None:
    runner = place.runner()
    assert runner.extent() == (0, 0)
    assert runner.hash_on_disk() is None
    ended_and_open(place.log)
    assert runner.extent() == (26, 7)


# ---- trouble with the store ---------------------------------------------------------------------


class Troubled:
    """A store around a store that fails when it is asked one thing, every so often."""

    def __init__(
        self, store: ViewStore, method: str, error: type[HoldfastError], every: int = 1
    ) -> None:
        self._store = store
        self._method = method
        self._error = error
        self._every = every
        self._asked = 0

    def _trouble(self, method: str) -> None:
        if method == self._method:
            self._asked += 1
            if self._asked % self._every == 0:
                raise self._error(f"{method} does not work")

    def position(self) -> Position | None:
        self._trouble("position")
        return self._store.position()

    def row(self, view: str, key: str) -> bytes | None:
        self._trouble("row")
        return self._store.row(view, key)

    def rows(self, view: str, prefix: str = "") -> list[tuple[str, bytes]]:
        self._trouble("rows")
        return self._store.rows(view, prefix)

    def rows_of(self, views: Sequence[str], prefix: str = "") -> list[tuple[str, str, bytes]]:
        self._trouble("rows_of")
        return self._store.rows_of(views, prefix)

    def note(self, name: str) -> str:
        self._trouble("note")
        return self._store.note(name)

    def reading(self) -> AbstractContextManager[None]:
        self._trouble("reading")
        return self._store.reading()

    def hurried(self) -> AbstractContextManager[None]:
        return self._store.hurried()

    def commit(
        self,
        base: Position | None,
        changes: Iterable[tuple[str, str, bytes | None]],
        position: Position | None,
        *,
        anew: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> bool:
        self._trouble("commit")
        return self._store.commit(base, changes, position, anew=anew, notes=notes)

    def discard(self) -> None:
        self._trouble("discard")
        self._store.discard()

    def close(self) -> None:
        self._store.close()


METHODS = ["position", "row", "rows", "everything", "note", "reading", "commit"]


@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.parametrize("error", [Unavailable, Damaged])
@pytest.mark.parametrize("method", METHODS)
def test_trouble_with_the_store_never_changes_an_answer(
    place: Place,
    method: str,
    error: type[HoldfastError],
    every: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow, "CHUNK", 4)
    settings = msgspec.structs.replace(SELDOM, snapshot_every_events=9)
    runner = place.runner(store=Troubled(place.store(), method, error, every), settings=settings)
    other = place.runner(settings=settings)
    told = story(25, 36)
    for n in range(0, 36, 6):
        place.log.append(told[n : n + 6])
        assert rows_of(runner) == truth(place.log)
        if n % 12:
            assert rows_of(other) == truth(place.log)
    check(runner, place.log)
    check(other, place.log)


@pytest.mark.parametrize("method", ["position", "rows", "reading"])
def test_a_damaged_store_that_cannot_be_discarded_changes_no_answer(
    place: Place, method: str
) -> None:
    place.log.append(story(26, 20))
    inner = Troubled(place.store(), "discard", Unavailable)
    runner = place.runner(store=Troubled(inner, method, Damaged))
    check(runner, place.log)
    place.log.append(story(27, 5))
    check(runner, place.log)
    assert runner.notices


def test_trouble_is_told(place: Place) -> None:
    place.log.append(story(28, 5))
    for error, words in ((Unavailable, "cannot be used"), (Damaged, "was damaged")):
        runner = place.runner(store=Troubled(place.store(), "rows", error))
        check(runner, place.log)
        assert any(words in notice for notice in runner.notices)


@pytest.mark.parametrize("harm", ["garbage", "cut", "directory", "gone", "read-only", "newer"])
def test_whatever_becomes_of_the_files_the_answer_is_the_log(files: Place, harm: str) -> None:
    files.log.append([*story(29, 30), entry(type="session_ended@1")])
    runner = files.runner()
    check(runner, files.log)
    files.log.append(story(30, 5))
    runner.close()
    index = files.folder / INDEX
    data = index.read_bytes()
    for name in INDEX_FILES:
        (files.folder / name).unlink(missing_ok=True)
    if harm == "garbage":
        index.write_bytes(b"garbage" * 5_000)
    elif harm == "cut":
        index.write_bytes(data[: len(data) // 2])
    elif harm == "directory":
        index.mkdir()
    elif harm == "read-only":
        index.write_bytes(data)
        index.chmod(0o400)
    elif harm == "newer":
        index.write_bytes(data[:60] + (99).to_bytes(4, "big") + data[64:])
    check(runner, files.log)
    check(files.runner(), files.log)
    assert harm != "newer" or index.read_bytes()[60:64] == (99).to_bytes(4, "big")


def test_a_row_with_a_flipped_bit_is_made_again(files: Place) -> None:
    told = story(31, 30)
    files.log.append(told[:20])
    runner = files.runner()
    check(runner, files.log)
    for at in range(20, 30):
        with closing(sqlite3.connect(files.folder / INDEX)) as db:
            db.execute("UPDATE rows SET row=cast(replace(cast(row as text), '1', '2') as blob)")
            db.commit()
        files.log.append([told[at]])
        assert rows_of(runner) == truth(files.log)


# ---- later views --------------------------------------------------------------------------------


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a kind."""

    count: int


class Tallies:
    """A row for each kind of event in a session; a decision wipes the questions away."""

    name = "tallies"
    version = 1
    kinds: frozenset[str] | None = None
    row = Tally

    def keys(self, event: Event) -> tuple[str, ...]:
        if event.session_id is None:
            return ()
        return tuple(self._key(event, kind) for kind in (event.kind, "user_message"))

    @staticmethod
    def _key(event: Event, kind: str) -> str:
        parts = [event.user, event.agent, event.session_id, kind]
        return msgspec.json.encode(parts).decode()

    def apply(self, rows: Rows, event: Event) -> Rows:
        mine, asked = self._key(event, event.kind), self._key(event, "user_message")
        known: Tally | None = rows[mine]
        changed: dict[str, Any] = {mine: Tally(count=(known.count if known else 0) + 1)}
        if event.kind == "decision" and rows[asked] is not None:
            changed[asked] = None
        return changed


def test_a_later_view_plugs_in_beside_the_others(place: Place) -> None:
    views: tuple[View, ...] = (*VIEWS, Tallies())
    place.log.append(story(32, 20))
    old = place.runner()
    check(old, place.log)
    place.lose_the_store()
    runner = place.runner(views=views)
    check(runner, place.log, views)
    for told in story(33, 30):
        place.log.append([told])
        assert rows_of(runner) == truth(place.log, views)
    check(runner, place.log, views)
    runner.export()
    place.lose_the_store()
    check(place.runner(views=views), place.log, views)
    assert runner.rebuild() == state_hash(truth(place.log, views))
    assert {view for view, _, _ in rows_of(runner)} >= {"tallies", "sessions"}


def test_an_index_of_other_views_is_made_anew_and_back_again(files: Place) -> None:
    views: tuple[View, ...] = (*VIEWS, Tallies())
    files.log.append([*story(34, 20), entry(type="session_ended@1")])
    for _ in range(2):
        check(files.runner(), files.log)
        check(files.runner(views=views), files.log, views)


def test_a_view_may_stand_alone(place: Place) -> None:
    views: tuple[View, ...] = (Sessions(),)
    assert isinstance(views[0], PerSession)
    place.log.append(story(35, 20))
    check(place.runner(views=views), place.log, views)
