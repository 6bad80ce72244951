"""Settings that cannot hold together are refused wherever they are said, and only these."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.app import doctor
from holdfast.capture.place import CACHE
from holdfast.compact.pressure import hosted
from holdfast.doors import hooks
from holdfast.engines.files import FileLog
from holdfast.errors import Invalid
from holdfast.manager import ContextManager
from holdfast.model.compact import CompactSettings, ItemSettings
from holdfast.model.contradictions import contradiction
from holdfast.model.events import Event
from holdfast.settings import config_file, load
from tests.doors.residents import LONG, Project, project

SCRIPT = Path(hooks.__file__).parent / "claude_capture.py"
WRONG = [
    ("compact", {"compact_at": 0.9}, ("compact_at = 0.9", "most = 0.85")),
    ("compact", {"compact_at": 0}, ("compact_at = 0", "above 0")),
    ("compact", {"most": 0.3}, ("compact_at = 0.5", "most = 0.3")),
    ("compact", {"keep": 0.2, "drop": 0.6}, ("drop = 0.6", "keep = 0.2")),
    ("compact", {"drop": 0.8}, ("drop = 0.8", "keep = 0.7")),
    ("compact", {"keep": 0.1}, ("drop = 0.3", "keep = 0.1")),
    ("compact", {"compact_to": 0.9}, ("compact_to = 0.9", "compact_at = 0.5")),
    ("compact", {"compact_to": 0.5}, ("compact_to = 0.5", "compact_at = 0.5")),
    ("items", {"hot": 0.3, "warm": 0.6}, ("warm = 0.6", "hot = 0.3")),
]
MEANT: list[tuple[str, dict[str, Any]]] = [
    ("compact", {"compact_at": 0.05}),
    ("compact", {"compact_at": 0.85}),
    ("compact", {"compact_at": 0.9, "most": 1.0}),
    ("compact", {"flash_at": 0.4}),
    ("compact", {"flash_at": 0.95, "most": 0.51}),
    ("compact", {"flash_tokens": 100}),
    ("compact", {"curate_at": 0.9}),
    ("compact", {"curate_at": 0}),
    ("compact", {"keep": 0.5, "drop": 0.5}),
    ("compact", {"keep": 1, "drop": 1}),
    ("compact", {"keep": 0, "drop": 0}),
    ("compact", {"compact_to": 0}),
    ("compact", {"compact_at": 0.2, "compact_to": 0.19}),
    ("items", {"hot": 0.5, "warm": 0.5}),
    ("items", {"hot": 0, "warm": 0}),
]
#: as arguments and in a file of knobs, with the knobs a message names
KNOBS = [
    ({"COMPACTION_TRIGGER_PCT": 0.95}, ("COMPACTION_TRIGGER_PCT", "MAX_CONTEXT_PCT")),
    ({"COMPACTION_TRIGGER_PCT": 0}, ("COMPACTION_TRIGGER_PCT",)),
    ({"MAX_CONTEXT_PCT": 0.3}, ("COMPACTION_TRIGGER_PCT", "MAX_CONTEXT_PCT")),
    ({"RELEVANCE_CUTOFF": 0.8}, ("RELEVANCE_CUTOFF", "THRESHOLD_KEEP")),
    ({"THRESHOLD_KEEP": 0.1}, ("RELEVANCE_CUTOFF", "THRESHOLD_KEEP")),
    ({"COMPACTION_TARGET_PCT": 0.6}, ("COMPACTION_TARGET_PCT", "COMPACTION_TRIGGER_PCT")),
]


def configured(table: str, said: Mapping[str, Any]) -> Path:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"[{table}]", *(f"{k} = {v}" for k, v in said.items())]) + "\n")
    return path


def knobs_file(path: Path, said: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{k}: {v}\n" for k, v in said.items()))
    return path


def users_knobs(said: Mapping[str, Any]) -> Path:
    return knobs_file(config_file().parent / "context-config.yaml", said)


# ---- the user's own settings -----------------------------------------------------------------------


@pytest.mark.parametrize(("table", "said", "told"), WRONG)
def test_a_contradiction_in_a_file_is_refused_by_its_names(
    table: str, said: dict[str, Any], told: tuple[str, ...]
) -> None:
    path = configured(table, said)
    with pytest.raises(Invalid) as caught:
        load()
    assert str(caught.value).startswith(f"{path}: {table}.")
    assert all(one in str(caught.value) for one in told)


@pytest.mark.parametrize(("table", "said"), MEANT)
def test_what_is_meaningful_is_taken(table: str, said: dict[str, Any]) -> None:
    configured(table, said)
    found = getattr(load(), table)
    assert {name: getattr(found, name) for name in said} == said


def test_two_files_that_contradict_each_other_are_both_named() -> None:
    path, other = configured("compact", {"drop": 0.5}), users_knobs({"THRESHOLD_KEEP": 0.4})
    with pytest.raises(Invalid) as caught:
        load()
    assert str(caught.value).startswith(f"{path} and {other}: compact.drop = 0.5")
    users_knobs({"THRESHOLD_KEEP": 0.6})
    assert load().compact.keep == 0.6


def test_a_file_that_mends_what_another_says_is_taken() -> None:
    configured("compact", {"compact_at": 0.9})
    users_knobs({"MAX_CONTEXT_PCT": 0.95})
    assert load().compact.compact_at == 0.9


# ---- knobs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "told"), KNOBS)
@pytest.mark.parametrize("way", ["argument", "file", "users"])
def test_knobs_are_refused_alike_wherever_they_are_said(
    tmp_path: Path, said: dict[str, Any], told: tuple[str, ...], way: str
) -> None:
    given, where = dict(said), "ContextManager: "
    if way == "users":
        given, where = {}, f"{users_knobs(said)}: "
    elif way == "file":
        path = knobs_file(tmp_path / "my.yaml", said)
        given, where = {"config_path": path}, f"ContextManager, {path}: "
    with pytest.raises(Invalid) as caught:
        ContextManager(tmp_path / "m", **given)
    assert str(caught.value).startswith(where)
    assert all(one in str(caught.value) for one in told)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.82, 0.85])
def test_a_host_compacts_at_any_share_up_to_the_most(tmp_path: Path, share: float) -> None:
    ctx = ContextManager(tmp_path / "m", COMPACTION_TRIGGER_PCT=share)
    assert ctx.config["COMPACTION_TRIGGER_PCT"] == share
    ctx.session_end()


@given(st.floats(0.01, 0.85))
def test_what_a_host_holds_contradicts_nothing(share: float) -> None:
    assert contradiction(hosted(CompactSettings(), share)) is None
    assert contradiction(replace(CompactSettings(), keep=1.0, drop=1.0), ItemSettings()) is None


# ---- whoever meets it ------------------------------------------------------------------------------


def test_the_doctor_says_what_contradicts() -> None:
    path = configured("compact", {"compact_at": 0.9})
    (found,) = [one for one in doctor.examine() if one.check == "settings"]
    assert not found.good
    assert str(path) in found.found


def met(made: Project, prompt: str) -> list[object]:
    """What a hook and a resident make of the settings: how they end, what is printed and recorded."""
    words = {"session_id": "s1", "cwd": str(made.root), "hook_event_name": "UserPromptSubmit"}
    hook = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, made.home / CACHE],
        input=json.dumps({**words, "prompt": prompt}).encode(),
        capture_output=True,
    )
    child = made.start()
    code = child.wait(LONG)
    log = FileLog(made.folder)
    recorded = [one.words for one in log.read() if isinstance(one, Event)]
    log.close()
    return [hook.returncode, hook.stdout, hook.stderr, code, prompt in recorded]


def test_hooks_and_residents_take_it_like_any_other_mistake(tmp_path: Path) -> None:
    with project(tmp_path) as made:
        configured("log", {"mode": "7"})
        usual = met(made, "which port is it?")
        configured("compact", {"compact_at": 0.9})
        assert met(made, "which host is it?") == usual
