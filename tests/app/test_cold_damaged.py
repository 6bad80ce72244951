"""What is cold where the log or a copy is damaged: nothing good is lost, and all trouble is told."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.rebuild import rebuild
from holdfast.model.cold import ColdChunk
from tests.app.test_cold import dropped, files, talk
from tests.faults.disks import HookedDisk
from tests.faults.logs import subject
from tests.recall.replays import Ticking

#: the log is read again and again here; whoever reads it is warned each time
pytestmark = pytest.mark.filterwarnings("ignore::holdfast.app.holdfast.DamageWarning")

Which = Callable[[dict[str, Any]], bool]


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def damaged(hf: holdfast.Holdfast, which: Which) -> holdfast.Holdfast:
    """The same project with some lines of its log damaged, opened again."""
    hf.close()
    hit = 0
    for log in Path(hf.folder).glob("events*.ndjson"):
        lines = log.read_bytes().splitlines(keepends=True)
        for n, line in enumerate(lines):
            if which(json.loads(line)):
                lines[n] = line[:40] + b"#" * 20 + line[60:]
                hit += 1
        log.write_bytes(b"".join(lines))
    assert hit
    return again(hf)


def again(hf: holdfast.Holdfast) -> holdfast.Holdfast:
    """The same project, opened anew."""
    return holdfast.open(Path(hf.settings.home), project="p", user="ana", now=hf.clock)


def event(event_id: str) -> Which:
    return lambda said: bool(said["event_id"] == event_id)


def compacted(said: dict[str, Any]) -> bool:
    return str(said["type"]).startswith("compacted")


# ---- the first event of a chunk ----------------------------------------------------------------


def looked_into(hf: holdfast.Holdfast) -> tuple[holdfast.Session, ColdChunk]:
    """A call and its result, which left together."""
    s = hf.session(agent="coder", session_id="long").start()
    s.tool_call("Bash", {"command": "cat quokka.conf"})
    s.tool_result("Bash", "quokka zanzibar setting = 4711 " + "zanzibar quokka " * 40)
    talk(s)
    s.compact("database indexes", to=600)
    return s, hf.cold.list("long")[-1]


def test_a_context_recalls_a_chunk_whose_first_event_is_damaged(hf: holdfast.Holdfast) -> None:
    _, chunk = looked_into(hf)
    assert chunk.first < chunk.last
    with damaged(hf, event(chunk.id)) as later:
        s = later.session(agent="coder", session_id="long")
        pack = s.context("quokka zanzibar setting", window=20_000)
        assert "4711" in pack.text
        came = [one for one in later.events() if one.kind == "chunk_recovered"]
        assert chunk.id in [one.payload["chunk"] for one in came]
        assert {one.sources for one in came if one.payload["chunk"] == chunk.id} == {
            (chunk.compaction_id,)
        }


def test_what_the_log_cannot_show_is_recovered_and_expanded_from_its_copy(
    hf: holdfast.Holdfast,
) -> None:
    _, chunk = looked_into(hf)
    whole = hf.cold.get(chunk.id).content
    with damaged(hf, event(chunk.id)) as later:
        s = later.session(agent="coder", session_id="long")
        back = s.recover(chunk.id, prompt="which setting?")
        assert (back.content, "copy" in back.note) == (whole, True)
        assert back.chunk.recovered
        shown = s.expand(chunk.id, 5_000)
        assert "quokka zanzibar setting = 4711" in shown.text
        assert "copy" in shown.note
        stranger = later.session(agent="critic").start()
        with pytest.raises(holdfast.errors.NotFound, match="here to expand"):
            stranger.expand(chunk.id)


class Full(HookedDisk):
    """A disk that has no room for what came back."""

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if name == "write" and b"chunk_recovered@" in bytes(args[1]):
            raise OSError(errno.ENOSPC, "no room")
        return real(*args)


def test_a_recovery_that_cannot_be_written_down_is_told_and_takes_nothing_away(
    hf: holdfast.Holdfast,
) -> None:
    _, chunk = looked_into(hf)
    hf.close()
    with again(hf) as later:
        later.log.disk = Full()
        s = later.session(agent="coder", session_id="long")
        assert "4711" in s.recover(chunk.id).content
        pack = s.context("quokka zanzibar setting", window=20_000)
        assert later.replay(pack.id).text == pack.text
        assert any("could not be written down" in notice for notice in later.notices)


# ---- what is written down ----------------------------------------------------------------------


def test_a_long_question_is_not_written_down_again_for_each_chunk(hf: holdfast.Holdfast) -> None:
    dropped(hf)
    s = hf.sessions()[0]
    session = hf.session(agent="coder", session_id=s.id)
    question = "What about the zebra crossing number 3? " + "The log says striped. " * 2_000
    session.context(question, window=40_000)
    came = [one.payload["prompt"] for one in hf.events() if one.kind == "chunk_recovered"]
    assert came
    assert all(question.startswith(said.rstrip("…")) and len(said) <= 2_000 for said in came)


def test_what_comes_back_from_another_session_of_the_agent_is_logged(
    hf: holdfast.Holdfast,
) -> None:
    _, chunk = looked_into(hf)
    other = hf.session(agent="coder").start()
    other.user("good morning")
    pack = other.context("quokka zanzibar setting", window=20_000)
    assert "4711" in pack.text
    lines = hf.activity.read("recovery")
    assert (chunk.id, "long") in {(one["chunk_id"], one["session_id"]) for one in lines}
    assert hf.cold.find(chunk.id, "ana", "coder").recovered


# ---- copies ------------------------------------------------------------------------------------


def test_an_edited_copy_is_not_taken_for_what_the_log_said(hf: holdfast.Holdfast) -> None:
    _, chunk = looked_into(hf)
    whole, path = hf.cold.get(chunk.id), Path(hf.cold.path(chunk))
    said = json.loads(path.read_bytes())
    said["parts"][0]["payload"]["tool"] = "rm"
    said["tokens"] = 1
    path.write_text(json.dumps(said))
    with damaged(hf, event(chunk.id)) as later:
        found = later.cold.get(chunk.id)
        assert found.parts == ()
        assert (found.content, found.sha256) == (whole.content, whole.sha256)
        assert "part of its copy" in found.note


def test_a_copy_of_an_earlier_version_is_read_and_made_anew(hf: holdfast.Holdfast) -> None:
    _, chunk = looked_into(hf)
    whole, path = hf.cold.get(chunk.id), Path(hf.cold.path(chunk))
    now = path.read_bytes()
    said = json.loads(now)
    del said["record_sha256"]
    before = json.dumps(said).encode()
    path.write_bytes(before)
    assert hf.cold.get(chunk.id).note == ""
    assert path.read_bytes() == now
    path.write_bytes(before)
    hf.cold.rebuild()
    assert path.read_bytes() == now
    path.write_bytes(before)
    with damaged(hf, event(chunk.id)) as later:
        assert later.cold.get(chunk.id).parts == whole.parts


# ---- a rebuild ---------------------------------------------------------------------------------


def test_a_rebuild_keeps_the_copies_of_a_compaction_that_cannot_be_read(
    hf: holdfast.Holdfast,
) -> None:
    _, chunk = looked_into(hf)
    before = {path: path.read_bytes() for path in files(hf)}
    (Path(hf.cold.path(chunk)).parent / ".torn.tmp").write_bytes(b"{")
    with damaged(hf, lambda said: said["event_id"] == chunk.id or compacted(said)) as later:
        rebuild(later)
        assert {path: path.read_bytes() for path in files(later)} == before
        assert not list(Path(later.cold.folder).rglob("*.tmp"))
        assert any("all there is" in notice for notice in later.notices)
        s = later.session(agent="coder", session_id="long")
        s.context("quokka zanzibar setting", window=8_000)
        assert Path(later.cold.path(chunk)).read_bytes() == before[Path(later.cold.path(chunk))]
        asked = next(one for one in later.events() if one.kind == "user_message")
        later.log.erase([asked.event_id], subject=subject("x1", [asked.event_id]))
        assert not files(later)


def test_a_rebuild_removes_a_copy_that_says_what_was_erased(hf: holdfast.Holdfast) -> None:
    other, chunk = dropped(hf)[:2]
    path = Path(hf.cold.path(chunk))
    kept = path.read_bytes()
    hf.log.erase([chunk.id], subject=subject("x1", [chunk.id]))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(kept)  # out of a backup
    with damaged(hf, event(other.id)) as later:
        rebuild(later)
        assert not path.exists()


def test_what_later_compactions_dropped_stays_cold_when_one_cannot_be_read(
    hf: holdfast.Holdfast,
) -> None:
    s = hf.session(agent="coder", session_id="long")
    made = []
    for _ in range(4):
        talk(s, 8)
        made.append(s.compact("database indexes", to=300, window=3_000))
    before, copies = hf.cold.list("long"), files(hf)
    lost = made[1]
    assert lost is not None
    pressure = s.pressure(window=3_000)
    with damaged(hf, event(lost.id)) as later:
        rebuild(later)
        assert later.cold.list("long") == [one for one in before if one.compaction_id != lost.id]
        assert files(later) == copies
        assert any(lost.id in notice for notice in later.notices)
        again_ = later.session(agent="coder", session_id="long")
        assert again_.pressure(window=3_000) == pressure
        talk(again_, 8)
        assert again_.compact("database indexes", to=300, window=3_000) is not None
