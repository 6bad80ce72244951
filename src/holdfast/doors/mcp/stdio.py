"""Over stdio: one client, which started this process and ends it by closing its end.

Nothing but the protocol goes to the real stdout: while serving, descriptor 1 is stderr and descriptor 0
is empty, for this process and its children.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from holdfast.app.toolbox_desk import LEAVE, Caller
from holdfast.capture.stamp import fresh_id
from holdfast.errors import HoldfastError

from . import server as door

#: the longest message of a client, in bytes
LONGEST = 4 << 20
_PIECE = 1 << 16
_WATCH_SECONDS = 1.0
_log = logging.getLogger("holdfast.mcp")


def serve(caller: Caller, close: Callable[[], None], *, compat: bool = False) -> None:
    """Serve until stdin ends, the parent is gone, or a signal says so; then `close`."""
    client = fresh_id("cli")  # like that of no other process: one caller may serve several

    def leave() -> None:
        try:
            caller(LEAVE, {"client": client})
        except HoldfastError as exc:
            _log.warning("the session could not be ended: %s", exc)
        finally:
            close()

    try:
        asyncio.run(_serve(door.build(caller, lambda _: client, compat=compat), leave))
    finally:
        leave()


async def _serve(server: Server[Any], leave: Callable[[], None]) -> None:
    lines = Lines(_own_stdin(), asyncio.get_running_loop())
    leaving = asyncio.create_task(_leave_when_told(leave))
    # a Lines is all that is asked of a file here: it gives lines
    async with stdio_server(stdin=cast("Any", lines)) as (incoming, outgoing):

        async def refuse(said: types.ErrorData) -> None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=said)
                await outgoing.send(SessionMessage(answer))

        lines.refuse = refuse
        await server.run(incoming, outgoing, server.create_initialization_options())
    leaving.cancel()


def _own_stdin() -> int:
    """The client's end under another number, so that no child process reads from it."""
    kept = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return kept


class Lines:
    """Lines of a descriptor, read in a thread that nobody waits for.

    A line that is no JSON object or is too long is answered with an error and dropped.
    """

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._found: asyncio.Queue[str | types.ErrorData | None] = asyncio.Queue(maxsize=16)
        self.refuse: Callable[[types.ErrorData], Awaitable[None]] | None = None
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (found := await self._found.get()) is not None:
            if isinstance(found, str):
                yield found
            elif self.refuse is not None:
                await self.refuse(found)

    def _read(self) -> None:
        rest, skipping = b"", False
        while piece := self._piece():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if skipping:
                    skipping = False
                elif line.strip():
                    self._put(checked(line))
            if len(rest) > LONGEST:
                if not skipping:
                    self._put(_refused(types.INVALID_REQUEST, _TOO_LONG))
                rest, skipping = b"", True
        if rest.strip() and not skipping:
            self._put(checked(rest))
        self._put(None)

    def _piece(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError:  # the other end is gone, however it went
            return b""

    def _put(self, item: str | types.ErrorData | None) -> None:
        with suppress(RuntimeError):  # the loop has ended; so has everything
            asyncio.run_coroutine_threadsafe(self._found.put(item), self._loop).result()


_TOO_LONG = f"a message is at most {LONGEST:,} bytes long"


def checked(line: bytes) -> str | types.ErrorData:
    """A line that is a message, or what is wrong with it."""
    if len(line) > LONGEST:
        return _refused(types.INVALID_REQUEST, _TOO_LONG)
    text = line.decode("utf-8", "replace")
    try:
        types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError as exc:
        broken = any(one["type"] == "json_invalid" for one in getattr(exc, "errors", list)())
        if broken:
            return _refused(types.PARSE_ERROR, "this line is not JSON")
        return _refused(types.INVALID_REQUEST, "this line is not a message of JSON-RPC 2.0")
    return text


def _refused(code: int, why: str) -> types.ErrorData:
    return types.ErrorData(code=code, message=why)


async def _leave_when_told(leave: Callable[[], None]) -> None:
    """Leave when the parent is gone or a signal comes; whatever is under way is in the log or is not."""
    parent = os.getppid()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    while os.getppid() == parent and not told.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(told.wait(), _WATCH_SECONDS)
    await asyncio.to_thread(leave)
    sys.stderr.flush()
    os._exit(0)  # a thread may wait for a client that never reads; nothing is left to lose
