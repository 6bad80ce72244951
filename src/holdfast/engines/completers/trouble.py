"""The one place where what an endpoint answers instead of an answer becomes an error of Holdfast."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import Denied, HoldfastError, Invalid, Limit, Unavailable
from holdfast.ports.complete import TooLong

if TYPE_CHECKING:
    from .wire import Answer

_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
#: how providers call a question that is longer than their model takes
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "request_too_large"})
#: how those say it that have no name for it
_SAID_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|exceeds? (?:the )?(?:\w+ ){0,3}context",
    re.IGNORECASE,
)
#: and an account that has nothing left, however they answer it
_NO_CREDIT = frozenset({"insufficient_quota", "billing_error", "billing_not_active"})


class _Said(msgspec.Struct, frozen=True):
    code: str | int | None = None
    type: str | None = None
    message: str | None = None


class _Refusal(msgspec.Struct, frozen=True):
    error: _Said


def busy(answer: Answer, host: str) -> Unavailable | None:
    """What is said about an endpoint that may answer a little later."""
    if answer.status not in _BUSY or _names(answer) & _NO_CREDIT:
        return None
    asks = f" and asks to be left alone for {answer.wait_s:g} seconds" if answer.wait_s else ""
    return Unavailable(
        f"the model at {host} answered {answer.status}: it is busy or broken{asks}; try again later"
    )


def refused(answer: Answer, host: str) -> HoldfastError:
    """What is said about an endpoint that will not answer this question at all."""
    status, names = answer.status, _names(answer)
    said = f"the model at {host} answered {status}: "
    if status == 402 or names & _NO_CREDIT:
        return Limit(said + "the quota or the credit of the account is used up there")
    if status in (401, 403):
        return Denied(said + "it refuses the key; check HOLDFAST_LLM_KEY")
    if status == 413 or names & _TOO_LONG or (status == 400 and _says_too_long(answer)):
        return TooLong(said + "the question is longer than it takes; lower complete.input_tokens")
    if status == 404:
        return Invalid(
            said + "no such address or no such model there; check complete.url and complete.model"
        )
    if 300 <= status < 400:
        return Invalid(
            said + "it sends callers elsewhere; put the address it means into complete.url"
        )
    return Invalid(
        said + "it refuses the question; does complete.model take JSON schemas and "
        "complete.max_tokens?"
    )


def _names(answer: Answer) -> set[str]:
    """What an error is called, and nothing of what it says."""
    said = _said(answer)
    return {str(said.code), str(said.type)}


def _says_too_long(answer: Answer) -> bool:
    """Whether that is what it says; its words are looked at, and never shown."""
    return _SAID_TOO_LONG.search(_said(answer).message or "") is not None


def _said(answer: Answer) -> _Said:
    try:
        return msgspec.json.decode(answer.body, type=_Refusal).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Said()
