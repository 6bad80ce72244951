"""The server over stdin and stdout: garbage, endings, silence on stdout, and `holdfast mcp` itself."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mcp")
import mcp_types as types

import holdfast
from holdfast.app import residents
from holdfast.app.open import locate
from holdfast.app.toolbox_token import checked, own_token, token_file
from holdfast.doors.mcp.stdio import LONGEST
from holdfast.doors.mcp.stdio import checked as checked_line
from holdfast.errors import Denied, Invalid
from tests.doors.test_cli import run  # noqa: F401  (a fixture)

RUN = "from holdfast.doors.cli import main; main()"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    with holdfast.open(tmp_path / "home", project="p") as hf:
        folder = hf.folder
    yield tmp_path
    residents.stop(folder)


class Server:
    """A server that runs beside the test, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._id = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        asked = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.send(json.dumps(asked).encode())
        answer = self.line()
        assert answer["id"] == self._id
        return answer

    def begin(self) -> None:
        client = {"name": "raw", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def decide(self) -> str:
        given = {"text": "Use cents."}
        answer = self.ask("tools/call", name="record_decision", arguments=given)
        return str(answer["result"]["structuredContent"]["session"])


def words(project: Path) -> list[str]:
    home = ["--project", "p", "--home", str(project / "home")]
    return [sys.executable, "-c", RUN, "mcp", *home]


@contextmanager
def serving(project: Path) -> Iterator[Server]:
    with subprocess.Popen(
        words(project), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def ended_because(project: Path, session: str) -> str | None:
    with holdfast.open(project / "home", project="p") as hf:
        return hf.status(session).state.info.ended_because


def test_garbage_is_answered_with_an_error_and_the_server_goes_on(project: Path) -> None:
    with serving(project) as server:
        for garbage, code in (
            (b"\xff\xfe garbage", types.PARSE_ERROR),
            (b'{"jsonrpc":"2.0"', types.PARSE_ERROR),
            (b"[" * 10_000, types.PARSE_ERROR),
            (b"[]", types.INVALID_REQUEST),
            (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', types.INVALID_REQUEST),
            (b" " * LONGEST + b"{}", types.INVALID_REQUEST),
        ):
            server.send(garbage)
            answer = server.line()
            assert (answer["id"], answer["error"]["code"]) == (None, code)
        server.send(b"  ")
        server.begin()
        assert server.ask("tools/list")["result"]["tools"]
        server.send(b"garbage again")
        assert server.line()["error"]["code"] == types.PARSE_ERROR
        assert server.ask("no/such")["error"]["code"] == types.METHOD_NOT_FOUND
        assert server.ask("ping")["result"] == {}
        out, err = server.process.communicate()
        assert (server.process.returncode, out) == (0, b"")
        assert b"Traceback" not in err


@given(st.binary(max_size=60))
def test_any_line_is_a_message_or_is_refused(line: bytes) -> None:
    found = checked_line(line)
    if isinstance(found, str):
        types.jsonrpc_message_adapter.validate_json(found, by_name=False)
    else:
        assert found.code in (types.PARSE_ERROR, types.INVALID_REQUEST)


def test_the_session_ends_when_stdin_does_or_a_signal_comes(project: Path) -> None:
    for number in (None, signal.SIGTERM, signal.SIGINT):
        with serving(project) as server:
            server.begin()
            session = server.decide()
            assert ended_because(project, session) is None
            if number is None:
                assert server.process.stdin is not None
                server.process.stdin.close()
            else:
                server.process.send_signal(number)
            assert server.process.wait() == 0
        assert ended_because(project, session) == "client left"


BETWEEN = """
import subprocess, sys
subprocess.Popen(sys.argv[1:])
sys.stdin.close()
import signal; signal.pause()
"""


def test_the_server_is_gone_when_its_parent_is_killed(project: Path) -> None:
    """Though somebody else still holds the other end of its stdin."""
    with subprocess.Popen(
        [sys.executable, "-c", BETWEEN, *words(project)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        server = Server(parent)
        server.begin()
        session = server.decide()
        parent.kill()
        assert parent.stdout is not None
        assert parent.stdout.read() == b""  # ends when the last of them has
    assert ended_because(project, session) == "client left"


def test_nothing_but_the_protocol_is_on_stdout(project: Path) -> None:
    """Whatever the project has to say, and whatever is printed by mistake, goes to stderr."""
    (project / "home" / "contexts").mkdir()  # a format that is not read any more is warned of
    noisy = f"import warnings; warnings.simplefilter('always'); {RUN.replace('main()', '')}"
    chatty = (
        "import holdfast.app.toolbox as t, os; own = t.Toolbox.__init__\n"
        "def init(self, *a, **k):\n"
        "    print('noise', flush=True); os.system('echo noise; cat'); own(self, *a, **k)\n"
        "t.Toolbox.__init__ = init; main()"
    )
    alone = "import holdfast.app.toolbox_away as away; away._COMES = 0  # no resident is waited for"
    command = [sys.executable, "-c", f"{noisy}\n{alone}\n{chatty}", *words(project)[3:]]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        server = Server(process)
        server.begin()
        assert server.decide()
        out, err = process.communicate()
    assert out == b""
    assert err.count(b"noise") == 2
    assert b"format 1" in err


# ---- the command -----------------------------------------------------------------------------


def test_without_the_package_the_command_says_how_to_get_it(
    run: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mcp", "mcp_types")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("holdfast.doors.mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    ran = run("mcp")
    assert ran.code == 8
    assert "pip install 'holdfast[mcp]'" in ran.err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--port", "8000"), "--http"),
        (("--http", "--bind", "0.0.0.0"), "HOLDFAST_TOKEN"),
        (("--http", "--bind", "::"), "HOLDFAST_TOKEN"),
        (("--http", "--token", "short"), "16 to"),
        (("--http", "--token", "with a space in it, long"), "16 to"),
        (("--http", "--port", "99999"), "--port"),
        (("--http", "--allow-host", "bücher.example"), "--allow-host"),
        (("--agent", ""), "--agent needs a name"),
        (("--session", " "), "--session needs a name"),
    ],
)
def test_what_cannot_be_served_is_said(run: Any, given: tuple[str, ...], says: str) -> None:  # noqa: F811
    run("init")
    ran = run("mcp", *given)
    assert ran.code in (2, 8)
    assert says in ran.err
    assert ran.out == ""


def test_a_token_is_made_once_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    chosen = locate(tmp_path / "home", "p")[1]
    token = own_token(chosen)
    assert checked(token) == own_token(chosen) == token
    path = Path(token_file(chosen))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(Denied, match="chmod 600"):
        own_token(chosen)
    path.chmod(0o600)
    path.write_text("x")
    with pytest.raises(Invalid):
        own_token(chosen)
    path.unlink()
    assert own_token(chosen) != token


def test_over_http_it_says_where_and_stops_in_order(project: Path) -> None:
    home = {**os.environ, "HOLDFAST_TOKEN": "a-token-nobody-guesses"}
    with subprocess.Popen(
        [*words(project), "--http"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        assert said.startswith("Listening at http://127.0.0.1:")
        assert b"$HOLDFAST_TOKEN" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    assert (process.returncode, out) == (0, b"")
    assert b"a-token-nobody-guesses" not in err
