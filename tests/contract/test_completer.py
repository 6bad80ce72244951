"""What every completer keeps, against a server that speaks its protocol: an answer or an error."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engines.completers.anthropic import Anthropic
from holdfast.engines.completers.openai import OpenAI
from holdfast.errors import Denied, HoldfastError, Invalid, Limit, Unavailable
from holdfast.model.complete import Asked, CompleteSettings
from holdfast.ports.complete import Completer, TooLong, Unanswered
from tests.completers import server as fake
from tests.completers.server import Server, serving
from tests.property.effort import examples

pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

KEY = "sk-very-secret-0123456789"
ENGINES: dict[str, Callable[..., Completer]] = {"openai": OpenAI, "anthropic": Anthropic}
PATHS = {"openai": fake.CHAT, "anthropic": fake.MESSAGES}
HELLO = Asked(prompt="hello", purpose="test")
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Waits(list[float]):
    """Sleeps by noting for how long."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Ask:
    """Makes completers of one kind that ask one server."""

    def __init__(self, provider: str, server: Server) -> None:
        self.provider, self.server = provider, server
        self.waits = Waits()

    def __call__(self, key: str | None = KEY, **changed: Any) -> Completer:
        chosen = CompleteSettings(url=self.server.url(self.provider), model="m", timeout_s=20)
        chosen = msgspec.structs.replace(chosen, **changed)
        return ENGINES[self.provider](chosen, key, sleep=self.waits)


@pytest.fixture(params=ENGINES)
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    with serving() as server:
        yield Ask(request.param, server)


def test_an_answer_says_what_was_said_and_what_it_took(ask: Ask) -> None:
    ask.server.tricks = [fake.says("Łódź 😀", tokens=(11, 5))]
    found = ask().complete(HELLO)
    assert (found.text, found.model, found.stopped) == ("Łódź 😀", "m-1", "end")
    assert (found.tokens_in, found.tokens_out) == (11, 5)
    assert 0 < found.seconds < 20


def test_it_asks_as_the_protocol_says(ask: Ask) -> None:
    ask().complete(Asked(prompt="hello", system="be brief", max_tokens=5, purpose="test"))
    (asked,), (headers,) = ask.server.asked, ask.server.headers
    assert ask.server.paths == [PATHS[ask.provider]]
    assert (asked["model"], asked["max_tokens"]) == ("m", 5)
    user = {"role": "user", "content": "hello"}
    if ask.provider == "openai":
        assert asked["messages"] == [{"role": "system", "content": "be brief"}, user]
        assert headers["authorization"] == f"Bearer {KEY}"
    else:
        assert (asked["system"], asked["messages"]) == ("be brief", [user])
        assert headers["x-api-key"] == KEY
        assert headers["anthropic-version"]


