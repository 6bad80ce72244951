"""What a person does with an open project."""

from __future__ import annotations

import io
import threading
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import Denied, Erased, HoldfastError, Invalid, NotFound, Unavailable


def test_events_come_back_by_session_and_from_any_position(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf:
        with hf.session(agent="a") as one, hf.session(agent="b") as two:
            for n in range(5):
                one.user(f"one {n}")
                two.user(f"two {n}")
        assert [e.text for e in hf.events(session_id=two.id) if e.text] == [
            f"two {n}" for n in range(5)
        ]
        seqs = [e.event_seq for e in hf.events()]
        assert seqs == list(range(1, 15))
        for after in range(15):
            assert [e.event_seq for e in hf.events(after)] == seqs[after:]


def test_a_follower_hears_of_every_event(tmp_path: Path) -> None:
    heard: list[str] = []

    def follow() -> None:
        position = 0
        with holdfast.open(tmp_path, project="p") as other:
            while len(heard) < 20 and other.wait(position, 10):
                for event in other.events(position):
                    heard.append(event.text)
                    position = event.event_seq

    follower = threading.Thread(target=follow)
    follower.start()
    with holdfast.open(tmp_path, project="p") as hf:
        session = hf.session(agent="a", session_id="s")
        for n in range(20):
            session.user(str(n))
    follower.join(30)
    assert heard == [str(n) for n in range(20)]


def test_waiting_for_nothing_ends_with_no(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf:
        assert hf.wait(0, 0.01) is False


def test_damage_is_warned_of_and_the_rest_is_read(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf:
        session = hf.session(agent="a", session_id="s")
        for n in range(5):
            session.user(f"number {n}")
        path = Path(hf.folder) / "events.ndjson"
        path.write_bytes(path.read_bytes().replace(b"number 2", b"number X"))
        with pytest.warns(holdfast.DamageWarning, match="verify"):
            texts = [e.text for e in hf.events() if e.text]
        assert texts == ["number 0", "number 1", "number 3", "number 4"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", holdfast.DamageWarning)
            list(hf.events())
        report = hf.verify()
        assert not report.sound
        found = [
            e for e in hf.log.read() if isinstance(e, holdfast.Event) and e.kind == "damage_found"
        ]
        assert len(found) == 1


def test_a_stream_is_taken_without_holding_it_in_memory(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf, hf.session(agent="a") as s:
        event = s.tool_result("Bash", io.BytesIO(b"line\n" * 100_000))
        assert b"".join(hf.body(event)) == b"line\n" * 100_000
        with pytest.raises(NotFound, match="in its line"):
            hf.body(s.user("short"))


def test_a_session_says_how_it_ended(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf:
        with pytest.raises(ValueError, match="boom"), hf.session(agent="a", workflow="w") as s:
            raise ValueError("boom")
        started, ended = hf.events(session_id=s.id)
        assert started.payload == {"workflow": "w"}
        assert ended.payload == {"reason": "ValueError: boom"}


def test_a_session_goes_on_under_its_id(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf:
        with hf.session(agent="a") as s:
            s.user("first")
        with hf.session(agent="a", session_id=s.id) as again:
            again.user("second")
        started = [e.payload for e in hf.events(session_id=s.id) if e.kind == "session_started"]
        assert started == [{}, {"resumed": True}]
        assert (again.info().turns, again.info().resumed) == (2, 1)


def test_a_home_that_cannot_be_written_is_readable(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf, hf.session(agent="a") as s:
        s.user("kept")
    folder = Path(hf.folder)
    saved = {p: p.stat().st_mode for p in [folder, *folder.iterdir()]}
    for path in saved:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        with holdfast.open(tmp_path, project="p") as hf:
            assert [e.text for e in hf.events() if e.text] == ["kept"]
            assert hf.verify().sound
    finally:
        for path, mode in saved.items():
            path.chmod(mode)


def test_another_clock_stamps_the_events(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", now=lambda: 0) as hf, hf.session(agent="a") as s:
        assert s.user("x").timestamp == "1970-01-01T00:00:00.000Z"
        assert s.user("y", at="2024-02-29T12:00:00+02:00").timestamp == "2024-02-29T10:00:00.000Z"


def test_every_kind_of_error_has_its_own_exit_code_and_a_sentence() -> None:
    kinds = HoldfastError.__subclasses__()
    assert len(kinds) == 8
    assert len({kind.exit_code for kind in kinds}) == 8
    assert all(
        str(kind()).endswith((".", "again", "which", "here", "that", "set", "back"))
        for kind in kinds
    )
    assert (Erased().http_status, Denied().http_status, Unavailable().http_status) == (
        410,
        403,
        503,
    )


@pytest.mark.parametrize(
    "now",
    [
        lambda: datetime(2026, 3, 1, tzinfo=UTC),
        lambda: "2026-03-01",
        lambda: None,
        lambda: True,
        lambda: float("nan"),
        1_772_000_000_000,
    ],
)
def test_a_clock_that_gives_no_milliseconds_is_refused(tmp_path: Path, now: Any) -> None:
    with pytest.raises(Invalid, match="milliseconds"):
        holdfast.open(tmp_path, project="p", now=now)


def test_a_function_that_gives_milliseconds_is_a_clock(tmp_path: Path) -> None:
    clocks: tuple[Any, ...] = (lambda: 1_772_359_200_007, lambda: 1_772_359_200_007.9)
    for now in clocks:
        with holdfast.open(tmp_path, project="p", now=now) as hf, hf.session(agent="a") as s:
            assert s.user("hello").timestamp == "2026-03-01T10:00:00.007Z"
