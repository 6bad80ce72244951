"""Vectors from a table: each token has one, a text is their mean. No model runs, so it is quick.

The table and its tokenizer are WordLlama's (256 wide, 32,000 tokens). Only its files are used: its
own loader downloads, and importing it takes longer than reading a thousand texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast.errors import Unavailable
from holdfast.ports.embed import ANY_NUMBER

from .once import Once

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from .table import Table


class Static:
    """The static embedder."""

    name = "wordllama-256"
    dims = 256
    at_once = ANY_NUMBER

    def __init__(self) -> None:
        self._table = Once(_load)

    def passages(self, said: Sequence[tuple[str, str]]) -> NDArray[numpy.float32]:
        """The mean of the token vectors of `speaker: text`."""
        return self._table().means([_wrapped(speaker, text) for speaker, text in said])

    def query(self, text: str, common: Callable[[str], float]) -> NDArray[numpy.float32]:
        """The words of the question, those that few passages hold weighing more."""
        return self._table().weighted(text, common)


def _wrapped(speaker: str, text: str) -> str:
    if not text or text.isspace():
        return ""
    return f"{speaker}: {text}" if speaker else text


def _load() -> Table:
    try:
        from .table import load
    except ImportError as error:
        raise Unavailable(f"{error}; run: pip install numpy tokenizers") from error
    return load()
