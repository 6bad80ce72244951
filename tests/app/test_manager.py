"""A context that the host holds: kept small, nothing lost, and as it was when something fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.compact.hosted import groups, like, pieces
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.manager import ContextManager
from holdfast.model.compact import CompactSettings
from tests.property.effort import examples

ZEBRA = "The zebra crossing was painted in May. " + "It took a while. " * 30


def chunks(count: int = 40) -> list[str]:
    return [f"Note {n}. {ZEBRA}" for n in range(count)]


class Host:
    """Somebody who holds a context."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.fails: Callable[[Any], None] = lambda _: None

    def put(self, context: Any) -> None:
        self.fails(context)
        self.context = context

    def tokens(self) -> int:
        held = self.context if isinstance(self.context, list) else [self.context]
        return sum(len(str(one)) // 4 for one in held)

    def manager(self, place: Path | str, **more: Any) -> ContextManager:
        return ContextManager(
            memory_path=Path(place) / "memfas.json",
            get_context=lambda: self.context,
            set_context=self.put,
            get_token_count=self.tokens,
            get_messages=lambda n: [{"role": "user", "content": "database indexes"}][:n],
            **more,
        )


def test_the_quick_test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    current_context = chunks(1_000)

    def replace_context(c: list[str]) -> None:
        current_context[:] = c

    def count_tokens() -> int:
        return sum(len(one) // 4 for one in current_context)

    def get_last_n(n: int) -> list[dict[str, str]]:
        return [{"role": "user", "content": "journal search"}][-n:]

    ctx = ContextManager(
        memory_path="./memfas.json",
        get_context=lambda: current_context,
        set_context=lambda c: replace_context(c),  # noqa: PLW0108
        get_token_count=lambda: count_tokens(),  # noqa: PLW0108
        get_messages=lambda n: get_last_n(n),  # noqa: PLW0108
    )

    status = ctx.before_response(max_tokens=100000)
    if status.needs_compaction:
        ctx.compact()

    ctx.session_end()
    assert status.needs_compaction
    assert count_tokens() < 50_000
    assert (tmp_path / "memfas.holdfast").is_dir()


def test_what_leaves_is_cold_and_comes_back(tmp_path: Path) -> None:
    host = Host(chunks())
    before = list(host.context)
    ctx = host.manager(tmp_path)
    status = ctx.before_response(max_tokens=8_000)
    assert (status.needs_compaction, status.chunks_count, status.cold_storage_count) == (
        True,
        40,
        0,
    )
    done = ctx.compact()
    assert done.chunks_dropped > 20
    assert done.token_savings == done.tokens_before - done.tokens_after > 0
    assert host.tokens() == done.tokens_after < 4_000
    assert host.context[-1] == before[-1]
    kept = [one for one in host.context if one in before]
    assert kept == [one for one in before if one in kept]
    line = next(one for one in host.context if "left this context" in one)
    ref = line.split('expand="')[1].split('"')[0]
    back = ctx.recover(ref)
    assert back
    assert all(one in before and one not in kept for one in back)
    assert ctx.recover("zebra crossing Note 3")
    with pytest.raises(NotFound):
        ctx.recover_chunk("evt_never")
    after = ctx.before_response(max_tokens=8_000)
    assert not after.needs_compaction
    assert after.cold_storage_count == done.chunks_dropped
    assert after.last_compaction
    logs = {path.name for path in ctx.log_path.glob("*.jsonl")}
    assert {"compaction.jsonl", "drops.jsonl", "recovery.jsonl", "context-health.jsonl"} <= logs
    lines = (ctx.log_path / "context-health.jsonl").read_text().splitlines()
    health = [json.loads(line) for line in lines]
    assert [line["limit"] for line in health] == [8_000, 8_000, 8_000]
    assert health[1]["current_tokens"] == done.tokens_after
    assert health[-1]["cold_storage_chunks"] == done.chunks_dropped
    assert len(list(ctx.cold_storage_path.rglob("*.jsonl"))) == done.chunks_dropped
    assert ctx.compact().chunks_dropped == 0
    assert ctx.health_check()["config"]["compaction_trigger_pct"] == 0.5
    ctx.session_end()
    ctx.session_end()
    with pytest.raises(Conflict):
        ctx.compact()


def test_nothing_is_recorded_twice_and_our_own_words_are_known_again(tmp_path: Path) -> None:
    host = Host([{"role": "user", "content": one} for one in chunks()])
    host.context.insert(0, {"role": "system", "content": "now: 9:00"})
    ctx = host.manager(tmp_path)
    for n in range(6):
        host.context[0] = {"role": "system", "content": f"now: 9:0{n}"}
        ctx.before_response(8_000)
        ctx.compact()
        assert host.context[0]["role"] == "system"
        ctx.after_response()
        host.context += [{"role": "user", "content": f"{n} {one}"} for one in chunks(8)]
    events = list(ctx._hf.events())
    said = [event.text for event in events if event.kind == "user_message"]
    assert len(said) == len(set(said)) == 40 + 40
    assert not any("hf:earlier" in text for text in said)
    session = ctx.session_id
    ctx.session_end()
    again = host.manager(tmp_path, session_id=session)  # another process goes on
    again.after_response()
    said = [e.text for e in again._hf.events() if e.kind == "user_message"]
    assert len(said) == len(set(said)) == 40 + 48
    again.session_end()


@pytest.mark.parametrize("breaks", ["set", "half", "record"])
def test_a_failure_leaves_the_context_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    host = Host(chunks())
    before = list(host.context)
    ctx = host.manager(tmp_path)

    def fails(context: Any) -> None:
        if context != before:
            host.context = context if breaks == "half" else host.context
            raise RuntimeError("the host is broken")

    if breaks == "record":
        real = ctx._hf.record

        def record(drafts: Any) -> Any:
            if any(draft.type == "compacted" for draft in drafts):
                raise OSError("no space left")
            return real(drafts)

        monkeypatch.setattr(ctx._hf, "record", record)
    else:
        host.fails = fails
    with pytest.raises((RuntimeError, OSError)):
        ctx.compact(8_000)
    assert host.context == before
    assert ctx._hf.cold.list() == []
    monkeypatch.undo()
    host.fails = lambda _: None
    assert ctx.compact(8_000).chunks_dropped > 0
    ctx.session_end()


def test_it_compacts_by_itself_where_that_is_asked_for(tmp_path: Path) -> None:
    host = Host("\n\n".join(chunks()))
    ctx = host.manager(tmp_path, auto_compact=True)
    status = ctx.before_response(8_000)
    assert not status.needs_compaction
    assert status.current_tokens == host.tokens() == ctx.health_check()["tokens"]
    assert isinstance(host.context, str)
    assert host.tokens() < 4_000
    assert "<hf:earlier" in host.context
    ctx.session_end()


def test_calls_and_results_never_part() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}, {"id": "b"}]}
    held = pieces(
        [
            "before",
            call,
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            "between",
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
            "after",
        ]
    )
    assert [list(one) for one in groups(held)] == [[0], [1, 2, 3, 4], [5, 6], [7]]


