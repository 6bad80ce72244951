"""Every step of a host pays for what its hook imports: capture, hooks, and little of Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.doors import hooks
from tests.capture.test_imports import HEAVY

SCRIPTS = Path(hooks.__file__).parent
#: what only an answer, a long text or a changed settings file may bring along
SELDOM = [
    "socket",
    "selectors",
    "hashlib",
    "tomllib",
    "pwd",
    "shutil",
    "struct",
    "traceback",
    "warnings",
]
#: a script ends with os._exit, so what it loaded is said by what it ends with
_TELLS = """
import json, os, sys
before = set(sys.modules)
def leave(status):
    os.write(2, json.dumps(sorted(set(sys.modules) - before)).encode())
    real(status)
real, os._exit = os._exit, leave
sys.argv = sys.argv[1:]
script = sys.argv[0]
exec(compile(open(script).read(), script, "exec"), {"__name__": "__main__", "__file__": script})
"""
SAID = {
    "hook_event_name": "PostToolUse",
    "session_id": "s1",
    "tool_name": "Bash",
    "tool_input": {"command": "make check"},
    "tool_response": {"stdout": "ok"},
}


def loaded(script: str, folder: Path, **said: object) -> list[str]:
    """The modules a script has loaded when it leaves, in a project that nobody has opened yet."""
    (folder / "project" / ".git").mkdir(parents=True, exist_ok=True)
    told = json.dumps({**SAID, "cwd": str(folder / "project"), **said})
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _TELLS,
            SCRIPTS / script,
            folder / "home" / "hooks.json",
        ],
        input=told,
        env={"USER": "ana"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    found: list[str] = json.loads(done.stderr)
    return found


@pytest.mark.parametrize("script", ["claude_capture.py", "claude_inject.py"])
def test_a_hook_knows_capture_and_hooks_and_nothing_else_of_ours(
    tmp_path: Path, script: str
) -> None:
    ours = [name for name in loaded(script, tmp_path) if name.startswith("holdfast.")]
    allowed = ("holdfast.capture", "holdfast.doors.hooks")
    assert "holdfast.capture.catch" in ours
    assert [n for n in ours if n != "holdfast.doors" and not n.startswith(allowed)] == []


def test_recording_a_step_brings_nothing_heavy_along(tmp_path: Path) -> None:
    modules = loaded("claude_capture.py", tmp_path)
    assert list((tmp_path / "home" / "unclaimed").glob("*/spool/*")) != [], "it was recorded"
    assert [name for name in (*HEAVY, *SELDOM) if name in modules] == [], modules


def known(folder: Path) -> Path:
    """A project the cache knows; where its log lies."""
    root, home = folder / "project", folder / "home"
    root.mkdir()
    marker = root / ".holdfast.toml"
    marker.write_text('project_id = "p"\n')
    seen = marker.stat()
    entry = {"id": "p", "stamp": [seen.st_mtime_ns, seen.st_size], "deny_paths": []}
    log = home / "contexts-v2" / "p"
    log.mkdir(parents=True)
    (home / "hooks.json").write_text(json.dumps({"v": 1, "projects": {str(root): entry}}))
    return log


def test_recording_in_a_project_the_cache_knows_brings_nothing_heavy_along(tmp_path: Path) -> None:
    log = known(tmp_path)
    modules = loaded("claude_capture.py", tmp_path)
    assert (log / "events.ndjson").stat().st_size > 0
    assert [name for name in (*HEAVY, *SELDOM) if name in modules] == [], modules


def test_asking_brings_a_socket_along_and_nothing_else_heavy(tmp_path: Path) -> None:
    known(tmp_path)
    modules = loaded("claude_inject.py", tmp_path, hook_event_name="UserPromptSubmit", prompt="hi")
    assert "socket" in modules
    allowed = {"socket", "selectors", "struct"}
    heavy = [name for name in (*HEAVY, *SELDOM) if name in modules and name not in allowed]
    assert heavy == [], modules
