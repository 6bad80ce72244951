"""Asking the language model: the one verb every room uses, and the governor of what it may cost.

`complete` is the whole algorithm: is it switched on, is there something left of the caps, take the
secrets out of the question, ask, record what came, give back what was recorded. A question is never
recorded, only its hash; an answer always, because later nobody asks again: whoever needs it reads it
with `answered`. A call that fails is recorded too, with what it may have cost.

Calls of a process follow each other, so none of them overlooks what another is about to spend. Two
processes can: then a day's cap is passed by one call at most for each further process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast import settings as settings_file
from holdfast.capture.stamp import timestamp
from holdfast.errors import Denied, HoldfastError, Invalid, Limit, NotFound, Unavailable
from holdfast.model.complete import Asked, CompleteSettings, Completion, Spending, allowed, patience
from holdfast.model.events import Draft, Event
from holdfast.ports.complete import Completer, TooLong, Unanswered
from holdfast.record import limits
from holdfast.text.schema import misfit
from holdfast.views.spending import KEY, SpendingView

from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

_LONGEST_PURPOSE = 100
_KINDS = (Invalid, Limit, Denied, Unavailable)


class Model:
    """The language model of one open project: made when it is first asked, asked by one at a time."""

    def __init__(self, make: Callable[[], Completer | None]) -> None:
        self._make = make
        self._made: Completer | None = None
        self._rests_until = float("-inf")
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()

    @contextmanager
    def alone(self, patience: float) -> Iterator[Completer]:
        """The model for oneself; Unavailable when there is none or it stays busy for so long."""
        if self._process != os.getpid():  # a parent's thread may hold the lock we were forked with
            self._begin()
        if not self._lock.acquire(timeout=patience):
            raise Unavailable("the model is busy with another question of this process; try again")
        try:
            if time.monotonic() < self._rests_until:
                raise Unavailable(
                    "the last answer could not be recorded, so nobody knows what was spent; the "
                    "model is left alone for a while (complete.rest_s)"
                )
            self._made = self._made or self._make()
            if self._made is None:
                raise Unavailable(
                    "no language model is set; name one in complete.provider and complete.model, "
                    "or in HOLDFAST_LLM"
                )
            yield self._made
        finally:
            self._lock.release()

    def unrecorded(self, rest_s: float) -> None:
        """Something was spent and could not be written down."""
        self._rests_until = time.monotonic() + rest_s


def complete(
    hf: Holdfast, asked: Asked, sources: Sequence[str] = (), session: Session | None = None
) -> Completion:
    """Ask the model, within the caps; what it answers is recorded, and given back as recorded.

    `sources` are the events the question was made from: the answer is believed no more than the least
    of them. Denied when models are switched off, Limit when a cap is reached, Unavailable when there is
    no usable answer; the caller goes on without one.
    """
    chosen = hf.settings.complete
    _switched_on(chosen)
    draft = _draft(hf, asked, sources, session)
    until = time.monotonic() + patience(asked, chosen)
    with hf.language_model.alone(max(0.0, patience(asked, chosen))) as completer:
        _switched_on(chosen)  # it may have waited for another call
        if asked.seconds is not None:
            asked = replace(asked, seconds=until - time.monotonic())
        said = _without_secrets(hf, asked, chosen)
        tokens = hf.counter(chosen.model).count(_whole(said))
        _within_caps(hf, chosen, tokens, said.max_tokens)
        draft.payload["prompt_sha256"] = sha256(_whole(said).encode()).hexdigest()
        draft.payload["model"] = chosen.model
        began = time.monotonic()
        try:
            answer = completer.complete(said)
        except BaseException as error:
            billed = isinstance(error, Unanswered) or not isinstance(error, HoldfastError)
            spent = _spent(chosen, tokens, said.max_tokens) if billed else {}
            failed = {"error": _kind(error), "seconds": _rounded(time.monotonic() - began)}
            _record(hf, draft, {**failed, **spent})
            raise
        return _taken(hf, draft, said, answer, tokens)


def answered(hf: Holdfast, event: Event) -> Completion:
    """The answer an event holds; NotFound when the call failed."""
    said = event.payload if isinstance(event.payload, dict) else {}
    if event.kind != "completion_received" or "text" not in said:
        raise NotFound(f"{event.event_id} holds no answer of a model")
    fields = {name: said[name] for name in Completion.__struct_fields__ if name in said}
    try:
        fields["text"] = b"".join(hf.body(event)).decode("utf-8", "replace")
    except NotFound:  # all of it is in its line
        fields["text"] = event.text
    return msgspec.convert({**fields, "id": event.event_id}, Completion)


def spending(hf: Holdfast) -> Spending:
    """What calls took lately, day by day."""
    found: Spending | None = hf.views.read(lambda reading: reading.row(SpendingView(), KEY))
    return found or Spending()


# ---- before ------------------------------------------------------------------------------------


def pause(seconds: float) -> None:
    """Wait before a question is sent again; Denied when models are switched off by then."""
    time.sleep(seconds)
    if settings_file.models_off():
        raise Denied("language models were switched off; the question was not sent again")


def _switched_on(chosen: CompleteSettings) -> None:
    if chosen.off or settings_file.models_off():
        raise Denied(
            "language models are switched off (complete.off or HOLDFAST_LLM=off); nothing was sent"
        )
    if chosen.money_per_day is not None and None in (chosen.price_in, chosen.price_out):
        raise Invalid("complete.money_per_day needs complete.price_in and complete.price_out")


def _draft(hf: Holdfast, asked: Asked, sources: Sequence[str], session: Session | None) -> Draft:
    """The event to be, as far as it is known: whatever is wrong with it is said before it costs."""
    if not all(isinstance(text, str) for text in (asked.prompt, asked.system, asked.purpose)):
        raise Invalid("prompt, system and purpose of a question are texts")
    if not asked.purpose.strip() or len(asked.purpose) > _LONGEST_PURPOSE:
        raise Invalid(f"say what a question is for, in at most {_LONGEST_PURPOSE} characters")
    ids = limits.sources(tuple(sources))
    for one in ids:
        if hf.log.find(one) is None:
            raise NotFound(f"source {one} is not in this log")
    return Draft(
        type="completion_received",
        payload={"purpose": asked.purpose},
        origin="agent",
        session_id=session.id if session else None,
        agent=session.agent if session else None,
        user=session.principal if session else hf.user,
        sources=ids,
    )


def _without_secrets(hf: Holdfast, asked: Asked, chosen: CompleteSettings) -> Asked:
    """The question as it leaves the machine."""
    schema = _schema(asked)
    if redacted(hf, schema) != schema:
        raise Invalid("the schema of a question holds something that looks like a secret")
    return replace(
        asked,
        prompt=redacted(hf, asked.prompt),
        system=redacted(hf, asked.system),
        max_tokens=allowed(asked, chosen),
    )


def _schema(asked: Asked) -> str:
    if asked.schema is None:
        return ""
    return msgspec.json.encode(asked.schema, order="sorted").decode()


def _whole(said: Asked) -> str:
    return "\n".join((said.system, said.prompt, _schema(said)))


def _within_caps(hf: Holdfast, chosen: CompleteSettings, tokens: int, most: int) -> None:
    """Limit when this question is too long, or might take more than is left; Unavailable at rest."""
    if tokens > chosen.input_tokens:
        raise TooLong(
            f"a question of {tokens} tokens; complete.input_tokens allows {chosen.input_tokens}"
        )
    now = timestamp(hf.clock.now_ms())
    known = spending(hf)
    today = known.on(now[:10])
    tomorrow = (datetime.fromisoformat(now[:10]) + timedelta(days=1)).date().isoformat()
    if today.tokens + tokens + most > chosen.tokens_per_day:
        raise Limit(
            f"{today.tokens} tokens were spent today and this question might take {tokens + most}; "
            f"complete.tokens_per_day allows {chosen.tokens_per_day} until {tomorrow}, 0:00 UTC"
        )
    money = today.millionths + _spent(chosen, tokens, most).get("millionths", 0)
    if chosen.money_per_day is not None and money > chosen.money_per_day * 1_000_000:
        raise Limit(
            f"{today.millionths / 1_000_000:g} were spent today and this question might pass "
            f"complete.money_per_day, {chosen.money_per_day:g}, until {tomorrow}, 0:00 UTC"
        )
    _not_too_fast(chosen, known, now)


def _not_too_fast(chosen: CompleteSettings, known: Spending, now: str) -> None:
    calls = known.in_minute if known.minute == now[:16] else 0
    if calls >= chosen.calls_per_minute:
        raise Limit(
            f"{calls} calls in this minute; complete.calls_per_minute allows "
            f"{chosen.calls_per_minute}; try again after {now[:16]}:59Z"
        )
    if known.failing_since:
        since = _seconds_between(known.failing_since, now)
        if 0 <= since < chosen.rest_s:
            raise Unavailable(
                f"the model failed {since:g} seconds ago and is left alone for {chosen.rest_s:g} "
                "(complete.rest_s)"
            )


def _seconds_between(before: str, after: str) -> float:
    try:
        return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds()
    except (ValueError, TypeError):  # a time that is none was not just now
        return -1.0


# ---- after -------------------------------------------------------------------------------------


def _taken(hf: Holdfast, draft: Draft, said: Asked, answer: Completion, tokens: int) -> Completion:
    """Record an answer; one that does not fit its schema counts as spent and is no answer."""
    chosen = hf.settings.complete
    told = msgspec.structs.asdict(answer)
    del told["id"]
    told |= _spent(chosen, answer.tokens_in or tokens, answer.tokens_out)
    if not answer.tokens_out and answer.text:
        told |= _spent(chosen, told["tokens_in"], hf.counter(chosen.model).count(answer.text))
    told["seconds"] = _rounded(answer.seconds)
    wrong = _wrong(said, answer, chosen)
    if wrong is not None:
        del told["text"]
        _record(hf, draft, {**told, "error": "misfit"})
        raise Unavailable(f"the model did not keep to the schema it was given: {wrong}")
    return answered(hf, _record(hf, draft, told))


def _wrong(said: Asked, answer: Completion, chosen: CompleteSettings) -> str | None:
    """Why an answer does not fit its schema."""
    if said.schema is None or answer.stopped == "refused":
        return None
    try:
        return misfit(msgspec.json.decode(answer.text), said.schema)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        if answer.stopped != "length":
            return "it is no JSON"
        told = "; raise complete.max_tokens" if said.max_tokens == chosen.max_tokens else ""
        return f"it is no JSON (it was cut at {said.max_tokens} tokens{told})"


def _record(hf: Holdfast, draft: Draft, more: dict[str, Any]) -> Event:
    try:
        (event,) = hf.record([replace(draft, payload={**draft.payload, **more})])
    except HoldfastError:
        hf.language_model.unrecorded(hf.settings.complete.rest_s)
        raise
    return event


def _spent(chosen: CompleteSettings, tokens_in: int, tokens_out: int) -> dict[str, int]:
    """What so many tokens are; a price for a million of them is millionths for each."""
    spent = {"tokens_in": tokens_in, "tokens_out": tokens_out}
    if chosen.price_in is not None or chosen.price_out is not None:
        money = tokens_in * (chosen.price_in or 0) + tokens_out * (chosen.price_out or 0)
        spent["millionths"] = ceil(money)
    return spent


def _kind(error: BaseException) -> str:
    return next(
        (kind.__name__.lower() for kind in _KINDS if isinstance(error, kind)), "interrupted"
    )


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
