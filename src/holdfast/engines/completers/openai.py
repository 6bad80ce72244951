"""Answers from OpenAI, or from whatever speaks its `/chat/completions`."""

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

ADDRESS = "https://api.openai.com/v1"
_LONGEST_NAME = 200


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answered(msgspec.Struct, frozen=True):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class OpenAI:
    """The completer that asks for a chat completion."""

    def __init__(
        self,
        chosen: CompleteSettings,
        key: str | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent yet; Invalid when the settings name no address or no model."""
        header = {"authorization": "Bearer " + bare_key(key, "the model's")} if key else {}
        self._line = Line(chosen, ADDRESS, header, sleep=sleep)
        self._chosen = chosen

    @property
    def name(self) -> str:
        """Host and model."""
        return f"openai/{self._line.host}/{self._chosen.model}"

    def complete(self, asked: Asked) -> Completion:
        """Ask for one completion."""
        began = time.monotonic()
        body = self._line.ask(asked, lambda http: self._send(http, asked))
        return self._read(body, time.monotonic() - began)

    def _send(self, http: httpx2.Client, asked: Asked) -> None:
        import openai

        client = openai.OpenAI(
            api_key="sent by the wire",
            base_url=self._line.base,
            default_query=self._line.query,
            max_retries=0,
            http_client=http,
        )
        create: Callable[..., Any] = client.chat.completions.with_raw_response.create
        create(**self._request(asked))

    def _request(self, asked: Asked) -> dict[str, Any]:
        said = [("system", asked.system)] if asked.system else []
        said.append(("user", asked.prompt))
        # OpenAI's own newer models refuse the older name, others know no other
        most = "max_completion_tokens" if self._line.own else "max_tokens"
        request: dict[str, Any] = {
            "model": self._chosen.model,
            "messages": [{"role": role, "content": sayable(text)} for role, text in said],
            most: allowed(asked, self._chosen),
        }
        if asked.schema is not None:
            named = {"name": "answer", "strict": True, "schema": asked.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": named}
        return request

    def _read(self, body: bytes, seconds: float) -> Completion:
        try:
            answered = msgspec.json.decode(body, type=_Answered)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._line.odd() from None
        if not answered.choices:
            raise self._line.odd()
        choice = answered.choices[0]
        text, stopped = choice.message.content or "", _stopped(choice)
        if stopped == "refused":
            text = choice.message.refusal or text
        elif stopped == "end" and not text.strip():
            raise self._line.silent()
        usage = answered.usage or _Usage()
        return Completion(
            text=text,
            model=(answered.model or self._chosen.model)[:_LONGEST_NAME],
            tokens_in=count(usage.prompt_tokens),
            tokens_out=count(usage.completion_tokens),
            stopped=stopped,
            seconds=seconds,
        )


def _stopped(choice: _Choice) -> Stopped:
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return "refused"
    return "length" if choice.finish_reason == "length" else "end"