@pytest.mark.parametrize(
    "context", [7, b"bytes", [7], [object()], [{"role": "user", "x": object()}]]
)
def test_what_is_no_context_is_refused(tmp_path: Path, context: Any) -> None:
    host = Host(context)
    ctx = ContextManager(tmp_path / "m.json", get_context=lambda: host.context)
    with pytest.raises(Invalid, match="context"):
        ctx.compact()
    host.context = []
    assert ctx.compact().chunks_dropped == 0
    ctx.session_end()


words = st.text(st.characters(codec="utf-8"), max_size=40)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "odd"]), "content": words},
    optional={"important": st.booleans(), "name": words, "tool_call_id": st.sampled_from("ab")},
)


@settings(max_examples=examples(60))
@given(st.text(max_size=200) | st.lists(words | messages, max_size=8))
def test_pieces_put_together_are_the_context(context: Any) -> None:
    held = pieces(context)
    assert like(context, [one.given for one in held]) == context
    assert [n for one in groups(held) for n in one] == list(range(len(held)))


@settings(max_examples=examples(15))
@given(
    st.lists(words | messages, min_size=1, max_size=12),
    st.sampled_from(["adaptive", "token_truncation", "sliding_window", "recursive_summarization"]),
    st.integers(20, 400),
)
def test_every_element_is_there_or_comes_back(told: list[Any], strategy: Any, limit: int) -> None:
    with TemporaryDirectory() as place:
        host = Host([*told, *chunks(4)])
        before = list(host.context)
        ctx = host.manager(place, min_chunks_to_keep=1)
        chosen = CompactSettings(strategy=strategy, recent=1)
        ctx._hf.settings = replace(ctx._hf.settings, compact=chosen)
        ctx.compact(limit)
        stays = [one for one in host.context if one in before]
        cold = {one.id for one in ctx._hf.cold.list(expired=True)}
        compaction = [e for e in ctx._hf.events() if e.kind == "compacted"]
        gone = set(compaction[0].sources) if compaction else set()
        back = [e for e in ctx._hf.events() if e.event_id in gone]
        assert len(stays) + len(back) >= len(before)
        for one in cold:
            assert ctx.recover(one) == [ctx._hf.cold.get(one).content]
        ctx.session_end()


