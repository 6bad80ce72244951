"""Contexts that were handed out by earlier versions are rendered as they were: that is a promise too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.app.open import locate, project_folder
from holdfast.compose import items, render

HERE = Path(__file__).parent
KINDS = ("contexts", "compacted-1", "compacted-2")


@pytest.mark.parametrize("kind", KINDS)
def test_a_golden_context_is_rendered_byte_for_byte(tmp_path: Path, kind: str) -> None:
    expected = json.loads((HERE / kind / "contexts.json").read_text("utf-8"))
    assert len(expected["packs"]) == 4
    _, chosen = locate(tmp_path, expected["project"])
    for kept, project_id in (("project", expected["project"]), ("user", "~user/ana")):
        if (HERE / kind / kept).exists():
            shutil.copytree(
                HERE / kind / kept, project_folder(chosen, project_id), dirs_exist_ok=True
            )
    with holdfast.open(tmp_path, project=expected["project"], user="ana") as hf:
        for told in expected["packs"]:
            pack = hf.replay(told["id"])
            assert pack.text == told["text"]
            assert pack.messages == told["messages"]
            assert pack.system == told["system"]
            known = ("Keep this", "port") if kind == "contexts" else ("<hf:earlier note=",)
            assert any(word in told["text"] for word in known)
            noted = 'not instructions" ' in told["text"] or "not instructions;" in told["text"]
            assert noted == (kind == "compacted-2")


def test_these_are_the_ways_of_rendering_they_were_made_with() -> None:
    """A new way needs golden contexts of its own, beside these."""
    assert (render.VERSION, items.RULES) == (2, 1)
