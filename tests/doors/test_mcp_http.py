"""Who may speak to the server over HTTP: rebound names, forged origins, no token, too much of it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("mcp")
import uvicorn

import holdfast
from holdfast.app.toolbox_desk import Desk
from holdfast.doors.mcp.governor import Governor
from holdfast.doors.mcp.guard import Guard
from holdfast.doors.mcp.http import Address, Limits, application, listen
from holdfast.doors.mcp.lines import lines
from holdfast.errors import Invalid

TOKEN = "a-token-nobody-guesses"
BODY = 4_096
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
READABLE = ["Accept: application/json, text/event-stream", "Content-Type: application/json"]
SHOWN = f"Authorization: Bearer {TOKEN}"


#: so long a connection may say nothing, and so many may at once
HEAD_SECONDS, WAITING = 1.5, 20


class Served(msgspec.Struct, frozen=True):
    """A server that runs in this process."""

    home: Path
    port: int
    token: str
    desk: Desk
    governor: Governor

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served")
    desk = Desk(lambda: holdfast.open(home, project="p"))
    bound = listen(Address())
    port = bound.getsockname()[1]
    made = application(
        desk,
        hosts=Address(allowed=("memory.example",)).hosts(port),
        token=TOKEN,
        limits=Limits(sessions=4, body_bytes=BODY, body_seconds=0.3),
    )
    server = uvicorn.Server(
        uvicorn.Config(
            made.app,
            http=lines(HEAD_SECONDS, WAITING),
            ws="none",
            log_config=None,
            timeout_graceful_shutdown=1,
        )
    )
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])))
    thread.start()
    yield Served(home, port, TOKEN, desk, made.governor)
    server.should_exit = True
    thread.join()
    desk.close()


class Answer(msgspec.Struct, frozen=True):
    """The head of an answer and, where it has a length, its body."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


def ask(
    port: int, method: str, headers: Sequence[str], body: bytes = b"", path: str = "/mcp"
) -> Answer:
    """One request, letter for letter; a body that is empty is not announced."""
    length = [f"Content-Length: {len(body)}"] if body else []
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers, *length, "Connection: close"])
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.sendall(head.encode("latin-1") + b"\r\n\r\n" + body)
        return read(link)


def read(link: socket.socket) -> Answer:
    with link.makefile("rb") as lines:
        status = int(lines.readline().split()[1])
        found = iter(lambda: lines.readline().strip().decode("latin-1"), "")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in found)}
        return Answer(status, headers, lines.read(int(headers.get("content-length", "0"))))


def post(port: int, message: Any, *more: str) -> Answer:
    host = f"Host: 127.0.0.1:{port}"
    return ask(port, "POST", [host, SHOWN, *READABLE, *more], json.dumps(message).encode())


def begin(port: int) -> str:
    """A session of the protocol; its id as a header."""
    answer = post(port, INITIALIZE)
    assert answer.status == 200
    return f"Mcp-Session-Id: {answer.headers['mcp-session-id']}"


def verbs(port: int) -> dict[str, tuple[list[str], bytes]]:
    """The three things a client does, each right but for what a test makes wrong of it."""
    mine = begin(port)
    return {
        "POST": (READABLE, json.dumps(INITIALIZE).encode()),
        "GET": (["Accept: text/event-stream", mine], b""),
        "DELETE": ([mine], b""),
    }


# ---- where it comes from ---------------------------------------------------------------------


