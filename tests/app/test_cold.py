"""What a compaction drops is cold: copied, listed, recovered byte for byte, gone with an erase."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.cold import ColdStorage
from holdfast.compact.cold import verbatim
from holdfast.errors import Damaged, Erased, Invalid, NotFound
from holdfast.model.cold import ColdChunk
from holdfast.model.events import Event
from tests.faults.disks import Crash, FailingDisk, Fault
from tests.faults.logs import subject
from tests.property.effort import examples
from tests.recall.replays import DAY, MINUTE, Ticking

FIELDS = {
    "chunk_id",
    "session_id",
    "timestamp",
    "content",
    "tokens",
    "drop_reason",
    "relevance_score",
    "prompt_at_drop",
    "recoverable_until",
}


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def hf(clock: Ticking, tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as opened:
        yield opened


def talk(s: holdfast.Session, turns: int = 20) -> None:
    """A conversation about many things, none of them what is asked at its end."""
    for n in range(turns):
        s.user(f"What about the zebra crossing number {n}? " + "It is striped. " * 20)
        s.assistant(f"Crossing {n} was painted in May. " + "It took a while. " * 20)


def dropped(hf: holdfast.Holdfast, **named: Any) -> list[ColdChunk]:
    """A session whose beginning has left."""
    s = hf.session(agent="coder", **named).start()
    talk(s)
    assert s.compact("database indexes", to=600) is not None
    return hf.cold.list(s.id, agent="coder")


def files(hf: holdfast.Holdfast) -> list[Path]:
    return sorted((Path(hf.folder) / "cold-storage").rglob("*.jsonl"))


def test_a_copy_has_the_fields_of_the_record_and_is_private(hf: holdfast.Holdfast) -> None:
    found = dropped(hf)
    assert len(found) > 10
    assert len(files(hf)) == len(found)
    for chunk in found:
        path = Path(hf.cold.path(chunk))
        assert path.parent.name == chunk.session_id
        assert path.name == f"{chunk.id}.jsonl"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        (line,) = path.read_text("utf-8").splitlines()
        said = json.loads(line)
        assert set(said) == FIELDS | {"sha256", "parts", "record_sha256"}
        assert said["sha256"] == sha256(said["content"].encode()).hexdigest()
        event = hf.log.find(chunk.id)
        assert event is not None
        assert said["content"] == event.text
        assert said["prompt_at_drop"] == "database indexes"
        assert said["timestamp"] < said["recoverable_until"]
        assert hf.cold.get(chunk.id, agent="coder").note == ""


def test_a_chunk_comes_back_and_that_is_recorded(hf: holdfast.Holdfast, clock: Ticking) -> None:
    found = dropped(hf)
    s = hf.session(agent="coder", session_id=found[0].session_id)
    clock.minutes += 5
    back = s.recover(found[0].id, prompt="what was painted?")
    event = hf.log.find(found[0].id)
    assert event is not None
    assert back.content == event.text
    last = list(hf.events())[-1]
    assert last.kind == "chunk_recovered"
    assert last.payload["how"] == "asked"
    assert last.payload["chunk"] == found[0].id
    assert last.payload["prompt"] == "what was painted?"
    assert back.chunk.recovered == last.timestamp
    assert hf.cold.list(s.id, agent="coder")[0].recovered == last.timestamp
    other = hf.session(agent="coder").start()  # another session of the same agent and user
    assert other.recover(found[1].id).content


@pytest.mark.parametrize(("user", "agent"), [("ben", "coder"), ("ana", "critic")])
def test_nobody_else_is_told_that_it_is_there(hf: holdfast.Holdfast, user: str, agent: str) -> None:
    chunk = dropped(hf)[0]
    stranger = hf.session(agent=agent, user=user).start()
    with pytest.raises(NotFound) as other:
        stranger.recover(chunk.id)
    with pytest.raises(NotFound) as never:
        stranger.recover("evt_never")
    assert str(other.value) == str(never.value).replace("evt_never", chunk.id)
    with pytest.raises(NotFound):
        hf.cold.get(chunk.id, user=user, agent=agent)
    assert hf.cold.list(user=user, agent=agent) == []
    assert not any(event.kind == "chunk_recovered" for event in hf.events())


def test_what_is_in_the_window_is_not_cold(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder").start()
    event = s.user("hello")
    with pytest.raises(NotFound, match="cold list"):
        s.recover(event.event_id)
    for odd in ("", "../../etc", 7, None):
        with pytest.raises(NotFound):
            hf.cold.get(odd)  # type: ignore[arg-type]
    with pytest.raises(Invalid):
        hf.cold.list(limit=0)


def test_a_damaged_copy_is_noticed_said_and_mended(hf: holdfast.Holdfast) -> None:
    chunk = dropped(hf)[0]
    path = Path(hf.cold.path(chunk))
    whole = path.read_bytes()
    for damage in (whole[:-10], whole.replace(b'"content":"', b'"content":"#'), b"", b"\xff" * 20):
        path.write_bytes(damage)
        got = hf.cold.get(chunk.id, agent="coder")
        assert "damaged" in got.note
        assert sha256(got.content.encode()).hexdigest() == got.sha256
        assert path.read_bytes() == whole
    path.unlink()
    assert "missing" in hf.cold.get(chunk.id, agent="coder").note
    assert path.read_bytes() == whole


def test_where_the_log_is_damaged_the_copy_is_what_is_left(hf: holdfast.Holdfast) -> None:
    chunks = dropped(hf)
    chunk = chunks[-1]
    whole, kept = hf.cold.get(chunk.id).content, Path(hf.cold.path(chunk)).read_bytes()
    log = Path(hf.folder) / "events.ndjson"
    at = log.read_bytes().index(f'"event_id":"{chunk.id}"'.encode())
    log.write_bytes(log.read_bytes()[:at] + b"#" + log.read_bytes()[at + 1 :])
    again = holdfast.open(Path(hf.settings.home), project="p", user="ana", now=hf.clock)
    found = again.cold.get(chunk.id)
    assert (found.content, "copy" in found.note) == (whole, True)
    again.cold.rebuild()
    assert Path(again.cold.path(chunk)).read_bytes() == kept
    Path(again.cold.path(chunk)).unlink()
    with pytest.raises(Damaged):
        again.cold.get(chunk.id)
    assert again.cold.get(chunks[0].id).note == ""
    again.close()


def test_copies_that_are_gone_are_made_again_by_the_next_compaction_and_by_a_rebuild(
    hf: holdfast.Holdfast,
) -> None:
    from holdfast.app.rebuild import rebuild

    chunk = dropped(hf)[0]
    before = {path: path.read_bytes() for path in files(hf)}
    for path in list(before)[::2]:
        path.unlink()
    s = hf.session(agent="coder", session_id=chunk.session_id)
    talk(s, 10)
    s.compact("database indexes", to=600)
    assert {path: path.read_bytes() for path in files(hf)}.items() >= before.items()
    whole = {path: path.read_bytes() for path in files(hf)}
    stray = Path(hf.folder) / "cold-storage" / "nobody" / "nothing.jsonl"
    stray.parent.mkdir()
    stray.write_text("{}")
    for n, path in enumerate(whole):
        if n % 3 == 0:
            path.unlink()
        elif n % 3 == 1:
            path.write_bytes(b"torn")
    rebuild(hf)
    assert {path: path.read_bytes() for path in files(hf)} == whole


def test_an_erase_leaves_no_byte_of_it(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[manager]\ncold_path = "{elsewhere}"\n')
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        chunk = dropped(hf)[0]
        assert Path(hf.cold.path(chunk)).is_relative_to(elsewhere)
    config.write_text("")  # moved back: what lies in the old place is not forgotten
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        hf.cold.rebuild()
        assert files(hf)
        assert list(elsewhere.rglob("*.jsonl"))
        hf.log.erase([chunk.id], subject=subject("x1", [chunk.id]))
        assert not files(hf)
        assert not list(elsewhere.rglob("*.jsonl"))
        with pytest.raises(Erased):
            hf.cold.get(chunk.id, agent="coder")
        hf.cold.rebuild()
        assert not Path(hf.cold.path(chunk)).exists()
        assert files(hf)


def test_the_switch_keeps_copies_away_and_nothing_else(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[compact]\ncold = false\ncold_days = 7.0\n")
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        found = dropped(hf)
        assert not files(hf)
        assert hf.cold.get(found[0].id, agent="coder").note == ""


def test_a_folder_is_moved_by_its_whole_path_only(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[manager]\ncold_path = "cold"\n')
    with pytest.raises(Invalid, match="whole path"):
        holdfast.open(tmp_path / "home", project="p")


def test_a_death_while_copies_are_made_leaves_whole_copies_only(hf: holdfast.Holdfast) -> None:
    chunk = dropped(hf)[0]
    whole = {path: path.read_bytes() for path in files(hf)}
    nth, reached = 1, True
    while reached:
        for path in files(hf):
            path.unlink()
        disk = FailingDisk()
        disk.arm(Fault("crash", nth))
        victim = ColdStorage(hf)
        victim._files._disk = disk
        try:
            victim.bring(chunk.session_id, "ana", "coder")
        except Crash:
            disk.abandon()
        assert {path: path.read_bytes() for path in files(hf)}.items() <= whole.items()
        ColdStorage(hf).rebuild()
        assert {path: path.read_bytes() for path in files(hf)} == whole
        assert not list((Path(hf.folder) / "cold-storage").rglob("*.tmp"))
        reached, nth = disk.reached, nth + 7
    assert nth > 30


@pytest.mark.parametrize(
    "name", ["../../escape", "..", ".", "a/b", "/etc", "x" * 200, "é", "con", "A b", "~"]
)
def test_no_name_of_a_session_leads_out_of_the_folder(hf: holdfast.Holdfast, name: str) -> None:
    found = dropped(hf, session_id=name)
    root = os.path.realpath(os.path.join(hf.folder, "cold-storage"))
    for chunk in found:
        path = os.path.realpath(hf.cold.path(chunk))
        assert os.path.dirname(os.path.dirname(path)) == root
        assert os.path.isfile(path)


# ---- running out -------------------------------------------------------------------------------


def test_what_ran_out_has_no_copy_and_is_not_found_but_expands(
    hf: holdfast.Holdfast, clock: Ticking
) -> None:
    found = dropped(hf)
    s = hf.session(agent="coder", session_id=found[0].session_id)
    whole = hf.cold.get(found[-1].id, agent="coder").content
    hits = hf.recall("zebra crossing number 0", k=5)
    assert found[-1].id in [hit.event.event_id for hit in hits if hit.event]
    clock.minutes += 29 * DAY / MINUTE
    assert hf.cold.expire(dry_run=False).chunks == ()
    s.user("still there?")
    clock.minutes += 2 * DAY / MINUTE
    tried = hf.cold.expire()
    assert tried.dry_run
    assert {one.id for one in tried.chunks} == {one.id for one in found}
    assert len(files(hf)) == len(found)
    done = hf.cold.expire(dry_run=False)
    assert done.chunks == tried.chunks
    assert not files(hf)
    assert hf.cold.list(s.id) == []
    assert len(hf.cold.list(s.id, expired=True)) == len(found)
    assert hf.cold.expire(dry_run=False).chunks == ()
    assert sum(event.kind == "chunk_expired" for event in hf.events()) == len(found)
    hits = hf.recall("zebra crossing number 0", k=20)
    assert not {one.id for one in found} & {hit.event.event_id for hit in hits if hit.event}
    assert whole.startswith(s.expand(found[-1].id, 5_000).text[:200])
    assert hf.cold.get(found[-1].id).content == whole
    hf.cold.rebuild()
    assert not files(hf)
    hf.rebuild()
    assert hf.cold.list(s.id) == []


# ---- every byte --------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=examples(25))
@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant", "call", "bytes", "long"]), words),
        min_size=2,
        max_size=12,
    ),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=30),
)
def test_every_dropped_byte_comes_back_equal(told: list[tuple[str, str]], name: str) -> None:
    with (
        TemporaryDirectory() as home,
        holdfast.open(home, project="p", user="ana", now=Ticking()) as hf,
    ):
        s = hf.session(agent="coder", session_id=None if name == "*" else name).start()
        for what, text in told:
            say(s, what, text)
        talk(s, 12)
        s.compact("database indexes", to=300)
        for chunk in hf.cold.list():
            got = s.recover(chunk.id)
            assert got.note == ""
            for part in got.parts:
                event = hf.log.find(part.event_id)
                assert event is not None
                payload, bodies = verbatim(got.content, part)
                assert payload == event.payload
                assert bodies == all_bodies(hf, event)
            kept = json.loads(Path(hf.cold.path(chunk)).read_bytes())
            assert kept["content"] == got.content
        gone = {part.event_id for one in hf.cold.list() for part in hf.cold.get(one.id).parts}
        compaction = next(event for event in hf.events() if event.kind == "compacted")
        assert gone <= set(compaction.sources)


def say(s: holdfast.Session, what: str, text: str) -> None:
    if what == "call":
        s.tool_call("Bash", {"command": text, "n": [1, {"x": None}]}, call_id="c1")
        s.user(f"meanwhile {text}")
        s.tool_result("Bash", text, call_id="c1", is_error=False)
    elif what == "bytes":
        s.tool_result("cat", b"\xff\x00" + text.encode())
    elif what == "long":
        s.tool_result("cat", (text or "x") * (200_000 // max(1, len(text))))
    else:
        getattr(s, what)(text, more={"a": text})


def all_bodies(hf: holdfast.Holdfast, event: Event) -> dict[str, bytes]:
    notes = event.payload.get("_as_given", []) if isinstance(event.payload, dict) else []
    return {note["path"]: b"".join(hf.blobs.read(note["blob"])) for note in notes if "blob" in note}


# ---- in long sessions ---------------------------------------------------------------------------


def test_chunks_are_known_by_their_events_however_many_there_are(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="long")
    for _ in range(5):
        talk(s, 6)
        s.compact("database indexes", to=300, window=3_000)
    every = hf.cold.list("long", limit=1_000)
    whose = ("ana", "coder", "long")
    for chunk in every:
        assert hf.cold.known.holding(whose, [chunk.first]) == [chunk]
        assert chunk in hf.cold.known.holding(whose, [chunk.last])
    assert hf.cold.known.holding(whose, [one.last for one in every]) == every
    talk(s, 6)
    s.compact("database indexes", to=300, window=3_000)
    new = hf.cold.list("long", limit=1)[0]
    assert hf.cold.known.holding(whose, [new.first]) == [new]
    assert hf.cold.known.holding(("ben", "coder", "long"), [new.first]) == []


def test_what_comes_back_is_logged_whatever_left_since(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = hf.session(agent="coder", session_id="long")
    s.user("The password of the vault is ZEB3RA, says the note of the zookeeper.")
    s.assistant("Noted.")
    monkeypatch.setattr("holdfast.app.cold._MOST", 3)  # a list names no more than so many
    for _ in range(4):
        talk(s, 6)
        s.compact("database indexes", to=300, window=3_000)
    first = hf.cold.list("long", limit=1_000)[-1]
    pack = s.context("what does the note of the zookeeper say about the vault?", window=20_000)
    assert "ZEB3RA" in pack.sections["relevant"]
    came = [event.payload["chunk"] for event in hf.events() if event.kind == "chunk_recovered"]
    assert first.id in came


def test_a_compaction_reads_and_writes_only_what_it_dropped_itself(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = hf.session(agent="coder", session_id="long")
    talk(s, 12)
    s.compact("database indexes", to=300, window=3_000)
    before = {path: path.stat().st_mtime_ns for path in files(hf)}
    talk(s, 12)
    s.compact("database indexes", to=300, window=3_000)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(files(hf)) == len(hf.cold.list("long")) > len(before)
