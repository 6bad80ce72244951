"""Argument over environment over repository over user file over default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import Invalid
from holdfast.settings import load


def test_an_explicit_home_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", "/from/environment")
    assert load("/explicit").home == "/explicit"
    assert load().home == "/from/environment"


def user_file(text: str) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_repository_adds_files_that_are_never_recorded_and_takes_none_off(tmp_path: Path) -> None:
    user_file("[log]\nwindow_ms = 20\n[record]\ndeny_paths = ['*.private']\n")
    for said, denied in (("[]", ("*.private",)), ("['*.mine']", ("*.private", "*.mine"))):
        (tmp_path / ".holdfast.toml").write_text(f"[record]\ndeny_paths = {said}\n")
        chosen = load(root=tmp_path)
        assert chosen.record.deny_paths == denied
        assert chosen.log.window_ms == 20


@pytest.mark.parametrize(
    "text",
    [
        "[log]\nsegment_bytes = -1\n",
        "[log]\nwindow_ms = 100000000000000\n",
        "[log]\nlock_timeout = nan\n",
        "[record]\ndepth = 5000\n",
        "[recrod]\ndepth = 5\n",
    ],
)
def test_a_value_out_of_bounds_or_a_misspelt_table_is_refused(text: str) -> None:
    user_file(text)
    with pytest.raises(Invalid, match=r"config\.toml"):
        load()


def test_a_url_is_not_a_home() -> None:
    with pytest.raises(Invalid, match="folder"):
        load("postgresql://localhost/db")


@pytest.mark.parametrize(
    "text",
    [
        "[log]\nmode = 'batched'\n",
        "[log]\nsegment_bytes = 1\n",
        "[record]\ndepth = 9999\n",
        "[log]\nmode = 'x'\n",
        "log = 3\n",
    ],
)
def test_a_repository_cannot_say_what_is_not_its_business(tmp_path: Path, text: str) -> None:
    (tmp_path / ".holdfast.toml").write_text(text)
    with pytest.raises(Invalid, match=r"holdfast\.toml"):
        load(root=tmp_path)


def test_a_misspelt_setting_is_named_with_what_there_is(tmp_path: Path) -> None:
    user_file("[log]\nmod = 'durable'\n")
    with pytest.raises(Invalid, match=r"log\.mod .*mode"):
        load()


def test_keys_are_kept_outside_the_home(tmp_path: Path) -> None:
    chosen = load(tmp_path / "home")
    assert not chosen.keys.startswith(chosen.home)
