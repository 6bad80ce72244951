"""Every format of secret through every entrance, and secrets that only their key gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.session import Session
from tests.capture.test_secrets import canaries
from tests.record.canaries import leaks
from tests.record.test_secrets_stay_out import (
    by_assistant,
    by_decision_and_error,
    by_large_payload,
    by_lone_surrogate,
    by_long_text,
    by_result_bytes,
    by_result_stream,
    by_result_text,
    by_user,
)

ENTRANCES = [
    by_user,
    by_assistant,
    by_result_text,
    by_result_bytes,
    by_result_stream,
    by_long_text,
    by_large_payload,
    by_decision_and_error,
    by_lone_surrogate,
]


@pytest.mark.parametrize("entrance", ENTRANCES, ids=lambda entrance: entrance.__name__)
def test_no_format_gets_in_by_any_entrance(entrance: Any, tmp_path: Path) -> None:
    made = list(canaries(seed=7))
    assert len({kind for kind, *_ in made}) >= 45
    texts = [before + secret + after for _, before, secret, after in made]
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        entrance(s, "\n" + "\n\n".join(texts) + "\n")
    secrets = {secret for _, _, secret, _ in made if len(secret) >= 12}
    assert leaks(tmp_path / "home", *secrets) == []


PASSWORD, KEY = "Tr0ub4dor&3xyz", "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
AWS = "wJalrXUtnFEMI" + "abcK7MDENGbPxRfiCYzzzzKEYab"


def log_in(s: Session) -> None:
    s.tool_call("login", {"user": "ana", "password": PASSWORD, "api_key": KEY})


def run_with_environment(s: Session) -> None:
    s.tool_call(
        "Bash", {"env": {"AWS_SECRET_ACCESS_KEY": AWS, "PGPASSWORD": PASSWORD, "TOKEN": KEY}}
    )


def run_with_flags(s: Session) -> None:
    s.tool_call("Bash", {"args": ["psql", "--password", PASSWORD, "--api-key", KEY]})


def answer_in_depth(s: Session) -> None:
    s.tool_result("Vault", "ok", data=[{"secret": KEY, "nested": {"client_secret": AWS}}])


@pytest.mark.parametrize(
    "entrance",
    [log_in, run_with_environment, run_with_flags, answer_in_depth],
    ids=lambda e: e.__name__,
)
def test_a_value_is_judged_together_with_its_key(entrance: Any, tmp_path: Path) -> None:
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        entrance(s)
        assert "[redacted:" in repr([event.payload for event in hf.events()])
    assert leaks(tmp_path / "home", PASSWORD, KEY, AWS) == []


def test_ordinary_values_under_telling_keys_stay() -> None:
    plain = {
        "key": "PROJ-123",
        "token": "the next token",
        "author": "Ana",
        "monkey": "banana",
        "max_tokens": "4096",
        "keyboard": "qwerty layout",
        "signal": "SIGTERM",
    }
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        assert s.user("x", **plain).payload == {"text": "x", **plain}
