"""Every knob does something; hooks of a host do what they are named after; commands find its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app import compactions
from holdfast.errors import Invalid
from holdfast.manager import ContextManager
from holdfast.model import knobs
from tests.app.hosts import Host, notes

OSPREY = "The osprey password policy is in /etc/osprey.conf. " * 20
ASKED = "where is the osprey password policy?"


def left(tmp_path: Path, **more: Any) -> tuple[Host, ContextManager]:
    """A host whose osprey left, while something else was asked."""
    host = Host([*notes(20), OSPREY, *notes(20, about="the river is wide. ")])
    ctx = host.manager(tmp_path, **more)
    ctx.set_current_prompt("crossing")
    ctx.compact(10_000)
    assert OSPREY not in host.context
    return host, ctx


# ---- the hooks -----------------------------------------------------------------------------------


def test_what_left_comes_back_before_an_answer_that_needs_it_and_goes_when_it_is_stale(
    tmp_path: Path,
) -> None:
    host, ctx = left(tmp_path, CURATION_TRIGGER_PCT=0.01)
    last = host.context[-1]
    ctx.on_message(ASKED)
    status = ctx.before_response(20_000)
    back = [one for one in host.context if "came back" in one]
    assert len(back) == 1
    assert OSPREY.strip() in back[0]
    assert host.context[-1] == last
    assert status.current_tokens == host.tokens()
    assert [one["how"] for one in ctx._hf.activity.read("recovery")] == ["auto"]
    ctx.before_response(20_000)
    ctx.after_response()
    assert [one for one in host.context if "came back" in one] == back  # once, and still meant
    assert ctx._hf.activity.read("curation") == []
    ctx.on_message("how wide is the river?")
    ctx.after_response()
    assert not any("came back" in one for one in host.context)
    (line,) = ctx._hf.activity.read("curation")
    assert (line["drops_triggered"], line["hits_found"]) == (1, 0)
    assert line["token_savings"] > 0
    assert not any("came back" in event.text for event in ctx._hf.events())
    ctx.session_end()


def test_a_process_that_goes_on_knows_what_came_back(tmp_path: Path) -> None:
    host, ctx = left(tmp_path)
    ctx.on_message(ASKED)
    ctx.before_response(20_000)
    session = ctx.session_id
    ctx._hf.close()
    again = host.manager(tmp_path, session_id=session)
    again.on_message("how wide is the river?")
    assert not any("came back" in event.text for event in again._hf.events())
    again.session_end()


def test_what_is_in_the_context_at_the_end_is_cold_and_known_to_whoever_goes_on(
    tmp_path: Path,
) -> None:
    host, ctx = left(tmp_path)
    before, session = list(host.context), ctx.session_id
    cold = ctx._hf.cold.count()
    ctx.session_end()
    assert host.context == before
    again = host.manager(tmp_path, session_id=session)
    stay = [one for one in before if not one.startswith("<hf:earlier")]
    assert again._hf.cold.count() == cold + len(stay)
    reasons = {one["reason"] for one in again._hf.activity.read("drops")}
    assert "session_end" in reasons
    count = len(list(again._hf.events()))
    again.after_response()
    assert len(list(again._hf.events())) == count
    again.session_end()


def test_an_end_is_an_end_whatever_fails(tmp_path: Path) -> None:
    host = Host(notes(3))
    ctx = host.manager(tmp_path, LOG_PATH="/proc/nowhere")
    ctx.before_response(8_000)
    ctx.session_end()
    again = host.manager(tmp_path / "other")
    host.context = 5
    with pytest.raises(Invalid):
        again.session_end()
    for place in (tmp_path, tmp_path / "other"):
        with holdfast.open(place / "memfas.holdfast", project="context-manager") as hf:
            assert [event.kind for event in hf.events()][-1] == "session_ended"


# ---- knobs ---------------------------------------------------------------------------------------

ABOUT = "the database index of this table was rebuilt because of a reason. "


REBUILT = "which database index was rebuilt by the osprey in the zoo?"


def outcome(place: Path, **knob: Any) -> dict[str, Any]:
    """What a conversation comes to under a knob."""
    clock = [1_800_000_000_000]
    talk = [f"Table {n}: {ABOUT * (3 if n % 2 else 12)}" for n in range(20)]
    old: list[Any] = [{"role": "tool", "content": one} for one in talk]
    late: list[Any] = [{"role": "tool", "content": f"Zoo {n}: {ABOUT * 3}"} for n in range(10)]
    old[2]["important"] = True
    host = Host([*old, {"role": "tool", "content": OSPREY}])
    ctx = host.manager(place, REBUILT, now=lambda: clock[0], **knob)
    ctx.after_response()
    clock[0] += 20 * 3_600_000
    host.context += late
    status = ctx.before_response(6_000)
    roomy, done = ctx.compact(30_000), ctx.compact(8_000)
    ctx.on_message(ASKED)
    ctx.before_response(30_000)
    ctx.recover("osprey")
    ctx.on_message(REBUILT)
    ctx.after_response()
    logs = {path.name for path in ctx.log_path.glob("*.jsonl")}
    cold = ctx._hf.cold.list()
    made = [one for one in ctx._hf.events() if one.kind == "compacted"]
    decided = [one for event in made for one in compactions.read(ctx._hf, event).decided]
    result = {
        "due": status.needs_compaction,
        "band": status.band,
        "dropped": done.chunks_dropped,
        "summarized": done.chunks_summarized,
        "after": (roomy.tokens_after, done.tokens_after),
        "fits": done.fits,
        "decided": [(one.verdict, one.score) for one in decided],
        "until": cold[0].until if cold else "",
        "copies": len(list(ctx.cold_storage_path.rglob("*.jsonl"))),
        "logs": logs,
        "log_path": str(ctx.log_path.relative_to(place)),
        "cold_path": str(ctx.cold_storage_path.relative_to(place)),
        "back": sum("came back" in str(one) for one in host.context),
        "curated": len(ctx._hf.activity.read("curation")),
        "model": ctx._hf.settings.complete.model,
    }
    ctx.session_end()
    with holdfast.open(place / "memfas.holdfast", project="context-manager") as hf:
        result["cold"] = hf.cold.count()
    return result


CHANGES: dict[str, Any] = {
    "COMPACTION_TRIGGER_PCT": 0.8,
    "COMPACTION_TARGET_PCT": 0.02,
    "MAX_CONTEXT_PCT": 0.51,
    "AUTO_COMPACT": True,
    "AUTO_RECOVER": False,
    "ARCHIVE_AT_END": False,
    "RELEVANCE_CUTOFF": 0.65,
    "THRESHOLD_KEEP": 0.15,
    "RELEVANCE_KEEP_THRESHOLD": 0.15,
    "RECENCY_BONUS": 1.0,
    "IMPORTANCE_BOOT": 1.0,
    "IMPORTANCE_BONUS": 1.0,
    "MIN_CHUNKS_TO_KEEP": 3,
    "MEMFAS_MIN_SCORE": 1.0,
    "MEMFAS_WEIGHT": 0.1,
    "CURATION_TRIGGER_PCT": 0.01,
    "COLD_STORAGE_ENABLED": False,
    "COLD_STORAGE_PATH": "moved-cold",
    "RECOVERABLE_FOR_DAYS": 3,
    "RECOVERABLE_DAYS": 3,
    "SUMMARIZE_MEDIUM_CHUNKS": False,
    "SUMMARY_TARGET_TOKENS": 30,
    "SUMMARY_MODEL": "acme-1",
    "LOG_PATH": "moved-logs",
    "LOG_COMPACTION": False,
    "LOG_CURATION": False,
    "LOG_DROPS": False,
    "LOG_RECOVERY": False,
    "LOG_HEALTH": False,
}


#: knobs that show what they do only beside another one
BESIDE: dict[str, dict[str, Any]] = {
    "SUMMARIZE_MEDIUM_CHUNKS": {"MIN_CHUNKS_TO_KEEP": 1, "RELEVANCE_CUTOFF": 0.1},
    "SUMMARY_TARGET_TOKENS": {"MIN_CHUNKS_TO_KEEP": 1, "RELEVANCE_CUTOFF": 0.1},
    "COMPACTION_TARGET_PCT": {"RELEVANCE_CUTOFF": 0.1},
    "LOG_CURATION": {"CURATION_TRIGGER_PCT": 0.01},
    "THRESHOLD_KEEP": {"RELEVANCE_CUTOFF": 0.1},
    "RELEVANCE_KEEP_THRESHOLD": {"RELEVANCE_CUTOFF": 0.1},
}


def test_every_knob_is_tried() -> None:
    assert set(CHANGES) == set(knobs.KNOBS)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return outcome(tmp_path_factory.mktemp("usual"))


@pytest.mark.parametrize("knob", sorted(CHANGES))
def test_every_knob_does_something(
    tmp_path: Path, usual: dict[str, Any], monkeypatch: pytest.MonkeyPatch, knob: str
) -> None:
    value = CHANGES[knob]
    if knob.endswith("_PATH"):
        value = str(tmp_path / value)
    if knob == "SUMMARY_MODEL":  # asked of whoever [complete] names, and nobody is asked without
        file = tmp_path / "config" / "holdfast" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(
            '[complete]\nprovider = "openai"\nurl = "http://127.0.0.1:9/v1"\noff = true\n'
        )
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    more = BESIDE.get(knob, {})
    before = outcome(tmp_path / "before", **more) if more else usual
    after = outcome(tmp_path / "after" if more else tmp_path, **{knob: value}, **more)
    assert after != before


def test_shares_that_cannot_hold_together_are_refused(tmp_path: Path) -> None:
    for wrong in ({"COMPACTION_TRIGGER_PCT": 0}, {"MAX_CONTEXT_PCT": 0.3}):
        with pytest.raises(Invalid, match="COMPACTION_TRIGGER_PCT"):
            ContextManager(tmp_path / "m", **wrong)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_a_low_trigger_compacts_below_it(tmp_path: Path, share: float) -> None:
    host = Host(notes(60, 10))
    ctx = host.manager(tmp_path, COMPACTION_TRIGGER_PCT=share, MIN_CHUNKS_TO_KEEP=1)
    limit = int(host.tokens() / share) - 10
    assert ctx.before_response(limit).needs_compaction
    assert ctx.compact().chunks_dropped
    assert not ctx.before_response(limit).needs_compaction
    ctx.session_end()


@pytest.mark.parametrize("said", [None, float("nan"), float("inf"), -5, "many", True])
def test_a_count_that_is_none_is_refused(tmp_path: Path, said: Any) -> None:
    ctx = ContextManager(tmp_path / "m", get_token_count=lambda: said)
    with pytest.raises(Invalid, match="get_token_count"):
        ctx.before_response(100)
    with pytest.raises(Invalid, match="get_token_count"):
        ctx.session_end()


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (["one", "two"], "two"),
        ("abc def", "abc def"),
        ({"role": "user", "content": "x"}, "x"),
        (None, ""),
        ((one for one in ["q"]), "q"),
    ],
)
def test_the_last_message_is_what_is_asked(tmp_path: Path, said: Any, asked: str) -> None:
    ctx = ContextManager(tmp_path / "m", get_messages=lambda _: said)
    assert ctx._asked() == asked
    ctx.session_end()


def _always(said: Any) -> Any:
    return lambda _: said


def test_what_is_wrong_is_said_in_our_words(tmp_path: Path) -> None:
    for said in (5, [object()]):
        ctx = ContextManager(tmp_path / "m", get_messages=_always(said))
        with pytest.raises(Invalid, match="message"):
            ctx.compact()
        ctx.session_end()
    for place in ("", ".", "..", b"bytes.json", "a\0b", 5):
        with pytest.raises(Invalid, match="memory_path"):
            ContextManager(place)  # type: ignore[arg-type]
    ctx = ContextManager(tmp_path / "m")
    for wrong in (-5, 0, 1.5, True, "x"):
        with pytest.raises(Invalid, match="max_tokens"):
            ctx.compact(wrong)  # type: ignore[arg-type]
    ctx.session_end()


# ---- its files, for whoever says nothing else ----------------------------------------------------


def test_commands_find_the_files_that_a_context_manager_was_told_of(tmp_path: Path) -> None:
    place = {"LOG_PATH": str(tmp_path / "logs"), "COLD_STORAGE_PATH": str(tmp_path / "cold")}
    host = Host(notes(40))
    ctx = host.manager(tmp_path, LOG_DROPS=False, **place)
    assert ctx.compact(8_000).chunks_dropped
    logs, cold = ctx.log_path, ctx.cold_storage_path
    ctx.session_end()
    with holdfast.open(tmp_path / "memfas.holdfast", project="context-manager") as hf:
        assert (Path(hf.activity.folder), Path(hf.cold.folder)) == (logs, cold)
        hf.activity.up_to_date()
        chunk = hf.cold.list()[0]
        assert not hf.cold.get(chunk.id).note
        assert not (logs / "drops.jsonl").exists()
        assert not (Path(hf.folder) / "logs").exists()
    again = host.manager(tmp_path, LOG_DROPS=True)
    again.session_end()
    assert (logs / "drops.jsonl").exists()


# ---- the quick test ------------------------------------------------------------------------------

QUICK = """
current_context = [f"Entry {n} of the journal. " + "It was a long day. " * 40 for n in range(600)]
def replace_context(c): current_context[:] = c
def count_tokens(): return sum(len(one) // 4 for one in current_context)
def get_last_n(n): return [{"role": "user", "content": "journal search"}][-n:]

from holdfast.manager import ContextManager

ctx = ContextManager(
    memory_path="./memfas.json",
    get_context=lambda: current_context,
    set_context=lambda c: replace_context(c),
    get_token_count=lambda: count_tokens(),
    get_messages=lambda n: get_last_n(n)
)

status = ctx.before_response(max_tokens=100000)
if status.needs_compaction:
    ctx.compact()

ctx.session_end()
print(status.current_tokens, count_tokens())
"""


def test_the_quick_test_runs_with_only_its_import_changed(tmp_path: Path) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={**os.environ, "HOLDFAST_EMBEDDER": "none"},
        )

    ran = run("-c", QUICK)
    assert ran.returncode == 0, ran.stderr
    before, after = map(int, ran.stdout.split())
    assert after < before / 2
    here = ("--home", "./memfas.holdfast", "--project", "context-manager")
    health = run("-m", "holdfast", "manager", "health", "--notify-if-pct", "0.5", "--json", *here)
    assert health.returncode == 0, health.stderr
    assert json.loads(health.stdout)["current_tokens"] == after
