"""Content out of a file nobody should remember is withheld whole, whatever it looks like."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from holdfast.capture.redact import Redactor
from holdfast.capture.withhold import denied_path, without_content

redactor = Redactor(b"k" * 32, ("*.vault",))


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"file_path": "/app/.env"}, "/app/.env"),
        ({"input": {"file_path": "/home/u/.ssh/id_ed25519"}}, "/home/u/.ssh/id_ed25519"),
        ({"a": [{"b": [{"path": "x/server.pem"}]}]}, "x/server.pem"),
        ({"paths": ["README.md", "prod.env"]}, "prod.env"),
        ({"input": {"command": "cat .env | grep KEY"}}, ".env"),
        ({"args": ["cat", "config/.env.production"]}, "config/.env.production"),
        ({"file": "x/letters.vault"}, "x/letters.vault"),
        ({"uri": "file:///app/.env"}, "file:///app/.env"),
        ({"filePath": "/app/.env"}, "/app/.env"),
        ({"absolute_path": "/app/.env"}, "/app/.env"),
        ({"Path": "/app/.env"}, "/app/.env"),
    ],
)
def test_a_denied_path_is_found_where_paths_stand(payload: dict[str, Any], path: str) -> None:
    assert denied_path(payload, redactor) == path


@pytest.mark.parametrize(
    "payload",
    [
        {"file_path": "/app/main.py", "text": "see .env for details"},
        {"file_path": "/app/.env.example"},
        {"command": "ls -la"},
        {"text": "/app/.env"},
        {},
        {"file_path": 7, "path": None, "command": True},
    ],
)
def test_other_payloads_are_left_alone(payload: dict[str, Any]) -> None:
    assert denied_path(payload, redactor) is None


@pytest.mark.parametrize("path", [Path("/app/.env"), b"/app/.env"], ids=["Path", "bytes"])
def test_a_path_is_a_path_in_whatever_form_the_shaper_takes_it(path: object) -> None:
    assert denied_path({"file_path": path}, redactor) is not None


def test_every_other_text_is_replaced() -> None:
    payload = {
        "tool": "Read",
        "input": {"file_path": "/app/.env", "limit": 3},
        "output": {"content": "plain words", "lines": ["one", {"deep": "two"}]},
        "text": b"three",
        "stream": io.BytesIO(b"four"),
        "array": bytearray(b"five"),
        "ok": True,
    }
    made = without_content(payload, "/app/.env", redactor)
    assert isinstance(made, dict)
    said = repr(made)
    for word in ["plain words", "one", "two", "three", "four", "five"]:
        assert f"'{word}'" not in said
        assert word not in said.replace("[redacted:denied-file", "")
    assert made["tool"] == "Read"
    assert made["input"] == {"file_path": "/app/.env", "limit": 3}
    assert made["ok"] is True
    assert "withheld" in made["text"]


def test_a_view_of_memory_is_content_too() -> None:
    made = without_content({"text": memoryview(b"plain words")}, "/app/.env", redactor)
    assert isinstance(made, dict)
    assert not isinstance(made["text"], memoryview)
    assert "withheld" in made["text"]


def test_equal_content_leaves_the_same_mark() -> None:
    made = without_content({"a": "x", "b": "x", "c": "y"}, ".env", redactor)
    assert isinstance(made, dict)
    assert made["a"] == made["b"] != made["c"]


def test_a_deep_or_circular_payload_is_survived() -> None:
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    assert denied_path(cycle, redactor) is None
