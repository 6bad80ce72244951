"""Secrets made on the spot: none stands in the repository, and each run has others."""

from __future__ import annotations

import random
import string
from pathlib import Path

from tests.contract.entries import bytes_under

_ALNUM = string.ascii_letters + string.digits
_dice = random.SystemRandom()


def token(length: int = 36, alphabet: str = _ALNUM) -> str:
    """Random characters with at least one of each class, so that it looks as issued."""
    body = "".join(_dice.choice(alphabet) for _ in range(length - 6))
    return "a7Qz" + body + "X9"


def github() -> str:
    """Shaped like a token of GitHub."""
    return "gh" + "p_" + token(36)


def anthropic() -> str:
    """Shaped like a key of Anthropic."""
    return "sk-" + "ant-" + "api03-" + token(80)


def private_key() -> str:
    """Shaped like a private key in PEM."""
    rail = "-" * 5
    body = "\n".join(token(64) for _ in range(6))
    return f"{rail}BEGIN RSA PRIVATE KEY{rail}\n{body}\n{rail}END RSA PRIVATE KEY{rail}"


def leaks(folder: str | Path, *secrets: str) -> list[str]:
    """The files below a folder that hold any of these, as they are or spelt in hex or base64."""
    from base64 import b64encode

    found = []
    for name, data in bytes_under(folder).items():
        for secret in secrets:
            raw = secret.encode()
            forms = [raw, raw.hex().encode()] + [b64encode(b"x" * n + raw)[4:-4] for n in range(3)]
            if any(form in data for form in forms) or secret in name:
                found.append(name)
    return found
