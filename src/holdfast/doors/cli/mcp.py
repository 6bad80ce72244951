"""`holdfast mcp`: this project's memory for any host that speaks the Model Context Protocol."""

from __future__ import annotations

import logging
import sys
import warnings
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

import holdfast
from holdfast.app.open import locate, must_exist
from holdfast.app.toolbox_away import at_the_resident
from holdfast.app.toolbox_desk import Caller, Desk
from holdfast.app.toolbox_token import checked, own_token, token_file
from holdfast.errors import Invalid, Unavailable

from . import show
from .program import DEFAULT, Common, app

_NEEDED = ("mcp", "mcp_types", "uvicorn", "starlette", "anyio")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Http:
    """How to serve over HTTP."""

    http: Annotated[bool, Parameter(help="Over HTTP instead of stdin and stdout.", negative=())] = (
        False
    )
    bind: Annotated[
        str | None,
        Parameter(help="The address to listen at. Default: 127.0.0.1; another needs a token."),
    ] = None
    port: Annotated[int, Parameter(help="The port; 0 for any that is free.")] = 0
    allow_host: Annotated[
        tuple[str, ...],
        Parameter(
            help="Another Host clients may send, as NAME or NAME:PORT; give it again.", negative=()
        ),
    ] = ()
    token: Annotated[
        str | None,
        Parameter(
            env_var="HOLDFAST_TOKEN",
            help="What clients must show. Better in HOLDFAST_TOKEN: others on this machine see "
            "command lines. Default: one that is made once and kept with your keys.",
        ),
    ] = None


NO_HTTP = Http()


@app.command
def mcp(
    *,
    session: str | None = None,
    agent: str | None = None,
    compat: Annotated[bool, Parameter(negative=())] = False,
    http: Http = NO_HTTP,
    common: Common = DEFAULT,
) -> int:
    """Serve this project's memory to a model host, over stdin and stdout or over HTTP.

    Each client gets a session of its own, which begins with its first call and ends when it leaves. The
    project is kept open by its resident process, which all clients share.

    Parameters
    ----------
    session
        Join this session instead of beginning one.
    agent
        In the name of this agent. Default: mcp/ and the name the client declares of itself.
    compat
        Offer the nine tools of the reference memory server instead.
    """
    for name, given in (("--agent", agent), ("--session", session)):
        if given is not None and not given.strip():
            raise Invalid(f"{name} needs a name; leave it out for the default")
    _protocol_is_there()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    desk = Desk(lambda: _opened(common), agent=agent, session_id=session, compat=compat)
    how = {"agent": agent, "session_id": session, "compat": compat}
    if http.http:
        try:
            caller = _caller(desk, how, common, lives=False)
            _serve_http(desk, caller, http, common, compat=compat)
        finally:
            desk.close()
        return 0
    if (http.bind, http.port, http.allow_host) != (None, 0, ()):
        raise Invalid("--bind, --port and --allow-host are for --http")
    from holdfast.doors.mcp import stdio

    stdio.serve(_caller(desk, how, common, lives=True), desk.close, compat=compat)
    return 0


def _caller(desk: Desk, how: dict[str, Any], common: Common, *, lives: bool) -> Caller:
    """Whoever answers: the project's resident, or this process where there can be none."""
    return at_the_resident(
        desk, how, common.home, common.project, lives=lives, version=holdfast.__version__
    )


def _protocol_is_there() -> None:
    try:
        import holdfast.doors.mcp.server  # noqa: F401  (to see whether it can be)
    except ImportError as exc:
        if (exc.name or "").partition(".")[0] not in _NEEDED:
            raise
        raise Unavailable(f"{exc.name} is not installed; run: pip install 'holdfast[mcp]'") from exc


def _opened(common: Common) -> holdfast.Holdfast:
    """The project that is meant; what a person should know about it goes to stderr."""
    if common.project is not None:
        must_exist(common.home, common.project)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notices
        hf = holdfast.open(common.home, project=common.project)
    for notice in hf.notices:
        show.warn(notice)
    return hf


def _serve_http(desk: Desk, caller: Caller, http: Http, common: Common, *, compat: bool) -> None:
    from holdfast.doors.mcp import http as door

    address = door.Address(bind=http.bind or "127.0.0.1", port=http.port, allowed=http.allow_host)
    if http.token is None and not address.loopback:
        raise Invalid(
            f"--bind {http.bind} lets others in, so set HOLDFAST_TOKEN to a token of yours"
        )
    chosen = locate(common.home, common.project)[1]
    token = own_token(chosen) if http.token is None else checked(http.token)
    where = "$HOLDFAST_TOKEN" if http.token is not None else f"$(cat {token_file(chosen)})"

    def listening(url: str) -> None:
        show.warn(f"Listening at {url}")
        show.warn(f'Clients send the header "Authorization: Bearer {where}"')

    door.serve(
        caller, address=address, token=token, listening=listening, sweep=desk.sweep, compat=compat
    )
