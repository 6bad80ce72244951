"""The governor by itself: sessions are counted, idle ones are closed, whoever leaves is told of."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mcp")
from holdfast.app.toolbox_desk import LEAVE
from holdfast.doors.mcp.governor import Governor
from holdfast.doors.mcp.guard import Message, Receive, Scope, Send
from holdfast.doors.mcp.http import Clients
from holdfast.errors import Unavailable

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    }
).encode()


class Protocol:
    """Sessions as the protocol keeps them: begun by `initialize` without one, ended by DELETE."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.made = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0)  # others come in between
        key = dict(scope["headers"]).get(b"mcp-session-id", b"").decode()
        headers: list[tuple[bytes, bytes]] = []
        status = 200
        if not key and (await receive())["body"] != INITIALIZE:
            status = 400
        elif not key:
            self.made += 1
            key = f"s{self.made}"
            self.open.add(key)
            headers = [(b"mcp-session-id", key.encode())]
        elif key not in self.open:
            status = 404
        elif scope["method"] == "DELETE":
            self.open.discard(key)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


class Life:
    """A governor, what is behind it, who left, and a clock."""

    def __init__(self, most: int) -> None:
        self.at, self.gone, self.protocol = 0.0, list[str](), Protocol()
        self.governor = Governor(
            self.protocol, most=most, idle_seconds=10, left=self._left, clock=lambda: self.at
        )

    async def _left(self, key: str) -> None:
        self.gone.append(key)

    async def ask(
        self, method: str, session: str = "", version: str = "", body: bytes = INITIALIZE
    ) -> tuple[int, str]:
        given = [(b"mcp-session-id", session), (b"mcp-protocol-version", version)]
        headers = [(name, value.encode()) for name, value in given if value]
        answers: list[Message] = []

        async def send(message: Message) -> None:
            answers.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        scope: dict[str, Any] = {"type": "http", "method": method, "headers": headers}
        await self.governor(scope, receive, send)
        made = dict(answers[0]["headers"]).get(b"mcp-session-id", b"").decode()
        return answers[0]["status"], made

    async def sweep(self) -> None:
        await self.governor.sweep({"type": "http", "method": "DELETE", "headers": []})


STEPS = st.lists(
    st.tuples(st.sampled_from(["begin", "ask", "end", "wait", "sweep"]), st.integers(1, 6)),
    max_size=30,
)


@given(most=st.integers(1, 3), steps=STEPS)
def test_sessions_are_bounded_and_everyone_who_left_is_told_of_once(
    most: int, steps: list[tuple[str, int]]
) -> None:
    async def run() -> None:
        life = Life(most)
        heard: dict[str, float] = {}
        for step, number in steps:
            life.at += 1
            key = f"s{number}"
            if step == "begin":
                status, made = await life.ask("POST")
                assert status == 200
                heard[made] = life.at
                heard = dict(sorted(heard.items(), key=lambda one: one[1])[-most:])
            elif step == "wait":
                life.at += 4
            elif step == "sweep":
                await life.sweep()
                heard = {one: at for one, at in heard.items() if at >= life.at - 10}
            else:
                status, _ = await life.ask("DELETE" if step == "end" else "POST", key)
                assert status == (200 if key in heard else 404)
                if key in heard:
                    heard[key] = life.at
                if step == "end":
                    heard.pop(key, None)
            assert life.protocol.open == set(heard) == set(life.governor.sessions)
            every = {f"s{n + 1}" for n in range(life.protocol.made)}
            assert sorted(life.gone) == sorted(every - set(heard))

    asyncio.run(run())


def test_many_who_come_at_once_keep_to_the_bound() -> None:
    async def run() -> None:
        life = Life(4)
        answers = await asyncio.gather(*(life.ask("POST") for _ in range(30)))
        assert {status for status, _ in answers} <= {200, 503}
        assert len(life.governor.sessions) == len(life.protocol.open) == 4
        await life.sweep()
        life.at += 100
        await life.sweep()
        assert life.protocol.open == set()
        assert [status for status, _ in [await life.ask("POST") for _ in range(4)]] == [200] * 4

    asyncio.run(run())


def test_what_begins_no_session_makes_no_room_for_one() -> None:
    async def run() -> None:
        life = Life(1)
        await life.ask("POST")
        half = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        bad = (b"", b"[", b"[" * 5_000, b"{}", half.encode(), INITIALIZE + b"x")
        for body in bad:
            assert (await life.ask("POST", body=body))[0] == 400
        assert life.governor.sessions == ["s1"]
        assert life.gone == []

    asyncio.run(run())


def test_a_version_without_sessions_takes_no_place() -> None:
    async def run() -> None:
        life = Life(1)
        await life.ask("POST", version="2026-07-28")
        assert life.governor.sessions == []
        await life.ask("POST", version="2025-11-25")
        assert life.governor.sessions == ["s2"]

    asyncio.run(run())


def test_the_caller_is_told_of_everybody_when_the_server_ends() -> None:
    """It may serve other servers too, so keys of two of them are never the same."""
    told: list[tuple[str, str]] = []

    def caller(operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        told.append((operation, asked["client"]))
        if len(told) == 1:
            raise Unavailable
        return {}

    def request(session: str, name: str) -> Any:
        who = SimpleNamespace(client_info=SimpleNamespace(name=name))
        headers = {"mcp-session-id": session} if session else {}
        return SimpleNamespace(
            request=SimpleNamespace(headers=headers), session=SimpleNamespace(client_params=who)
        )

    asked = [request("s1", "a"), request("s2", "a"), request("", "a"), request("", "b")]
    one, other = Clients(caller), Clients(caller)
    keys = [server.key(ctx) for server in (one, other) for ctx in asked]
    assert len(set(keys)) == len(keys)
    assert one.key(request("s1", "c")) == keys[0]
    assert one.key(request("", "a")) not in keys  # nobody can tell that it is the same client
    asyncio.run(one.left("s2"))
    for key in keys[:4]:
        one.answered(key)
    one.leave()
    one.leave()
    assert told[:4] == [(LEAVE, key) for key in (keys[1], keys[2], keys[3], keys[0])]
    assert len(told) == 5
