"""Out of one log and into another."""

from __future__ import annotations

import base64
import io
import json
import os
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

import holdfast
from holdfast.app.open import init
from holdfast.app.transfer import export, export_file, import_
from holdfast.capture import line
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.model.events import Event
from tests.contract.entries import baseline, bytes_under, entry, erasure

BODY = b"a long line of output\n" * 20_000
SECRET = "ghp_" + "a1B2" * 9
START = b'{"holdfast_export":1}'


def filled(home: Path) -> holdfast.Holdfast:
    hf = holdfast.open(home, project="from", user="ana")
    with hf.session(agent="coder") as s:
        first = s.user("Use PostgreSQL 18")
        s.assistant("x\ud800y", score=float("nan"), sources=(first.event_id,))
        s.tool_result("Bash", BODY.decode())
    return hf


def exported(hf: holdfast.Holdfast) -> bytes:
    out = io.BytesIO()
    export(hf, out)
    return out.getvalue()


def records(hf: holdfast.Holdfast) -> list[bytes]:
    return [piece.record for piece in hf.log.found() if hasattr(piece, "record")]


def forged(event_id: str = "x-1", *, seq: int = 1, payload: Any = None, **header: Any) -> bytes:
    """A whole record that says whatever a test wants."""
    fields = {
        "event_id": event_id,
        "session_id": "s",
        "agent": "a",
        "user": "u",
        "type": "user_message@1",
        "timestamp": "2026-01-31T09:30:00.000Z",
        "origin": "system",
        "trust": 3,
        "sources": [],
        **header,
    }
    payload = {"text": event_id} if payload is None else payload
    said = {"v": 2, "event_seq": seq, **fields, "payload": payload}
    return line.close(json.dumps(said, separators=(",", ":")).encode()[:-1])[:-1]


def body_line(data: bytes, digest: str | None = None) -> bytes:
    said = {"body": digest or sha256(data).hexdigest(), "last": base64.b64encode(data).decode()}
    return json.dumps(said).encode()


def file_of(*lines: bytes) -> io.BytesIO:
    """An export with these lines."""
    met = sum(map(line.whole, lines))
    end = json.dumps({"holdfast_export_end": {"events": met}}).encode()
    return io.BytesIO(b"\n".join([START, *lines, end, b""]))


def opened(tmp_path: Path) -> holdfast.Holdfast:
    return holdfast.open(tmp_path, project="to", user="importer")


def notes(event: Event) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = event.payload.get("_as_given", [])
    return found


def blobs(hf: holdfast.Holdfast) -> set[str]:
    return {path.name for path in Path(hf.folder).glob("blobs/*/*")}


# ---- restore -------------------------------------------------------------------------------


