"""A hook ends with 0 and says nothing or one known object, whatever is wrong around it.

The cases are those of `python -m bench.hostile`, a few calls of each, as real processes; and what must
still be recorded when something is wrong.
"""

from __future__ import annotations

import json
import os
import random
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench import hostile
from bench.hostile_cases import CASES, Call, Case, said
from bench.hostile_scenes import PROJECT, Scene, answering, fine, held, read_only
from holdfast.capture import prepared
from holdfast.capture.disk import Disk
from holdfast.capture.layout import LOCK, META
from holdfast.capture.place import MARKER
from holdfast.engines.files import FileLog
from holdfast.model.events import Event

SEED = 7
SAMPLE = [case for case in CASES if not case.real]
DICE = random.Random(SEED)


def events(scene: Scene) -> list[Event]:
    """All that is recorded, what waited in the spool last."""
    log = FileLog(str(scene.log))
    log.seal()  # drains the spool
    found = [one for one in log.read() if isinstance(one, Event)]
    log.close()
    return found[1:]  # without the one that is there from the beginning


def run(scene: Scene, hook: str, **more: Any) -> dict[str, Any]:
    """One call that is in order; what was printed."""
    words = said(DICE, scene, **{"session_id": "s1", **more})
    outcome = hostile.run(Call(hook=hook, stdin=json.dumps(words).encode()), scene)
    assert outcome.status == 0
    found: dict[str, Any] = json.loads(outcome.stdout or b"{}")
    return found


@pytest.mark.parametrize("case", SAMPLE, ids=[case.name for case in SAMPLE])
def test_the_host_does_not_notice(tmp_path: Path, case: Case) -> None:
    with hostile.staged(case, tmp_path) as scene:
        for number, call in hostile.calls(case, 1 if case.weight <= 1 else 3, SEED, scene):
            outcome = hostile.run(call, scene)
            assert outcome.status == 0, (number, call.hook)
            assert hostile.wrong_output(call, outcome.stdout) == ""
        hostile.leave(scene)
        assert hostile.damage(scene) == 0


@pytest.mark.parametrize(
    ("stdout", "wrong"),
    [
        (b"", False),
        (b'{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"a"}}', False),
        (b'{"hookSpecificOutput":{"hookEventName":"Stop","updatedToolOutput":{"a":1}}}', False),
        (b'{"hookSpecificOutput":{"hookEventName":"Start","additionalContext":"a"}}', True),
        (b'{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"allow"}}', True),
        (b'{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":7}}', True),
        (b'{"decision":"block"}', True),
        (b'{"hookSpecificOutput":{"hookEventName":"Stop"}}{}', True),
        (b"hello", True),
    ],
)
def test_the_judge_of_all_this_knows_right_from_wrong(stdout: bytes, wrong: bool) -> None:
    call = Call(hook="inject", stdin=b'{"hook_event_name": "Stop"}')
    assert bool(hostile.wrong_output(call, stdout)) is wrong


def test_a_locked_log_loses_no_event_not_the_second_of_two_either(tmp_path: Path) -> None:
    with hostile.staged(Case("", held(LOCK), lambda *_: Call(hook="")), tmp_path) as scene:
        run(scene, "capture", hook_event_name="SessionStart", source="compact")
        run(scene, "capture", hook_event_name="UserPromptSubmit")
    kinds = [event.type for event in events(scene)]
    assert kinds == ["session_started@1", "compacted@1", "user_message@1"]


