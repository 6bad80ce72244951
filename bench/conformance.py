"""Does the MCP server pass the public conformance suite? `python -m bench.conformance TOOL… [--json]`

    python -m bench.conformance npx @modelcontextprotocol/conformance

TOOL is the command that starts the suite, which must be installed. The suite cannot show a token, so a
proxy in this process adds it; host and origin are checked as ever. Most scenarios call tools of a test
server that exists for the suite alone (`test_simple_text`, …) and say nothing about any other server:
those that apply to every server are run, each by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn

import holdfast
from bench.report import show
from holdfast.app.toolbox_desk import Desk
from holdfast.doors.mcp.guard import PATH, App, Receive, Scope, Send
from holdfast.doors.mcp.http import Address, application, listen

#: what any server must pass, whatever its tools are called
APPLY = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
_TOKEN = "shown-by-the-proxy"


def with_token(app: App) -> App:
    """The same server for a client that has no way to show a token."""

    async def shown(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            said = [*scope["headers"], (b"authorization", b"Bearer " + _TOKEN.encode())]
            scope = {**scope, "headers": said}
        await app(scope, receive, send)

    return shown


@contextmanager
def served(home: str) -> Iterator[str]:
    """A server of a project with a little in it; its address."""
    desk = Desk(lambda: holdfast.open(home, project="conformance", user="ana"))
    bound = listen(Address())
    hosts = Address().hosts(bound.getsockname()[1])
    made = application(desk, hosts=hosts, token=_TOKEN)
    settings = uvicorn.Config(with_token(made.app), http="h11", ws="none", log_config=None)
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])))
    thread.start()
    try:
        yield f"http://{hosts[1]}{PATH}"
    finally:
        server.should_exit = True
        thread.join()
        desk.close()


def run(tool: list[str], url: str, scenario: str) -> dict[str, Any]:
    """One scenario: the checks it passed, of how many."""
    ran = subprocess.run(
        [*tool, "server", "--url", url, "--scenario", scenario],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = re.sub(r"\x1b\[[0-9;]*m", "", ran.stdout + ran.stderr)
    counted = re.search(r"Passed: (\d+)/(\d+)", said)
    passed, checks = (int(n) for n in counted.groups()) if counted else (0, 0)
    if not checks:
        print(f"{scenario} ran no check: {_last_words(said)}", file=sys.stderr)
    return {"what": scenario, "passed": passed, "checks": checks, "exit": ran.returncode}


def _last_words(said: str) -> str:
    """What the suite said for itself, where that is why nothing ran."""
    told = [line.strip() for line in said.splitlines() if line.strip()]
    why = [line for line in told if re.search(r"error|unsupported|require|node", line, re.I)]
    return " / ".join((why or told)[-3:])[:500] or "it said nothing; is its Node new enough?"


def failed(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Did a scenario run nothing, or not pass all of what it ran?"""
    return any(not row["checks"] or row["passed"] < row["checks"] for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs="+", help="the command that starts the suite")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, served(home) as url:
        rows = [run(given.tool, url, scenario) for scenario in APPLY]
    show("MCP conformance, scenarios that apply to any server", rows, as_json=given.json)
    return int(failed(rows))


if __name__ == "__main__":
    sys.exit(main())
