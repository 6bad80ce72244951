"""A project that asks a model, which is a server on loopback."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import holdfast
from holdfast.model.complete import Asked
from holdfast.model.events import Event
from tests.completers.server import Server, serving

HELLO = Asked(prompt="hello", purpose="test")
NOON = 1_800_000_000_000 // 86_400_000 * 86_400_000 + 43_200_000


class Desk:
    """A project whose model is a server on loopback, and a clock that is set by hand."""

    def __init__(self, provider: str, server: Server, home: Path) -> None:
        self.provider, self.server, self.home = provider, server, home
        self.now = NOON
        self.hf: holdfast.Holdfast | None = None

    def open(self, **settings: Any) -> holdfast.Holdfast:
        self.close()
        self.say(**settings)
        self.hf = holdfast.open(self.home, project="p", user="ana", now=lambda: self.now)
        return self.hf

    def say(self, **settings: Any) -> None:
        """The user's own settings file."""
        path = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        url = self.server.url(self.provider)
        told = {"provider": self.provider, "model": "m", "url": url, "rest_s": 0, **settings}
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
        path.write_text("[complete]\n" + "\n".join(lines) + "\n")

    def events(self) -> list[Event]:
        assert self.hf is not None
        return [event for event in self.hf.events() if event.kind == "completion_received"]

    def close(self) -> None:
        if self.hf is not None:
            self.hf.close()


@contextmanager
def opened(provider: str, home: Path) -> Iterator[Desk]:
    """A desk, as long as the block lasts."""
    with serving() as server:
        found = Desk(provider, server, home)
        yield found
        found.close()