def test_a_chain_whose_key_cannot_be_read_sends_events_to_the_spool(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.make()
    keys = scene.folder / "keys"
    keys.mkdir()
    (keys / f"{PROJECT}.chain.key").write_bytes(b"short")
    scene.say(keys=str(keys))
    meta = json.loads((scene.log / META).read_text())
    (scene.log / META).write_text(json.dumps({**meta, "integrity_mode": "chained"}))
    run(scene, "capture", hook_event_name="UserPromptSubmit")
    assert len(list((scene.log / "spool").glob("*.ndjson"))) == 1


#: a tool whose output may be shortened
COUNT: dict[str, Any] = {"hook_event_name": "PostToolUse", "tool_name": "mcp__stock__count"}
SIZES = pytest.mark.parametrize(
    "times", [2_000, 60_000], ids=["at once", "in a process of its own"]
)


@SIZES
def test_a_shortened_output_names_the_event_that_holds_all_of_it(
    tmp_path: Path, times: int
) -> None:
    with hostile.staged(Case("", fine, lambda *_: Call(hook="")), tmp_path) as scene:
        scene.say(deadline_ms=60_000)
        said = run(scene, "shorten", **COUNT, tool_response="apples " * times)
        hostile.leave(scene)
        short = said["hookSpecificOutput"]["updatedToolOutput"]
        (found,) = events(scene)
        assert re.findall(r"expand (\S+) shows", short) == [found.event_id]


@SIZES
@pytest.mark.parametrize("why", ["full", "denied", "unclaimed"])
def test_no_output_is_shortened_that_nobody_could_show(
    tmp_path: Path, why: str, times: int
) -> None:
    with hostile.staged(Case("", fine, lambda *_: Call(hook="")), tmp_path) as scene:
        scene.say(deadline_ms=10_000)
        scene.small = why == "full"
        if why == "unclaimed":
            (scene.root / MARKER).unlink()
            (scene.root / ".git").mkdir()
        given = {"command": "cat .env"} if why == "denied" else {"command": "make"}
        told = run(scene, "shorten", **COUNT, tool_input=given, tool_response="apples " * times)
        assert told == {}


def test_what_waits_in_the_spool_may_be_shortened(tmp_path: Path) -> None:
    with hostile.staged(Case("", held(LOCK), lambda *_: Call(hook="")), tmp_path) as scene:
        scene.say(deadline_ms=60_000)
        told = run(scene, "shorten", **COUNT, tool_response="apples " * 2_000)
    assert events(scene)[0].event_id in told["hookSpecificOutput"]["updatedToolOutput"]


@pytest.mark.parametrize("size", [0, 20_000, (16 << 20) + 1])
def test_an_output_in_a_file_is_shortened_only_if_it_was_read_to_its_end(
    tmp_path: Path, size: int
) -> None:
    with hostile.staged(Case("", fine, lambda *_: Call(hook="")), tmp_path) as scene:
        scene.say(deadline_ms=60_000)
        kept = tmp_path / "kept.txt"
        kept.write_bytes(b"apples " * (size // 7))
        with kept.open("ab") as file:
            file.write(b"." * (size % 7))
        response = {"stdout": "apples " * 2_000, "persistedOutputPath": str(kept)}
        tool = {"hook_event_name": "PostToolUse", "tool_name": "Bash"}
        told = run(scene, "shorten", **tool, tool_response=response)
    assert bool(told) is (size == 20_000)


def test_a_failure_is_never_answered_as_if_it_were_a_result(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.make()
    tool = {**COUNT, "hook_event_name": "PostToolUseFailure"}
    assert run(scene, "shorten", **tool, error="no " * 9_000) == {}
    assert [event.payload["is_error"] for event in events(scene)] == [True]


def test_what_lies_ready_is_said_where_nobody_can_be_started(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.make()
    whom = (os.environ.get("USER", "root"), "claude-code")
    prepared.prepare(str(scene.log), whom, "We left off at the cart.", Disk())
    scene.say(python="/bin/true", deadline_ms=60_000)
    with ExitStack() as stack:
        read_only(scene, stack)
        call = Call(
            hook="inject",
            stdin=json.dumps(said(DICE, scene, hook_event_name="SessionStart")).encode(),
            shell="2>/dev/null",
        )
        stdout = hostile.run(call, scene).stdout
    assert b"We left off at the cart." in stdout


def test_a_word_of_a_resident_is_words_and_nothing_else(tmp_path: Path) -> None:
    answer = json.dumps({"text": "Anemone", "decision": "block", "hookSpecificOutput": {}})
    with ExitStack() as stack:
        scene = Scene(tmp_path)
        scene.make()
        scene.say(deadline_ms=60_000)
        answering(answer.encode() + b"\n", hangs=True)(scene, stack)
        told = run(scene, "inject", hook_event_name="UserPromptSubmit")
        other = run(scene, "pre-response")
    words = {"hookEventName": "UserPromptSubmit", "additionalContext": "Anemone"}
    assert told == {"hookSpecificOutput": words}
    assert other == {"context": "Anemone"}
