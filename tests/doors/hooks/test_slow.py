"""A host that takes its time loses no event, and is not kept for longer than the deadline.

The bounds are far above the deadline of half a second, for machines with much else to do, and far below
never.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import hostile
from bench.hostile_cases import Call, Case, said
from bench.hostile_scenes import Scene, deaf, fine, held
from holdfast.capture.layout import LOCK
from holdfast.engines.files import FileLog
from holdfast.model.events import Event
from tests.doors.residents import until

SOON = 3.0
WORDS: dict[str, Any] = {"session_id": "s1", "hook_event_name": "UserPromptSubmit"}
HOOKS = pytest.mark.parametrize("hook", ["capture", "inject", "message-received"])


def staged(folder: Path, setting: Any = fine) -> Any:
    return hostile.staged(Case("", setting, lambda *_: Call(hook="")), folder)


def recorded(scene: Scene) -> list[str]:
    """What was said since the project was made."""
    log = FileLog(str(scene.log))
    try:
        return [one.text for one in log.read() if isinstance(one, Event)][1:]
    finally:
        log.close()


def call(scene: Scene, hook: str, **more: Any) -> Call:
    told = json.dumps({**said(random.Random(1), scene), **WORDS, "text": "hi", "prompt": "hi"})
    return Call(hook=hook, stdin=told.encode(), **more)


@HOOKS
@pytest.mark.parametrize(
    "slowly",
    [((0, 0.4),), ((0, 0.1), (40, 0.6)), ((40, 0.5), (90, 0.5), (91, 3.0))],
    ids=["late", "half of it late", "in pieces"],
)
@pytest.mark.parametrize("host", ["pipe", "open"])
def test_what_comes_late_is_recorded(
    tmp_path: Path, hook: str, slowly: tuple[tuple[int, float], ...], host: str
) -> None:
    with staged(tmp_path) as scene:
        outcome = hostile.run(call(scene, hook, slowly=slowly, host=host), scene)
        assert (outcome.status, outcome.stdout) == (0, b"")
        assert outcome.seconds < SOON
        assert until(lambda: recorded(scene)) == ["hi"]


@HOOKS
def test_a_pipe_that_is_never_closed_keeps_nobody(tmp_path: Path, hook: str) -> None:
    with staged(tmp_path) as scene:
        outcome = hostile.run(call(scene, hook, host="open"), scene)
        assert outcome.status == 0
        assert outcome.seconds < SOON
        assert recorded(scene) == ["hi"], "it is recorded before the hook ends"
        half = Call(hook=hook, stdin=b'{"session_id": "s1", "te', host="open")
        assert hostile.run(half, scene).seconds < SOON


def cache_pipe(scene: Scene, _stack: object) -> None:
    """hooks.json is a pipe that nobody writes to."""
    scene.cache.unlink()
    os.mkfifo(scene.cache)


@HOOKS
@pytest.mark.parametrize("setting", [cache_pipe, deaf, held(LOCK)], ids=["cache", "deaf", "lock"])
def test_the_deadline_is_kept_whatever_hangs(
    tmp_path: Path, hook: str, setting: Callable[..., None]
) -> None:
    with staged(tmp_path, setting) as scene:
        outcome = hostile.run(call(scene, hook), scene)
        assert outcome.status == 0
        assert outcome.seconds < SOON
        asked = hostile.run(call(scene, "pre-response"), scene)
        assert (asked.status, asked.stdout) == (0, b"")
        assert asked.seconds < SOON
