"""The remote embedder against a real server on loopback: whatever it does, a vector or Unavailable."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.engines.embedders.remote import Remote
from holdfast.errors import Invalid, Unavailable
from holdfast.model.embed import EmbedSettings
from tests.embedders import server as fake
from tests.embedders.server import DIMS, Server, serving, vector
from tests.property.effort import examples

KEY = "sk-very-secret-0123456789"


class Waits(list[float]):
    """Sleeps by noting for how long."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def _remote(server: Server, waits: Waits | None = None, **changed: object) -> Remote:
    chosen = EmbedSettings(embedder="openai", url=server.url, model="m", timeout_s=20)
    sleep = Waits() if waits is None else waits
    return Remote(msgspec.structs.replace(chosen, **changed), KEY, sleep=sleep)


def _unit(text: str) -> NDArray[np.float64]:
    found = np.array(vector(text))
    unit: NDArray[np.float64] = found / np.linalg.norm(found)
    return unit


def _common(word: str) -> float:
    return 0.0


def _texts(count: int) -> list[tuple[str, str]]:
    return [("ana", f"number {place} of many") for place in range(count)]


def test_it_asks_as_the_protocol_says(server: Server) -> None:
    found = _remote(server).passages([("ana", "hello"), ("", "bare")])
    assert server.asked == [
        {"model": "m", "input": ["ana: hello", "bare"], "encoding_format": "float"}
    ]
    assert server.keys == [f"Bearer {KEY}"]
    assert server.paths == ["/v1/embeddings"]
    assert np.allclose(found, [_unit("ana: hello"), _unit("bare")], atol=1e-6)


def test_without_a_key_none_is_sent(server: Server) -> None:
    Remote(EmbedSettings(url=server.url), None).passages([("", "x")])
    assert server.keys == [None]


def test_a_question_is_sent_as_it_is(server: Server) -> None:
    assert np.allclose(_remote(server).query("who?", _common), _unit("who?"), atol=1e-6)
    assert server.texts() == ["who?"]


def test_a_model_gets_the_beginnings_it_was_trained_on(server: Server) -> None:
    remote = _remote(server, model="Nomic-Embed-Text:v1.5")
    remote.passages([("ana", "x")])
    remote.query("y", _common)
    assert server.texts() == ["search_document: ana: x", "search_query: y"]


@given(count=st.integers(0, 200), batch=st.integers(1, 64))
@settings(max_examples=examples(15))
def test_batches_are_no_larger_than_asked_and_lose_nothing(count: int, batch: int) -> None:
    with serving() as running:
        found = _remote(running, batch=batch).passages(_texts(count))
        sizes = [len(asked["input"]) for asked in running.asked]
        assert max(sizes, default=0) <= batch
        assert found.shape == (count, DIMS)
        if count:
            assert running.texts() == [f"ana: {text}" for _, text in _texts(count)]
            wanted = np.stack([_unit(f"ana: {text}") for _, text in _texts(count)])
            assert np.allclose(found, wanted, atol=1e-6)


def test_items_may_come_in_any_order(server: Server) -> None:
    straight = _remote(server).passages(_texts(9))
    for order in (lambda items: items[::-1], lambda items: items[3:] + items[:3]):
        server.tricks = [_reordered(order)]
        assert np.array_equal(_remote(server).passages(_texts(9)), straight)


def _reordered(order: Callable[[list[Any]], list[Any]]) -> fake.Trick:
    return lambda handler, texts: handler.send(200, fake.answer(texts, order))


def test_the_width_is_that_of_the_first_answer_and_part_of_the_name(server: Server) -> None:
    remote = _remote(server)
    assert remote.dims == DIMS
    assert remote.name == f"openai/127.0.0.1:{server.server_port}/m-{DIMS}"
    assert len(server.asked) == 1
    asked_first = _remote(server)
    asked_first.query("x", _common)
    assert asked_first.dims == DIMS
    assert len(server.asked) == 2, "the answer to a question tells the width too"


def test_a_width_that_is_given_is_not_asked_for(server: Server) -> None:
    assert _remote(server, dims=DIMS).name.endswith(f"/m-{DIMS}")
    assert _remote(server, dims=7).passages([("", " ")]).shape == (1, 7)
    assert server.asked == []


def test_another_width_is_refused(server: Server) -> None:
    with pytest.raises(Unavailable, match=r"64 numbers where 7 were expected.*embed\.dims"):
        _remote(server, dims=7).passages(_texts(2))
    short = json.dumps({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}).encode()
    remote = _remote(server)
    remote.passages(_texts(1))
    server.tricks = [fake.says(short)]
    with pytest.raises(Unavailable, match="2 numbers where 64"):
        remote.passages(_texts(1))


