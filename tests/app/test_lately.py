"""Events kept at hand: the same as in the log, few, and gone with an erasure."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.app import showing
from holdfast.app.showing import Lately
from tests.app.conversations import erased


def test_an_event_is_read_once_and_again_after_an_erasure(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        said = hf.session(agent="coder", session_id="s").user("the marmot keeps the backups")
        lately, before = Lately(), hf.log.head().generation
        first = lately.find(hf.log, before, said.event_id)
        assert first == said
        assert lately.find(hf.log, before, said.event_id) is first
        erased(hf, said.event_id)
        after = hf.log.head().generation
        assert after != before
        gone = lately.find(hf.log, after, said.event_id)
        assert gone is not None
        assert gone.erased


def test_only_so_many_are_kept_and_nothing_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "_LATELY", 2)
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        s = hf.session(agent="coder", session_id="s")
        said = [s.user(f"number {n}") for n in range(3)]
        lately = Lately()
        found = [lately.find(hf.log, 1, event.event_id) for event in said]
        assert found == said
        assert lately.find(hf.log, 1, said[2].event_id) is found[2]
        assert lately.find(hf.log, 1, said[0].event_id) is not found[0]
        assert lately.find(hf.log, 1, "evt_nobody") is None