def test_a_restored_backup_is_the_same_log_byte_for_byte(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        data = exported(old)
        done = import_(new, io.BytesIO(data), restore=True)
        assert (done.complete, done.damaged, done.bodies) == (True, 0, 1)
        assert records(new) == records(old)
        assert list(new.events()) == list(old.events())
        long = next(e for e in new.events() if e.kind == "tool_result")
        assert b"".join(new.body(long)) == BODY
        assert new.verify().sound
        assert exported(new).split(b"\n", 1)[1] == data.split(b"\n", 1)[1]


def test_a_restore_keeps_the_mark_of_what_was_erased(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        ids = [e.event_id for e in old.events() if e.kind in ("user_message", "tool_result")]
        old.log.erase(ids, subject=erasure(ids))
        import_(new, io.BytesIO(exported(old)), restore=True)
        assert records(new) == records(old)
        assert {e.event_id for e in new.events() if e.erased} == set(ids)
        assert (new.verify().erased, new.verify().sound) == (2, True)


def test_a_restore_keeps_the_seqs_also_behind_a_gap_and_the_log_goes_on_after_them(
    tmp_path: Path,
) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        lines = exported(old).split(b"\n")
        lines[2] = lines[2].replace(b"PostgreSQL", b"PostgreSQX")
        done = import_(new, io.BytesIO(b"\n".join(lines)), restore=True)
        assert (done.events, done.damaged_lines) == (4, [3])
        assert [line.seq_and_id(record)[0] for record in records(new)] == [1, 3, 4, 5]
        with pytest.warns(holdfast.DamageWarning, match="gap"), new.session(agent="a") as s:
            assert s.user("on").event_seq == 7


def test_a_restore_takes_over_what_a_retention_dropped(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="from") as old, opened(tmp_path) as new:
        for name in ("one", "two", "three"):
            old.log.append([entry(name)])
            old.log.seal()
        old.log.retain(msgspec.structs.replace(baseline(), origin="system"), through=2)
        assert old.verify().sound
        import_(new, io.BytesIO(exported(old)), restore=True)
        assert records(new) == records(old)
        assert new.log.retained_through() == 2
        assert new.verify().sound


def test_a_chain_is_whole_after_a_restore_with_the_same_key(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with init(project, tmp_path / "one", chained=True) as old, old.session(agent="a") as s:
        s.user("hello")
        s.tool_result("Bash", BODY.decode())
        s.tool_call("Bash", {"command": "ls", "password": "hunter2hunter2"})
    with holdfast.open(tmp_path / "one", path=project) as old:
        data, lines = exported(old), records(old)
    with init(project, tmp_path / "two", chained=True) as new:
        import_(new, io.BytesIO(data), restore=True)
        assert records(new) == lines
        assert new.verify().chain == "whole"
        with new.session(agent="a") as s:
            s.user("on")
        assert new.verify().sound


def test_a_damaged_body_is_reported_and_left_out_and_its_event_is_restored(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        data = exported(old)
        at = data.index(b'"last":"') + 100
        flipped = data[:at] + (b"A" if data[at : at + 1] != b"A" else b"B") + data[at + 1 :]
        done = import_(new, io.BytesIO(flipped), restore=True)
        assert (done.bodies, done.damaged, done.damaged_bodies) == (0, 1, 1)
        assert done.complete
        assert records(new) == records(old)
        assert blobs(new) == set()
        assert len(new.verify().bad_blobs) == 1


def test_a_body_that_came_damaged_is_healed_by_restoring_again_from_a_good_copy(
    tmp_path: Path,
) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        data = exported(old)
        bad = b"\n".join(x for x in data.split(b"\n") if not x.startswith(b'{"body"'))
        import_(new, io.BytesIO(bad), restore=True)
        done = import_(new, io.BytesIO(data), restore=True)
        assert (done.events, done.already_there, done.bodies) == (0, 5, 1)
        assert new.verify().sound


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_an_interrupted_restore_goes_on_where_it_stopped(tmp_path: Path, share: float) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        data = exported(old)
        import_(new, io.BytesIO(data[: int(len(data) * share)]), restore=True)
        there = len(records(new))
        done = import_(new, io.BytesIO(data), restore=True)
        assert (done.already_there, done.events, done.complete) == (there, 5 - there, True)
        assert records(new) == records(old)
        assert new.verify().sound


def test_a_restore_killed_in_the_middle_of_a_record_goes_on_with_that_record(
    tmp_path: Path,
) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        lines = records(old)
        import_(new, file_of(*lines[:2]), restore=True)
        active = Path(new.folder) / "events.ndjson"
        active.write_bytes(active.read_bytes() + lines[2][:77])
        done = import_(new, io.BytesIO(exported(old)), restore=True)
        assert (done.already_there, done.events) == (2, 3)
        assert records(new) == lines
        assert new.verify().sound
        assert not (Path(new.folder) / "quarantine").exists()


def test_a_torn_end_that_is_not_of_the_backup_is_not_taken_back(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        lines = records(old)
        import_(new, file_of(*lines[:2]), restore=True)
        active = Path(new.folder) / "events.ndjson"
        torn = lines[2][:77] + b"mine"
        active.write_bytes(active.read_bytes() + torn)
        with pytest.raises(holdfast.errors.HoldfastError):
            import_(new, io.BytesIO(exported(old)), restore=True)
        assert any(torn in kept for kept in bytes_under(new.folder).values())


class Breaking(io.BytesIO):
    """A file whose medium fails behind a line."""

    def readline(self, size: int | None = -1, /) -> bytes:
        raw = super().readline(size)
        if b"session_ended" in raw:
            raise OSError(5, "Input/output error")
        return raw


def test_a_restore_whose_file_breaks_off_is_an_error_and_may_be_repeated(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        with pytest.raises(holdfast.errors.Unavailable, match="importing"):
            import_(new, Breaking(exported(old)), restore=True)
        import_(new, io.BytesIO(exported(old)), restore=True)
        assert records(new) == records(old)


def test_a_backup_is_not_restored_among_other_events(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        data = exported(old)
        with new.session(agent="a") as s:
            s.user("mine")
        before = bytes_under(new.folder)
        with pytest.raises(Conflict, match="holds other events"):
            import_(new, io.BytesIO(data), restore=True)
        assert bytes_under(new.folder) == before


def test_a_backup_is_not_restored_where_the_log_went_further(tmp_path: Path) -> None:
    with filled(tmp_path) as hf:
        data = exported(hf)
        assert import_(hf, io.BytesIO(data), restore=True).already_there == 5
        with hf.session(agent="a") as s:
            s.user("later")
        with pytest.raises(Conflict, match="holds other events"):
            import_(hf, io.BytesIO(data), restore=True)


def test_a_record_that_stands_twice_in_a_backup_is_restored_once(tmp_path: Path) -> None:
    with opened(tmp_path) as new:
        one, two = forged("x-1", seq=1), forged("x-2", seq=2)
        done = import_(new, file_of(one, two, one, two), restore=True)
        assert (done.events, done.damaged_lines) == (2, [4, 5])
        assert records(new) == [one, two]


# ---- import --------------------------------------------------------------------------------


def test_an_import_is_foreign_whatever_the_file_says(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        import_(new, io.BytesIO(exported(old)))
        events = list(new.events())
        assert len(events) == 5
        assert {(e.origin, e.trust) for e in events} == {("import", 0)}
        assert [e.event_id for e in events] == [e.event_id for e in old.events()]
        assert [e.payload for e in events] == [e.payload for e in old.events()]
        assert [e.sources for e in events] == [e.sources for e in old.events()]


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        import_(new, io.BytesIO(exported(old)))
        again = import_(new, io.BytesIO(exported(old)))
        assert (again.events, again.already_there) == (0, 5)
        assert new.log.head().event_seq == 5


def test_importing_what_one_recorded_oneself_raises_nothing_and_lowers_nothing(
    tmp_path: Path,
) -> None:
    with filled(tmp_path) as hf:
        done = import_(hf, io.BytesIO(exported(hf)))
        assert (done.events, done.already_there) == (0, 5)
        assert max(e.trust for e in hf.events()) == 3


def test_damaged_and_missing_lines_are_counted_and_the_rest_is_taken(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        lines = exported(old).split(b"\n")
        lines[2] = lines[2].replace(b"PostgreSQL", b"PostgreSQX")
        done = import_(new, io.BytesIO(b"\n".join(lines)))
        assert (done.events, done.damaged, done.damaged_lines, done.complete) == (4, 1, [3], False)


def test_a_file_cut_short_is_said_to_be_incomplete(tmp_path: Path) -> None:
    with filled(tmp_path) as old, opened(tmp_path) as new:
        data = exported(old)
        done = import_(new, io.BytesIO(data[: len(data) // 2]))
        assert not done.complete


@pytest.mark.parametrize(
    "data", [b"", b"hello\n", b"{}\n", b"\x00\xff", b'{"holdfast_export":9}\n', b"[1]\n"]
)
def test_what_is_not_an_export_is_refused(tmp_path: Path, data: bytes) -> None:
    with opened(tmp_path) as new, pytest.raises(Invalid, match="export"):
        import_(new, io.BytesIO(data))


@pytest.mark.parametrize(
    "odd",
    [
        b'{"body":"x","part":5}',
        b'{"body":"x","last":"!!!"}',
        b'{"body":"x","last":null}',
        b'{"body":"x"}',
        b'{"body":"x","last":"\xc3\xa9"}',
        b'{"body":7,"last":""}',
        body_line(b"text", "0" * 64),
        body_line(b"text").replace(b'"last": "', b'"last": "\\n%%'),
        b'{"holdfast_export_end":7}',
        b"[1,2]",
        b'"text"',
        b"null",
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        forged("not an id"),
        forged(SECRET),
        forged(payload=json.loads('{"a":' * 80 + "1" + "}" * 80)),
        line.close(b'{"v":2,"event_seq":1,"event_id":"x-9","payload":{"a":\xff}')[:-1],
        line.close(b'{"v":2,"event_seq":1,"event_id":"x-9",[')[:-1],
    ],
)
def test_a_line_that_cannot_be_taken_is_counted_and_costs_no_other(
    tmp_path: Path, odd: bytes
) -> None:
    with opened(tmp_path) as new:
        done = import_(new, file_of(forged("x-1"), odd, forged("x-2")))
        assert (done.events, done.damaged, done.damaged_lines) == (2, 1, [3])
        assert [e.event_id for e in new.events()] == ["x-1", "x-2"]
        assert blobs(new) == set()
        assert new.verify().sound


def test_a_body_without_its_end_costs_no_event_behind_it(tmp_path: Path) -> None:
    part = body_line(b"text").replace(b'"last"', b'"part"')
    with opened(tmp_path) as new:
        done = import_(new, file_of(part, part, forged("x-1"), forged("x-2")))
        assert (done.events, done.damaged_lines, done.complete) == (2, [2], True)


def test_a_line_longer_than_any_of_ours_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.app.incoming._LONGEST_LINE", 1000)
    with opened(tmp_path) as new:
        done = import_(new, file_of(b"x" * 5000, forged("x-1"), b"y" * 1000))
        assert (done.events, done.damaged_lines) == (1, [2, 4])


def test_one_refused_event_in_a_large_batch_costs_no_other(tmp_path: Path) -> None:
    deep = json.loads('{"a":' * 64 + "1" + "}" * 64)
    lines = [forged(f"x-{n}", seq=n + 1) for n in range(600)]
    lines[300] = forged("x-300", seq=301, type="baseline@1", payload=deep)
    with opened(tmp_path) as new:
        done = import_(new, file_of(*lines))
        assert (done.events, done.damaged_lines) == (599, [302])
        assert [e.event_id for e in new.events()] == [f"x-{n}" for n in range(600) if n != 300]


def test_an_odd_header_is_mended_and_noted(tmp_path: Path) -> None:
    lines = [
        forged("x-1", type="My-Type@1"),
        forged("x-2", agent="", user=None),
        forged("x-3", timestamp="yesterday"),
        forged("x-4", agent="a\nb", user=7),
        forged("x-5", type="somebody_elses.type@3"),
        forged("x-6", payload="only text"),
        forged("x-7", payload={"text": "x", "_as_given": "odd"}),
        forged("x-8", sources=7),
    ]
    with opened(tmp_path) as new:
        done = import_(new, file_of(*lines))
        assert (done.events, done.damaged) == (8, 0)
        found = {e.event_id: e for e in new.events()}
    why = {"why": "as_imported"}
    assert found["x-1"].kind == "system_event"
    assert notes(found["x-1"]) == [{**why, "type": "My-Type@1"}]
    assert (found["x-2"].agent, found["x-2"].user, notes(found["x-2"])) == (None, None, [])
    assert notes(found["x-3"]) == [{**why, "timestamp": "yesterday"}]
    assert found["x-4"].agent == "a\ufffdb"
    assert notes(found["x-4"]) == [{**why, "agent": "a\nb", "user": 7}]
    assert (found["x-5"].type, notes(found["x-5"])) == ("somebody_elses.type@3", [])
    assert found["x-6"].payload == {"raw": "only text"}
    assert notes(found["x-7"]) == [{**why, "value": "odd"}]
    assert notes(found["x-8"]) == [{**why, "missing_sources": 7}]


def test_the_same_line_twice_is_there_already(tmp_path: Path) -> None:
    with opened(tmp_path) as new:
        done = import_(new, file_of(forged("x-1"), forged("x-1"), forged("x-2"), forged("x-1")))
        assert (done.events, done.already_there, done.damaged) == (2, 2, 0)


def test_sources_are_kept_where_they_are_known_and_named_where_not(tmp_path: Path) -> None:
    with opened(tmp_path) as new:
        with new.session(agent="a") as s:
            here = s.user("mine").event_id
        lines = [
            forged("x-1"),
            forged("x-2", sources=["x-1", here, "x-3", "x-2", "nowhere"]),
            forged("x-3"),
        ]
        assert import_(new, file_of(*lines)).events == 3
        second = next(e for e in new.events() if e.event_id == "x-2")
        assert (second.sources, second.trust) == (("x-1", here), 0)
        assert notes(second) == [
            {"why": "as_imported", "missing_sources": ["x-3", "x-2", "nowhere"]}
        ]


@pytest.mark.parametrize("kind", ["baseline@1", "subject_erased@1", "damage_found@2", "baseline"])
def test_what_a_log_says_of_itself_is_only_hearsay_from_a_file(tmp_path: Path, kind: str) -> None:
    payload = {"event_ids": ["mine"], "dropped_through": 9}
    with opened(tmp_path) as new:
        import_(new, file_of(forged("x-1", type=kind, payload=payload)))
        event = next(new.events())
        assert event.type == "system_event@1"
        assert event.payload == {"imported_type": kind, "payload": payload}
        assert new.log.retained_through() == 0
        assert new.verify().sound


def test_an_imported_note_names_no_body_that_did_not_come_along(tmp_path: Path) -> None:
    digest = sha256(BODY).hexdigest()
    note = {"path": "/text", "why": "too_large", "blob": digest}
    forged_ones = [
        forged("x-1", payload={"_as_given": [note]}),
        forged("x-2", payload={"_as_given": [{"blob": "0" * 64}, {"blob": ["odd"]}]}),
    ]
    with filled(tmp_path) as hf:
        import_(hf, file_of(*forged_ones))
        found = {e.event_id: e for e in hf.events()}
        missing = {"path": "/text", "why": "too_large", "missing_blob": digest}
        assert notes(found["x-1"]) == [missing]
        assert notes(found["x-2"]) == [{"missing_blob": "0" * 64}, {"missing_blob": ["odd"]}]
        assert hf.verify().sound
        own = next(e.event_id for e in hf.events() if e.kind == "tool_result")
        hf.log.erase([own], subject=erasure([own]))
        assert blobs(hf) == set()


def test_the_body_of_an_erased_event_does_not_come_back(tmp_path: Path) -> None:
    with filled(tmp_path) as hf:
        data = exported(hf)
        own = next(e.event_id for e in hf.events() if e.kind == "tool_result")
        hf.log.erase([own], subject=erasure([own]))
        done = import_(hf, io.BytesIO(data))
        assert (done.already_there, done.bodies) == (5, 0)
        assert not any(BODY[:100] in kept for kept in bytes_under(hf.folder).values())


def test_a_body_of_two_events_is_kept_for_the_one_that_is_new(tmp_path: Path) -> None:
    body, digest = b"shared " * 100, sha256(b"shared " * 100).hexdigest()
    note = {"_as_given": [{"path": "/text", "blob": digest}]}
    with opened(tmp_path) as new:
        import_(new, file_of(forged("x-1")))
        pair = [forged("x-1", payload=note), forged("x-2", payload=note)]
        done = import_(new, file_of(body_line(body), *pair))
        assert (done.events, done.already_there, done.bodies) == (1, 1, 1)
        assert b"".join(new.body(list(new.events())[1])) == body
        assert new.verify().sound


def test_a_body_that_no_event_refers_to_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as new:
        done = import_(new, file_of(body_line(b"nobody's"), forged("x-1")))
        assert (done.bodies, done.damaged, blobs(new)) == (0, 0, set())


def test_a_secret_smuggled_in_by_a_file_is_redacted(tmp_path: Path) -> None:
    body = b"key " + SECRET.encode()
    note = {"_as_given": [{"path": "/text", "blob": sha256(body).hexdigest()}]}
    lines = [body_line(body), forged("x-1", payload={"text": SECRET, **note}, agent=SECRET)]
    with opened(tmp_path) as new:
        assert import_(new, file_of(*lines)).events == 1
        event = next(new.events())
        assert not any(SECRET.encode() in kept for kept in bytes_under(new.folder).values())
        assert "[redacted:" in event.text
        assert b"[redacted:" in b"".join(new.body(event))
        assert new.verify().sound


def test_no_change_of_a_file_makes_an_import_or_a_restore_fall_over(tmp_path: Path) -> None:
    with filled(tmp_path) as old:
        lines = exported(old).split(b"\n")
    chance = random.Random(7)
    for number in range(60):
        changed = [bytes(x) for x in lines]
        for _ in range(3):
            at = chance.randrange(1, len(changed))
            spot = chance.randrange(len(changed[at]) + 1)
            junk = bytes([chance.randrange(256)])
            changed[at] = chance.choice(
                [
                    changed[at][:spot],
                    changed[at][:spot] + junk + changed[at][spot + 1 :],
                    changed[chance.randrange(1, len(changed))],
                    b"",
                ]
            )
        for restore in (False, True):
            with holdfast.open(tmp_path, project=f"p{number}{restore}") as new:
                import_(new, io.BytesIO(b"\n".join(changed)), restore=restore)
                report = new.verify()
                assert restore or report.sound
                assert {d.reason for d in report.damage} <= {"gap"}


# ---- export --------------------------------------------------------------------------------


def test_a_record_without_secrets_leaves_byte_for_byte(tmp_path: Path) -> None:
    with filled(tmp_path) as hf:
        lines = exported(hf).split(b"\n")
        assert [x for x in lines if line.whole(x)] == records(hf)


@pytest.mark.parametrize(
    "payload",
    [{"text": f"a {SECRET}"}, {"in": [{"deep": SECRET}]}, {SECRET: 1}, {"n": [1, SECRET]}],
)
def test_a_secret_that_got_into_the_log_does_not_leave_it(
    tmp_path: Path, payload: dict[str, Any]
) -> None:
    with holdfast.open(tmp_path, project="from") as old, opened(tmp_path) as new:
        old.log.append([entry("before"), entry(payload=payload), entry("after")])
        data = exported(old)
        assert SECRET.encode() not in data
        sent = [x for x in data.split(b"\n") if line.whole(x)]
        assert [sent[0], sent[2]] == [records(old)[0], records(old)[2]]
        header = records(old)[1].partition(b',"payload":')[0]
        assert sent[1].partition(b',"payload":')[0] == header
        import_(new, io.BytesIO(data), restore=True)
        assert records(new) == sent
        assert new.verify().sound


def test_a_record_that_cannot_be_read_leaves_without_its_secret_too(tmp_path: Path) -> None:
    odd = line.close(b'{"v":2,"event_seq":1,"event_id":"x-9","payload":[%b}' % SECRET.encode())
    other = line.close(b'{"v":3,"event_seq":2,"event_id":"x-8","said":"%b"' % SECRET.encode())
    with opened(tmp_path) as hf:
        hf.log.restore([odd[:-1], other[:-1]])
        data = exported(hf)
        assert SECRET.encode() not in data
        assert sum(map(line.whole, data.split(b"\n"))) == 2


def test_a_secret_in_a_body_does_not_leave_and_the_note_follows_the_body(tmp_path: Path) -> None:
    body = b"x" * 1000 + b"\nkey " + SECRET.encode() + b"\n"
    with holdfast.open(tmp_path, project="from") as old, opened(tmp_path) as new:
        digest, length = old.blobs.keep([body])
        note = {"path": "/text", "why": "too_large", "blob": digest, "bytes": length}
        old.log.append([entry(payload={"text": "…", "_as_given": [note]})])
        data = exported(old)
        done = import_(new, io.BytesIO(data), restore=True)
        assert (done.complete, done.damaged, done.bodies) == (True, 0, 1)
        event = next(new.events())
        whole = b"".join(new.body(event))
        assert b"[redacted:" in whole
        assert notes(event)[0]["bytes"] == len(whole)
        assert not any(SECRET.encode() in kept for kept in bytes_under(new.folder).values())
        assert new.verify().sound


@pytest.mark.parametrize("change", ["gone", "flipped"])
def test_a_body_that_cannot_be_exported_is_counted(tmp_path: Path, change: str) -> None:
    with filled(tmp_path) as hf, opened(tmp_path) as new:
        path = next(Path(hf.folder).glob("blobs/*/*"))
        path.unlink() if change == "gone" else path.write_bytes(b"X" + BODY[1:])
        out = io.BytesIO()
        counts = export(hf, out)
        assert counts == {"events": 5, "bodies": 0, "damaged": 0, "bad_bodies": 1}
        out.seek(0)
        done = import_(new, out)
        assert (done.events, done.complete) == (5, True)
        assert "missing_blob" in notes(next(e for e in new.events() if e.kind == "tool_result"))[0]
        assert new.verify().sound


def test_an_exported_file_is_private_and_replaces_the_one_before(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    (place / "backup").write_bytes(b"old")
    (place / "backup").chmod(0o644)
    (place / "link").symlink_to("backup")
    with filled(tmp_path) as hf:
        assert export_file(hf, str(place / "link"))["events"] == 5
        assert (place / "backup").read_bytes() == exported(hf)
    assert (place / "backup").stat().st_mode & 0o777 == 0o600
    assert (place / "link").is_symlink()
    assert sorted(os.listdir(place)) == ["backup", "link"]


def test_an_export_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    (place / "backup").write_bytes(b"old")

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with filled(tmp_path) as hf, pytest.raises(KeyboardInterrupt):
        export_file(hf, str(place / "backup"), stop)
    assert os.listdir(place) == ["backup"]
    assert (place / "backup").read_bytes() == b"old"


def test_an_export_goes_to_a_file_and_to_nothing_else(tmp_path: Path) -> None:
    with filled(tmp_path) as hf:
        with pytest.raises(Invalid, match="not a file"):
            export_file(hf, os.devnull)
        with pytest.raises(Invalid, match="not a file"):
            export_file(hf, str(tmp_path))
        with pytest.raises(NotFound, match="no folder"):
            export_file(hf, str(tmp_path / "nowhere" / "x"))
