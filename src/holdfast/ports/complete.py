"""A language model that answers one question at a time.

What every engine must keep, and what tests/contract/test_completer.py proves on each:

- a call ends within about `timeout_s`, or the fewer `seconds` of its question, with all its retries,
  whatever the endpoint does: hang, send one byte after the other, ask for a long wait;
- only what cost nothing is tried again: an endpoint that is busy (429, 5xx) or was not reached; a few
  times, after growing waits, as long as the time lasts. A wait it asks for is kept, or not begun;
- an answer is a whole one or none: whatever is no answer, or larger than what was asked for can be, is
  Unanswered; what the model refuses is an answer that says so;
- a question it turns down is Invalid, one too long for it is TooLong, one past the account's quota is
  Limit, a key it turns down is Denied; none of these is tried again;
- the question goes to the one address of the settings: no redirect is followed, no proxy is used, no
  header is sent because of the environment;
- no error shows the key, nor what the endpoint said, since some say back what they were sent;
- every str can be asked, lone surrogates included, from any thread;
- making one costs nothing: no package is imported and nothing is sent before the first question.

An engine counts nothing and records nothing; `app/completing.py` does.
"""

from __future__ import annotations

from typing import Protocol

from holdfast.errors import Limit, Unavailable
from holdfast.model.complete import Asked, Completion


class Unanswered(Unavailable):
    """The question was sent and no usable answer came; it may be billed all the same."""


class TooLong(Limit):
    """The question is longer than the model takes that is served there; a shorter one may do."""


class Completer(Protocol):
    """Answers questions."""

    @property
    def name(self) -> str:
        """Provider, host and model: `openai/api.openai.com/<model>`."""
        ...

    def complete(self, asked: Asked) -> Completion:
        """Ask; Unavailable, Unanswered, Limit, Denied or Invalid when there is no answer.

        Whether the text fits a schema is not checked here.
        """
        ...