def test_texts_that_say_nothing_are_not_sent(server: Server) -> None:
    found = _remote(server).passages([("ana", ""), ("ana", "x"), ("", " \n\t")])
    assert server.texts() == ["ana: x"]
    assert found[0].tolist() == found[2].tolist() == [0.0] * DIMS
    assert not _remote(server).query(" ", _common).any()


def test_a_long_text_is_cut(server: Server) -> None:
    _remote(server, text_chars=10).passages([("", "x" * 1_000_000)])
    assert server.texts() == ["x" * 10]


def test_a_busy_server_is_asked_again_after_longer_and_longer_waits(server: Server) -> None:
    waits = Waits()
    server.tricks = [fake.status(429), fake.status(500), fake.status(503)]
    found = _remote(server, waits).passages(_texts(2))
    assert found.shape == (2, DIMS)
    assert waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("header", "waited"), [("3", 3.0), ("0", 0.5), ("86400", 20.0), ("Fri, 1 Jan", 0.5), ("٣", 0.5)]
)
def test_the_wait_a_server_asks_for_counts_up_to_a_limit(
    server: Server, header: str, waited: float
) -> None:
    waits = Waits()
    encoded = header.encode("utf-8").decode("latin-1")
    server.tricks = [fake.status(429, Retry_After=encoded)]
    _remote(server, waits).passages(_texts(1))
    assert waits == [waited]


def test_a_server_that_stays_busy_is_unavailable_after_a_few_tries(server: Server) -> None:
    waits = Waits()
    server.tricks = [fake.status(500)] * 10
    with pytest.raises(Unavailable, match=r"answered 500.*try again later"):
        _remote(server, waits, retries=2).passages(_texts(1))
    assert len(server.asked) == 3
    assert len(waits) == 2


def _items(*items: object) -> bytes:
    return json.dumps({"data": list(items)}).encode()


GOOD = {"index": 0, "embedding": [1.0]}
GARBAGE = {
    "nothing": b"",
    "html": b"<html>hello</html>",
    "not utf-8": b'{"data": [{"index": 0, "embedding": "\xff"}]}',
    "no data": b"{}",
    "a list": b"[]",
    "nan": b'{"data": [{"index": 0, "embedding": [NaN]}]}',
    "infinite": b'{"data": [{"index": 0, "embedding": [1e999]}]}',
    "huge": _items({"index": 0, "embedding": [1e300, 1.0]}),
    "words": _items({"index": 0, "embedding": ["a"]}),
    "base64": _items({"index": 0, "embedding": "AACAPw=="}),
    "empty": _items({"index": 0, "embedding": []}),
    "too few": _items(),
    "too many": _items(GOOD, {"index": 1, "embedding": [1.0]}),
    "twice the same": _items(GOOD, GOOD),
    "elsewhere": _items({"index": 5, "embedding": [1.0]}),
    "negative": _items({"index": -1, "embedding": [1.0]}),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("body", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_unavailable(server: Server, body: bytes) -> None:
    server.tricks = [fake.says(body)]
    with pytest.raises(Unavailable, match=r"sent something else.*embed\.url"):
        _remote(server).passages(_texts(1))
    assert _remote(server).passages(_texts(1)).any(), "and the next answer counts again"


@given(body=st.binary(max_size=200))
@settings(max_examples=examples(30))
def test_whatever_a_server_says_is_a_vector_or_unavailable(body: bytes) -> None:
    with serving() as running:
        running.tricks = [fake.says(body)]
        with pytest.raises(Unavailable):
            _remote(running).passages(_texts(1))


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (400, "embed.model"),
        (401, "check the key"),
        (403, "check the key"),
        (404, "check embed.url and embed.model"),
        (413, "refuses the request"),
    ],
)
def test_a_refusal_says_what_to_do_and_is_not_repeated(
    server: Server, code: int, remedy: str
) -> None:
    server.tricks = [fake.status(code, b'{"error": {"message": "no"}}')]
    with pytest.raises(Unavailable, match=f"answered {code}: .*{remedy}"):
        _remote(server).passages(_texts(1))
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(server: Server, code: int) -> None:
    with serving() as elsewhere:
        server.tricks = [fake.status(code, Location=f"{elsewhere.url}/embeddings")]
        with pytest.raises(Unavailable, match="sends callers elsewhere"):
            _remote(server).passages(_texts(1))
        assert elsewhere.asked == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("trick", [fake.hangs, fake.dribbles])