FOREIGN = [
    ["Host: evil.example"],
    ["Host: evil.example:{port}"],
    ["Host: localhost.evil.example:{port}"],
    ["Host: localhost.evil:{port}"],
    ["Host: 127.0.0.1.evil.example:{port}"],
    ["Host: 127.0.0.1.nip.io:{port}"],
    ["Host: localhost"],
    ["Host: 127.0.0.1"],
    ["Host: localhost:1"],
    ["Host: localhost:{port}0"],
    ["Host: localhost.:{port}"],
    ["Host: LOCALHOST:{port}"],
    ["Host: ana@localhost:{port}"],
    ["Host: localhost:{port}@evil.example"],
    ["Host: localhost:{port}, evil.example"],
    ["Host: ::1:{port}"],
    ["Host: [::1]"],
    ["Host: [::ffff:127.0.0.1]:{port}"],
    ["Host: [::1%25lo]:{port}"],
    ["Host: 0.0.0.0:{port}"],
    ["Host: 2130706433:{port}"],
    ["Host: 127.1:{port}"],
    ["Host: memory.example:443"],
    ["Host: "],
    ["Host: localhost:{port}", "Origin: null"],
    ["Host: localhost:{port}", "Origin: http://evil.example"],
    ["Host: localhost:{port}", "Origin: http://localhost"],
    ["Host: localhost:{port}", "Origin: http://localhost:1"],
    ["Host: localhost:{port}", "Origin: http://localhost.evil:{port}"],
    ["Host: localhost:{port}", "Origin: http://localhost:{port}.evil.example"],
    ["Host: localhost:{port}", "Origin: http://localhost:{port}/"],
    ["Host: localhost:{port}", "Origin: http://ana@localhost:{port}"],
    ["Host: localhost:{port}", "Origin: file://"],
    ["Host: localhost:{port}", "Origin: "],
    ["Host: localhost:{port}", "Origin: http://localhost:{port}", "Origin: http://evil.example"],
    ["Host: localhost:{port}", "Sec-Fetch-Site: cross-site"],
    ["Host: localhost:{port}", "Sec-Fetch-Site: same-site"],
]
OURS = [
    ["Host: 127.0.0.1:{port}"],
    ["Host: localhost:{port}"],
    ["Host: [::1]:{port}"],
    ["Host: memory.example"],
    ["Host: localhost:{port}", "Origin: http://localhost:{port}"],
    ["Host: 127.0.0.1:{port}", "Origin: http://localhost:{port}", "Sec-Fetch-Site: same-origin"],
    ["Host: memory.example", "Origin: https://memory.example"],
]


def filled(heads: list[str], port: int) -> list[str]:
    return [head.replace("{port}", str(port)) for head in heads]


def test_a_foreign_host_or_origin_is_refused_for_every_verb(served: Served) -> None:
    for verb, (own, body) in verbs(served.port).items():
        for heads in FOREIGN:
            for shown in ([SHOWN], []):
                sent = [*filled(heads, served.port), *own, *shown]
                answer = ask(served.port, verb, sent, body)
                assert answer.status == 403, (verb, heads, shown)
                assert answer.body == b""
                assert not [name for name in answer.headers if name.startswith("access-control")]


def test_no_host_or_two_of_them_never_reach_the_protocol(served: Served) -> None:
    here = f"Host: localhost:{served.port}"
    for verb, (own, body) in verbs(served.port).items():
        for heads in ([], [here, "Host: evil.example"], [here, here]):
            assert ask(served.port, verb, [*heads, SHOWN, *own], body).status in (400, 403)


def test_our_own_hosts_and_origins_pass_for_every_verb(served: Served) -> None:
    for heads in OURS:
        for verb, (own, body) in verbs(served.port).items():
            sent = [*filled(heads, served.port), *own]
            assert ask(served.port, verb, sent, body).status == 401
            assert ask(served.port, verb, [*sent, SHOWN], body).status == 200, (verb, heads)


# ---- who it is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        [],
        ["Authorization: "],
        ["Authorization: Bearer"],
        ["Authorization: Bearer "],
        [f"Authorization: {TOKEN}"],
        [f"Authorization: Basic {TOKEN}"],
        [f"Authorization: Bearer {TOKEN}x"],
        [f"Authorization: Bearer {TOKEN[:-1]}"],
        [f"Authorization: Bearer {TOKEN.upper()}"],
        [SHOWN, "Authorization: Bearer other"],
        [f"Cookie: token={TOKEN}"],
        [f"X-Token: {TOKEN}"],
    ],
)
def test_without_the_token_nothing_answers(served: Served, shown: list[str]) -> None:
    here = f"Host: localhost:{served.port}"
    for path in ("/mcp", "/", "/mcp?token=" + TOKEN, "/other", "/mcp/"):
        for verb, (own, body) in verbs(served.port).items():
            answer = ask(served.port, verb, [here, *own, *shown], body, path)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == "Bearer"


def test_nothing_but_the_protocol_is_here(served: Served) -> None:
    here = [f"Host: localhost:{served.port}", SHOWN]
    for path in ("/", "/mcp/", "/MCP", "/docs", "/openapi.json", "//mcp", "/mcp/../"):
        answer = ask(served.port, "GET", here, path=path)
        assert (answer.status, answer.body) == (404, b"")
    preflight = ["Access-Control-Request-Method: POST"]
    for verb in ("OPTIONS", "PUT", "PATCH", "HEAD", "TRACE"):
        answer = ask(served.port, verb, [*here, *preflight])
        assert answer.status == 405
        assert not [name for name in answer.headers if name.startswith("access-control")]


