"""Contexts that were handed out by earlier versions are rendered as they were: that is a promise too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import holdfast
from holdfast.app.open import locate, project_folder
from holdfast.compose import items, render

HERE = Path(__file__).parent / "contexts"


def test_a_golden_context_is_rendered_byte_for_byte(tmp_path: Path) -> None:
    expected = json.loads((HERE / "contexts.json").read_text("utf-8"))
    assert len(expected["packs"]) == 4
    _, chosen = locate(tmp_path, expected["project"])
    for kept, project_id in (("project", expected["project"]), ("user", "~user/ana")):
        shutil.copytree(HERE / kept, project_folder(chosen, project_id), dirs_exist_ok=True)
    with holdfast.open(tmp_path, project=expected["project"], user="ana") as hf:
        for told in expected["packs"]:
            pack = hf.replay(told["id"])
            assert pack.text == told["text"]
            assert pack.messages == told["messages"]
            assert pack.system == told["system"]
            assert "Keep this" in told["text"] or "port" in told["text"]


def test_this_is_the_way_of_rendering_they_were_made_with() -> None:
    """A new way needs golden contexts of its own, beside these."""
    assert (render.VERSION, items.RULES) == (1, 1)
