"""How long a text is for a model.

What every engine must keep, and what tests/contract/test_token_counter.py proves on each:

- `count("")` is 0;
- `count` takes every str, lone surrogates and control characters included, and never raises;
- the same text gives the same number, in every thread and every process;
- a text is counted alone: no boundary tokens are added, and a special token spelled out in it
  (`<|endoftext|>`) is counted as the characters it is;
- nothing is fetched: a machine without a network counts the same.

The count of two texts put together may differ from the sum of their counts: tokens can join or
part where they meet.
"""

from __future__ import annotations

from typing import Protocol


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    @property
    def name(self) -> str:
        """The encoding, and the factor when it is not 1: `o200k_base`, `o200k_base*1.35`."""
        ...

    def count(self, text: str) -> int:
        """How many tokens this text is."""
        ...
