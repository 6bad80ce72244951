"""Which embedders turn texts into vectors."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
Chosen = Literal["auto", "none", "static", "minilm", "openai"]


class EmbedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How texts become vectors."""

    #: auto: the static table, and MiniLM where it is installed; static: the table alone; none: words
    #: only; openai: the table, and an endpoint that speaks OpenAI's `/embeddings`
    embedder: Chosen = "auto"
    #: where that endpoint is; by default a model server on this machine, so no text leaves it
    url: str = "http://127.0.0.1:11434/v1"
    #: the model to ask it for
    model: str = "nomic-embed-text"
    #: how wide its vectors are; 0: as wide as its first answer
    dims: Annotated[int, msgspec.Meta(ge=0, le=65_536)] = 0
    #: how long one request in the background may take before it counts as failed
    timeout_s: Seconds = 30.0
    #: the same for the vector of a question, because somebody waits for the answer; it is asked once
    query_timeout_s: Seconds = 5.0
    #: after a question it did not answer, the endpoint is left alone for so long, so that a dead one
    #: makes one reader wait and not each
    rest_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 30.0
    #: texts in one request; more make fewer round trips, and larger ones to lose
    batch: Annotated[int, msgspec.Meta(ge=1, le=64)] = 64
    #: how often a busy endpoint is asked again in the background, each time after a longer wait
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)] = 3
    #: longer texts are cut to so many characters, because most models refuse more than 8,192 tokens
    text_chars: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] = 16_000
