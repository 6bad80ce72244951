"""A project with a resident of its own, started as hooks start it, and stopped when the test is done."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import residents
from holdfast.app.open import init
from holdfast.capture import resident

#: a machine with much else to do may take so long
LONG = 60.0


class Project:
    """A folder that was initialised, and where its memory lies."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "project"
        self.root.mkdir()
        with init(self.root, self.home) as hf:
            self.folder, self.id = hf.folder, hf.project.id
        self.children: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """A resident in the foreground, whose end can be waited for."""
        words = [sys.executable, "-m", "holdfast.doors.resident", str(self.home), str(self.root)]
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.children.append(child)
        return child

    def ask(self, **wanted: Any) -> dict[str, Any]:
        """A question, as a hook asks it."""
        return resident.ask(self.folder, wanted, residents.in_seconds(LONG))

    def answers(self) -> dict[str, Any]:
        """Wait until somebody answers; what it says of itself."""

        def said() -> dict[str, Any]:
            try:
                return self.ask(do="status")
            except (OSError, ValueError):
                return {}

        found: dict[str, Any] = until(said)
        return found

    def stop(self) -> None:
        """Nothing of it stays alive."""
        residents.stop(self.folder)
        for child in self.children:
            child.kill()
            child.communicate()


def until(seen: Callable[[], Any]) -> Any:
    """Wait until something is so; fails when it never is."""
    end = time.monotonic() + LONG
    while not (found := seen()):
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.02)
    return found


@contextmanager
def project(place: Path) -> Iterator[Project]:
    """A project whose resident is gone afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_EMBEDDER", "none")
        made = Project(place)
        try:
            yield made
        finally:
            made.stop()
