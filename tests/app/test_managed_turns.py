"""A host's conversation from one turn to the next, to its end, and on in another process."""

from __future__ import annotations

from pathlib import Path

from holdfast.app import managing
from holdfast.compact.activity import NAMES
from tests.app.hosts import Host, notes

TAX, MAIL = "what is the first question about tax?", "what does the mail server say?"


def asked_of(ctx: object) -> list[str]:
    """What each compaction was told is asked."""
    events = ctx._hf.events()  # type: ignore[attr-defined]
    return [event.payload["prompt"] for event in events if event.kind == "compacted"]


def test_a_prompt_holds_until_it_is_answered(tmp_path: Path) -> None:
    host = Host(notes(40))
    ctx = host.manager(tmp_path, asked=MAIL)
    ctx.on_message(TAX)
    ctx.before_response(8_000)
    ctx.compact()
    host.context += notes(40)
    ctx.compact()
    ctx.after_response()
    host.context += notes(40)
    ctx.compact()
    assert asked_of(ctx) == [TAX, TAX, MAIL]
    ctx.session_end()


def test_where_nobody_else_says_what_is_asked_a_prompt_holds_on(tmp_path: Path) -> None:
    host = Host(notes(40))
    ctx = host.manager(tmp_path, get_messages=None)
    ctx.set_current_prompt(TAX)
    ctx.before_response(8_000)
    ctx.after_response()
    ctx.compact()
    assert asked_of(ctx) == [TAX]
    ctx.session_end()


def test_whoever_goes_on_knows_when_the_last_compaction_was(tmp_path: Path) -> None:
    host = Host(notes(40))
    ctx = host.manager(tmp_path)
    assert ctx.before_response(8_000).last_compaction is None
    ctx.compact()
    last, session = ctx.status().last_compaction, ctx.session_id
    assert last
    ctx.session_end()
    again = host.manager(tmp_path, session_id=session)
    assert again.before_response(8_000).last_compaction == last
    again.session_end()


def test_what_an_end_archives_was_not_weighed_and_is_no_compaction(tmp_path: Path) -> None:
    host = Host(notes(40))
    ctx = host.manager(tmp_path)
    ctx.compact(8_000)
    ctx.session_end()
    again = host.manager(tmp_path, session_id=ctx.session_id)
    hf = again._hf
    logs = {name: hf.activity.read(name) for name in NAMES}
    scored = {one["reason"]: type(one["relevance_score"]) for one in logs["drops"]}
    assert scored.pop("session_end") is type(None)
    assert set(scored.values()) == {float}
    assert {one["threshold_used"] for one in logs["drops"]} == {0.3, None}
    assert [one["event"] for one in logs["compaction"]] == [
        "compaction_triggered",
        "session_archived",
    ]
    shown = managing.health(hf, again.session_id, None, None).last_compaction
    assert shown == logs["compaction"][0]
    again.session_end()
