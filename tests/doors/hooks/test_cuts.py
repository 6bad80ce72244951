"""What is too long is cut, and a secret at the cut goes whole: no half of one reaches anybody."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bench import hostile
from bench.hostile_cases import Call, said
from bench.hostile_scenes import Scene, _listening
from holdfast.capture.catch import Catcher
from holdfast.capture.redact import Redactor
from holdfast.doors.hooks import claude_words, told
from tests.capture.test_redact import longest_common_part
from tests.capture.test_secrets import SHAPES, made

KINDS = ("github", "anthropic", "jwt", "aws-secret-key", "url-password", "private-key")
KNOWN = 8


def straddling(kind: str, most: int) -> tuple[str, str]:
    """A text whose secret lies across a cut, all but its last character before it; and the secret."""
    before, secret, after = made(SHAPES[kind].split("|")[0], random.Random(kind))
    room = most - len(before) - len(secret) + 1
    return ("so " * most)[: room - 1] + " " + before + secret + after + " and on " * 9, secret


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("event", "most"), [("UserPromptSubmit", 8_000), ("PreToolUse", 1_000)])
def test_no_half_of_a_secret_is_asked_about(kind: str, event: str, most: int) -> None:
    text, secret = straddling(kind, most)
    given = {"session_id": "s1", "prompt": text, "tool_name": "Read"}
    wanted = claude_words._wanted(event, {**given, "tool_input": {"file_path": text}})
    assert wanted is not None
    asked = str(wanted.get("text") or wanted["file"])
    assert len(asked) > most - 2_000 if kind == "private-key" else len(asked) > most - 300
    assert longest_common_part(secret, Redactor(b"k" * 32).text(asked)) <= KNOWN


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "private-key"])
def test_no_half_of_a_secret_is_told_of_what_is_too_long(kind: str) -> None:
    head = '{"hook_event_name": "UserPromptSubmit", "prompt": "'
    text, secret = straddling(kind, 4_096 - len(head))
    short = json.loads(told._in_short((head + text).encode(), 1 << 30))
    assert len(short["prompt"]) > 3_500
    assert longest_common_part(secret, Redactor(b"k" * 32).text(short["prompt"])) <= KNOWN


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "private-key"])
def test_no_half_of_a_secret_is_anybodys_name(tmp_path: Path, kind: str) -> None:
    text, secret = straddling(kind, 256)
    catcher = Catcher(str(tmp_path), b"k" * 32)
    catcher.catch("user_message", {"text": "hi"}, who=(text, text, text), origin="user")
    found = (tmp_path / "events.ndjson").read_text()
    assert longest_common_part(secret, found) <= KNOWN


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[Scene, list[dict[str, Any]]]]:
    """A project whose resident keeps every question it is asked."""
    scene, questions = Scene(tmp_path), list[dict[str, Any]]()
    scene.make()
    scene.say(deadline_ms=60_000)
    door = _listening(scene)

    def serve() -> None:
        try:
            while True:
                line, _ = door.accept()
                with line, line.makefile("rwb") as both:
                    questions.append(json.loads(both.readline()))
                    both.write(b'{"text": ""}\n')
        except OSError:
            return  # the door was closed

    thread = Thread(target=serve)
    thread.start()
    yield scene, questions
    door.shutdown(socket.SHUT_RDWR)
    thread.join()
    door.close()


@pytest.mark.parametrize("hook", ["inject", "pre-response"])
@pytest.mark.parametrize("kind", ["github", "url-password"])
def test_the_programs_themselves_ask_about_no_half_of_a_secret(
    asked: tuple[Scene, list[dict[str, Any]]], hook: str, kind: str
) -> None:
    scene, questions = asked
    text, secret = straddling(kind, 8_000)
    words = said(
        random.Random(1), scene, hook_event_name="UserPromptSubmit", prompt=text, text=text
    )
    hostile.run(Call(hook=hook, stdin=json.dumps(words).encode()), scene)
    (question,) = questions
    assert len(question["text"]) > 7_700
    assert longest_common_part(secret, Redactor(b"k" * 32).text(question["text"])) <= KNOWN
    files = [path.read_bytes() for path in scene.home.rglob("*") if path.is_file()]
    assert secret[: KNOWN + 1].encode() not in b"".join(files)
