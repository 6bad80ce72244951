"""Projects with files, as the tests of documents need them."""

from __future__ import annotations

from pathlib import Path

import holdfast
from holdfast.app.open import init
from holdfast.model.events import Event
from tests.recall.replays import Ticking

Holdfast = holdfast.Holdfast


def project(place: Path, clock: Ticking | None = None, *, name: str = "project") -> Holdfast:
    """A project in a folder of its own, opened by it; its home is beside it."""
    root = place / name
    root.mkdir(exist_ok=True)
    init(root, place / "home").close()
    return holdfast.open(place / "home", path=root, user="ana", now=clock)


def write(hf: Holdfast, path: str, text: str) -> Path:
    """A file of a project."""
    file = Path(hf.project.root) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def told(hf: Holdfast) -> list[Event]:
    """Every event about documents."""
    return [event for event in hf.events() if event.kind == "document_indexed"]
