"""What each verb of `holdfast hook` comes to, in every role a host may name.

The table is read by a person: it says who is believed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.capture.disk import Disk
from holdfast.capture.place import find
from holdfast.doors.hooks import any_host, ask, caught, claude_words, run, told
from holdfast.engines.files import FileLog
from holdfast.model.events import Event

SAID = {"session_id": "s1", "agent": "codex", "text": "hi", "tool": "Bash", "call_id": "c1"}
#: verb: type, origin, trust, whatever the role
ALWAYS: dict[str, tuple[str, str, int] | None] = {
    "message-received": ("user_message@1", "user", 3),
    "pre-response": None,
    "post-response": ("model_message@1", "agent", 2),
    "session-end": ("session_ended@1", "system", 2),
    "log_tool_call": ("tool_call@1", "agent", 2),
    "log_tool_result": ("tool_result@1", "tool", 1),
    "trigger_memory_generation": ("signal_observed@1", "system", 2),
}
#: role of a `log_message`: type, origin, trust
BY_ROLE: dict[str, tuple[str, str, int]] = {
    '"user"': ("user_message@1", "user", 3),
    '"Human "': ("user_message@1", "user", 3),
    '"assistant"': ("model_message@1", "agent", 2),
    '"model"': ("model_message@1", "agent", 2),
    '"ai"': ("model_message@1", "agent", 2),
    '"tool"': ("tool_result@1", "tool", 1),
    '"system"': ("system_event@1", "system", 2),
    '"developer"': ("system_event@1", "system", 2),
    '"critic"': ("system_event@1", "tool", 1),
    '["user"]': ("system_event@1", "tool", 1),
    '[{"text": "user"}]': ("system_event@1", "tool", 1),
    '{"name": "user"}': ("system_event@1", "tool", 1),
    "true": ("system_event@1", "tool", 1),
    "null": ("system_event@1", "tool", 1),
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / ".holdfast.toml").write_text('project_id = "shop"\n')
    folder = tmp_path / "home" / "contexts-v2" / "shop"
    folder.mkdir(parents=True)
    return folder


def recorded(log: Path, verb: str, said: dict[str, Any]) -> list[Event]:
    """What a verb leaves in the log."""
    place = find(str(log.parents[1] / "hooks.json"), str(log.parents[2]), Disk())
    assert place is not None
    caught.record(place, any_host._events(verb, said), [], Disk())
    file = FileLog(str(log))
    try:
        return [one for one in file.read() if isinstance(one, Event)]
    finally:
        file.close()


def short(events: list[Event]) -> list[tuple[str, str, int]]:
    return [(event.type, event.origin, event.trust) for event in events]


def test_the_table_has_every_verb() -> None:
    assert {*ALWAYS, "log_message"} == set(any_host.VERBS)


@pytest.mark.parametrize("role", BY_ROLE)
@pytest.mark.parametrize("verb", ALWAYS)
def test_a_verb_means_the_same_in_every_role(log: Path, verb: str, role: str) -> None:
    expected = ALWAYS[verb]
    events = recorded(log, verb, {**SAID, "role": json.loads(role)})
    assert short(events) == ([] if expected is None else [expected])
    assert {(event.session_id, event.agent) for event in events} <= {("s1", "codex")}


@pytest.mark.parametrize("role", BY_ROLE)
def test_of_a_message_the_role_says_who_speaks(log: Path, role: str) -> None:
    events = recorded(log, "log_message", {**SAID, "role": json.loads(role)})
    assert short(events) == [BY_ROLE[role]]
    assert events[0].text == "hi"


def test_a_message_without_a_role_is_nobodys_and_without_words_it_is_none(log: Path) -> None:
    assert short(recorded(log, "log_message", SAID)) == [("system_event@1", "tool", 1)]
    assert len(recorded(log, "log_message", {"role": "user"})) == 1
    assert len(recorded(log, "message-received", {})) == 1


@pytest.mark.parametrize(
    ("more", "failed"),
    [
        ({}, None),
        ({"is_error": True}, True),
        ({"is_error": False}, None),
        ({"is_error": "yes"}, None),
        ({"error": "no such file"}, True),
        ({"error": ""}, None),
    ],
)
def test_a_result_that_failed_says_so(
    log: Path, more: dict[str, object], failed: bool | None
) -> None:
    said = {**{name: value for name, value in SAID.items() if name != "text"}, **more}
    (event,) = recorded(log, "log_tool_result", said)
    assert event.payload.get("is_error") is failed
    assert (event.payload["tool"], event.payload["call_id"]) == ("Bash", "c1")


@pytest.mark.parametrize(
    "given",
    [
        {"command": "cat > .env <<EOF\nGARDEN\nEOF"},
        "cat > .env <<EOF\nGARDEN\nEOF",
        json.dumps({"command": "echo GARDEN > .env"}),
        json.dumps({"file_path": "/app/.env", "content": "GARDEN"}),
    ],
)
def test_a_denied_file_is_known_in_whatever_form_a_call_is_told(log: Path, given: object) -> None:
    recorded(log, "log_tool_call", {**SAID, "arguments": given})
    told = recorded(log, "log_tool_result", {**SAID, "arguments": given, "output": "GARDEN"})
    assert [event.type for event in told] == ["tool_call@1", "tool_result@1"]
    assert b"GARDEN" not in b"".join(p.read_bytes() for p in log.rglob("*") if p.is_file())


def test_other_calls_are_recorded_as_they_are(log: Path) -> None:
    (event,) = recorded(log, "log_tool_call", {**SAID, "arguments": '{"command": "make"}'})
    assert event.payload["input"] == '{"command": "make"}'


def test_a_good_moment_to_learn_is_recorded(log: Path) -> None:
    (event,) = recorded(log, "trigger_memory_generation", {"session_id": "s1"})
    assert event.payload == {"signal": "memory generation"}
    assert (event.session_id, event.agent) == ("s1", "host")


# ---- what is said ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("a" * 9_900, True),
        ("a" * 9_901, False),
        ("\U0001f40c" * 4_950, True),  # the host counts two for each
        ("\U0001f40c" * 4_951, False),
    ],
    ids=["just so", "one too many", "just so, of two", "one too many, of two"],
)
def test_claude_code_is_told_no_more_than_it_shows(
    log: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: bool
) -> None:
    printed: list[str] = []
    monkeypatch.setattr(run, "say", printed.append)
    monkeypatch.setattr(ask, "words", lambda *_: words)
    place = find(str(log.parents[1] / "hooks.json"), str(log.parents[2]), Disk())
    assert place is not None
    event = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hi"}
    claude_words.say(told.Told(dict(event), place, []))
    assert [json.loads(one)["hookSpecificOutput"]["additionalContext"] for one in printed] == (
        [words] if said else []
    )
