"""Answers from Anthropic's `/v1/messages`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.model.address import bare_key
from holdfast.model.complete import Asked, CompleteSettings, Completion, Stopped, allowed

from .line import Line, count, sayable

if TYPE_CHECKING:
    import httpx2

ADDRESS = "https://api.anthropic.com"
_LONGEST_NAME = 200
_STOPPED: dict[str | None, Stopped] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    output_tokens: int | None = 0


class _Answered(msgspec.Struct, frozen=True):
    content: list[_Block]
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


class Anthropic:
    """The completer that asks for a message."""

    def __init__(
        self,
        chosen: CompleteSettings,
        key: str | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent yet; Invalid when the settings name no address or no model."""
        header = {"x-api-key": bare_key(key, "the model's")} if key else {}
        self._line = Line(chosen, ADDRESS, header, sleep=sleep)
        self._chosen = chosen

    @property
    def name(self) -> str:
        """Host and model."""
        return f"anthropic/{self._line.host}/{self._chosen.model}"

    def complete(self, asked: Asked) -> Completion:
        """Ask for one message."""
        began = time.monotonic()
        body = self._line.ask(asked, lambda http: self._send(http, asked))
        return self._read(body, time.monotonic() - began)

    def _send(self, http: httpx2.Client, asked: Asked) -> None:
        import anthropic

        client = anthropic.Anthropic(
            api_key="sent by the wire",
            base_url=self._line.base,
            default_query=self._line.query,
            max_retries=0,
            http_client=http,
            open_telemetry=False,  # a trace would carry what was asked
        )
        create: Callable[..., Any] = client.messages.with_raw_response.create
        create(timeout=self._chosen.timeout_s, **self._request(asked))

    def _request(self, asked: Asked) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._chosen.model,
            "messages": [{"role": "user", "content": sayable(asked.prompt)}],
            "max_tokens": allowed(asked, self._chosen),
        }
        if asked.system:
            request["system"] = sayable(asked.system)
        if asked.schema is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": asked.schema}}
        return request

    def _read(self, body: bytes, seconds: float) -> Completion:
        try:
            answered = msgspec.json.decode(body, type=_Answered)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._line.odd() from None
        text = "".join(block.text for block in answered.content if block.type == "text")
        stopped = _STOPPED.get(answered.stop_reason, "end")
        if stopped == "end" and not text.strip():
            raise self._line.silent()
        usage = answered.usage or _Usage()
        given = (usage.input_tokens, usage.cache_creation_input_tokens)
        return Completion(
            text=text,
            model=(answered.model or self._chosen.model)[:_LONGEST_NAME],
            tokens_in=sum(count(n or 0) for n in (*given, usage.cache_read_input_tokens)),
            tokens_out=count(usage.output_tokens or 0),
            stopped=stopped,
            seconds=seconds,
        )