def test_a_server_that_hangs_or_dribbles_is_unavailable(server: Server, trick: fake.Trick) -> None:
    server.tricks = [trick, trick]
    remote = _remote(server, timeout_s=0.2, query_timeout_s=0.2)
    with pytest.raises(Unavailable, match=r"took too long.*embed\.timeout_s"):
        remote.passages(_texts(1))
    with pytest.raises(Unavailable, match="took too long"):
        remote.query("x", _common)


def test_an_answer_without_end_is_cut_off(server: Server) -> None:
    server.tricks = [fake.floods]
    with pytest.raises(Unavailable, match="more than 64 MiB"):
        _remote(server).passages(_texts(1))


def test_an_answer_that_stops_half_way_is_none(server: Server) -> None:
    server.tricks = [fake.stops_half_way]
    with pytest.raises(Unavailable, match="IncompleteRead"):
        _remote(server).passages(_texts(3))


def test_nobody_there_is_unavailable() -> None:
    with serving() as gone:
        remote = _remote(gone)
    with pytest.raises(
        Unavailable, match=r"did not answer \(ConnectionRefusedError\); is it running"
    ):
        remote.passages(_texts(1))
    with pytest.raises(Unavailable):
        _ = remote.name


@pytest.mark.parametrize("host", ["a" * 70, "a..b", "no-such-host.invalid"])
def test_a_host_that_cannot_be_is_unavailable(host: str) -> None:
    remote = Remote(EmbedSettings(url=f"http://{host}/v1"), None)
    with pytest.raises(Unavailable, match="did not answer"):
        remote.passages(_texts(1))


def test_a_question_is_asked_once_and_the_endpoint_rests_after_a_failure(server: Server) -> None:
    now = 100.0
    waits = Waits()
    chosen = EmbedSettings(url=server.url, model="m", rest_s=30)
    remote = Remote(chosen, None, sleep=waits, clock=lambda: now)
    server.tricks = [fake.status(503)]
    with pytest.raises(Unavailable, match="503"):
        remote.query("x", _common)
    with pytest.raises(Unavailable, match=r"failed a moment ago.*30 seconds"):
        remote.query("x", _common)
    assert len(server.asked) == 1
    now += 30
    assert remote.query("x", _common).any()
    assert remote.query("x", _common).any()
    assert waits == []


def test_work_in_the_background_wakes_a_resting_endpoint(server: Server) -> None:
    remote = _remote(server, rest_s=3600)
    server.tricks = [fake.status(503)]
    with pytest.raises(Unavailable):
        remote.query("x", _common)
    remote.passages(_texts(1))
    assert remote.query("x", _common).any()


def test_no_error_shows_the_key(server: Server) -> None:
    echo = json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
    for trick in (fake.status(401, echo), fake.status(400, echo), fake.says(echo), fake.says(b"")):
        server.tricks = [trick]
        with pytest.raises(Unavailable) as caught:
            _remote(server).passages(_texts(1))
        assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("key", [KEY + "\r\nX-Evil: 1", KEY + "é", "a\x00" + KEY])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(Invalid, match="key") as caught:
        Remote(EmbedSettings(), key)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_blanks_around_a_key_are_not_part_of_it(server: Server) -> None:
    Remote(EmbedSettings(url=server.url), f" {KEY}\n").passages(_texts(1))
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "file:///etc/passwd", "ftp://host/v1", "http://", "http:///v1", "//host/v1"),
        *("http://host:port/v1", "http://host:99999/v1", "http://host:0/v1", "http://[::1/v1"),
        *("http://host/v1\r\nX: y", "http://host/a b", "http://hôst/v1", "http://host/v1#part"),
        *(f"http://user:{KEY}@host/v1", f"http://{KEY}@host/v1"),
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(Invalid, match=r"embed\.url") as caught:
        Remote(EmbedSettings(url=url), None)
    assert KEY not in str(caught.value)


def test_a_model_must_be_named() -> None:
    with pytest.raises(Invalid, match=r"embed\.model"):
        Remote(EmbedSettings(model=" "), None)


def test_a_slash_at_the_end_and_a_question_mark_are_kept_apart(server: Server) -> None:
    Remote(EmbedSettings(url=f"{server.url}/?version=2"), None).passages(_texts(1))
    assert server.paths == ["/v1/embeddings?version=2"]
