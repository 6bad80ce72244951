"""What Holdfast asks a language model, what it gets, and how much of that it may ask for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Provider = Literal["none", "openai", "anthropic"]
Stopped = Literal["end", "length", "refused"]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
Many = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Money = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]


class CompleteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which language model Holdfast may ask, and how much."""

    #: none: everything works by rules alone; openai: OpenAI or whatever speaks its `/chat/completions`
    #: (Ollama, vLLM, llama.cpp, …); anthropic: Anthropic
    provider: Provider = "none"
    #: the model to ask for; there is no default, because each has its price
    model: str = ""
    #: where it is, such as http://127.0.0.1:11434/v1; empty: the provider's own address
    url: str = ""
    #: the kill switch: true stops every call at once, also those of processes that run already
    off: bool = False
    #: how long one call may take with all its retries; whoever asked goes on without it then
    timeout_s: Seconds = 60.0
    #: how often a busy endpoint is asked again within that time, each time after a longer wait
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)] = 2
    #: the most one answer may take; what Holdfast asks for is short
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=32_000)] = 1_024
    #: the most one question may take; a longer one is refused and never sent
    input_tokens: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] = 16_000
    #: questions and answers of a project in one day (UTC); what might pass it is not asked
    tokens_per_day: Many = 500_000
    #: the same in money, which needs both prices; none: tokens are the only cap
    money_per_day: Money | None = None
    #: what a million tokens of a question cost
    price_in: Money | None = None
    #: what a million tokens of an answer cost
    price_out: Money | None = None
    #: calls in one minute, so that a loop gone wild is noticed before it is expensive
    calls_per_minute: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 20
    #: after a call that failed, the model is left alone for so long
    rest_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 60.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One question."""

    prompt: str
    #: what it is asked for, in a word or two; recorded with the answer
    purpose: str
    #: how the model should go about it
    system: str = ""
    #: the most the answer may take; 0, or more than the settings allow: what they allow
    max_tokens: int = 0
    #: the answer is JSON of this schema. Providers want `additionalProperties: false` and every
    #: property in `required` of each object; `$ref` is not followed
    schema: dict[str, Any] | None = None
    #: how long whoever asks can wait, for the model to be free and for the answer together; none: as
    #: long as the settings say for each
    seconds: float | None = None


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    text: str
    #: as the endpoint names it
    model: str
    #: as the endpoint counts them; 0 where it does not say
    tokens_in: int = 0
    tokens_out: int = 0
    #: end: it is all there; length: it was cut; refused: the model will not answer
    stopped: Stopped = "end"
    seconds: float = 0.0
    #: of the event that holds it; empty before it is recorded
    id: str = ""


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What one day's calls took."""

    #: UTC, YYYY-MM-DD
    day: str
    calls: int = 0
    #: how many of them failed
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    #: money, in millionths
    millionths: int = 0

    @property
    def tokens(self) -> int:
        """Of questions and answers."""
        return self.tokens_in + self.tokens_out


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What calls took lately."""

    #: the latest days with calls, in order
    days: tuple[Spent, ...] = ()
    #: the minute of the last call, as a timestamp begins, and how many it had
    minute: str = ""
    in_minute: int = 0
    #: when the last call failed at the endpoint; empty when it answered since
    failing_since: str = ""

    def on(self, day: str) -> Spent:
        """What one day's calls took; nothing where none is known."""
        return next((spent for spent in self.days if spent.day == day), Spent(day=day))


def allowed(asked: Asked, chosen: CompleteSettings) -> int:
    """How many tokens the answer may take."""
    return min(asked.max_tokens if asked.max_tokens > 0 else chosen.max_tokens, chosen.max_tokens)


def patience(asked: Asked, chosen: CompleteSettings) -> float:
    """How many seconds a call may take with all its retries."""
    return chosen.timeout_s if asked.seconds is None else min(asked.seconds, chosen.timeout_s)
