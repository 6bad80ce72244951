"""The damage the field has seen, case by case: splices, lost newlines, NULs, gaps, second copies."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import holdfast
from holdfast.capture.disk import Disk
from holdfast.capture.layout import sealed_name
from holdfast.engines.files import FileLog
from holdfast.errors import Unavailable
from holdfast.model.events import Damage, Event
from tests.contract.entries import (
    baseline,
    entry,
    erasure,
    events_of,
    file_log,
    split,
    texts,
)
from tests.corruption.golden import fifty, folder_with, joined, met, record, sealed

RECORDS = fifty()


def reasons(damage: list[Damage]) -> list[str]:
    return [each.reason for each in damage]


def test_a_torn_record_with_the_next_one_on_its_line_costs_only_the_torn_one() -> None:
    torn = RECORDS[1][: len(RECORDS[1]) // 2]
    data = RECORDS[0] + b"\n" + torn + RECORDS[2] + b"\n" + RECORDS[3] + b"\n"
    with folder_with(data) as (log, _):
        records, damage = met(log)
        assert records == [RECORDS[0], RECORDS[2], RECORDS[3]]
        assert reasons(damage) == ["garbage", "gap"]
        assert (damage[0].offset, damage[0].length) == (len(RECORDS[0]) + 1, len(torn))
        assert (damage[1].first_seq, damage[1].last_seq) == (2, 2)


def test_many_splices_on_one_line_each_give_back_their_whole_records() -> None:
    data = b"".join(r[: n % len(r)] + r for n, r in enumerate(RECORDS)) + b"\n"
    with folder_with(data) as (log, _):
        records, damage = met(log)
        assert records == RECORDS
        assert len(damage) == 49


def test_two_whole_records_without_a_newline_between_them_are_both_read() -> None:
    with folder_with(RECORDS[0] + RECORDS[1] + b"\n" + RECORDS[2]) as (log, _):
        assert met(log) == (RECORDS[:3], [])
        assert log.append([entry()])[0].event_seq == 4
        assert len(events_of(log)) == 4


@pytest.mark.parametrize("size", [1, 511, 4096, 1 << 20, (1 << 20) + 7, 3 << 20])
@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_a_run_of_nul_bytes_in_the_middle_is_damage_and_reading_goes_on(
    size: int, newline: bytes
) -> None:
    data = joined(RECORDS[:2]) + b"\0" * size + newline + joined(RECORDS[2:4])
    with folder_with(data) as (log, _):
        records, damage = met(log)
        assert records == RECORDS[:4]
        assert reasons(damage) == ["garbage"]
        assert damage[0].length == size


def test_a_run_of_nul_bytes_at_the_tail_is_saved_and_cut_by_the_next_append() -> None:
    data = joined(RECORDS[:2]) + b"\0" * 4096
    with folder_with(data) as (log, path):
        records, damage = met(log)
        assert (records, reasons(damage)) == (RECORDS[:2], ["torn_tail"])
        assert log.append([entry("on")])[0].event_seq == 4
        assert b"\0" not in path.read_bytes()
        (kept,) = (Path(log.folder) / "quarantine").iterdir()
        assert kept.read_bytes() == b"\0" * 4096
        assert log.verify().sound


def test_records_missing_in_the_middle_are_reported_with_their_range() -> None:
    with folder_with(joined(RECORDS[:10] + RECORDS[20:30] + RECORDS[31:])) as (log, _):
        records, damage = met(log)
        assert records == RECORDS[:10] + RECORDS[20:30] + RECORDS[31:]
        assert [(d.reason, d.first_seq, d.last_seq) for d in damage] == [
            ("gap", 11, 20),
            ("gap", 31, 31),
        ]
        said = log.verify()
        assert not said.sound
        assert "events 11 to 20" in str(said.damage[0])


def test_records_missing_at_the_start_are_a_gap_too() -> None:
    with folder_with(joined(RECORDS[5:8])) as (log, _):
        _, damage = met(log)
        assert [(d.reason, d.first_seq, d.last_seq) for d in damage] == [("gap", 1, 5)]


def test_a_file_appended_to_itself_gives_each_event_once_and_counts_the_copies() -> None:
    with folder_with(joined(RECORDS) * 2) as (log, _):
        records, damage = met(log)
        assert records == RECORDS
        assert reasons(damage) == ["duplicate"] * 50
        assert not log.verify().sound


def test_of_two_records_with_one_seq_the_first_counts() -> None:
    other = record(2, {"text": "an impostor"}, "evt-other")
    with folder_with(joined([*RECORDS[:2], other, RECORDS[2]])) as (log, _):
        records, damage = met(log)
        assert (records, reasons(damage)) == (RECORDS[:3], ["duplicate"])


def test_the_same_id_at_two_places_is_handed_out_once_and_counted() -> None:
    again = record(3, {"text": "the same id again"}, "evt-0001")
    with folder_with(joined([*RECORDS[:2], again])) as (log, _):
        events, damage = split(log)
        assert [event.event_id for event in events] == ["evt-0001", "evt-0002"]
        assert "duplicate" in reasons(damage)
        said = log.verify()
        assert (said.events, said.sound) == (2, False)


def test_records_out_of_order_are_handed_out_in_order_and_reported() -> None:
    mixed = [RECORDS[n] for n in (0, 3, 1, 2, 5, 4)]
    with folder_with(joined(mixed)) as (log, _):
        records, damage = met(log)
        assert records == RECORDS[:6]
        assert [(d.reason, d.first_seq) for d in damage] == [
            ("out_of_order", 2),
            ("out_of_order", 3),
            ("out_of_order", 5),
        ]
        assert log.append([entry()])[0].event_seq == 7


def test_a_hole_beside_records_out_of_order_is_reported_as_a_hole() -> None:
    mixed = [RECORDS[n] for n in (0, 5, 2, 6)]
    with folder_with(joined(mixed)) as (log, _):
        records, damage = met(log)
        assert records == [RECORDS[n] for n in (0, 2, 5, 6)]
        assert [(d.reason, d.first_seq, d.last_seq) for d in damage] == [
            ("gap", 2, 2),
            ("out_of_order", 3, 3),
            ("gap", 4, 5),
        ]


@pytest.mark.parametrize("after", range(12))
def test_records_out_of_order_are_read_from_any_position(after: int) -> None:
    mixed = [RECORDS[n] for n in (0, 3, 1, 2, 5, 4, 9, 8, 7, 6)]
    with folder_with(joined(mixed)) as (log, _):
        records, _ = met(log, after)
        assert records == RECORDS[after:10]


# ---- a restored backup --------------------------------------------------------------------------


def long_records(count: int) -> list[bytes]:
    """Some 600 bytes each: enough of them and a reader has to seek."""
    return [record(seq, {"text": f"{seq} " * 120}) for seq in range(1, count + 1)]


def test_an_older_copy_appended_to_the_log_does_not_send_the_writer_backwards() -> None:
    many = long_records(600)
    with folder_with(joined(many) + joined(many[:300])) as (log, _):
        added = log.append([entry("after the restore", "own-id")])[0]
        assert added.event_seq == 601
        events, _ = split(log)
        assert events[-1].event_id == "own-id"


@pytest.mark.parametrize("after", [0, 100, 250, 299, 300, 301, 450, 599])
def test_an_older_copy_appended_to_the_log_hides_nothing_from_any_position(after: int) -> None:
    many = long_records(600)
    with folder_with(joined(many) + joined(many[:300])) as (log, _):
        records, _ = met(log, after)
        assert records == many[after:]


def test_an_older_active_segment_restored_over_a_newer_log_loses_no_acknowledged_event() -> None:
    with folder_with(joined(RECORDS[:5])) as (log, path):
        (path.parent / sealed_name(1)).write_bytes(joined(RECORDS[:10]))
        added = log.append([entry("after the restore", "own-id")])[0]
        assert added.event_seq == 11
        events, damage = split(log)
        assert [event.event_seq for event in events] == list(range(1, 12))
        assert reasons(damage) == ["duplicate"] * 5
        assert log.find("own-id") == events[-1]


def test_a_log_with_a_restored_active_segment_can_still_be_sealed() -> None:
    with folder_with(joined(RECORDS[:12])) as (log, path):
        (path.parent / sealed_name(1)).write_bytes(joined(RECORDS[:10]))
        log.seal()
        assert log.append([entry("on")])[0].event_seq == 13
        assert len(split(log)[0]) == 13


def test_a_session_that_belongs_to_somebody_else_is_counted_as_foreign(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log")
    log.append([entry("mine", session_id="s"), entry("theirs", session_id="s", user="eve")])
    said = log.verify()
    assert (said.foreign, said.sound) == (1, True)
    log.close()


# ---- segments -----------------------------------------------------------------------------------


def test_damage_in_a_sealed_segment_costs_only_what_it_hit() -> None:
    data = joined(RECORDS[:10])
    broken = bytearray(data)
    broken[len(data) // 2] ^= 4
    with folder_with(bytes(broken), sealed_name(1)) as (log, path):
        (path.parent / "events.ndjson").write_bytes(joined(RECORDS[10:20]))
        records, damage = met(log)
        assert len(records) == 19
        assert set(records) < set(RECORDS)
        assert reasons(damage) == ["garbage", "gap"]


def test_what_lies_beyond_the_length_of_a_failed_segment_does_not_count() -> None:
    known = joined(RECORDS[:3])
    unsynced = joined([record(4, {"text": "never acknowledged"}, "evt-unsynced")])
    with folder_with(known + unsynced, sealed_name(1, len(known))) as (log, path):
        (path.parent / "events.ndjson").write_bytes(joined(RECORDS[3:6]))
        assert met(log) == (RECORDS[:6], [])
        assert log.append([entry()])[0].event_seq == 7
        assert log.verify().sound


def test_a_failed_segment_shorter_than_its_name_says_gives_what_it_has() -> None:
    known = joined(RECORDS[:3])
    with folder_with(known[:-10], sealed_name(1, len(known))) as (log, path):
        (path.parent / "events.ndjson").write_bytes(joined(RECORDS[3:6]))
        records, damage = met(log)
        assert records == RECORDS[:2] + RECORDS[3:6]
        assert reasons(damage) == ["garbage", "gap"]


class SyncFails(Disk):
    """The disk does not keep what it is given, as long as `failing` is set."""

    failing = False

    def fdatasync(self, fd: int) -> None:
        if self.failing:
            raise OSError(errno.EIO, "no")
        os.fdatasync(fd)


def after_a_failed_sync(place: Path) -> FileLog:
    """Three events written relaxed, a durable one the disk refused, seven more: one segment failed."""
    disk = SyncFails()
    log = file_log(place, disk=disk, window_ms=3_600_000)
    for n in range(1, 4):
        log.append([entry(str(n))], durable=False)
    disk.failing = True
    with pytest.raises(Unavailable):
        log.append([entry("refused")])
    disk.failing = False
    for n in range(4, 11):
        log.append([entry(str(n))])
    return log


def test_after_a_failed_sync_the_log_reads_whole_from_any_position(tmp_path: Path) -> None:
    log = after_a_failed_sync(tmp_path / "log")
    log.seal()
    for after in range(11):
        assert texts(events_of(log, after)) == [str(n) for n in range(after + 1, 11)]
    log.append([entry("11")])
    for after in range(12):
        assert texts(events_of(log, after)) == [str(n) for n in range(after + 1, 12)]
    log.close()


def test_after_a_failed_sync_retention_drops_no_event_behind_its_position(tmp_path: Path) -> None:
    log = after_a_failed_sync(tmp_path / "log")
    log.seal()
    log.append([entry("11")])
    log.retain(baseline(), through=3)
    assert [e.event_seq for e in events_of(log, 3)] == list(range(4, 13))
    log.close()


def test_after_a_failed_sync_of_an_empty_segment_an_erase_takes_only_what_it_was_asked_to(
    tmp_path: Path,
) -> None:
    disk = SyncFails()
    log = file_log(tmp_path / "log", disk=disk)
    log.append([entry("1", "one")])
    log.seal()
    disk.failing = True
    with pytest.raises(Unavailable):
        log.append([entry("refused")])
    disk.failing = False
    for n in range(2, 6):
        log.append([entry(str(n))])
    log.erase(["one"], subject=erasure(["one"]))
    assert texts(events_of(log, 1))[:4] == ["2", "3", "4", "5"]
    log.close()


def test_after_a_failed_sync_of_an_empty_segment_retention_says_how_far_it_dropped(
    tmp_path: Path,
) -> None:
    disk = SyncFails()
    log = file_log(tmp_path / "log", disk=disk)
    log.append([entry("1"), entry("2")])
    log.seal()
    disk.failing = True
    with pytest.raises(Unavailable):
        log.append([entry("refused")])
    disk.failing = False
    log.append([entry("3"), entry("4")])
    log.seal()
    log.append([entry("5")])
    log.retain(baseline(), through=2)
    assert [e.event_seq for e in events_of(log)] == [3, 4, 5, 6]
    log.close()


# ---- versions and types -------------------------------------------------------------------------


def test_an_unknown_version_passes_through_untouched() -> None:
    strange = sealed(
        b'{"v":3,"event_seq":2,"event_id":"evt-v3","type":"x@9","who":{"a":1},"payload":[1]'
    )
    other = sealed(b'{"v":41,"event_seq":3,"event_id":"evt-v41","trust":"high","body":"b"')
    with folder_with(joined([RECORDS[0], strange, other, RECORDS[3]])) as (log, path):
        events, damage = split(log)
        assert [event.event_id for event in events] == ["evt-0001", "evt-v3", "evt-v41", "evt-0004"]
        assert [event.v for event in events] == [2, 3, 41, 2]
        assert damage == []
        assert log.verify().sound
        log.append([entry()])
        assert path.read_bytes().startswith(joined([RECORDS[0], strange, other, RECORDS[3]]))


def test_an_erase_takes_the_content_of_an_unknown_version_out_or_refuses() -> None:
    strange = sealed(b'{"v":3,"event_seq":2,"event_id":"evt-v3","body":"the subject said this"')
    with folder_with(joined([RECORDS[0], strange, RECORDS[2]])) as (log, path):
        try:
            log.erase(["evt-v3"], subject=erasure(["evt-v3"]))
        except holdfast.errors.HoldfastError:
            assert strange in path.read_bytes()
            return
        assert not any(b"the subject said" in p.read_bytes() for p in path.parent.glob("*.ndjson"))
        events, damage = split(log)
        assert (len(events), damage) == (4, [])


def test_an_unknown_type_passes_through(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log")
    log.append([entry(type="moon_phase@77", payload={"x": 1})])
    (event,) = events_of(log)
    assert (event.type, event.payload) == ("moon_phase@77", {"x": 1})
    log.close()


def test_a_whole_record_that_is_not_json_is_damage_and_not_an_exception() -> None:
    bad = sealed(b'{"v":2,"event_seq":2,"event_id":"evt-bad","payload":{]')
    deep = sealed(
        b'{"v":2,"event_seq":3,"event_id":"evt-deep","payload":' + b"[" * 9000 + b"]" * 9000
    )
    latin = sealed(b'{"v":2,"event_seq":4,"event_id":"evt-\xe9","payload":{}')
    with folder_with(joined([RECORDS[0], bad, deep, latin, RECORDS[4]])) as (log, _):
        events, damage = split(log)
        assert [event.event_seq for event in events] == [1, 5]
        assert reasons(damage) == ["unreadable"] * 3
        assert not log.verify().sound


# ---- noted once ---------------------------------------------------------------------------------


def noted(log: FileLog) -> list[Event]:
    return [event for event in split(log)[0] if event.kind == "damage_found"]


def damaged_home(tmp_path: Path) -> tuple[holdfast.Holdfast, bytes]:
    """A project with damage in the middle of its log."""
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        for n in range(5):
            s.user(f"turn {n}")
        path = Path(hf.folder) / "events.ndjson"
    data = bytearray(path.read_bytes())
    at = data.index(b"turn 2")
    data[at] ^= 1
    path.write_bytes(bytes(data))
    start, end = data.rindex(b"\n", 0, at) + 1, data.index(b"\n", at)
    return holdfast.open(project="p"), bytes(data[start:end])


def read_all(hf: holdfast.Holdfast) -> list[str]:
    with pytest.warns(holdfast.DamageWarning):
        return [event.text for event in hf.events()]


def test_damage_is_kept_and_noted_exactly_once_however_often_it_is_read(tmp_path: Path) -> None:
    hf, lost = damaged_home(tmp_path)
    for _ in range(3):
        assert [t for t in read_all(hf) if t] == ["turn 0", "turn 1", "turn 3", "turn 4"]
    assert not hf.verify().sound
    assert not hf.verify().sound
    hf.close()
    with holdfast.open(project="p") as again:
        read_all(again)
        (said,) = noted(again.log)
        (kept,) = (Path(again.folder) / "quarantine").iterdir()
        assert kept.read_bytes() == lost
        assert (said.payload["quarantine"], said.payload["bytes"]) == (kept.name, len(lost))
        assert said.payload["reason"] == "garbage"


def test_damage_is_noted_once_even_when_its_segment_is_sealed_later(tmp_path: Path) -> None:
    hf, _ = damaged_home(tmp_path)
    read_all(hf)
    hf.log.seal()
    read_all(hf)
    hf.verify()
    assert len(noted(hf.log)) == 1
    hf.close()


def test_every_damaged_stretch_is_kept_when_noting_one_seals_the_segment(tmp_path: Path) -> None:
    data = bytearray(joined(RECORDS[:10]))
    stretches = []
    start = 0
    for n, each in enumerate(RECORDS[:10]):
        if n in (2, 5, 8):
            data[start + 200] ^= 1
            stretches.append(bytes(data[start : start + len(each)]))
        start += len(each) + 1
    with folder_with(bytes(data)) as (plain, _):
        log = FileLog(plain.folder, type(plain.settings)(segment_bytes=2_000))
        assert not log.verify().sound
        assert not log.verify().sound
        kept = sorted(p.read_bytes() for p in (Path(log.folder) / "quarantine").iterdir())
        assert kept == sorted(stretches)
        assert len(noted(log)) == 3
        log.close()


def test_the_same_torn_bytes_at_the_same_place_of_a_later_segment_are_noted_again() -> None:
    with folder_with(b"") as (log, path):
        for turn in range(3):
            path.write_bytes(b"\0" * 512)
            log.append([entry(f"turn {turn}")])
            log.seal()
        assert [event.payload["reason"] for event in noted(log)] == ["torn_tail"] * 3


def test_a_reader_without_the_right_to_write_still_hears_of_damage(tmp_path: Path) -> None:
    hf, _ = damaged_home(tmp_path)
    hf.close()
    (Path(hf.folder) / "quarantine").write_bytes(b"a file where the folder should be")
    assert len([t for t in read_all(hf) if t]) == 4
    assert not hf.verify().sound


def test_nothing_readable_at_all_is_said_loudly_and_its_bytes_are_kept(tmp_path: Path) -> None:
    with holdfast.open(project="p") as hf:
        path = Path(hf.folder) / "events.ndjson"
    path.write_bytes(b"once upon a time\n" * 100)
    with pytest.warns(holdfast.DamageWarning):
        hf = holdfast.open(project="p")
    with hf, pytest.warns(holdfast.DamageWarning), hf.session(agent="a") as s:
        assert s.user("on").event_seq >= 2
    assert path.read_bytes().startswith(b"once upon a time\n" * 100)


def test_a_damaged_meta_json_does_not_switch_the_chain_off(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[log]\nintegrity = "chained"\n')
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        s.user("one")
    (config / "config.toml").unlink()
    (Path(hf.folder) / "meta.json").write_bytes(b"\0" * 100)
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        s.user("two")
        said = hf.verify()
    assert (said.chain, said.sound) == ("whole", True)


def test_a_project_that_was_reset_verifies_again(tmp_path: Path) -> None:
    from holdfast.app.reset import reset

    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[log]\nintegrity = "chained"\n')
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        for n in range(5):
            s.user(f"turn {n}")
    reset(project="p", force=True)
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        s.user("anew")
        said = hf.verify()
    assert (said.chain, said.sound) == ("whole", True)
