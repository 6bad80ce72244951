"""What ports/log.py promises, on every engine: one suite, no exceptions for anybody."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from holdfast.engines.files import FileLog
from holdfast.engines.reference.log import MemoryLog
from holdfast.errors import Conflict, NotFound
from holdfast.model.events import Entry, Event
from holdfast.ports.log import EventLog, Keeper
from tests.contract.entries import (
    baseline,
    bytes_under,
    entry,
    erasure,
    events_of,
    file_log,
    plain,
    texts,
)


class Log(EventLog, Keeper, Protocol):
    """Both ports: what every engine of ours is."""


class Batched(FileLog):
    """Every append relaxed, synced within the window."""

    def append(self, entries: object, *, durable: bool = True) -> list[Event]:
        return super().append(entries, durable=False)  # type: ignore[arg-type]


ENGINES = ["reference", "files", "files-chained", "files-tiny", "files-batched"]


@pytest.fixture(params=ENGINES)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    made: Log
    if request.param == "reference":
        made = MemoryLog()
    elif request.param == "files-tiny":
        made = file_log(tmp_path / "log", segment_bytes=2_000)
    elif request.param == "files-batched":
        plain_log = file_log(tmp_path / "log", window_ms=5)
        made = Batched(plain_log.folder, plain_log.settings)
    else:
        made = file_log(tmp_path / "log", chained=request.param == "files-chained")
    yield made
    made.close()


def seqs(events: list[Event]) -> list[int]:
    return [event.event_seq for event in events]


def fill(log: Log, count: int) -> list[Event]:
    return [log.append([entry(f"event {n}")])[0] for n in range(1, count + 1)]


# ---- append and read ----------------------------------------------------------------------------


def test_an_empty_log_is_empty(log: Log) -> None:
    assert events_of(log) == []
    assert log.find("evt_x") is None
    assert log.present(["evt_x"]) == set()
    assert (log.head().event_seq, log.head().crc, log.head().generation) == (0, "", 1)
    assert log.verify().events == 0
    assert log.verify().sound


def test_seqs_are_dense_and_rise_from_one(log: Log) -> None:
    assert seqs(fill(log, 30)) == list(range(1, 31))
    assert seqs(events_of(log)) == list(range(1, 31))


def test_a_batch_is_recorded_in_its_order(log: Log) -> None:
    log.append([entry("before")])
    recorded = log.append([entry(f"item {n}") for n in range(10)])
    assert seqs(recorded) == list(range(2, 12))
    assert texts(recorded) == [f"item {n}" for n in range(10)]
    assert events_of(log)[1:] == recorded


def test_an_empty_batch_records_nothing(log: Log) -> None:
    assert log.append([]) == []
    assert log.head().event_seq == 0


def test_every_field_comes_back_as_it_was_given(log: Log) -> None:
    first = entry("a source")
    given = entry(
        event_id="Own:id_1.x-2",
        session_id="ses é",
        agent='a "quoted" agent\\',
        user="ü\u2028ser",
        type="moon_phase@12",
        timestamp="1999-12-31T23:59:59.999Z",
        origin="tool",
        trust=1,
        sources=(first.event_id,),
        payload={"text": "Grüße \0 \U0001f30d", "n": [1, 2.5, None, True, {"k": -0.0}], "": ""},
    )
    log.append([first, given])
    event = events_of(log)[1]
    for name in line_fields():
        assert getattr(event, name) == getattr(given, name), name
    assert event.v == 2
    assert event.payload["n"] == [1, 2.5, None, True, {"k": -0.0}]
    assert event.text == "Grüße \0 \U0001f30d"


def line_fields() -> tuple[str, ...]:
    from holdfast.capture.line import FIELDS

    return FIELDS


def test_nobody_and_no_session_are_none(log: Log) -> None:
    log.append([entry(session_id=None, agent=None, user=None)])
    (event,) = events_of(log)
    assert (event.session_id, event.agent, event.user) == (None, None, None)


def test_reading_starts_behind_any_position(log: Log) -> None:
    fill(log, 25)
    for after in range(28):
        assert seqs(events_of(log, after)) == list(range(after + 1, 26))


def test_what_append_returns_is_what_is_read(log: Log) -> None:
    recorded = fill(log, 5)
    assert events_of(log) == recorded


def test_a_reader_that_began_sees_at_least_what_was_there(log: Log) -> None:
    fill(log, 5)
    reader = log.read()
    first = next(reader)
    fill(log, 5)
    rest = list(reader)
    assert isinstance(first, Event)
    assert len(rest) >= 4


def test_large_and_small_events_keep_company(log: Log) -> None:
    sizes = [1, 3_000, 10, 300_000, 5, 70_000, 1_100_000, 2]
    log.append([entry("x" * size) for size in sizes[:4]])
    for size in sizes[4:]:
        log.append([entry("x" * size)])
    for after in range(len(sizes)):
        assert [len(t) for t in texts(events_of(log, after))] == sizes[after:]


def test_relaxed_and_durable_appends_keep_their_order(log: Log) -> None:
    for n in range(12):
        log.append([entry(str(n))], durable=n % 3 == 0)
    assert texts(events_of(log)) == [str(n) for n in range(12)]


# ---- ids ----------------------------------------------------------------------------------------


def test_the_same_id_with_the_same_content_is_the_same_event(log: Log) -> None:
    first = log.append([entry("once", "own-1")])
    assert log.append([entry("once", "own-1")]) == first
    assert log.append([entry("once", "own-1", timestamp="2031-01-01T00:00:00.000Z")]) == first
    assert log.head().event_seq == 1


@pytest.mark.parametrize(
    "other",
    [
        {"payload": {"text": "other"}},
        {"session_id": "other"},
        {"agent": "other"},
        {"user": None},
        {"type": "decision@1"},
        {"origin": "tool"},
        {"sources": ("x",)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_same_id_with_other_content_is_a_conflict(log: Log, other: dict[str, object]) -> None:
    log.append([entry("once", "own-1")])
    with pytest.raises(Conflict):
        log.append([entry("beside it", "own-2"), entry("once", "own-1", **other)])
    assert texts(events_of(log)) == ["once"]
    assert log.find("own-2") is None


def test_an_id_twice_in_one_batch_is_a_conflict_and_nothing_is_recorded(log: Log) -> None:
    with pytest.raises(Conflict):
        log.append([entry("a", "own-1"), entry("a", "own-1")])
    assert log.head().event_seq == 0


def test_a_batch_may_hold_known_and_new_events(log: Log) -> None:
    log.append([entry("a", "own-a"), entry("b", "own-b")])
    recorded = log.append([entry("c", "own-c"), entry("a", "own-a"), entry("d")])
    assert seqs(recorded) == [3, 1, 4]
    assert texts(events_of(log)) == ["a", "b", "c", "d"]


def test_an_erased_id_stays_taken_whatever_comes_with_it(log: Log) -> None:
    log.append([entry("secret words", "own-1")])
    log.erase(["own-1"], subject=erasure(["own-1"]))
    (again,) = log.append([entry("secret words", "own-1")])
    assert (again.event_seq, again.erased) == (1, True)
    assert log.append([entry("other words", "own-1")]) == [again]
    assert log.head().event_seq == 2


def test_a_payload_that_says_erased_is_content_like_any_other(log: Log) -> None:
    log.append([entry(event_id="own-1", payload={"erased": "a file"})])
    with pytest.raises(Conflict):
        log.append([entry(event_id="own-1", payload={"erased": "another file"})])
    assert log.verify().sound


def test_events_are_found_by_id(log: Log) -> None:
    recorded = fill(log, 20)
    for event in recorded:
        assert log.find(event.event_id) == event
    assert log.find("evt_none") is None
    assert log.find("") is None


def test_which_ids_are_present_is_told_for_many_at_once(log: Log) -> None:
    ids = [event.event_id for event in fill(log, 5)]
    assert log.present([*ids[:3], "none"]) == set(ids[:3])
    assert log.present([]) == set()


# ---- head and wait ------------------------------------------------------------------------------


def test_the_head_is_the_last_event(log: Log) -> None:
    for event in fill(log, 5):
        assert event.event_seq <= 5
    head = log.head()
    assert (head.event_seq, head.crc) == (5, events_of(log)[-1].crc)


def test_waiting_for_what_is_there_returns_at_once(log: Log) -> None:
    fill(log, 3)
    assert log.wait(2, 60)
    assert log.wait(0, 0)


def test_waiting_ends_when_the_time_is_up(log: Log) -> None:
    fill(log, 3)
    assert not log.wait(3, 0)
    assert not log.wait(3, 0.02)
    assert not log.wait(99, 0.02)


def test_waiting_ends_when_another_thread_appends(log: Log) -> None:
    fill(log, 2)

    def later() -> None:
        time.sleep(0.03)
        log.append([entry("late")])

    writer = threading.Thread(target=later)
    writer.start()
    assert log.wait(2, 60)
    writer.join()
    assert log.head().event_seq == 3


# ---- erase --------------------------------------------------------------------------------------


def test_erase_takes_the_content_and_keeps_the_place(log: Log, tmp_path: Path) -> None:
    kept = log.append([entry("stays", "own-1")])[0]
    gone = log.append([entry("zebra crossing", "own-2", user="subject-name", sources=("own-1",))])[
        0
    ]
    generation = log.head().generation
    done = log.erase(["own-2"], subject=erasure(["own-2"]))
    assert (done.events, done.generation) == (1, log.head().generation)
    assert done.generation > generation
    first, erased, said = events_of(log)
    assert plain(first) == plain(kept)
    for name in ("event_seq", "event_id", "session_id", "type", "timestamp", "origin", "sources"):
        assert getattr(erased, name) == getattr(gone, name), name
    assert erased.erased
    assert erased.payload == {"erased": said.event_id}
    assert erased.user not in (None, "subject-name")
    assert said.kind == "subject_erased"
    for name, data in bytes_under(tmp_path).items():
        assert b"zebra" not in data, name
        assert b"subject-name" not in data, name
    assert log.verify().sound
    assert log.verify().erased == 1


def test_erase_leaves_nobody_as_nobody(log: Log) -> None:
    log.append([entry("words", "own-1", user=None)])
    log.erase(["own-1"], subject=erasure(["own-1"]))
    assert events_of(log)[0].user is None


def test_one_pseudonym_per_erase_keeps_a_subject_together(log: Log) -> None:
    log.append([entry(str(n), f"own-{n}") for n in range(3)])
    log.erase(["own-0", "own-2"], subject=erasure(["own-0", "own-2"]))
    first, second, third, _ = events_of(log)
    assert first.user == third.user != second.user


def test_erasing_an_unknown_id_changes_nothing(log: Log) -> None:
    log.append([entry("stays", "own-1")])
    before = (log.head(), events_of(log))
    with pytest.raises(NotFound):
        log.erase(["own-1", "own-9"], subject=erasure(["own-1", "own-9"]))
    assert (log.head(), events_of(log)) == before


def test_erasing_twice_changes_nothing_more(log: Log) -> None:
    log.append([entry("words", "own-1"), entry("others")])
    log.erase(["own-1"], subject=erasure(["own-1"], "by-1"))
    log.erase(["own-1"], subject=erasure(["own-1"], "by-2"))
    first, other, *said = events_of(log)
    assert first.payload == {"erased": "by-1"}
    assert other.text == "others"
    assert [event.event_id for event in said] == ["by-1", "by-2"]


@pytest.mark.parametrize(
    "payload", [{"erased": "zebra"}, {"erased": True, "text": "zebra"}, {"erased": {"a": "zebra"}}]
)
def test_erase_takes_a_payload_that_already_says_erased(
    log: Log, tmp_path: Path, payload: dict[str, object]
) -> None:
    log.append([entry(event_id="own-1", payload=payload)])
    done = log.erase(["own-1"], subject=erasure(["own-1"], "by-1"))
    assert done.events == 1
    assert events_of(log)[0].payload == {"erased": "by-1"}
    assert not [n for n, data in bytes_under(tmp_path).items() if b"zebra" in data]


def test_a_header_that_looks_like_a_payload_is_erased_like_any_other(
    log: Log, tmp_path: Path
) -> None:
    odd = ',"payload":{"erased":"no"},"user":"x"'
    log.append([entry("zebra", "own-1", agent=odd, user=odd + "zebra", session_id=odd)])
    log.append([entry("after")])
    log.erase(["own-1"], subject=erasure(["own-1"]))
    first = events_of(log)[0]
    assert first.erased
    assert (first.agent, first.session_id) == (odd, odd)
    assert not [n for n, data in bytes_under(tmp_path).items() if b"zebra" in data]


def test_appending_goes_on_after_an_erase(log: Log) -> None:
    fill(log, 5)
    target = events_of(log)[2].event_id
    log.erase([target], subject=erasure([target]))
    assert log.append([entry("on", "own-1")])[0].event_seq == 7
    assert seqs(events_of(log)) == list(range(1, 8))
    assert log.append([entry("on", "own-1")])[0].event_seq == 7


def test_an_erase_whose_own_event_is_there_with_other_content_is_a_conflict(log: Log) -> None:
    log.append([entry("words", "own-1"), entry("mine", "by-1")])
    with pytest.raises(Conflict):
        log.erase(["own-1"], subject=erasure(["own-1"], "by-1"))
    assert texts(events_of(log)) == ["words", "mine"]


# ---- seal and retain ----------------------------------------------------------------------------


def test_sealing_changes_nothing_a_reader_sees(log: Log) -> None:
    recorded: list[Event] = []
    for n in range(5):
        recorded += log.append([entry(f"{n}a"), entry(f"{n}b")])
        log.seal()
        log.seal()
        assert events_of(log) == recorded
        assert log.head().event_seq == len(recorded)
    for after in range(11):
        assert events_of(log, after) == recorded[after:]
    assert log.verify().sound


def test_sealing_an_empty_log_is_nothing(log: Log) -> None:
    log.seal()
    assert log.append([entry()])[0].event_seq == 1


def in_segments(log: Log, count: int) -> None:
    for n in range(count):
        log.append([entry(f"{n}a"), entry(f"{n}b")])
        log.seal()


def test_retain_drops_whole_segments_and_records_the_baseline(log: Log) -> None:
    in_segments(log, 4)
    generation = log.head().generation
    assert log.retain(baseline("base-1"), through=5) == 2
    left = events_of(log)
    assert seqs(left) == [5, 6, 7, 8, 9]
    assert left[-1].event_id == "base-1"
    assert log.head().generation > generation
    assert log.find(left[0].event_id) == left[0]
    assert log.verify().sound
    assert log.verify().first_seq == 5


def test_positions_behind_a_retention_keep_working(log: Log) -> None:
    in_segments(log, 4)
    log.retain(baseline(), through=4)
    for after in range(12):
        assert seqs(events_of(log, after)) == list(range(max(after, 4) + 1, 10))
    assert log.append([entry("on")])[0].event_seq == 10
    assert log.wait(9, 0)


def test_retaining_before_the_first_whole_segment_drops_nothing(log: Log) -> None:
    in_segments(log, 2)
    generation = log.head().generation
    assert log.retain(baseline(), through=1) == 0
    assert seqs(events_of(log)) == [1, 2, 3, 4, 5]
    assert log.head().generation == generation


def test_a_dropped_event_is_not_found_and_not_erasable(log: Log) -> None:
    log.append([entry("old", "own-1")])
    log.seal()
    in_segments(log, 2)
    assert log.find("own-1") is not None
    log.retain(baseline(), through=3)
    assert log.find("own-1") is None
    assert log.present(["own-1"]) == set()
    with pytest.raises(NotFound):
        log.erase(["own-1"], subject=erasure(["own-1"]))


def test_an_id_that_was_dropped_is_recorded_anew_and_then_once(log: Log) -> None:
    log.append([entry("old", "own-1")])
    log.seal()
    in_segments(log, 2)
    assert log.find("own-1") is not None
    log.retain(baseline(), through=3)
    again = log.append([entry("old", "own-1")])[0]
    assert log.find("own-1") == again
    assert log.append([entry("old", "own-1")]) == [again]


def test_retaining_again_with_the_same_baseline_records_it_once(log: Log) -> None:
    in_segments(log, 3)
    log.retain(baseline("base-1"), through=2)
    log.retain(baseline("base-1"), through=4)
    assert [e.event_id for e in events_of(log)].count("base-1") == 1


def test_a_retention_that_drops_nothing_more_leaves_the_log_sound(log: Log) -> None:
    in_segments(log, 4)
    assert log.retain(baseline(), through=4) == 2
    assert log.retain(baseline(), through=4) == 0
    assert log.retain(baseline(), through=0) == 0
    assert log.verify().sound
    assert seqs(events_of(log)) == list(range(5, 12))
    assert log.retain(baseline(), through=8) == 2
    assert log.verify().sound
    assert log.verify().first_seq == 9


def test_erase_and_retain_may_follow_each_other(log: Log) -> None:
    log.append([entry(str(n), f"own-{n}") for n in range(3)])
    log.seal()
    in_segments(log, 2)
    log.erase(["own-1"], subject=erasure(["own-1"]))
    log.retain(baseline(), through=3)
    log.append([entry("x", "own-x")])
    log.erase(["own-x"], subject=erasure(["own-x"]))
    assert log.verify().sound
    assert events_of(log)[-2].erased


# ---- order --------------------------------------------------------------------------------------


def test_no_reader_sees_a_position_and_later_a_new_event_below_it(log: Log) -> None:
    stop = threading.Event()
    trouble: list[object] = []

    def write(name: int) -> None:
        dice = random.Random(name)
        for n in range(40):
            log.append([entry(f"{name}-{n}-{i}") for i in range(dice.randint(1, 3))])
            if dice.random() < 0.2:
                log.seal()

    def read() -> None:
        seen = 0
        while not stop.is_set():
            head = log.head().event_seq
            if head < seen:
                trouble.append(("the head went back", seen, head))
            found = seqs([e for e in log.read(seen) if isinstance(e, Event)])
            if found != list(range(seen + 1, seen + 1 + len(found))):
                trouble.append(("not dense", seen, found))
            if seen + len(found) < head:
                trouble.append(("less than the head said", seen, head))
            seen += len(found)

    writers = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in [*writers, *readers]:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert trouble == []
    assert seqs(events_of(log)) == list(range(1, log.head().event_seq + 1))


def test_threads_that_retry_the_same_ids_record_each_once(log: Log) -> None:
    def write() -> None:
        for n in range(25):
            log.append([entry(f"text {n}", f"own-{n}")])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts(events_of(log))) == sorted(f"text {n}" for n in range(25))


# ---- files only: more than one handle -----------------------------------------------------------


@pytest.fixture(params=["crc", "chained", "tiny"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[FileLog, FileLog]]:
    size = 2_000 if request.param == "tiny" else 64 << 20
    logs = [
        file_log(tmp_path / "log", chained=request.param == "chained", segment_bytes=size)
        for _ in range(2)
    ]
    yield logs[0], logs[1]
    for each in logs:
        each.close()


def test_two_handles_see_each_others_events(two: tuple[FileLog, FileLog]) -> None:
    a, b = two
    for n in range(10):
        assert a.append([entry(f"a{n}", f"a-{n}")])[0].event_seq == 2 * n + 1
        assert b.append([entry(f"b{n}", f"b-{n}")], durable=n % 2 == 0)[0].event_seq == 2 * n + 2
        assert events_of(a) == events_of(b)
        assert a.head() == b.head()
        assert a.find(f"b-{n}") == b.find(f"b-{n}") is not None
    assert a.append([entry("b3", "b-3")])[0].event_seq == 8
    with pytest.raises(Conflict):
        b.append([entry("not a3", "a-3")])
    assert a.verify().sound


def test_two_handles_follow_each_other_through_seal_erase_and_retain(
    two: tuple[FileLog, FileLog],
) -> None:
    a, b = two
    for log, other in ((a, b), (b, a)):
        log.append([entry("one"), entry("two", f"own-{id(log)}")])
        log.seal()
        other.append([entry("three")])
        log.erase([f"own-{id(log)}"], subject=erasure([f"own-{id(log)}"]))
        other.append([entry("four")])
        other.seal()
        log.append([entry("five")])
        assert events_of(a) == events_of(b)
        assert a.head() == b.head()
    a.retain(baseline(), through=3)
    before = b.head().event_seq
    assert b.append([entry("six")])[0].event_seq == before + 1
    assert events_of(a) == events_of(b)
    assert a.append([entry("seven")])[0].event_seq == before + 2
    assert a.verify().sound
    assert b.verify() == a.verify()


def test_a_reader_with_its_own_handle_never_sees_a_position_twice_or_out_of_order(
    two: tuple[FileLog, FileLog],
) -> None:
    a, b = two
    done = threading.Event()

    def write() -> None:
        for n in range(60):
            a.append([entry(str(n)), entry(str(n))], durable=n % 2 == 0)
            if n % 9 == 0:
                a.seal()
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    heads, seen, odd = [], 0, []
    while not done.is_set():
        heads.append((seen, b.head().event_seq))
        for event in b.read(seen):
            if not isinstance(event, Event) or event.event_seq != seen + 1:
                odd.append((seen, event))
            seen += 1
    thread.join()
    assert odd == []
    assert [(read, head) for read, head in heads if head < read] == []
    assert len(events_of(b)) == 120


def test_a_child_process_appends_beside_its_parent(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log")
    log.append([entry("parent")])
    child = os.fork()
    if child == 0:
        try:
            log.append([entry("child", "own-child")])
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    log.append([entry("parent again")])
    assert texts(events_of(log)) == ["parent", "child", "parent again"]
    log.close()


def test_a_closed_log_has_synced_and_can_be_opened_again(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log", window_ms=3_600_000)
    log.append([entry("relaxed")], durable=False)
    log.close()
    log.close()
    again = file_log(tmp_path / "log")
    assert texts(events_of(again)) == ["relaxed"]
    again.close()


def test_reading_needs_no_right_to_write(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log")
    log.append([entry("one")])
    log.close()
    before = sorted(os.listdir(tmp_path / "log"))
    reader = file_log(tmp_path / "log")
    assert texts(events_of(reader)) == ["one"]
    assert reader.head().event_seq == 1
    assert reader._opened is None
    assert sorted(os.listdir(tmp_path / "log")) == before


def made_of(count: int) -> list[Entry]:
    return [entry(str(n)) for n in range(count)]


def test_tiny_segments_are_sealed_by_themselves_under_their_first_seq(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log", segment_bytes=1_000)
    for each in made_of(40):
        log.append([each])
    names = sorted(n for n in os.listdir(tmp_path / "log") if n.startswith("events-"))
    assert len(names) > 4
    assert names[0] == "events-000000000001.ndjson"
    for name in names:
        first = (tmp_path / "log" / name).read_bytes().split(b',"event_id"')[0]
        assert int(first.rpartition(b":")[2]) == int(name[7:19])
    log.close()
