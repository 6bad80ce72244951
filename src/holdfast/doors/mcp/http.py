"""Over HTTP: many clients, each with its own session, on the loopback unless it is told otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import anyio.to_thread
import msgspec
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from holdfast.app.toolbox_desk import LEAVE, Caller
from holdfast.capture.stamp import fresh_id
from holdfast.errors import HoldfastError, Invalid, Unavailable

from . import server as door
from .governor import SESSION, Governor
from .guard import PATH, App, Guard, Scope
from .lines import lines

_SWEEP_SECONDS = 60.0
_BACKLOG = 64
_MOST_KNOWN = 1_000
_log = logging.getLogger("holdfast.mcp")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one server takes on."""

    sessions: int = 32
    #: a session nobody used for so long is closed
    idle_seconds: float = 1_800
    body_bytes: int = 2 << 20
    body_seconds: float = 30.0
    #: requests at once of clients with the token, streams that wait included
    requests: int = 128
    #: a connection has so long for the head of its request
    head_seconds: float = 10.0
    #: connections that wait for that at once; the one that waits longest makes room
    waiting: int = 256


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where to listen, and under which names clients may call."""

    bind: str = "127.0.0.1"
    port: int = 0
    allowed: tuple[str, ...] = ()

    @property
    def loopback(self) -> bool:
        """Nobody but this machine can reach it."""
        try:
            return ipaddress.ip_address(self.bind).is_loopback
        except ValueError:
            return self.bind == "localhost"

    def hosts(self, port: int) -> list[str]:
        """The Host headers that are taken, each whole; the first is where it is."""
        for name in self.allowed:
            if not name or not all("!" <= sign <= "~" for sign in name):
                raise Invalid(
                    f"--allow-host {name!r} is no Host header: write NAME or NAME:PORT in letters of "
                    "ASCII; an international name in its xn-- form"
                )
        names = [_named(self.bind)]
        if self.loopback:
            names = list(dict.fromkeys([*names, "127.0.0.1", "localhost", "[::1]"]))
        return [*(f"{name}:{port}" for name in names), *self.allowed]


def _named(bind: str) -> str:
    return f"[{bind}]" if ":" in bind else bind


def listen(address: Address) -> socket.socket:
    """The socket, bound: with port 0 the system chooses, and the socket knows."""
    family = socket.AF_INET6 if ":" in address.bind else socket.AF_INET
    # named as TCP, or asyncio leaves small packets waiting for the client's acknowledgement
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address.bind, address.port))
        made.listen(_BACKLOG)
    except (OSError, OverflowError) as exc:
        made.close()
        raise Unavailable(
            f"{address.bind} port {address.port} cannot be used: {exc}; choose another --port"
        ) from exc
    made.setblocking(False)
    return made


class Clients:
    """The keys of those who are served here: like those of no other server of the same caller."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._here = fresh_id("srv")
        self._known: dict[str, None] = {}

    def key(self, ctx: door.Context) -> str:
        """A session of the protocol; where it has none nobody can tell who calls, so calls are alone."""
        session = ctx.request.headers.get(SESSION) if ctx.request is not None else None
        key = f"{self._here}/session/{session}" if session else fresh_id(f"{self._here}/call/")
        self._known[key] = self._known.pop(key, None)
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return key

    async def left(self, session: str) -> None:
        """A session of the protocol has ended."""
        await anyio.to_thread.run_sync(self._leave, f"{self._here}/session/{session}")

    def answered(self, key: str) -> None:
        """A call was answered: whoever called without a session has left with that."""
        if key.startswith(f"{self._here}/call/"):
            self._leave(key)

    def leave(self) -> None:
        """Everybody leaves."""
        for key in list(self._known):
            self._leave(key)

    def _leave(self, key: str) -> None:
        self._known.pop(key, None)
        try:
            self._caller(LEAVE, {"client": key})
        except HoldfastError as exc:
            _log.warning("a session could not be ended: %s", exc)


class Application(msgspec.Struct, frozen=True):
    """A server that is ready: what answers, what is to be swept now and then, and who is served."""

    app: App
    governor: Governor
    clients: Clients


def application(
    caller: Caller,
    *,
    hosts: Sequence[str],
    token: str,
    limits: Limits | None = None,
    compat: bool = False,
) -> Application:
    """The server behind its governor behind its guard."""
    bounds = limits or Limits()
    clients = Clients(caller)
    security = TransportSecuritySettings(
        allowed_hosts=list(hosts),
        allowed_origins=[f"{scheme}://{one}" for one in hosts for scheme in ("http", "https")],
    )
    inner = door.build(
        caller, clients.key, answered=clients.answered, compat=compat
    ).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        max_request_body_size=bounds.body_bytes,
        session_idle_timeout=bounds.idle_seconds,
        max_sessions=bounds.sessions
        * 2,  # the governor's word is the first; this one only bounds it
        transport_security=security,
    )
    governor = Governor(
        inner, most=bounds.sessions, idle_seconds=bounds.idle_seconds, left=clients.left
    )
    guard = Guard(
        governor,
        hosts=hosts,
        token=token,
        most_bytes=bounds.body_bytes,
        body_seconds=bounds.body_seconds,
        most_requests=bounds.requests,
    )
    return Application(guard, governor, clients)


def serve(
    caller: Caller,
    *,
    address: Address,
    token: str,
    listening: Callable[[str], None],
    sweep: Callable[[], None],
    limits: Limits | None = None,
    compat: bool = False,
) -> None:
    """Serve until a signal says so; `listening` is told where, `sweep` is called now and then."""
    if not address.loopback and not token:
        raise Invalid("a server that others can reach needs a token")
    bounds = limits or Limits()
    address.hosts(address.port)  # what is wrong with them is said before anything is bound
    bound = listen(address)
    port = bound.getsockname()[1]
    hosts = address.hosts(port)
    made = application(caller, hosts=hosts, token=token, limits=bounds, compat=compat)
    settings = uvicorn.Config(
        made.app,
        http=lines(bounds.head_seconds, bounds.waiting),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(settings)
    with _ended_in_order(server):
        listening(f"http://{hosts[0]}{PATH}")
        asyncio.run(_run(server, bound, made.governor, sweep, hosts[0]))
        made.clients.leave()


@contextmanager
def _ended_in_order(server: uvicorn.Server) -> Iterator[None]:
    """uvicorn stops at a signal and raises it again when it has; sessions are still to be ended then."""

    def stop(*_: object) -> None:
        server.should_exit = True

    here = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if here else ()
    kept = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


async def _run(
    server: uvicorn.Server,
    bound: socket.socket,
    governor: Governor,
    sweep: Callable[[], None],
    host: str,
) -> None:
    async def sweeping() -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            await governor.sweep(_scope(host))
            await anyio.to_thread.run_sync(sweep)

    task = asyncio.create_task(sweeping())
    try:
        await server.serve(sockets=[bound])
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _scope(host: str) -> Scope:
    """A request of our own."""
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "DELETE",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", host.encode("latin-1"))],
        "server": None,
        "client": None,
    }
    return scope
