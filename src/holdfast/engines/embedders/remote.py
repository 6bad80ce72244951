"""Vectors from an endpoint that speaks OpenAI's `/embeddings`: OpenAI, Ollama, vLLM, and many more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import Invalid, Unavailable
from holdfast.model.embed import EmbedSettings

from .endpoint import Answer, Endpoint
from .sayable import sayable

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_FIRST_WAIT = 0.5  # seconds, doubled each time
_LONGEST_WAIT = 20.0
_LARGEST = 1e15  # a larger number in a vector is no coordinate, and its square no float32

#: how some models want passages and questions to begin, as their makers say; by a part of the name
_BEGINNINGS = (
    ("nomic-embed-text", "search_document: ", "search_query: "),
    ("multilingual-e5", "passage: ", "query: "),
    ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: "),
)


class _Item(msgspec.Struct, frozen=True):
    index: int
    embedding: list[float]


class _Answered(msgspec.Struct, frozen=True):
    data: list[_Item]


class Remote:
    """The embedder that asks an endpoint."""

    at_once = 0

    def __init__(
        self,
        chosen: EmbedSettings,
        key: str | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is sent yet; Invalid when the settings name no endpoint or no model."""
        if not chosen.model.strip():
            raise Invalid("embed.model is empty; name the model the endpoint should use")
        self._endpoint = Endpoint(chosen.url, "/embeddings", key)
        self._chosen = chosen
        self._sleep = sleep
        self._clock = clock
        self._rests_until = float("-inf")
        self._width = chosen.dims
        named = (row[1:] for row in _BEGINNINGS if row[0] in chosen.model.lower())
        self._passage, self._question = next(named, ("", ""))

    @property
    def name(self) -> str:
        """Endpoint, model and width; asks for the width when it was not given."""
        return f"openai/{self._endpoint.host}/{self._chosen.model}-{self.dims}"

    @property
    def dims(self) -> int:
        """The width that was given, else that of the first answer."""
        if not self._width:
            self._promptly(["width"])
        return self._width

    def passages(self, said: Sequence[tuple[str, str]]) -> NDArray[numpy.float32]:
        """What the endpoint makes of `speaker: text`, a batch at a time."""
        texts = [self._wrapped(speaker, text) for speaker, text in said]
        return self._rows(texts, self._patiently)

    def query(self, text: str, common: Callable[[str], float]) -> NDArray[numpy.float32]:  # noqa: ARG002
        """What the endpoint makes of the question; it weighs words by itself."""
        texts = [self._question + text if text.strip() else ""]
        return self._rows(texts, self._promptly).reshape(self.dims)

    def _wrapped(self, speaker: str, text: str) -> str:
        if not text or text.isspace():
            return ""
        return self._passage + (f"{speaker}: {text}" if speaker else text)

    def _rows(
        self, texts: Sequence[str], ask: Callable[[list[str]], list[list[float]]]
    ) -> NDArray[numpy.float32]:
        import numpy as np

        from .rows import units

        places = [place for place, text in enumerate(texts) if text]
        vectors: list[list[float]] = []
        for start in range(0, len(places), self._chosen.batch):
            batch = places[start : start + self._chosen.batch]
            vectors += ask([texts[place] for place in batch])
        rows = np.zeros((len(texts), self.dims), np.float32)
        for place, vector in zip(places, vectors, strict=True):
            rows[place] = vector
        return units(rows)

    def _promptly(self, texts: list[str]) -> list[list[float]]:
        """Ask once, for somebody who waits; not at all while the endpoint rests."""
        if self._clock() < self._rests_until:
            raise Unavailable(
                f"the embedder at {self._endpoint.host} failed a moment ago and is left alone for "
                f"{self._chosen.rest_s:g} seconds (embed.rest_s)"
            )
        try:
            answer = self._post(texts, self._chosen.query_timeout_s)
            return self._vectors(answer, len(texts))
        except Unavailable:
            self._rests_until = self._clock() + self._chosen.rest_s
            raise

    def _patiently(self, texts: list[str]) -> list[list[float]]:
        """Ask, and ask again after a while when the endpoint is busy."""
        wait = _FIRST_WAIT
        for _ in range(self._chosen.retries):
            answer = self._post(texts, self._chosen.timeout_s)
            if answer.status not in _BUSY:
                return self._vectors(answer, len(texts))
            self._sleep(min(max(wait, answer.wait_s), _LONGEST_WAIT))
            wait *= 2
        return self._vectors(self._post(texts, self._chosen.timeout_s), len(texts))

    def _post(self, texts: list[str], timeout: float) -> Answer:
        cut = [sayable(text[: self._chosen.text_chars]) for text in texts]
        asked = {"model": self._chosen.model, "input": cut, "encoding_format": "float"}
        return self._endpoint.post(msgspec.json.encode(asked), timeout)

    def _vectors(self, answer: Answer, count: int) -> list[list[float]]:
        """The vectors of an answer in the order of the texts."""
        if answer.status != 200:
            raise Unavailable(
                f"the embedder at {self._endpoint.host} answered {answer.status}: "
                f"{_remedy(answer.status)}"
            )
        try:
            items = msgspec.json.decode(answer.body, type=_Answered).data
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._odd() from error
        items = sorted(items, key=lambda item: item.index)
        if [item.index for item in items] != list(range(count)):
            raise self._odd()
        vectors = [self._fitting(item.embedding) for item in items]
        self._rests_until = float("-inf")
        return vectors

    def _fitting(self, vector: list[float]) -> list[float]:
        if not vector or not all(-_LARGEST < number < _LARGEST for number in vector):
            raise self._odd()
        self._width = self._width or len(vector)
        if len(vector) != self._width:
            raise Unavailable(
                f"the embedder at {self._endpoint.host} sent {len(vector)} numbers where "
                f"{self._width} were expected; is embed.dims right, or did its model change?"
            )
        return vector

    def _odd(self) -> Unavailable:
        return Unavailable(
            f"the embedder at {self._endpoint.host} sent something else than a vector for each "
            "text; does embed.url end where `/embeddings` follows (often in `/v1`)?"
        )


def _remedy(status: int) -> str:
    if status in (401, 403):
        return "it refuses the key; check the key of the embedder"
    if status == 404:
        return "no such address or no such model there; check embed.url and embed.model"
    if status in _BUSY:
        return "it is busy or broken; try again later"
    if 300 <= status < 400:
        return "it sends callers elsewhere; put the address it means into embed.url"
    return "it refuses the request; is embed.model a model that makes embeddings?"
