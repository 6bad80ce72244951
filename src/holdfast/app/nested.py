"""JSON that an event holds as one text: what recording would change in it is changed before.

Recording takes secrets out of each text. In a text that is JSON, a secret may seem to begin in one
string and to end in another, and with what lies between goes the form. So each string is redacted on its
own first, and where all of them together still look like a secret, they are escaped as JSON allows.
What always holds: what is recorded is what was written, and it can be read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
#: what is escaped already, and what may be; first what secrets are known by, then everything
_SIGNS = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[!-/:-@\[\]^_`{-~]")
_EVERY = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[ -~]")


def cleaned(hf: Holdfast, value: Any) -> Any:
    """A value that JSON can say, without the secrets in its texts, each looked at on its own."""
    return hf._recorder.cleaned(msgspec.to_builtins(value))


def text(hf: Holdfast, value: Any) -> str:
    """A value as a JSON text that is recorded as it is."""
    return kept(hf, msgspec.json.encode(cleaned(hf, value)).decode())


def safe(hf: Holdfast, given: str) -> str:
    """The same for what is a JSON text already."""
    return given if redacted(hf, given) == given else text(hf, msgspec.json.decode(given))


def kept(hf: Holdfast, given: str) -> str:
    """A JSON text whose strings hold no secret, written so that none seems to lie across them."""
    if redacted(hf, given) == given:
        return given
    escaped = _escaped(given, _SIGNS)
    return escaped if redacted(hf, escaped) == escaped else _escaped(given, _EVERY)


def _escaped(given: str, signs: re.Pattern[str]) -> str:
    return _STRING.sub(lambda found: f'"{signs.sub(_escape, found[1])}"', given)


def _escape(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else f"\\u{ord(found[0]):04x}"
