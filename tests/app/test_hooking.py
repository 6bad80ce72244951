"""What hooks are told of settings: the user's own, whoever opens a project under others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app import installing
from holdfast.app.open import init
from holdfast.capture.disk import Disk
from holdfast.capture.place import CACHE, find
from holdfast.doors.resident.opening import claimed

DENIES = '[record]\ndeny_paths = ["prices.txt"]\n[hooks]\ndeadline_ms = 700\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project hooks know, of a user who denies something."""
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(DENIES)
    (tmp_path / "shop").mkdir()
    init(tmp_path / "shop").close()
    return tmp_path / "shop"


def said(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root.parent / "home" / CACHE).read_text())
    return found


def denied(root: Path) -> tuple[str, ...]:
    place = find(str(root.parent / "home" / CACHE), str(root), Disk())
    assert place is not None
    return place.deny_paths


def elsewhere(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root.parent / "elsewhere"))
    monkeypatch.setattr("sys.executable", "/another/python")


@pytest.mark.parametrize("way", ["open", "resident"])
def test_an_open_under_other_settings_leaves_what_holds_for_all_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    before, other = said(root), root.parent / "other"
    other.mkdir()
    (other / ".holdfast.toml").write_text('project_id = "other"\n')
    elsewhere(root, monkeypatch)
    for folder in (root, other):
        if way == "open":
            holdfast.open(path=folder).close()
        else:
            claimed(str(root.parent / "home"), str(folder))
    after = said(root)
    assert set(after.pop("projects")) == {str(root), str(other)}
    before.pop("projects")
    assert after == before
    assert "prices.txt" in denied(root)
    assert "prices.txt" in denied(other)


def test_an_open_under_the_same_settings_brings_them_up_to_date(root: Path) -> None:
    config = root.parent / "config" / "holdfast" / "config.toml"
    config.write_text(DENIES.replace("700", "900").replace("prices", "costs"))
    holdfast.open(path=root).close()
    assert said(root)["deadline_ms"] == 900
    assert said(root)["record"]["deny_paths"] == ["costs.txt"]


@pytest.mark.parametrize("way", ["init", "install"])
def test_whoever_installs_under_other_settings_means_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    elsewhere(root, monkeypatch)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root.parent / "claude"))
    if way == "init":
        init(root).close()
    else:
        installing.install(installing.Wish(path=str(root)))
    assert said(root)["config"][0].startswith(str(root.parent / "elsewhere"))
    assert said(root)["python"] == "/another/python"


@pytest.mark.parametrize("garbage", ["", "{", '{"config": 7}', '{"config": ["a"]}'])
def test_a_cache_that_says_nothing_is_written_anew(root: Path, garbage: str) -> None:
    (root.parent / "home" / CACHE).write_text(garbage)
    holdfast.open(path=root).close()
    assert said(root)["record"]["deny_paths"] == ["prices.txt"]
    assert str(root) in said(root)["projects"]
