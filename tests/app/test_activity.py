"""The five logs: what the log says, byte for byte, however often somebody died while writing them."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.activity import Activity
from holdfast.compact.activity import NAMES
from holdfast.errors import Invalid
from tests.app.hosts import Host, notes
from tests.app.test_cold import talk
from tests.faults.disks import Crash, FailingDisk, Fault
from tests.faults.logs import subject
from tests.property.effort import examples
from tests.recall.replays import DAY, MINUTE, Ticking

FIELDS = {
    "compaction": "timestamp event trigger tokens_before tokens_after chunks_dropped "
    "chunks_summarized config_used",
    "curation": "timestamp event query hits_found total_hits_before_curation token_savings "
    "drops_triggered",
    "drops": "timestamp event chunk_id session_id reason relevance_score threshold_used "
    "cold_storage_path",
    "recovery": "timestamp event chunk_id session_id how relevance_score prompt",
    "context-health": "timestamp current_tokens limit pct_used next_compaction_estimate "
    "memcached_chunks cold_storage_chunks",
}


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def curated(s: holdfast.Session) -> None:
    said = {
        "query": "journal search",
        "hits_found": 5,
        "total_hits_before_curation": 12,
        "token_savings": 250,
        "drops_triggered": 7,
    }
    s.record("epoch_started", {"curation": said}, origin="system")


def full(hf: holdfast.Holdfast) -> holdfast.Session:
    """A session with a line in each of the logs."""
    s = hf.session(agent="coder").start()
    talk(s)
    s.context("zebra", window=20_000)
    s.compact("database indexes", to=600)
    s.recover(hf.cold.list(s.id)[0].id, prompt="again")
    curated(s)
    s.context("zebra", window=20_000)
    return s


def written(hf: holdfast.Holdfast) -> dict[str, bytes]:
    return {
        name: Path(hf.activity.path(name)).read_bytes()
        for name in NAMES
        if Path(hf.activity.path(name)).exists()
    }


def anew(hf: holdfast.Holdfast) -> dict[str, bytes]:
    """The same, made from nothing."""
    for path in Path(hf.activity.folder).iterdir():
        path.unlink()
    hf.activity.up_to_date()
    return written(hf)


def test_each_line_has_the_fields_of_its_log_and_says_what_happened(hf: holdfast.Holdfast) -> None:
    s = full(hf)
    for name, fields in FIELDS.items():
        lines = hf.activity.read(name)
        assert lines, name
        for line in lines:
            assert list(line) == fields.split(), name
        assert stat.S_IMODE(Path(hf.activity.path(name)).stat().st_mode) == 0o600
    (compaction,) = hf.activity.read("compaction")
    chunks = hf.cold.list(s.id)
    assert compaction["event"] == "compaction_triggered"
    assert compaction["chunks_dropped"] == len(chunks)
    assert compaction["tokens_after"] < compaction["tokens_before"]
    assert compaction["config_used"] == "COMPACTION_TRIGGER_PCT=0.50"
    drops = hf.activity.read("drops")
    assert {line["chunk_id"] for line in drops} == {one.id for one in chunks}
    assert all(Path(line["cold_storage_path"]).is_file() for line in drops)
    assert all(line["threshold_used"] == 0.3 for line in drops)
    recovered = {line["how"]: line for line in hf.activity.read("recovery")}
    assert recovered["asked"]["chunk_id"] == chunks[0].id
    assert {line["chunk_id"] for line in recovered.values()} <= {one.id for one in chunks}
    first, last = hf.activity.read("context-health")
    assert (first["cold_storage_chunks"], last["cold_storage_chunks"]) == (0, len(chunks))
    assert last["limit"] == 20_000
    assert last["pct_used"] == round(last["current_tokens"] / 20_000, 4)
    assert last["next_compaction_estimate"] == 10_000
    assert hf.activity.read("curation")[0]["query"] == "journal search"
    assert hf.activity.read("context-health", 1) == [last]
    with pytest.raises(Invalid, match="there are compaction"):
        hf.activity.path("../x")


def test_a_curation_by_a_context_has_a_line_that_says_what_it_came_to(
    hf: holdfast.Holdfast,
) -> None:
    for n in range(25):
        hf.remember(f"The otter number {n} keeps records of the archive in room {n}.")
        hf.remember(f"Heron {n} flies to harbour {n} with letters for the captain.")
    s = hf.session(agent="coder", session_id="s")
    packs = []
    for n in range(30):
        about = "which otter keeps records in room" if n < 22 else "heron letters, harbour"
        s.user(f"{about} {n}?")
        packs.append(s.context(f"{about} {n}?", window=4_000, budget=900))
        s.assistant("I looked it up. " * 4)
    line = hf.activity.read("curation")[0]
    assert list(line) == FIELDS["curation"].split()
    assert line["event"] == "memfas_curation"
    (nth,) = [n for n, pack in enumerate(packs) if pack.receipt.query == line["query"]]
    began = hf.log.find(packs[nth].receipt.epoch)
    assert began is not None
    assert line["timestamp"] == began.timestamp
    earlier = [pack for pack in packs[:nth] if pack.receipt.epoch == packs[nth - 1].receipt.epoch]
    every = [one for pack in earlier for one in pack.receipt.candidates if one.verdict == "taken"]
    recalled = [one for one in every if one.shown.section in ("critical", "relevant")]
    assert line["total_hits_before_curation"] == len(recalled)
    assert 0 < line["drops_triggered"] <= len(recalled)
    assert line["hits_found"] + line["drops_triggered"] == len(recalled)
    assert line["token_savings"] > 0


def test_a_curation_by_a_host_has_a_line_with_the_same_fields(tmp_path: Path) -> None:
    policy = "The osprey password policy is in /etc/osprey.conf. " * 20
    host = Host([*notes(20), policy, *notes(20, about="the river is wide. ")])
    ctx = host.manager(tmp_path, CURATION_TRIGGER_PCT=0.01)
    ctx.set_current_prompt("crossing")
    ctx.compact(10_000)
    ctx.on_message("where is the osprey password policy?")
    ctx.before_response(20_000)
    full = host.tokens()
    ctx.on_message("how wide is the river?")
    ctx.after_response()
    (line,) = ctx._hf.activity.read("curation")
    assert list(line) == FIELDS["curation"].split()
    assert (line["event"], line["query"]) == ("memfas_curation", "how wide is the river?")
    assert line["total_hits_before_curation"] == line["hits_found"] + line["drops_triggered"]
    assert line["token_savings"] == full - host.tokens() > 0
    ctx.session_end()


STEPS = ("say", "context", "compact", "recover", "curate", "follow", "host", "tear", "lose", "cut")


@settings(max_examples=examples(20))
@given(st.lists(st.sampled_from(STEPS), max_size=14))
def test_however_they_came_to_be_they_are_what_the_log_says(steps: list[str]) -> None:
    with TemporaryDirectory() as home:
        clock = Ticking()
        with holdfast.open(home, project="p", user="ana", now=clock) as hf:
            s = hf.session(agent="coder").start()
            talk(s, 8)
            for step in steps:
                clock.minutes += 1
                take(hf, s, step)
            hf.activity.up_to_date()
            found = written(hf)
            assert found == anew(hf)
            for data in found.values():
                assert all(isinstance(json.loads(line), dict) for line in data.splitlines())


def take(hf: holdfast.Holdfast, s: holdfast.Session, step: str) -> None:
    there = sorted(Path(hf.activity.folder).glob("*")) if step in ("tear", "lose", "cut") else []
    if step == "say":
        talk(s, 4)
    elif step == "context":
        s.context("zebra", window=5_000)
    elif step == "compact":
        s.compact("database", to=300)
    elif step == "recover" and (cold := hf.cold.list()):
        s.recover(cold[0].id)
    elif step == "curate":
        curated(s)
    elif step == "follow":
        hf.activity.follow()
    elif step == "host":
        s.record("compacted", {"by": "host"}, origin="system")
    for path in there[::2]:
        if step == "lose":
            path.unlink()
        elif step == "tear":
            with path.open("ab") as file:
                file.write(b'{"timestamp": "20')
        else:
            path.write_bytes(path.read_bytes()[:-7])


def test_a_death_at_any_call_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder").start()
        talk(s)
        s.context("zebra", window=20_000)
        before = {path: path.read_bytes() for path in Path(hf.activity.folder).iterdir()}
        with monkeypatch.context() as patched:
            patched.setattr(Activity, "follow", lambda _: None)
            s.compact("database indexes", to=600)
            s.context("zebra", window=20_000)
        hf.activity.up_to_date()
        expected = written(hf)
        for begun in (before, {}):  # what was there, and from nothing
            nth, reached = 1, True
            while reached:
                reached = died(hf, begun, nth)
                assert (nth, written(hf)) == (nth, expected)
                nth += 1
            assert nth > 8


def died(hf: holdfast.Holdfast, begun: dict[Path, bytes], nth: int) -> bool:
    """Put the files back, die at the nth call that changes something, let somebody else go on."""
    for path in Path(hf.activity.folder).iterdir():
        path.unlink()
    for path, data in begun.items():
        path.write_bytes(data)
    disk = FailingDisk()
    disk.arm(Fault("crash", nth))
    victim = Activity(hf)
    victim._files._disk = disk
    try:
        victim.up_to_date()
    except Crash:
        disk.abandon()
    Activity(hf).up_to_date()
    return disk.reached


@pytest.mark.parametrize("kind", ["EIO", "ENOSPC"])
def test_a_disk_that_fails_is_told_and_stops_nothing(hf: holdfast.Holdfast, kind: str) -> None:
    s = hf.session(agent="coder").start()
    talk(s)
    for part in (hf.activity, hf.cold):
        disk = FailingDisk()
        disk.arm(Fault(kind, 1, persistent=True))
        part._files._disk = disk
    assert s.compact("database indexes", to=600) is not None
    assert s.context("zebra", window=20_000).text
    assert any("could not be" in notice for notice in hf.notices)
    chunk = hf.cold.list()[0]
    assert hf.cold.get(chunk.id).content
    again = Activity(hf)
    again.up_to_date()
    assert again.read("drops")


def test_they_go_with_an_erase_and_are_written_again(hf: holdfast.Holdfast) -> None:
    full(hf)
    back = [event for event in hf.events() if event.kind == "chunk_recovered"]
    event = next(event for event in back if event.payload["how"] == "asked")
    assert b"again" in written(hf)["recovery"]
    hf.log.erase([event.event_id], subject=subject("x1", [event.event_id]))
    assert written(hf) == {}
    assert not list(Path(hf.activity.folder).iterdir())
    assert "asked" not in {line["how"] for line in hf.activity.read("recovery")}
    assert hf.activity.read("drops")


def test_each_can_be_switched_off_and_all_can_be_moved(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    knobs = dict(zip(NAMES, ("compaction", "curation", "drops", "recovery", "health"), strict=True))
    for name, knob in knobs.items():
        moved = tmp_path / f"logs-{name}"
        config.write_text(f'[manager]\nlog_{knob} = false\nlog_path = "{moved}"\n')
        with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
            if name == "compaction":
                full(hf)
            hf.activity.up_to_date()
            assert set(written(hf)) == set(NAMES) - {name}
            assert Path(hf.activity.folder).parent == moved


def test_what_expired_is_cold_no_longer(hf: holdfast.Holdfast) -> None:
    s = full(hf)
    clock: Any = hf.clock
    clock.minutes += 29 * DAY / MINUTE
    s.user("still there?")
    clock.minutes += 2 * DAY / MINUTE
    assert hf.cold.expire(dry_run=False).chunks
    s.context("zebra", window=20_000)
    assert hf.activity.read("context-health", 1)[0]["cold_storage_chunks"] == 0


def test_a_restore_is_called_what_it_is(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder").start()
    talk(s)
    saved = s.flash_save(window=10_000)
    s.resume_from(saved.checkpoint_id)
    last = hf.activity.read("compaction")[-1]
    assert (last["event"], last["trigger"]) == ("context_restored", "restore")


def test_a_drop_without_a_copy_names_no_file(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True, exist_ok=True)
    (config / "context-config.yaml").write_text("COLD_STORAGE_ENABLED: false\n")
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        s = hf.session(agent="coder").start()
        talk(s)
        assert s.compact("database indexes", to=600)
        assert {one["cold_storage_path"] for one in hf.activity.read("drops")} == {""}
