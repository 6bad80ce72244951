"""The page about hooks is executed: its lines are run in a project's folder, by the program itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import holdfast
from holdfast.app.open import init
from holdfast.doors.hooks import any_host

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hooks.md").read_text("utf-8")


def test_the_lines_of_the_page_about_hooks_run(tmp_path: Path) -> None:
    init(tmp_path, tmp_path / "home").close()
    cache = tmp_path / "home" / "hooks.json"
    cache.write_text(cache.read_text("utf-8").replace(sys.executable, "nobody"), "utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    where = {**os.environ, "HOLDFAST_HOME": str(tmp_path / "home")}
    program = f"holdfast() {{ '{sys.executable}' -m holdfast \"$@\"; }}\n"
    done = subprocess.run(
        ["sh", "-ec", program + block], cwd=tmp_path, env=where, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    with holdfast.open(tmp_path / "home", path=tmp_path) as hf:
        told = [(e.kind, e.trust) for e in hf.events(session_id="42") if e.agent == "codex"]
    assert told == [
        ("user_message", 3),
        ("model_message", 2),
        ("tool_call", 2),
        ("tool_result", 1),
        ("session_ended", 2),
    ]


def test_the_page_names_every_verb() -> None:
    assert set(re.findall(r"^\| `([a-z_-]+)` \|", PAGE, re.MULTILINE)) == set(any_host.VERBS)
