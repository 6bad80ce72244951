"""An embedder that fails costs meaning, never an answer; and it is said."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

import holdfast
from tests.embedders.server import serving, status, stops_half_way
from tests.recall.replays import Ticking, ids

Holdfast = holdfast.Holdfast


def configured(url: str) -> None:
    """Settings that name an endpoint; it is not left alone after a failure, and not asked again."""
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'[embed]\nembedder = "openai"\nurl = "{url}"\nrest_s = 0\nretries = 0\n'
        "timeout_s = 5\nquery_timeout_s = 5\n"
    )


def closed_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/v1"


def spoken(hf: Holdfast) -> str:
    s = hf.session(agent="coder", session_id="s")
    for n in range(20):
        s.user(f"chatter number {n} about the weather")
    return s.user("the marmot keeps the backups").event_id


def test_a_dead_endpoint_is_noticed_and_words_still_find(tmp_path: Path) -> None:
    configured(closed_port())
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        wanted = spoken(hf)
        for _ in range(3):
            found = hf.recall("who keeps the backups?")
            assert ids(found)[0] == wanted
            assert found.notices
            assert any("embed" in notice or "127.0.0.1" in notice for notice in found.notices)
            assert set(found.notices) <= set(hf.notices)
        assert len(hf.notices) == len(set(hf.notices))
        assert hf.session(agent="coder", session_id="s").call_tool(
            "memory_search", {"query": "backups"}
        )["notices"]


def test_an_endpoint_that_dies_midway_and_comes_back(tmp_path: Path) -> None:
    with serving() as server:
        configured(server.url)
        with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
            wanted = spoken(hf)
            hf.index()
            assert ids(hf.recall("who keeps the backups?"))[0] == wanted
            assert hf.recall("who keeps the backups?").notices == ()
            known = len(server.texts())
            later = hf.session(agent="coder", session_id="s").user("the heron guards the vault")
            server.tricks += [status(500), stops_half_way, status(503)] * 40
            for query in ("who guards the vault?", "heron", "marmot"):
                found = hf.recall(query)
                assert found.hits
            assert hf.recall("who guards the vault?")[0].id == later.event_id
            assert hf.notices
            server.tricks.clear()
            hf.index()
            assert any("heron" in text for text in server.texts()[known:])
            found = hf.recall("who guards the vault?")
            assert found[0].id == later.event_id


def test_when_it_comes_back_the_vectors_are_made(tmp_path: Path) -> None:
    with serving() as server:
        server.tricks += [status(500)] * 200
        configured(server.url)
        with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
            wanted = spoken(hf)
            assert ids(hf.recall("who keeps the backups?"))[0] == wanted
            assert hf.notices
        server.tricks.clear()
        server.asked.clear()
        with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
            hf.index()
            assert any("marmot" in text for text in server.texts())
            made = len(server.texts())
            assert made >= 21
            hf.index()
            assert len(server.texts()) == made
            found = hf.recall("who keeps the backups?")
            assert found[0].id == wanted
            assert "vector" in found[0].parts


def test_an_endpoint_that_was_dead_at_first_is_used_once_it_answers(tmp_path: Path) -> None:
    with serving() as server:
        server.tricks += [status(500)] * 200
        configured(server.url)
        with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
            wanted = spoken(hf)
            hf.remember("the backups are encrypted", scope="user")
            assert ids(hf.recall("who keeps the backups?"))[0] == wanted
            assert hf.notices
            server.tricks.clear()
            hf.index()
            found = hf.recall("who keeps the backups?")
            assert any("marmot" in text for text in server.texts())
            assert (found[0].id, found.notices) == (wanted, ())


def test_making_vectors_now_says_when_they_cannot_be_made(tmp_path: Path) -> None:
    with serving() as server:
        configured(server.url)
        with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
            wanted = spoken(hf)
            server.tricks += [status(500)] * 500
            told = ""
            try:
                hf.index()
            except holdfast.errors.HoldfastError as exc:
                told = str(exc)
            assert told or hf.notices
            assert ids(hf.recall("who keeps the backups?"))[0] == wanted


@pytest.mark.parametrize("embedder", ["static", "none"])
def test_without_an_endpoint_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: str
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", embedder)
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        wanted = spoken(hf)
        found = hf.recall("who keeps the backups?")
        assert (ids(found)[0], found.notices, hf.notices) == (wanted, (), [])
