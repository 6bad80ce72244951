"""What a context is asked for: checked, with defaults filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from holdfast.compose import items, render
from holdfast.compose.budget import Space
from holdfast.errors import Invalid
from holdfast.model.compose import AgentDefaults, ComposeSettings, shares_for, window_of
from holdfast.model.packs import Signals
from holdfast.model.recall import RecallSettings
from holdfast.text.quoting import quoted

from . import nested
from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

FORMATS = ("openai", "anthropic")
#: a budget larger than this is a mistake
_MOST = 100_000_000
#: and so are tools that are nested deeper
_DEEPEST = 64
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides a context, apart from the log."""

    query: str
    budget: int
    window: int | None
    model: str
    format: str
    system: str
    tools: tuple[dict[str, Any], ...]
    signals: Signals
    new_tokens: int
    compose: ComposeSettings
    recall: RecallSettings
    counted_with: str
    #: of the logs; an erase makes another one
    generation: int
    #: how far the window may be filled
    most: float = 1.0

    @property
    def space(self) -> Space | None:
        """The window, if there is one."""
        if self.window is None:
            return None
        return Space(window=self.window, limit=int(self.most * self.window))

    def fixed(self) -> str:
        """What the system text and the tools are known by."""
        return sha256(msgspec.json.encode([self.system, self.tools], order="sorted")).hexdigest()[
            :16
        ]

    def key(self) -> str:
        """Equal where the beginning of a context may stay as it is."""
        said = [
            self.model,
            self.format,
            self.budget,
            self.window,
            self.most,
            self.counted_with,
            [render.VERSION, items.RULES],
            msgspec.to_builtins(shares_for(self.signals.activity, self.compose)),
            msgspec.to_builtins(self.compose),
            self.system,
            self.tools,
        ]
        return sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:16]


def generation(hf: Holdfast, user: str) -> int:
    """How often something was erased from the logs a context is made from."""
    return sum(log.log.head().generation - 1 for log in hf.logs(user))


def wanted(s: Session, query: str, given: Mapping[str, Any]) -> Wanted:
    """What is asked for; Invalid says what is wrong with it."""
    hf = s._hf
    chosen = _settings(given.get("settings"), hf.settings.compose)
    if not isinstance(query, str):
        raise Invalid(f"a question is a text, not {type(query).__name__}")
    model = quoted(_text("model", given.get("model"))) or hf.settings.tokens.model
    defaults = chosen.agents.get(s.agent, AgentDefaults())
    system, tools = given.get("system"), given.get("tools")
    tools = defaults.tools if tools is None else tools
    return Wanted(
        query=redacted(hf, query),
        budget=_number("budget", given.get("budget"), chosen.budget) or 0,
        window=_window(given.get("window"), model, chosen),
        model=model,
        format=_format(given.get("format")),
        system=redacted(hf, defaults.system if system is None else _text("system", system)),
        tools=_tools(hf, tools),
        signals=_signals(given.get("signals")),
        new_tokens=_number("new_tokens", given.get("new_tokens"), chosen.new_tokens) or 0,
        compose=chosen,
        recall=hf.settings.recall,
        counted_with=hf.counter(model).name,
        generation=generation(hf, s.principal),
        most=hf.settings.compact.most,
    )


def _settings(given: Any, own: ComposeSettings) -> ComposeSettings:
    if given is None:
        return own
    if not isinstance(given, ComposeSettings):
        raise Invalid("settings are a ComposeSettings: replace fields of hf.settings.compose")
    return _checked("settings", given)


_T = TypeVar("_T", bound=msgspec.Struct)


def _checked(name: str, given: _T) -> _T:
    """The same, every field of its type."""
    try:
        return msgspec.convert(msgspec.to_builtins(given), type(given))
    except (msgspec.ValidationError, TypeError) as exc:
        raise Invalid(f"{name}: {exc}") from exc


def _window(given: Any, model: str, chosen: ComposeSettings) -> int | None:
    if given is not None or not model:
        return _number("window", given, None)
    known = window_of(model, chosen.windows)
    if known is None:
        raise unknown_window(model)
    return known


def unknown_window(model: str) -> Invalid:
    """What is said where a model is named and no window is."""
    return Invalid(
        f"how large the window of {model!r} is, is not known: say so with window=…, or in "
        "config.toml under [compose.windows]"
    )


def _number(name: str, given: Any, default: int | None) -> int | None:
    if given is None:
        return default
    if type(given) is not int or not 0 <= given <= _MOST:
        raise Invalid(f"{name} is a number of tokens, not {given!r}")
    return given


def _text(name: str, given: Any) -> str:
    if given is not None and not isinstance(given, str):
        raise Invalid(f"{name} is a text, not {type(given).__name__}")
    return given or ""


def _format(given: Any) -> str:
    if given is None:
        return FORMATS[0]
    if given not in FORMATS:
        raise Invalid(f"format is one of {', '.join(FORMATS)}, not {given!r}")
    return str(given)


def _signals(given: Any) -> Signals:
    if given is None:
        return Signals()
    if isinstance(given, Mapping):
        try:
            return msgspec.convert(dict(given), Signals)
        except msgspec.ValidationError as exc:
            raise Invalid(f"signals: {exc}") from exc
    if not isinstance(given, Signals):
        raise Invalid("signals are holdfast.Signals(file=…, activity=…, errors=…, branch=…)")
    return _checked("signals", given)


def _depth(json: str) -> int:
    """How deep JSON is nested."""
    steps = ({"{": 1, "[": 1, "}": -1, "]": -1}.get(sign, 0) for sign in _STRING.sub("", json))
    return max(accumulate(steps), default=0)


def _tools(hf: Holdfast, given: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(given, list | tuple):
        raise Invalid("tools are a list of definitions, each a dict")
    try:
        told = msgspec.json.encode(list(given), order="sorted")
        if _depth(told.decode()) > _DEEPEST:
            raise Invalid(f"tools are nested deeper than {_DEEPEST} levels")
        shown = nested.cleaned(hf, msgspec.json.decode(told))
        return tuple(msgspec.convert(shown, list[dict[str, Any]]))
    except (TypeError, ValueError, msgspec.MsgspecError) as exc:
        raise Invalid(f"tools are a list of definitions, each a dict of JSON: {exc}") from exc
