"""Whether a value that stands where a secret would is one: entropy, length and an allow-list.

Hostile text offers one candidate after another, so the cheap questions come first, and the search
for placeholders, which reads the value once per alternative, comes last.
"""

from __future__ import annotations

import re

_CLASS = b" " * 48 + b"d" * 10 + b" " * 7 + b"u" * 26 + b" " * 6 + b"l" * 26 + b" " * 133

# Values that stand where a secret would, and are none.
_PLAIN_WORDS = """
none null nil true false undefined string str bytes int text hidden required optional value default
test user username prompt basic bearer digest raw any object unset empty yes no input password
passwd pass pwd secret token key apikey api_key invalid missing wrong field type number boolean
email unknown disabled enabled anonymous guest public private xxx foo bar self name kwargs args env
stdin keyring vault
"""
_WORDS = frozenset(_PLAIN_WORDS.split())

# ... and their shapes: a placeholder, a path of attributes, a name that speaks of a secret.
_START = (
    r"(?i)\$(?:[{(]|env:|[a-z_][a-z0-9_]*$)|%(?:[(s]|[a-z_]+%)|[{<]|\*\*\*|@[\w.:-]+$|[a-z]{2,10}://"
    r"|my[_-]?(?:pass|secret|token|key)|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$"
    r"|(?:~|\.{0,2}|[a-z]:)[/\\][\w.-]{0,64}[/\\.]|[\w-]{1,64}/[\w./-]{0,128}\.[a-z]{1,5}$"
)
_INSIDE = (
    r"(?i)\$\{|\{\{|\.\.\.|x{4}|example|change.?me|placeholder|your[_-]|redacted|dummy|insert"
    r"|replace.?me"
)
# ... one of these stands in each placeholder that is not known by its start
_INSIDE_PARTS = "${ {{ ... xxxx example me placeholder your redacted dummy insert"
_HINTS = tuple(_INSIDE_PARTS.split())
_CODE = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+$"
_SPEAKING = "pass pwd token secret key cred auth user value param field config type self"
_NAMED = tuple(_SPEAKING.split())

_compiled: dict[str, re.Pattern[str]] = {}


def regex(source: str) -> re.Pattern[str]:
    """Compiled on first need: a hook that sees nothing suspicious compiles nothing."""
    found = _compiled.get(source)
    if found is None:
        found = _compiled[source] = re.compile(source, re.ASCII)
    return found


def plausible(rule: str, value: str, quoted: bool, after: str) -> bool:
    """Whether a value may be a secret; ``after`` is the character behind it."""
    if rule == "cookie":
        return any(looks_random(part, 2) for part in re.split("[;=, ]", value) if len(part) > 15)
    value = value[:256]
    if len(value) < 3:
        return False
    if rule != "url" and (len(set(value)) < 4 or not _fits(rule, value, quoted, after)):
        return False
    lower = value.lower()
    if lower.strip() in _WORDS:
        return False
    if rule != "url" and not quoted and (after in "([" or regex(_CODE).match(value)):
        return False
    if regex(_START).match(value):
        return False
    for hint in _HINTS:
        if hint in lower:
            return regex(_INSIDE).search(value) is None
    return True


def _fits(rule: str, value: str, quoted: bool, after: str) -> bool:
    """What the one rule asks beyond that."""
    if rule == "user":
        return not value.isdigit()
    if rule == "token":
        if not looks_random(value, 2 if quoted else 3):
            return False
        return quoted or not value.isidentifier() or not _named(value)
    if rule == "env":
        return _is_env(value)
    if rule == "spoken":
        value = value.rstrip(".,:;!?")
    return _is_password(value, quoted, after if rule == "password" else ")")


def looks_random(value: str, least: int) -> bool:
    """Whether letters and digits change places as often as they do in no word of a language."""
    classes = value.encode("ascii", "replace").translate(_CLASS).replace(b" ", b"")
    digits = classes.count(b"d")
    length = len(value)
    if digits:
        if length < 8 or digits == len(classes) or len(set(value)) < 6:
            return False
    elif length < 16:
        return False
    count = classes.count
    turns = count(b"lu") + count(b"ul")
    if not digits:
        return turns * 3 >= length
    turns += count(b"ld") + count(b"dl") + count(b"ud") + count(b"du")
    return turns >= max(least, length // 5)


def _named(value: str) -> bool:
    """Whether the value speaks of a secret, as the name of a variable would."""
    lower = value.lower()
    for word in _NAMED:  # noqa: SIM110 - any() takes twice the time
        if word in lower:
            return True
    return False


def _is_env(value: str) -> bool:
    if value.isidentifier() and ("_" in value or value.isalpha()):
        named = _named(value)
        word = value.isalpha() and value.islower() and len(value) >= 8 and not named
        return word or looks_random(value, 4 if named else 3)
    return len(value) >= 6


def _is_password(value: str, quoted: bool, after: str) -> bool:
    if " " in value:
        return quoted and looks_random(value, 3)
    if value.isdigit():
        return len(value) >= (4 if quoted else 6) and (quoted or after not in ",)")
    if value.isalpha():
        if quoted:
            return len(value) >= 6 and not value.istitle() and not _named(value)
        least = 8 if after in ";&" else 12
        return len(value) >= least and value.islower() and not _named(value)
    if re.sub("[_.-]", "", value).isalpha():
        return False
    if quoted:
        return len(value) >= 5
    if len(value) < 6:
        return False
    if value.isidentifier() and ("_" in value or _named(value)):
        return looks_random(value, 3)
    return True
