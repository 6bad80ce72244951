"""Round trips of the MCP server. `python -m bench.mcp [--memories N] [--rounds N] [--json]`

A real client of the SDK calls tools over stdio and over HTTP. In the same run, in turns, it calls a
server of the same SDK that echoes and does nothing else, over the same transport: that is what the
protocol costs by itself. `direct` is the same call of the toolbox in this process. Milliseconds,
medians; `start` is from starting the process to the answer of the handshake.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import holdfast
from bench.report import show
from holdfast.app.toolbox import Toolbox
from holdfast.doors.mcp.http import Address, listen

Row = dict[str, Any]
TOKEN = "the-token-of-this-run"
CALLS: dict[str, dict[str, Any]] = {
    "record_decision": {"text": "Amounts are integers in cents."},
    "session_status": {},
    "remember": {"text": "The gateway listens on port 8443.", "tags": ["gateway"]},
    "memory_search": {"query": "which port does the gateway use"},
    "context": {"query": "which port does the gateway use", "budget": 2_000},
}
_RUN = "from holdfast.doors.cli import main; main()"


# ---- the server that only echoes -------------------------------------------------------------


def echo() -> Server[Any]:
    """The least a server of this SDK can do."""

    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="echo", input_schema={"type": "object"})]
        )

    async def called(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        said = types.TextContent(type="text", text=str(asked.arguments))
        return types.CallToolResult(content=[said], structured_content=asked.arguments or {})

    return Server("echo", version="1", on_list_tools=listed, on_call_tool=called)


async def _echo_over_stdio() -> None:
    server = echo()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _echo_over_http() -> None:
    bound = listen(Address())
    print(
        f"Listening at http://127.0.0.1:{bound.getsockname()[1]}/mcp", file=sys.stderr, flush=True
    )
    app = echo().streamable_http_app(json_response=True)
    settings = uvicorn.Config(app, http="h11", ws="none", log_config=None)
    asyncio.run(uvicorn.Server(settings).serve(sockets=[bound]))


# ---- clients ---------------------------------------------------------------------------------


def _command(home: str, *, echoes: bool, http: bool) -> list[str]:
    if echoes:
        return [sys.executable, "-m", "bench.mcp", "--echo", "http" if http else "stdio"]
    words = ["mcp", "--project", "p", "--home", home, *(["--http"] if http else [])]
    return [sys.executable, "-c", _RUN, *words]


@asynccontextmanager
async def over_stdio(home: str, *, echoes: bool) -> AsyncIterator[Client]:
    """A client that started its server."""
    command, *args = _command(home, echoes=echoes, http=False)
    env = {name: os.environ[name] for name in ("PATH", "XDG_CONFIG_HOME")}
    started = StdioServerParameters(command=command, args=args, env=env, cwd=os.getcwd())
    async with Client(started, mode="legacy") as client:
        yield client


@asynccontextmanager
async def over_http(home: str, *, echoes: bool) -> AsyncIterator[Client]:
    """A client of a server on the loopback."""
    env = {**os.environ, "HOLDFAST_TOKEN": TOKEN}
    command = _command(home, echoes=echoes, http=True)
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=env) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1].decode()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        try:
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
            ):
                yield client
        finally:
            process.terminate()


Transport = Callable[..., Any]
TRANSPORTS: dict[str, Transport] = {"stdio": over_stdio, "HTTP": over_http}


# ---- figures ---------------------------------------------------------------------------------


async def _milliseconds(client: Client, tool: str, asked: dict[str, Any]) -> float:
    start = time.perf_counter()
    answer = await client.call_tool(tool, asked)
    assert not answer.is_error, answer
    return (time.perf_counter() - start) * 1e3


async def starts(name: str, home: str, rounds: int) -> Row:
    """From nothing to the answer of the handshake."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds):
        for echoes, kept in times.items():
            start = time.perf_counter()
            async with TRANSPORTS[name](home, echoes=echoes):
                kept.append((time.perf_counter() - start) * 1e3)
    ours, bare = (statistics.median(kept) for kept in times.values())
    return {
        "what": f"{name}: start",
        "ours": ours,
        "p95": max(times[False]),
        "echo": bare,
        "direct": "",
    }


async def round_trips(name: str, home: str, direct: dict[str, float], rounds: int) -> list[Row]:
    """Each tool, in turns with the echo."""
    rows = []
    transport = TRANSPORTS[name]
    async with transport(home, echoes=False) as ours, transport(home, echoes=True) as bare:
        for tool, asked in CALLS.items():
            times: tuple[list[float], list[float]] = ([], [])
            for number in range(rounds + 3):
                for kept, client, called in zip(times, (ours, bare), (tool, "echo"), strict=True):
                    took = await _milliseconds(client, called, asked)
                    if number >= 3:  # the first calls open the project and read models
                        kept.append(took)
            p95 = statistics.quantiles(times[0], n=20)[-1]
            ours_ms, bare_ms = (statistics.median(kept) for kept in times)
            row = {"what": f"{name}: {tool}", "ours": ours_ms, "p95": p95, "echo": bare_ms}
            rows.append({**row, "direct": direct[tool]})
    return rows


def directly(home: str, rounds: int) -> dict[str, float]:
    """The same calls without a protocol."""
    medians = {}
    with holdfast.open(home, project="p") as hf:
        box = Toolbox(hf)
        for tool, asked in CALLS.items():
            times = []
            for number in range(rounds + 3):
                start = time.perf_counter()
                box.call(tool, asked)
                if number >= 3:
                    times.append((time.perf_counter() - start) * 1e3)
            medians[tool] = statistics.median(times)
        box.close()
    return medians


def filled(home: str, memories: int) -> None:
    """A project with so many memories in it."""
    with holdfast.open(home, project="p") as hf:
        hf.remember_all(
            [
                {"text": f"Service {n} listens on port {8000 + n} and belongs to team {n % 17}."}
                for n in range(memories)
            ]
        )
        hf.index()


async def measured(home: str, rounds: int) -> list[Row]:
    """Every row."""
    direct = directly(home, rounds)
    rows = []
    for name in TRANSPORTS:
        rows.append(await starts(name, home, max(3, rounds // 20)))
        rows += await round_trips(name, home, direct, rounds)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--echo", choices=["stdio", "http"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.echo == "stdio":
        asyncio.run(_echo_over_stdio())
    elif given.echo == "http":
        _echo_over_http()
    else:
        with tempfile.TemporaryDirectory() as home:
            os.environ["XDG_CONFIG_HOME"] = os.path.join(home, "config")
            filled(home, given.memories)
            rows = asyncio.run(measured(home, given.rounds))
        title = f"MCP round trips, ms, {given.memories:,} memories"
        show(title, rows, as_json=given.json)


if __name__ == "__main__":
    main()
