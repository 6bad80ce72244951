"""Asking a model through the one verb: switch, caps, secrets, and what stands in the log afterwards."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.app.completing import answered, complete, spending
from holdfast.errors import Denied, HoldfastError, Invalid, Limit, NotFound, Unavailable
from holdfast.model.complete import Asked
from holdfast.model.events import Event
from tests.app.desks import HELLO, Desk, opened
from tests.completers import server as fake
from tests.record import canaries

pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture(params=["openai", "anthropic"])
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    monkeypatch.delenv("HOLDFAST_LLM", raising=False)
    monkeypatch.setenv("HOLDFAST_LLM_KEY", "sk-very-secret-0123456789")
    with opened(request.param, tmp_path / "home") as found:
        yield found


# ---- what is recorded --------------------------------------------------------------------------


def test_an_answer_is_one_event_and_comes_back_from_it(desk: Desk) -> None:
    hf = desk.open(price_in=2.0, price_out=10.0)
    found = complete(hf, Asked(prompt="What now?", system="be brief", purpose="summary"))
    assert (found.text, found.model, found.tokens_in, found.tokens_out) == (
        "What now?",
        "m-1",
        7,
        3,
    )
    (event,) = desk.events()
    assert answered(hf, event) == found
    assert (event.origin, event.trust, event.user, event.session_id) == ("agent", 2, "ana", None)
    said = event.payload
    assert (said["purpose"], said["text"], said["millionths"]) == ("summary", "What now?", 44)
    assert len(said["prompt_sha256"]) == 64
    assert b"be brief" not in json.dumps(said).encode()
    assert len(desk.server.asked) == 1


def test_an_answer_belongs_to_its_session_and_is_believed_no_more_than_its_sources(
    desk: Desk,
) -> None:
    hf = desk.open()
    with hf.session(agent="coder") as s:
        heard = s.tool_result("Bash", "ok")
        complete(hf, HELLO, sources=(heard.event_id,), session=s)
        (event,) = desk.events()
        assert (event.session_id, event.agent, event.user) == (s.id, "coder", "ana")
        assert (event.trust, event.sources) == (1, (heard.event_id,))


def test_what_is_wrong_with_a_question_is_said_before_it_costs(desk: Desk) -> None:
    hf = desk.open()
    with pytest.raises(NotFound, match="source"):
        complete(hf, HELLO, sources=("evt_unknown",))
    for asked in (Asked(prompt="x", purpose=""), Asked(prompt=b"x", purpose="p")):  # type: ignore[arg-type]
        with pytest.raises(Invalid):
            complete(hf, asked)
    assert (desk.server.asked, desk.events()) == ([], [])


FAILURES: list[tuple[fake.Trick, type[HoldfastError], str, bool]] = [
    (fake.status(400), Invalid, "invalid", False),
    (fake.status(401), Denied, "denied", False),
    (fake.status(413), Limit, "limit", False),
    (fake.status(503), Unavailable, "unavailable", False),
    (fake.raw(b"garbage"), Unavailable, "unavailable", True),
    (fake.stops_half_way, Unavailable, "unavailable", True),
    (fake.hangs, Unavailable, "unavailable", True),
    (fake.says("x" * 10_000_000), Unavailable, "unavailable", True),
]


@pytest.mark.parametrize(("trick", "kind", "named", "billed"), FAILURES)
def test_a_call_that_fails_is_one_event_without_a_text(
    desk: Desk, trick: fake.Trick, kind: type[HoldfastError], named: str, billed: bool
) -> None:
    hf = desk.open(timeout_s=1.0, retries=0, max_tokens=50)
    complete(hf, HELLO)
    desk.server.tricks = [trick]
    with pytest.raises(kind):
        complete(hf, HELLO)
    _, event = desk.events()
    assert (event.payload["error"], "text" in event.payload) == (named, False)
    assert event.payload.get("tokens_out", 0) == (50 if billed else 0), "what may have been billed"
    with pytest.raises(NotFound):
        answered(hf, event)
    assert "sk-very-secret" not in json.dumps(event.payload)


def test_retries_are_one_event(desk: Desk) -> None:
    hf = desk.open()
    desk.server.tricks = [fake.status(503), fake.status(503)]
    complete(hf, HELLO)
    assert (len(desk.server.asked), len(desk.events())) == (3, 1)


def test_an_answer_that_does_not_fit_its_schema_is_spent_and_none(desk: Desk) -> None:
    hf = desk.open()
    asked = Asked(prompt="n?", purpose="test", schema=SCHEMA)
    bad = {
        '{"n": "x"}': "/n is not of type",
        "{}": "lacks n",
        "n is 3": "no JSON",
        '{"n": 3': "JSON",
    }
    for text, why in bad.items():
        desk.server.tricks = [fake.says(text)]
        with pytest.raises(Unavailable, match=f"schema.*{why}"):
            complete(hf, asked)
    assert [event.payload["error"] for event in desk.events()] == ["misfit"] * 4
    assert all("text" not in event.payload for event in desk.events())
    assert spending(hf).days[0].tokens == 40
    desk.server.tricks = [fake.says('{"n": 3}')]
    assert json.loads(complete(hf, asked).text) == {"n": 3}


def test_an_answer_that_was_cut_says_what_to_raise_where_that_helps(desk: Desk) -> None:
    hf = desk.open(max_tokens=40)
    for most, told in ((0, "cut at 40 tokens; raise complete.max_tokens"), (30, r"at 30 tokens\)")):
        desk.server.tricks = [fake.says('{"n"', stopped="length")]
        with pytest.raises(Unavailable, match=told):
            complete(hf, Asked(prompt="n?", purpose="test", schema=SCHEMA, max_tokens=most))


def test_a_refusal_is_an_answer(desk: Desk) -> None:
    hf = desk.open()
    desk.server.tricks = [fake.says("I will not", stopped="refused")]
    found = complete(hf, Asked(prompt="n?", purpose="test", schema=SCHEMA))
    assert (found.stopped, found.text) == ("refused", "I will not")
    assert answered(hf, desk.events()[0]) == found


def test_tokens_an_endpoint_does_not_count_are_counted_here(desk: Desk) -> None:
    hf = desk.open()
    desk.server.tricks = [fake.says("a few words more", tokens=None)]
    found = complete(hf, HELLO)
    assert found.tokens_in > 0
    assert found.tokens_out > 2


def test_a_long_answer_comes_back_whole(desk: Desk) -> None:
    hf = desk.open(max_tokens=32_000)
    long = "word " * 60_000
    desk.server.tricks = [fake.says(long)]
    assert complete(hf, HELLO).text == long
    assert answered(hf, desk.events()[0]).text == long


def test_nobody_asks_again_when_the_log_is_folded_anew(desk: Desk) -> None:
    hf = desk.open()
    complete(hf, HELLO)
    before = hf.state_hash()
    assert hf.rebuild() == before
    assert len(desk.server.asked) == 1


# ---- secrets -----------------------------------------------------------------------------------


def test_no_secret_leaves_the_machine_or_comes_into_the_log(desk: Desk) -> None:
    hf = desk.open()
    secrets = [canaries.github(), canaries.anthropic(), canaries.private_key()]
    for secret in secrets:
        desk.server.tricks = [fake.says(f"the key is {secret}")]
        asked = Asked(prompt=f"summarise: token={secret}\nend", system=secret, purpose="test")
        found = complete(hf, asked)
        assert secret not in found.text
        assert secret.encode() not in desk.server.received
        assert json.dumps(secret)[1:-1].encode() not in desk.server.received
    assert desk.server.asked[-1]["messages"][-1]["content"].endswith("end")
    desk.close()
    assert canaries.leaks(desk.home, *secrets) == []


def test_a_schema_with_a_secret_is_refused(desk: Desk) -> None:
    hf = desk.open()
    schema = {"type": "object", "description": canaries.github()}
    with pytest.raises(Invalid, match="looks like a secret"):
        complete(hf, Asked(prompt="x", purpose="test", schema=schema))
    assert desk.server.asked == []


# ---- caps --------------------------------------------------------------------------------------


def test_a_day_has_its_tokens_and_the_next_has_its_own(desk: Desk) -> None:
    hf = desk.open(tokens_per_day=100, max_tokens=60)
    for _ in range(4):
        complete(hf, HELLO)
    allows = "complete.tokens_per_day allows 100 until 2027-01-16, 0:00 UTC"
    with pytest.raises(Limit, match=f"40 tokens were spent.*might take 64; {allows}"):
        complete(hf, HELLO)
    assert (len(desk.server.asked), spending(hf).days[0].tokens) == (4, 40)
    desk.now += 86_400_000
    complete(hf, HELLO)
    assert [day.calls for day in spending(hf).days] == [4, 1]


def test_a_day_has_its_money(desk: Desk) -> None:
    hf = desk.open(money_per_day=0.001, price_in=10.0, price_out=50.0, max_tokens=10)
    for _ in range(3):
        complete(hf, HELLO)  # 220 millionths, and before it is known 540
    with pytest.raises(
        Limit, match=r"0\.00066 were spent.*money_per_day, 0\.001, until 2027-01-16"
    ):
        complete(hf, HELLO)
    assert (len(desk.server.asked), spending(hf).days[0].millionths) == (3, 660)


def test_money_needs_prices(desk: Desk) -> None:
    with pytest.raises(Invalid, match=r"complete\.price_in"):
        complete(desk.open(money_per_day=1.0, price_in=1.0), HELLO)


def test_a_minute_has_its_calls(desk: Desk) -> None:
    hf = desk.open(calls_per_minute=2)
    complete(hf, HELLO)
    complete(hf, HELLO)
    with pytest.raises(Limit, match=r"2 calls in this minute.*calls_per_minute allows 2"):
        complete(hf, HELLO)
    desk.now += 60_000
    complete(hf, HELLO)
    assert len(desk.server.asked) == 3


def test_a_question_that_is_too_long_is_not_sent(desk: Desk) -> None:
    hf = desk.open(input_tokens=20)
    with pytest.raises(Limit, match="input_tokens allows 20"):
        complete(hf, Asked(prompt="word " * 50, purpose="test"))
    with pytest.raises(Limit, match="input_tokens"):
        complete(hf, Asked(prompt="x", system="word " * 50, purpose="test"))
    assert desk.server.asked == []


def test_caps_count_what_another_process_spent(desk: Desk) -> None:
    complete(desk.open(calls_per_minute=1), HELLO)
    with pytest.raises(Limit, match="calls in this minute"):
        complete(desk.open(calls_per_minute=1), HELLO)


def test_after_a_failure_the_model_is_left_alone(desk: Desk) -> None:
    hf = desk.open(rest_s=60, retries=0)
    desk.server.tricks = [fake.status(503)]
    with pytest.raises(Unavailable, match="503"):
        complete(hf, HELLO)
    desk.now += 10_000
    with pytest.raises(Unavailable, match=r"failed 10 seconds ago and is left alone for 60"):
        complete(hf, HELLO)
    assert len(desk.events()) == 1
    desk.now += 50_000
    complete(hf, HELLO)
    complete(hf, HELLO)
    assert len(desk.server.asked) == 3


def test_what_cannot_be_recorded_is_not_spent_again_and_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hf = desk.open(rest_s=60)

    def full(drafts: object) -> list[Event]:
        raise Unavailable("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(hf, "record", full)
        with pytest.raises(Unavailable, match="no space left"):
            complete(hf, HELLO)
    with pytest.raises(Unavailable, match="could not be recorded"):
        complete(hf, HELLO)
    assert len(desk.server.asked) == 1


# ---- time and threads --------------------------------------------------------------------------


def test_the_time_is_kept_with_a_server_that_hangs(desk: Desk) -> None:
    hf = desk.open(timeout_s=0.4)
    complete(hf, HELLO)
    desk.server.tricks = [fake.hangs]
    began = time.monotonic()
    with pytest.raises(Unavailable, match="took too long"):
        complete(hf, HELLO)
    assert time.monotonic() - began < 2


def test_threads_together_keep_to_the_caps(desk: Desk) -> None:
    hf = desk.open(calls_per_minute=3)
    found: list[str] = []

    def ask() -> None:
        try:
            found.append(complete(hf, HELLO).text)
        except Limit:
            found.append("limit")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["hello"] * 3 + ["limit"] * 5
    assert (len(desk.server.asked), len(desk.events())) == (3, 3)


def test_a_call_that_is_interrupted_counts_as_billed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hf = desk.open(max_tokens=50)
    complete(hf, HELLO)
    with hf.language_model.alone(1) as completer:
        engine = type(completer)

    def stopped(self: object, asked: Asked) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(engine, "complete", stopped)
        with pytest.raises(KeyboardInterrupt):
            complete(hf, HELLO)
    _, event = desk.events()
    assert (event.payload["error"], event.payload["tokens_out"]) == ("interrupted", 50)
    assert complete(hf, HELLO).text == "hello"