# ---- knobs -------------------------------------------------------------------------------------

KNOBS_FILE = """
# Context Limits
COMPACTION_TRIGGER_PCT: 0.50      # Trigger at 50% of context limit
MAX_CONTEXT_PCT: 0.85             # Hard limit at 85%
RELEVANCE_CUTOFF: 0.3
RECENCY_BONUS: 0.2
IMPORTANCE_BOOT: 0.1
MIN_CHUNKS_TO_KEEP: 5
MEMFAS_MIN_SCORE: 0.05
MEMFAS_WEIGHT: 0.6
CURATION_TRIGGER_PCT: 0.40
COLD_STORAGE_ENABLED: true
COLD_STORAGE_PATH: ~/.clawdbot/cold-storage/
RECOVERABLE_FOR_DAYS: 30
SUMMARIZE_MEDIUM_CHUNKS: true
SUMMARY_TARGET_TOKENS: 500
SUMMARY_MODEL: minimax/MiniMax-M2.1
LOG_PATH: ~/.clawdbot/logs/context/
LOG_COMPACTION: true
LOG_CURATION: true
LOG_DROPS: true
LOG_RECOVERY: true
"""


def test_a_file_of_knobs_is_read_and_arguments_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "context-config.yaml"
    file.write_text(KNOBS_FILE)
    ctx = ContextManager(tmp_path / "m", file, RELEVANCE_CUTOFF=0.25, importance_bonus=0.2)
    assert ctx.config["RELEVANCE_CUTOFF"] == 0.25
    assert ctx.config["IMPORTANCE_BOOT"] == ctx.config["IMPORTANCE_BONUS"] == 0.2
    assert ctx.config["MIN_CHUNKS_TO_KEEP"] == 5
    assert ctx.config["SUMMARY_MODEL"] == "minimax/MiniMax-M2.1"
    assert ctx.cold_storage_path.parent == tmp_path / ".clawdbot" / "cold-storage"
    assert ctx.log_path.parent == tmp_path / ".clawdbot" / "logs" / "context"
    ctx.session_end()


def test_the_users_own_file_holds_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "config" / "holdfast" / "context-config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("context:\n  compaction_trigger_pct: 0.6\n  importance_bonus: 0.3\n")
    with holdfast.open(tmp_path / "home", project="p") as hf:
        assert hf.settings.compact.compact_at == 0.6
        assert hf.settings.compact.importance == 0.3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A: 1\n", "1: A is no knob"),
        ("\n\nRELEVANCE_CUTOFF: high\n", "3: RELEVANCE_CUTOFF cannot be 'high'"),
        ("LOG_DROPS: 2\n", "1: LOG_DROPS"),
        ("RELEVANCE_CUTOFF: 7\n", "1: RELEVANCE_CUTOFF"),
        ("LOG_DROPS: true\nLOG_PATH: [a]\n", "2: LOG_PATH is one value"),
        ("- a\n", "1: a table"),
        ("LOG_DROPS: {\n", "not valid YAML"),
        ("IMPORTANCE_BOOT: 0.1\nIMPORTANCE_BONUS: 0.2\n", "2: IMPORTANCE_BONUS and another name"),
        ("LOG_DROPS: !!python/object/apply:os.system ['true']\n", "1: LOG_DROPS is one value"),
        ("LOG_PATH: !!python/name:os.system\n", "1: LOG_PATH has no value"),
        ("\x00", "not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "context-config.yaml"
    file.write_text(text)
    with pytest.raises(Invalid) as caught:
        ContextManager(tmp_path / "m", file)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)


def test_other_mistakes(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        ContextManager(tmp_path / "m", tmp_path / "none.yaml")
    with pytest.raises(Invalid, match="no knob"):
        ContextManager(tmp_path / "m", what=1)
    ctx = ContextManager(tmp_path / "m")
    for wrong in (0, -1, "x", True, 1.5):
        with pytest.raises(Invalid):
            ctx.before_response(wrong)  # type: ignore[arg-type]
    assert ctx.status().current_tokens == 0
    ctx.session_end()
