"""Out of one log and into another."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import holdfast
from holdfast.app.transfer import export, import_
from holdfast.errors import Conflict, Invalid


def filled(home: Path) -> holdfast.Holdfast:
    hf = holdfast.open(home, project="from", user="ana")
    with hf.session(agent="coder") as s:
        first = s.user("Use PostgreSQL 18")
        s.assistant("x\ud800y", score=float("nan"), sources=(first.event_id,))
        s.tool_result("Bash", "a long line of output\n" * 20_000)
    return hf


def exported(hf: holdfast.Holdfast) -> bytes:
    out = io.BytesIO()
    export(hf, out)
    return out.getvalue()


def test_a_restored_backup_is_the_same_log(tmp_path: Path) -> None:
    with filled(tmp_path) as old, holdfast.open(tmp_path, project="to") as new:
        done = import_(new, io.BytesIO(exported(old)), restore=True)
        assert (done.complete, done.damaged, done.bodies) == (True, 0, 1)
        assert list(new.events()) == list(old.events())
        long = next(e for e in new.events() if e.kind == "tool_result")
        assert b"".join(new.body(long)) == b"a long line of output\n" * 20_000
        assert new.verify().sound


def test_an_import_is_foreign_whatever_the_file_says(tmp_path: Path) -> None:
    with filled(tmp_path) as old, holdfast.open(tmp_path, project="to") as new:
        import_(new, io.BytesIO(exported(old)))
        events = list(new.events())
        assert len(events) == 5
        assert {(e.origin, e.trust) for e in events} == {("import", 0)}
        assert [e.event_id for e in events] == [e.event_id for e in old.events()]
        assert [e.payload for e in events] == [e.payload for e in old.events()]


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    with filled(tmp_path) as old, holdfast.open(tmp_path, project="to") as new:
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


def test_a_backup_is_restored_only_into_an_empty_project(tmp_path: Path) -> None:
    with filled(tmp_path) as hf, pytest.raises(Conflict, match="empty"):
        import_(hf, io.BytesIO(exported(hf)), restore=True)


def test_damaged_and_missing_lines_are_counted_and_the_rest_is_taken(tmp_path: Path) -> None:
    with filled(tmp_path) as old, holdfast.open(tmp_path, project="to") as new:
        lines = exported(old).split(b"\n")
        lines[2] = lines[2].replace(b"PostgreSQL", b"PostgreSQX")
        done = import_(new, io.BytesIO(b"\n".join(lines)))
        assert (done.events, done.damaged, done.damaged_lines, done.complete) == (4, 1, [3], False)


def test_a_file_cut_short_is_said_to_be_incomplete(tmp_path: Path) -> None:
    with filled(tmp_path) as old, holdfast.open(tmp_path, project="to") as new:
        data = exported(old)
        done = import_(new, io.BytesIO(data[: len(data) // 2]))
        assert not done.complete


@pytest.mark.parametrize(
    "data", [b"", b"hello\n", b"{}\n", b"\x00\xff", b'{"holdfast_export":9}\n']
)
def test_what_is_not_an_export_is_refused(tmp_path: Path, data: bytes) -> None:
    with holdfast.open(tmp_path, project="to") as new, pytest.raises(Invalid, match="export"):
        import_(new, io.BytesIO(data))


def test_a_secret_smuggled_in_by_a_file_is_redacted(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    with filled(tmp_path) as old, holdfast.open(tmp_path, project="to") as new:
        data = exported(old)
        line = next(x for x in data.split(b"\n") if b"PostgreSQL" in x)
        body = line.replace(b"PostgreSQL 18", secret.encode()).partition(b',"crc"')[0]
        from holdfast.capture.line import close

        forged = data.replace(line + b"\n", close(body))
        import_(new, io.BytesIO(forged))
        assert not any(
            secret.encode() in p.read_bytes() for p in Path(new.folder).rglob("*.ndjson")
        )
        assert any("[redacted:" in e.text for e in new.events())
