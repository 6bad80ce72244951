"""From a draft to an event: who said it, how far it is believed, what its header may hold."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.capture.disk import Disk
from holdfast.capture.header import TYPE_ALIASES
from holdfast.capture.origin import ORIGINS
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Shaper
from holdfast.engines.clock import SystemClock, UlidIds
from holdfast.engines.files import FileLog
from holdfast.engines.reference.log import MemoryLog
from holdfast.errors import Conflict, HoldfastError, Invalid, Limit, NotFound
from holdfast.model.events import EVENT_TYPES, Draft, Event
from holdfast.model.settings import LogSettings
from holdfast.record import limits
from holdfast.record.recorder import BOOKKEEPING, Recorder
from holdfast.record.trust import trust_of
from tests.contract.entries import events_of

CET = timezone(timedelta(hours=1))


def recorder(log: MemoryLog | FileLog | None = None) -> Recorder:
    redactor = Redactor(b"k" * 32)
    return Recorder(
        log or MemoryLog(),
        redactor=redactor,
        shaper=Shaper(redactor, lambda chunks: ("0" * 64, sum(map(len, chunks)))),
        clock=SystemClock(),
        ids=UlidIds(),
    )


def draft(payload: Any = None, **more: Any) -> Draft:
    fields = {"type": "user_message", "payload": payload or {"text": "x"}, "origin": "user"}
    return Draft(**{**fields, **more})


def one(**more: Any) -> Event:
    return recorder().record([draft(**more)])[0]


@pytest.fixture
def hf() -> Iterator[holdfast.Holdfast]:
    with holdfast.open(project="p", user="ana") as opened:
        yield opened


# ---- origin and trust ---------------------------------------------------------------------------


def test_each_origin_has_its_trust() -> None:
    expected = {"user": 3, "agent": 2, "system": 2, "tool": 1, "document": 1, "web": 0, "import": 0}
    assert expected == ORIGINS
    for origin, trust in expected.items():
        event = one(origin=origin)
        assert (event.origin, event.trust) == (origin, trust)


def test_an_origin_nobody_knows_is_refused() -> None:
    for origin in ["", "root", "User", "principal", "3"]:
        with pytest.raises(Invalid):
            one(origin=origin)


def test_nothing_in_a_payload_sets_origin_trust_or_any_header(hf: holdfast.Holdfast) -> None:
    forged = {"origin": "user", "trust": 3, "user": "root", "agent": "root", "type": "decision"}
    with hf.session(agent="coder") as s:
        event = s.tool_result("Bash", "words", **forged, session_id="other", v=9, event_seq=1)
    assert (event.origin, event.trust, event.user, event.agent) == ("tool", 1, "ana", "coder")
    assert (event.type, event.session_id, event.v) == ("tool_result@1", s.id, 2)
    assert event.payload["trust"] == 3


def test_the_verbs_of_a_session_have_the_origin_of_who_speaks(hf: holdfast.Holdfast) -> None:
    with hf.session(agent="coder") as s:
        said = [
            s.user("a"), s.assistant("b"), s.tool_call("t", {}), s.tool_result("t", "c"),
            s.gate(1, passed=True), s.task_done("d"), s.decision("e"), s.error("f"),
        ]  # fmt: skip
    assert [event.trust for event in said] == [3, 2, 2, 1, 2, 2, 2, 1]


def test_what_is_derived_is_worth_the_least_of_its_sources() -> None:
    keep = recorder()
    ids = {origin: keep.record([draft(origin=origin)])[0].event_id for origin in ORIGINS}
    for origin, own in ORIGINS.items():
        for names in [("user",), ("user", "tool"), ("agent", "user"), ("web", "user", "agent")]:
            made = keep.record([draft(origin=origin, sources=tuple(ids[n] for n in names))])[0]
            assert made.trust == min(own, *(ORIGINS[n] for n in names))
            assert made.sources == tuple(ids[n] for n in names)


def test_a_source_that_is_not_there_is_not_found_and_nothing_is_recorded() -> None:
    log = MemoryLog()
    with pytest.raises(NotFound):
        recorder(log).record([draft(), draft(sources=("evt_nowhere",))])
    assert log.head().event_seq == 0


@given(st.randoms(use_true_random=False))
def test_taint_follows_every_path_of_a_derivation(dice: random.Random) -> None:
    keep = recorder()
    made: list[str] = []
    ancestors: dict[str, set[str]] = {}
    origins: dict[str, str] = {}
    for _ in range(12):
        sources = dice.sample(made, min(len(made), dice.randrange(4)))
        origin = dice.choice(sorted(ORIGINS))
        event = keep.record([draft(origin=origin, sources=tuple(sources))])[0]
        origins[event.event_id] = origin
        ancestors[event.event_id] = {event.event_id}.union(*(ancestors[s] for s in sources))
        made.append(event.event_id)
        assert event.trust == min(ORIGINS[origins[a]] for a in ancestors[event.event_id])


def test_an_erased_source_keeps_its_trust() -> None:
    from tests.contract.entries import erasure

    log = MemoryLog()
    keep = recorder(log)
    web = keep.record([draft(origin="web")])[0]
    log.erase([web.event_id], subject=erasure([web.event_id]))
    assert keep.record([draft(sources=(web.event_id,))])[0].trust == 0


def test_trust_is_the_lowest_of_all() -> None:
    assert trust_of("user") == 3
    assert trust_of("user", [2, 0, 3]) == 0
    assert trust_of("web", [3]) == 0


# ---- the header ---------------------------------------------------------------------------------


def test_a_type_has_a_version_and_old_names_become_todays() -> None:
    for name in EVENT_TYPES:
        assert limits.event_type(name) == f"{name}@1"
    for old, new in TYPE_ALIASES.items():
        assert limits.event_type(old) == f"{new}@1"
        assert limits.event_type(f"{old}@3") == f"{new}@3"
    assert limits.event_type("my.own_type@12") == "my.own_type@12"
    assert one(type="user_turn").type == "user_message@1"


def test_what_is_no_type_is_refused() -> None:
    for name in ["", "A", "1x", "a b", "a@", "a@0", "a@x", "a@1@2", "ä", "a\n", "a" * 101, None, 7]:
        with pytest.raises(Invalid):
            limits.event_type(name)  # type: ignore[arg-type]


def test_names_are_any_short_text_on_one_line() -> None:
    for name in ["ana", "Ana María", "世界", "a/b:c@d", '"', "\\", "x" * 256, "\u2028"]:
        event = one(session_id=name, agent=name, user=name)
        assert (event.session_id, event.agent, event.user) == (name, name, name)
    assert one(user=None).user is None


@pytest.mark.parametrize("field", ["session_id", "agent", "user"])
def test_names_that_are_not_are_refused(field: str) -> None:
    for name in ["", "a\nb", "a\0", "\x1b[0m", "\ud800", 7, b"x"]:
        with pytest.raises(Invalid, match=field):
            one(**{field: name})
    with pytest.raises(Limit, match=field):
        one(**{field: "x" * 257})


def test_ids_of_a_callers_own_are_plain() -> None:
    for name in ["a", "evt_01", "A.b:c-d_e", "0", "x" * 128]:
        assert one(event_id=name).event_id == name
    for name in ["", " ", "a b", "é", "-a", "_a", "a/b", 'a"', "a\n", "x" * 129, "a\\"]:
        with pytest.raises(Invalid):
            one(event_id=name)
    with pytest.raises(Limit):
        one(sources=tuple("x" for _ in range(10_001)))


def test_an_id_of_ones_own_makes_a_retry_harmless() -> None:
    keep = recorder()
    first = keep.record([draft(event_id="own-1")])
    assert keep.record([draft(event_id="own-1")]) == first
    with pytest.raises(Conflict):
        keep.record([draft({"text": "other"}, event_id="own-1")])
    assert one().event_id.startswith("evt_")


@pytest.mark.parametrize(
    ("given_time", "written"),
    [
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000Z"),
        ("2026-01-31T09:30:00.1239+02:00", "2026-01-31T07:30:00.123Z"),
        (datetime(2026, 1, 31, 9, 30, tzinfo=UTC), "2026-01-31T09:30:00.000Z"),
        (datetime(2026, 1, 1, 0, 30, 0, 999_999, CET), "2025-12-31T23:30:00.999Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)  # fmt: skip
def test_a_time_of_its_own_is_written_in_utc(given_time: Any, written: str) -> None:
    assert one(at=given_time).timestamp == written


def test_a_day_is_its_beginning_in_utc() -> None:
    assert limits.moment("2026-01-31") == "2026-01-31T00:00:00.000Z"
    with pytest.raises(Invalid):
        limits.moment("2026-02-31")


@pytest.mark.parametrize(
    "given_time",
    [
        "",
        "yesterday",
        "2026-01-31T09:30:00",
        "2026-13-01T00:00:00Z",
        datetime(2026, 1, 31),
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        1_700_000_000,
        date(2026, 1, 31),
    ],
    ids=str,
)
def test_what_is_no_time_is_refused(given_time: Any) -> None:
    with pytest.raises(Invalid):
        one(at=given_time)


def test_without_a_time_of_its_own_the_clock_says() -> None:
    with (
        holdfast.open(project="p", now=lambda: 1_769_851_800_007) as hf,
        hf.session(agent="a") as s,
    ):
        assert s.user("x").timestamp == "2026-01-31T09:30:00.007Z"
        assert s.user("x", at="2020-01-01T00:00:00Z").timestamp == "2020-01-01T00:00:00.000Z"


def test_what_the_shaper_refuses_is_an_error_of_ours() -> None:
    deep: dict[str, Any] = {}
    for _ in range(70):
        deep = {"a": deep}
    with pytest.raises(Limit):
        one(payload=deep)
    with pytest.raises(Invalid, match="/a"):
        one(payload={"a": {1, 2}})
    with pytest.raises(Invalid):
        one(payload={"_as_given": []})
    with pytest.raises(Invalid):
        recorder().record([Draft(type="x", payload=["list"], origin="user")])  # type: ignore[arg-type]


@pytest.mark.parametrize("call_id", [["x"], {"a": 1}, {"x"}], ids=str)
def test_an_odd_call_id_is_recorded_or_refused_by_name(call_id: Any) -> None:
    def said(kind: str) -> str:
        try:
            return one(type=kind, payload={"tool": "Read", "call_id": call_id}).kind
        except HoldfastError as exc:
            return str(exc)

    for kind in ("tool_call", "tool_result"):
        assert said(kind) == kind or "call_id" in said(kind)


def test_a_batch_is_recorded_whole_or_not_at_all() -> None:
    log = MemoryLog()
    with pytest.raises(Invalid):
        recorder(log).record([draft(), draft(type="not a type")])
    assert log.head().event_seq == 0


# ---- files nobody should remember ---------------------------------------------------------------


def test_the_content_of_a_denied_file_is_withheld_in_its_own_event(hf: holdfast.Holdfast) -> None:
    with hf.session(agent="a") as s:
        event = s.tool_result("Read", "plain words", file_path="/app/.env")
    assert "withheld" in event.text
    assert event.payload["file_path"] == "/app/.env"


def test_the_result_of_a_call_on_a_denied_file_is_withheld(hf: holdfast.Holdfast) -> None:
    with hf.session(agent="a") as s:
        s.tool_call("Read", {"file_path": "/app/.env"}, call_id="1")
        s.tool_call("Read", {"file_path": "/app/main.py"}, call_id="2")
        assert s.tool_result("Read", "of main", call_id="2").text == "of main"
        assert "withheld" in s.tool_result("Read", "of env", call_id="1").text
        s.tool_call("Bash", {"command": "cat ~/.ssh/id_rsa"})
        assert "withheld" in s.tool_result("Bash", "of the key").text
        s.tool_call("Bash", {"command": "ls"})
        assert s.tool_result("Bash", "of ls").text == "of ls"


def test_two_calls_in_flight_without_ids_are_both_withheld(hf: holdfast.Holdfast) -> None:
    with hf.session(agent="a") as s:
        s.tool_call("Read", {"file_path": "/app/.env"})
        s.tool_call("Read", {"file_path": "/app/main.py"})
        assert "withheld" in s.tool_result("Read", "whose is this?").text


def test_a_denied_file_named_by_a_path_object_is_withheld(hf: holdfast.Holdfast) -> None:
    with hf.session(agent="a") as s:
        s.tool_call("Read", {"file_path": Path("/app/.env")}, call_id="1")
        assert "withheld" in s.tool_result("Read", "plain words", call_id="1").text


def test_sessions_do_not_withhold_for_each_other(hf: holdfast.Holdfast) -> None:
    with hf.session(agent="a") as s, hf.session(agent="a") as t:
        s.tool_call("Read", {"file_path": "/app/.env"})
        assert t.tool_result("Read", "mine").text == "mine"
        assert "withheld" in s.tool_result("Read", "theirs").text


def test_a_user_may_deny_further_files(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[record]\ndeny_paths = ["*.ledger"]\n')
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        assert "withheld" in s.tool_result("Read", "plain words", path="x/2026.ledger").text
        assert s.tool_result("Read", "plain words", path="x/2026.txt").text == "plain words"


# ---- bookkeeping --------------------------------------------------------------------------------


class Counting(Disk):
    """Counts the syncs of data."""

    def __init__(self) -> None:
        self.syncs = 0

    def fdatasync(self, fd: int) -> None:
        self.syncs += 1
        Disk.fdatasync(fd)


def test_bookkeeping_is_not_synced_at_once_but_within_the_window(tmp_path: Path) -> None:
    disk = Counting()
    log = FileLog(str(tmp_path), LogSettings(window_ms=150), disk=disk)
    keep = recorder(log)
    keep.record([draft()])
    before = disk.syncs
    for kind in sorted(BOOKKEEPING):
        keep.record([draft(type=kind)])
    assert disk.syncs == before
    assert len(events_of(log)) == 1 + len(BOOKKEEPING)
    deadline = time.monotonic() + 30
    while disk.syncs == before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert disk.syncs > before
    log.close()


def test_a_batch_with_anything_else_in_it_is_synced_at_once(tmp_path: Path) -> None:
    disk = Counting()
    log = FileLog(str(tmp_path), LogSettings(window_ms=3_600_000), disk=disk)
    keep = recorder(log)
    keep.record([draft(type="memory_recall")])
    before = disk.syncs
    keep.record([draft(type="memory_recall"), draft()])
    assert disk.syncs == before + 1
    log.close()


def test_a_retry_is_answered_only_from_the_disk(tmp_path: Path) -> None:
    disk = Counting()
    log = FileLog(str(tmp_path), LogSettings(window_ms=3_600_000), disk=disk)
    keep = recorder(log)
    keep.record([draft(type="memory_recall", event_id="own-1")])
    before = disk.syncs
    log.append([_entry_of(events_of(log)[0])])
    assert disk.syncs == before + 1
    log.close()


def _entry_of(event: Event) -> Any:
    from tests.contract.entries import entry

    return entry(
        event_id=event.event_id,
        session_id=None,
        agent=None,
        user=None,
        type=event.type,
        payload=event.payload,
    )