# ---- how much of it --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds",
    [
        [],
        ["Content-Type: text/plain"],
        ["Content-Type: application/x-www-form-urlencoded"],
        ["Content-Type: multipart/form-data; boundary=x"],
        ["Content-Type: application/jsonp"],
        ["Content-Type: text/plain; application/json"],
        ["Content-Type: application/json", "Content-Type: text/plain"],
        ["Content-Type: application/json", "Content-Encoding: gzip"],
    ],
)
def test_a_form_a_browser_may_send_unasked_is_refused(served: Served, kinds: list[str]) -> None:
    here = [f"Host: localhost:{served.port}", SHOWN, READABLE[0], *kinds]
    assert ask(served.port, "POST", here, json.dumps(INITIALIZE).encode()).status == 415


def test_a_body_is_refused_when_it_is_too_large_however_it_comes(served: Served) -> None:
    here = [f"Host: localhost:{served.port}", SHOWN, *READABLE]
    assert ask(served.port, "POST", [*here, "Content-Length: 999999999999999999"]).status in (
        400,
        413,
    )
    assert ask(served.port, "POST", [*here, f"Content-Length: {BODY + 1}"]).status == 413
    chunk = b"%x\r\n%b\r\n" % (BODY, b" " * BODY)
    sent = [*here, "Transfer-Encoding: chunked"]
    head = "\r\n".join(["POST /mcp HTTP/1.1", *sent]).encode() + b"\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port)) as link:
        link.sendall(head + chunk * 2)
        assert read(link).status == 413


def test_a_client_that_sends_too_much_reads_why_it_is_refused(served: Served) -> None:
    here = [f"Host: localhost:{served.port}", SHOWN, *READABLE]
    assert ask(served.port, "POST", here, b" " * (3 * BODY)).status == 413


def test_whoever_says_nothing_is_let_go_and_keeps_nobody_out(served: Served) -> None:
    silent = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(3 * WAITING)]
    half = socket.create_connection(("127.0.0.1", served.port))
    half.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
    try:
        assert post(served.port, INITIALIZE).status == 200
        for link in (*silent, half):
            link.settimeout(10)
            with suppress(ConnectionResetError):
                assert link.recv(1) == b""
    finally:
        for link in (*silent, half):
            link.close()


def test_a_second_head_that_never_ends_is_not_waited_for_either(served: Served) -> None:
    body = json.dumps(INITIALIZE).encode()
    here = [f"Host: localhost:{served.port}", SHOWN, *READABLE, f"Content-Length: {len(body)}"]
    with socket.create_connection(("127.0.0.1", served.port)) as link:
        link.settimeout(10)
        link.sendall("\r\n".join(["POST /mcp HTTP/1.1", *here, "", ""]).encode() + body)
        assert read(link).status == 200
        link.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        with suppress(ConnectionResetError):
            assert link.recv(1) == b""


def test_only_who_has_the_token_counts_among_those_who_ask() -> None:
    guard = Guard(_never, hosts=["h"], token=TOKEN, most_requests=0)
    assert asyncio.run(_status_of(guard, b"Bearer " + TOKEN.encode())) == 503
    assert asyncio.run(_status_of(guard, b"Bearer no")) == 401


async def _never(*_: Any) -> Any:
    raise AssertionError("it was let through")


async def _status_of(guard: Guard, shown: bytes) -> int:
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    headers = [(b"host", b"h"), (b"authorization", shown)]
    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": headers}
    await guard(scope, _never, send)
    return int(said[0]["status"])


def test_the_scheme_of_the_token_may_be_written_in_any_way(served: Served) -> None:
    here = [f"Host: localhost:{served.port}", *READABLE]
    for scheme in ("Bearer", "bearer", "BEARER"):
        shown = f"Authorization: {scheme} {TOKEN}"
        body = json.dumps(INITIALIZE).encode()
        assert ask(served.port, "POST", [*here, shown], body).status == 200


def test_a_body_that_never_ends_is_not_waited_for(served: Served) -> None:
    here = [f"Host: localhost:{served.port}", SHOWN, *READABLE]
    assert ask(served.port, "POST", [*here, "Content-Length: 100"]).status == 408


