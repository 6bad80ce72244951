"""What texts mean, as vectors: texts that mean the same point the same way.

What every engine must keep, and what tests/contract/test_embedder.py proves on each:

- every row is of unit length, float32, `dims` wide and finite; a text that says nothing to the
  embedder (an empty one, say) is a row of zeros;
- the same text gives the same vector, alone or among others, in every thread and every process;
- every str is taken, lone surrogates, NUL and very long texts included;
- vectors of the same `name` may be compared, others may not: other weights have another name;
- making one costs nothing: weights are loaded when they are first needed, and whatever keeps an
  embedder from working then is Unavailable, so that a caller can go on without it;
- unless it is a remote one, nothing is fetched: a machine without a network embeds the same.

How a text is wrapped before it is embedded is the embedder's own business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # recording must not wait for numpy
    import numpy
    from numpy.typing import NDArray


#: so many that it never makes a reader wait
ANY_NUMBER = 1 << 30


class Embedder(Protocol):
    """Turns texts into vectors of one kind."""

    @property
    def name(self) -> str:
        """Names the vectors: `wordllama-256`, `minilm-int8-384`, `openai/<host>/<model>-<dims>`.

        A remote one that was not told its width asks for it, so this too can be Unavailable.
        """
        ...

    @property
    def dims(self) -> int:
        """How wide its vectors are; can be Unavailable just as `name`."""
        ...

    @property
    def at_once(self) -> int:
        """How many passages it may embed while a reader waits; more are embedded behind."""
        ...

    def passages(self, said: Sequence[tuple[str, str]]) -> NDArray[numpy.float32]:
        """A row for each (speaker, text); the speaker may be empty."""
        ...

    def query(self, text: str, common: Callable[[str], float]) -> NDArray[numpy.float32]:
        """The vector of a question.

        `common(word)` is the share of the searched passages that hold the word, 0 to 1; the word is
        given as it is written.
        """
        ...
