"""Which completer the settings ask for."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

from holdfast.errors import Invalid
from holdfast.model.complete import CompleteSettings
from holdfast.ports.complete import Completer

from .anthropic import Anthropic
from .openai import OpenAI


def completer(
    chosen: CompleteSettings,
    key: str | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Completer | None:
    """The completer to ask; None when the settings name none. Nothing is sent yet.

    `sleep` waits before a question is sent again; what it raises ends the call.
    Invalid when the settings ask for what is not installed or cannot be asked.
    """
    match chosen.provider:
        case "none":
            return None
        case "openai":
            _installed("openai")
            return OpenAI(chosen, key, sleep=sleep)
        case "anthropic":
            _installed("anthropic")
            return Anthropic(chosen, key, sleep=sleep)


def _installed(package: str) -> None:
    if find_spec(package) is None:
        raise Invalid(
            f"complete.provider: {package} is not installed; run: pip install 'holdfast[{package}]'"
        )
