"""What every engine here does with its endpoint: ask in time, ask again when that costs nothing."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from holdfast.errors import Invalid, Unavailable
from holdfast.model.address import address
from holdfast.model.complete import Asked, CompleteSettings, allowed, patience
from holdfast.ports.complete import Unanswered

from .trouble import busy, refused

if TYPE_CHECKING:  # the packages are imported when something is asked
    import httpx2

    from .wire import Answer, Wire

_FIRST_WAIT = 0.5  # seconds, doubled each time, and up to a half less by chance
_AROUND = 64 << 10  # bytes of an answer beside its text
_A_TOKEN = 64  # bytes of JSON that a token may take: 10 characters, each escaped
_dice = random.Random()  # noqa: S311  (when to ask again is no secret)


class Line:
    """The way to one endpoint."""

    def __init__(
        self,
        chosen: CompleteSettings,
        own_address: str,
        key: Mapping[str, str],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`key` is the header that holds the key; Invalid when the settings name no model or address."""
        if not chosen.model.strip():
            raise Invalid("complete.model is empty; name the model to ask, or set HOLDFAST_LLM")
        given = (chosen.url or own_address).rstrip("/")
        parts = address(given, "complete.url", "http://127.0.0.1:11434/v1")
        self.base = parts._replace(query="").geturl().rstrip("/")
        self.query: Mapping[str, object] = dict(parse_qsl(parts.query))
        #: host and port as they were written
        self.host = parts.netloc
        #: the address is the provider's own, and not of something that speaks its language
        self.own = self.host == address(own_address, "", "").netloc
        self._chosen = chosen
        self._key = key
        self._sleep = sleep

    def ask(self, asked: Asked, send: Callable[[httpx2.Client], object]) -> bytes:
        """The body of a good answer; `send` makes a vendor's package send the question."""
        until = time.monotonic() + patience(asked, self._chosen)
        wait = _FIRST_WAIT
        for tries_left in reversed(range(self._chosen.retries + 1)):
            pause = wait * _dice.uniform(0.5, 1.0)
            try:
                answer = self._once(asked, send, until)
            except Unanswered:
                raise
            except Unavailable as unreached:  # so nothing was billed
                problem = unreached
            else:
                if answer.status == 200:
                    return answer.body
                problem = _only_busy(answer, self.host)
                pause = max(pause, answer.wait_s)
            if not tries_left or time.monotonic() + pause >= until:
                break
            self._sleep(pause)
            wait *= 2
        raise problem

    def odd(self) -> Unanswered:
        """What is said about an answer that is none."""
        return Unanswered(
            f"the model at {self.host} sent something else than an answer; is complete.url the "
            "address of a model, and does complete.provider say what it speaks?"
        )

    def silent(self) -> Unanswered:
        """What is said about an answer without a word."""
        return Unanswered(f"the model at {self.host} said nothing; try again, or another model")

    def _once(self, asked: Asked, send: Callable[[httpx2.Client], object], until: float) -> Answer:
        import httpx2

        from .wire import Wire

        most = _AROUND + _A_TOKEN * allowed(asked, self._chosen)
        wire = Wire(self._key, until=until, most_bytes=most, context=_context)
        with httpx2.Client(transport=wire, trust_env=False, follow_redirects=False) as http:
            try:
                send(http)
            except Exception as error:
                if not wire.trouble and wire.answer is None:
                    raise Invalid(
                        f"a question to the model at {self.host} cannot be put "
                        f"({type(error).__name__}); check the table [complete]"
                    ) from error
        if wire.answer is None:
            raise self._nothing(wire) from None
        return wire.answer

    def _nothing(self, wire: Wire) -> Unavailable:
        kind = Unanswered if wire.sent else Unavailable
        if wire.trouble == "late":
            return kind(
                f"the model at {self.host} took too long; try again, or raise complete.timeout_s"
            )
        if wire.trouble == "large":
            return kind(
                f"the model at {self.host} sent far more than it was asked for; is complete.url "
                "the address of a model?"
            )
        return kind(
            f"the model at {self.host} did not answer ({wire.trouble}); is it running, and is "
            "complete.url right?"
        )


def _only_busy(answer: Answer, host: str) -> Unavailable:
    """What an endpoint that may answer later is said to be; one that never will raises."""
    problem = busy(answer, host)
    if problem is None:
        raise refused(answer, host)
    return problem


@cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


def sayable(text: str) -> str:
    """The text without lone surrogates: a pair becomes its character, a lone one U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def count(reported: int) -> int:
    """A number of tokens that can be; 0 for one that cannot."""
    return reported if 0 <= reported <= 1_000_000_000 else 0
