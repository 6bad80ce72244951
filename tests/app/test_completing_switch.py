"""The switch of the language model: it stops every call, whatever runs already."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.app.completing import complete
from holdfast.errors import Denied, HoldfastError, Invalid, Unavailable
from tests.app.desks import HELLO, Desk, opened
from tests.completers.server import Handler

pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("anthropic", reason="the extra anthropic is not installed")


@pytest.fixture(params=["openai", "anthropic"])
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    monkeypatch.delenv("HOLDFAST_LLM", raising=False)
    monkeypatch.setenv("HOLDFAST_LLM_KEY", "sk-very-secret-0123456789")
    with opened(request.param, tmp_path / "home") as found:
        yield found


def test_without_a_model_there_is_none(desk: Desk) -> None:
    with pytest.raises(Unavailable, match="no language model is set"):
        complete(desk.open(provider="none"), HELLO)
    assert desk.events() == []


def test_the_switch_stops_every_call_and_one_that_runs_already(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Denied, match="switched off"):
        complete(desk.open(off=True), HELLO)
    hf = desk.open()
    complete(hf, HELLO)
    desk.say(off=True)
    with pytest.raises(Denied, match="switched off"):
        complete(hf, HELLO)
    desk.say()
    complete(hf, HELLO)
    monkeypatch.setenv("HOLDFAST_LLM", "off")
    with pytest.raises(Denied, match="switched off"):
        complete(hf, HELLO)
    assert (len(desk.server.asked), len(desk.events())) == (2, 2)


def test_a_settings_file_that_cannot_be_read_stops_calls_too(desk: Desk) -> None:
    hf = desk.open()
    (Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml").write_text("[complete\n")
    with pytest.raises(Invalid):
        complete(hf, HELLO)
    assert desk.server.asked == []


# ---- in the middle of a call ---------------------------------------------------------------------


def test_what_was_sent_is_answered_and_nothing_after_it_is_sent(desk: Desk) -> None:
    hf = desk.open()

    def thrown(handler: Handler) -> None:
        desk.say(off=True)
        handler.say("hi")

    desk.server.tricks = [thrown]
    assert complete(hf, HELLO).text == "hi"
    with pytest.raises(Denied, match="switched off"):
        complete(hf, HELLO)
    assert (len(desk.server.asked), len(desk.events())) == (1, 1)


def test_a_call_that_would_be_tried_again_is_not(desk: Desk) -> None:
    hf = desk.open(retries=5)

    def thrown(handler: Handler) -> None:
        desk.say(off=True)
        handler.send(503, b"{}")

    desk.server.tricks = [thrown]
    with pytest.raises(Denied, match="switched off"):
        complete(hf, HELLO)
    assert len(desk.server.asked) == 1
    (event,) = desk.events()
    assert (event.payload["error"], "tokens_out" in event.payload) == ("denied", False)


def test_a_call_that_waits_for_another_one_is_not_sent(desk: Desk) -> None:
    hf = desk.open()
    said: list[HoldfastError] = []

    def ask() -> None:
        try:
            complete(hf, HELLO)
        except HoldfastError as exc:
            said.append(exc)

    with hf.language_model.alone(1):
        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.3)  # it waits by then, most of the time
        desk.say(off=True)
    thread.join()
    assert [type(one) for one in said] == [Denied]
    assert (desk.server.asked, desk.events()) == ([], [])