@pytest.mark.parametrize(
    "body",
    [b"", b"[", b"null", b"[" * 2_000, b'{"a":' * 600, b"\xff\xfe", b"[]", b'{"jsonrpc":"2.0"}'],
)
def test_garbage_is_answered_and_the_server_goes_on(served: Served, body: bytes) -> None:
    here = [f"Host: localhost:{served.port}", SHOWN, *READABLE]
    assert (
        ask(served.port, "POST", [*here, *([] if body else ["Content-Length: 0"])], body).status
        == 400
    )
    assert begin(served.port)


# ---- how many at once ------------------------------------------------------------------------


def ping(port: int, session: str) -> int:
    return post(port, {"jsonrpc": "2.0", "id": 2, "method": "ping"}, session).status


def decide(port: int, session: str) -> str:
    params = {"name": "record_decision", "arguments": {"text": "Use cents."}}
    asked = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
    answer = post(port, asked, session)
    return str(json.loads(answer.body)["result"]["structuredContent"]["session"])


def test_the_longest_idle_session_makes_room_for_a_new_one(served: Served) -> None:
    first, *others = [begin(served.port) for _ in range(4)]
    assert len(served.governor.sessions) == 4
    mine = decide(served.port, first)
    assert [ping(served.port, one) for one in others] == [200] * 3
    last = begin(served.port)
    assert ping(served.port, first) == 404
    assert [ping(served.port, one) for one in (*others, last)] == [200] * 4
    assert len(served.governor.sessions) == 4
    with holdfast.open(served.home, project="p") as hf:
        assert hf.status(mine).state.info.ended_because == "client left"


def test_a_session_that_listens_is_not_idle_and_when_all_do_a_new_one_is_refused(
    served: Served,
) -> None:
    links = []
    for session in [begin(served.port) for _ in range(4)]:
        link = socket.create_connection(("127.0.0.1", served.port))
        head = ["GET /mcp HTTP/1.1", f"Host: localhost:{served.port}", SHOWN, session]
        link.sendall("\r\n".join([*head, "Accept: text/event-stream"]).encode() + b"\r\n\r\n")
        assert link.recv(12) == b"HTTP/1.1 200"
        links.append(link)
    assert post(served.port, INITIALIZE).status == 503
    links.pop().close()
    for _ in range(1_000):  # until the server has seen that one of them left
        if post(served.port, INITIALIZE).status == 200:
            break
    else:
        pytest.fail("nobody made room")
    for link in links:
        link.close()


def test_a_session_that_is_ended_leaves_nothing_open(served: Served) -> None:
    session = begin(served.port)
    mine = decide(served.port, session)
    here = [f"Host: localhost:{served.port}", SHOWN, session]
    assert ask(served.port, "DELETE", here).status == 200
    assert ask(served.port, "DELETE", here).status == 404
    assert ping(served.port, session) == 404
    assert session.partition(": ")[2] not in served.governor.sessions
    with holdfast.open(served.home, project="p") as hf:
        assert not hf.status(mine).state.info.open


# ---- where it listens ------------------------------------------------------------------------


def test_an_address_names_the_hosts_it_may_be_called_by() -> None:
    assert Address().hosts(80) == ["127.0.0.1:80", "localhost:80", "[::1]:80"]
    assert Address(bind="10.0.0.7", allowed=("m:1",)).hosts(80) == ["10.0.0.7:80", "m:1"]
    assert Address(bind="fd00::7").hosts(80) == ["[fd00::7]:80"]
    assert Address(bind="::1").hosts(80)[0] == "[::1]:80"
    loopback = {"127.0.0.1", "::1", "localhost", "127.8.8.8"}
    others = {"0.0.0.0", "::", "10.0.0.7", "memory.example", "::ffff:10.0.0.7"}
    assert {one for one in loopback | others if Address(bind=one).loopback} == loopback


@pytest.mark.parametrize("name", ["bücher.example", "", "a b", "x\n"])
def test_a_host_that_no_header_can_hold_is_refused_in_words(name: str) -> None:
    with pytest.raises(Invalid, match="--allow-host"):
        Address(allowed=(name,)).hosts(1)


def test_small_packets_are_not_held_back() -> None:
    with listen(Address()) as bound:
        assert bound.proto == socket.IPPROTO_TCP