def test_nothing_is_sent_that_is_not_needed(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        for what in (
            "API_KEY",
            "ADMIN_KEY",
            "AUTH_TOKEN",
            "ORG_ID",
            "ORGANIZATION_ID",
            "PROJECT_ID",
        ):
            monkeypatch.setenv(f"{name}_{what}", "of-the-environment")
        monkeypatch.setenv(f"{name}_CUSTOM_HEADERS", "Authorization: of-the-environment\nX-A: b")
        monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:9/of-the-environment")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    ask(None).complete(HELLO)
    assert b"of-the-environment" not in ask.server.received
    needed = {"host", "content-type", "content-length", "accept", "accept-encoding", "user-agent"}
    assert set(ask.server.headers[0]) <= {*needed, "connection", "anthropic-version"}


def test_an_answer_takes_no_more_than_the_settings_allow(ask: Ask) -> None:
    for asked_for, sent in ((0, 30), (-1, 30), (10, 10), (9999, 30)):
        ask(max_tokens=30).complete(msgspec.structs.replace(HELLO, max_tokens=asked_for))
        assert ask.server.asked[-1]["max_tokens"] == sent


def test_a_schema_goes_where_the_provider_looks_for_it(ask: Ask) -> None:
    ask.server.tricks = [fake.says('{"city": "Łódź"}')]
    found = ask().complete(msgspec.structs.replace(HELLO, schema=SCHEMA))
    assert json.loads(found.text) == {"city": "Łódź"}
    (asked,) = ask.server.asked
    if ask.provider == "openai":
        assert asked["response_format"]["type"] == "json_schema"
        given_to = asked["response_format"]["json_schema"]
        assert (given_to["schema"], given_to["strict"]) == (SCHEMA, True)
    else:
        assert asked["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


@pytest.mark.parametrize("stopped", ["length", "refused"])
def test_an_answer_says_how_it_ended(ask: Ask, stopped: str) -> None:
    ask.server.tricks = [fake.says("I will not", stopped=stopped)]
    found = ask().complete(HELLO)
    assert (found.stopped, found.text) == (stopped, "I will not")


def test_what_a_filter_took_away_is_refused(ask: Ask) -> None:
    ask.server.tricks = [fake.says(None, stopped="filtered")]
    assert ask().complete(HELLO).stopped == "refused"


def test_an_endpoint_that_counts_nothing_gives_no_numbers(ask: Ask) -> None:
    ask.server.tricks = [fake.says("hi", tokens=None), fake.says("hi", tokens=(-5, 10**30))]
    for _ in range(2):
        found = ask().complete(HELLO)
        assert (found.tokens_in, found.tokens_out) == (0, 0)


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfff", "\x00", "\u2028x", "<|im_end|>", "x" * 300_000]
)
def test_every_text_can_be_asked(ask: Ask, text: str) -> None:
    ask(max_tokens=32_000).complete(Asked(prompt=text, system=text, purpose="test"))
    assert len(ask.server.asked) == 1


def test_threads_ask_at_once(ask: Ask) -> None:
    completer = ask()
    with ThreadPoolExecutor(4) as threads:
        said = threads.map(
            lambda n: completer.complete(Asked(prompt=f"number {n}", purpose="test")).text,
            range(12),
        )
        assert list(said) == [f"number {n}" for n in range(12)]


# ---- asking again ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504, 529])
def test_a_busy_endpoint_is_asked_again_after_growing_waits(ask: Ask, code: int) -> None:
    ask.server.tricks = [fake.status(code), fake.status(code)]
    assert ask(retries=2).complete(HELLO).text == "hello"
    first, second = ask.waits
    assert 0.25 <= first <= 0.5 <= second <= 1.0


def test_one_that_stays_busy_is_unavailable_after_a_few_tries(ask: Ask) -> None:
    ask.server.tricks = [fake.status(503)] * 9
    with pytest.raises(Unavailable, match=r"answered 503.*try again later") as caught:
        ask(retries=2).complete(HELLO)
    assert not isinstance(caught.value, Unanswered)
    assert len(ask.server.asked) == 3


def test_the_wait_it_asks_for_is_kept(ask: Ask) -> None:
    ask.server.tricks = [fake.status(429, Retry_After="3")]
    ask().complete(HELLO)
    assert ask.waits == [3.0]


def test_a_wait_that_is_longer_than_the_time_is_not_begun(ask: Ask) -> None:
    ask.server.tricks = [fake.status(429, Retry_After="21")]
    with pytest.raises(Unavailable, match="left alone for 21 seconds"):
        ask().complete(HELLO)
    assert (ask.waits, len(ask.server.asked)) == ([], 1)


@pytest.mark.parametrize("header", ["Fri, 31 Jan 2031", "-5", "nan", "1e9", "9" * 40, ""])
def test_a_wait_that_is_no_number_counts_as_none(ask: Ask, header: str) -> None:
    ask.server.tricks = [fake.status(429, Retry_After=header)]
    ask().complete(HELLO)
    assert max(ask.waits) <= 0.5


def test_one_that_is_not_there_is_tried_again_and_then_unavailable(ask: Ask) -> None:
    with serving() as gone:
        completer = Ask(ask.provider, gone)
    with pytest.raises(
        Unavailable, match=r"did not answer \(ConnectError\); is it running"
    ) as caught:
        completer(retries=2).complete(HELLO)
    assert not isinstance(caught.value, Unanswered), "nothing was sent"
    assert len(completer.waits) == 2


#: as Anthropic and vLLM say it, neither of which has a name for it
PROMPT_TOO_LONG = (
    b'{"type": "error", "error": {"type": "invalid_request_error", '
    b'"message": "prompt is too long: 216354 tokens > 200000 maximum"}}'
)
MORE_THAN_SERVED = (
    b'{"error": {"message": "This model\'s maximum context length is 4096 tokens. However, you '
    b'requested 5000 tokens", "type": "BadRequestError", "code": 400}}'
)
NOT_AGAIN: list[tuple[int, bytes, type[HoldfastError], str]] = [
    (400, b"{}", Invalid, "complete.model"),
    (400, b'{"error": {"code": "context_length_exceeded"}}', TooLong, "complete.input_tokens"),
    (400, PROMPT_TOO_LONG, TooLong, "complete.input_tokens"),
    (400, MORE_THAN_SERVED, TooLong, "complete.input_tokens"),
    (401, b"{}", Denied, "HOLDFAST_LLM_KEY"),
    (402, b"{}", Limit, "credit"),
    (403, b"{}", Denied, "HOLDFAST_LLM_KEY"),
    (404, b"{}", Invalid, "complete.model"),
    (413, b"<html>", TooLong, "complete.input_tokens"),
    (422, b"", Invalid, "complete.model"),
    (429, b'{"error": {"code": "insufficient_quota", "type": "x"}}', Limit, "quota"),
    (302, b"", Invalid, "complete.url"),
]


@pytest.mark.parametrize(("code", "body", "kind", "remedy"), NOT_AGAIN)
def test_what_is_turned_down_says_what_to_do_and_is_not_repeated(
    ask: Ask, code: int, body: bytes, kind: type[HoldfastError], remedy: str
) -> None:
    ask.server.tricks = [fake.status(code, body)]
    with pytest.raises(kind, match=f"answered {code}: .*{remedy}"):
        ask().complete(HELLO)
    assert (len(ask.server.asked), ask.waits) == (1, [])


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(ask: Ask, code: int) -> None:
    with serving() as elsewhere:
        place = elsewhere.url(ask.provider) + PATHS[ask.provider].removeprefix("/v1")
        ask.server.tricks = [fake.status(code, Location=place)]
        with pytest.raises(Invalid, match="sends callers elsewhere"):
            ask().complete(HELLO)
        assert elsewhere.asked == []
    assert len(ask.server.asked) == 1


# ---- answers that are none ---------------------------------------------------------------------

GARBAGE = {
    "nothing": b"",
    "html": b"<html>hello</html>",
    "not utf-8": b'{"choices": [{"message": {"content": "\xff"}}], "content": "\xff"}',
    "an object": b"{}",
    "a list": b"[]",
    "null": b"null",
    "no choices": b'{"choices": [], "content": []}',
    "another shape": b'{"choices": [{"message": 5}], "content": [{"type": 5}]}',
    "half": b'{"choices": [{"message": {"content": "hel',
    "deep": b"[" * 50_000,
}


@pytest.mark.parametrize("body", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_unanswered_and_not_asked_for_again(ask: Ask, body: bytes) -> None:
    ask.server.tricks = [fake.raw(body)]
    with pytest.raises(Unanswered):
        ask().complete(HELLO)
    assert len(ask.server.asked) == 1, "it may have been billed"
    assert ask().complete(HELLO).text == "hello"


@given(body=st.binary(max_size=200))
@settings(max_examples=examples(25))
def test_whatever_comes_is_an_answer_or_an_error_of_ours(body: bytes) -> None:
    with serving() as server:
        for provider in ENGINES:
            server.tricks = [fake.raw(body)]
            with pytest.raises(Unanswered):
                Ask(provider, server)().complete(HELLO)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_an_answer_without_a_word_is_unanswered(ask: Ask, text: str | None) -> None:
    ask.server.tricks = [fake.says(text)]
    with pytest.raises(Unanswered, match=r"said nothing|something else"):
        ask().complete(HELLO)


def test_an_answer_that_stops_half_way_is_unanswered(ask: Ask) -> None:
    ask.server.tricks = [fake.stops_half_way]
    with pytest.raises(Unanswered, match="RemoteProtocolError"):
        ask().complete(HELLO)
    assert len(ask.server.asked) == 1


def test_ten_megabytes_are_not_an_answer_to_a_short_question(ask: Ask) -> None:
    ask.server.tricks = [fake.says("x" * 10_000_000)]
    with pytest.raises(Unanswered, match="far more than it was asked for"):
        ask().complete(HELLO)


@pytest.mark.parametrize("trick", [fake.hangs, fake.dribbles, fake.dribbles_headers])
def test_the_time_is_kept_whatever_the_endpoint_does(ask: Ask, trick: fake.Trick) -> None:
    ask().complete(HELLO)  # the package is imported by now
    ask.server.tricks = [trick]
    began = time.monotonic()
    with pytest.raises(Unanswered, match=r"took too long.*complete\.timeout_s"):
        ask(timeout_s=0.3).complete(HELLO)
    assert time.monotonic() - began < 1.5
    assert len(ask.server.asked) == 2


def test_retries_end_with_the_time(ask: Ask) -> None:
    ask().complete(HELLO)
    ask.server.tricks = [fake.status(503)] * 50
    began = time.monotonic()
    slowly = ENGINES[ask.provider](
        CompleteSettings(url=ask.server.url(ask.provider), model="m", timeout_s=1, retries=10), KEY
    )
    with pytest.raises(Unavailable, match="503"):
        slowly.complete(HELLO)
    assert time.monotonic() - began < 2
    assert len(ask.server.asked) < 6


# ---- keys and addresses ------------------------------------------------------------------------


def test_no_error_shows_the_key_or_what_was_said(ask: Ask) -> None:
    echo = json.dumps({"error": {"message": f"bad key {KEY}", "code": KEY}}).encode()
    for trick in (*(fake.status(code, echo) for code in (400, 401, 404, 429, 500)), fake.raw(echo)):
        ask.server.tricks = [trick]
        with pytest.raises(HoldfastError) as caught:
            ask(retries=0).complete(HELLO)
        shown = "".join(traceback.format_exception(caught.value))
        assert KEY not in shown
        assert "bad key" not in shown
        assert KEY not in repr(caught.value.__context__)


@pytest.mark.parametrize("key", [KEY + "\r\nX-Evil: 1", KEY + "é", "a\x00" + KEY])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(ask: Ask, key: str) -> None:
    with pytest.raises(Invalid, match="key") as caught:
        ask(key)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url",
    [
        *("x", "file:///etc/passwd", "http://", "//host/v1", "http://host:0/v1", "http://[::1/v1"),
        *("http://host/v1\r\nX: y", "http://host/a b", f"http://user:{KEY}@host/v1"),
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(ask: Ask, url: str) -> None:
    with pytest.raises(Invalid, match=r"complete\.url") as caught:
        ask(url=url)
    assert KEY not in str(caught.value)


def test_a_model_must_be_named(ask: Ask) -> None:
    with pytest.raises(Invalid, match=r"complete\.model"):
        ask(model=" ")


@pytest.mark.parametrize("host", ["a" * 70, "a..b", "no-such-host.invalid"])
def test_a_host_that_cannot_be_is_unavailable(ask: Ask, host: str) -> None:
    with pytest.raises((Unavailable, Invalid)) as caught:
        ask(url=f"http://{host}/v1", retries=0).complete(HELLO)
    assert not isinstance(caught.value, Unanswered)


def test_a_name_says_who_is_asked_for_what(ask: Ask) -> None:
    assert ask().name == f"{ask.provider}/127.0.0.1:{ask.server.server_port}/m"


def test_a_question_mark_in_the_address_is_kept(ask: Ask) -> None:
    ask(url=ask.server.url(ask.provider) + "/?version=2").complete(HELLO)
    assert ask.server.paths == [PATHS[ask.provider] + "?version=2"]
