"""What only one engine does, and the line below both over TLS."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.engines.completers.openai import OpenAI
from holdfast.model.complete import Asked, CompleteSettings
from tests.completers.server import serving

HELLO = Asked(prompt="hello", purpose="test")

ASKS = """
import sys
from holdfast.engines.completers.openai import OpenAI
from holdfast.errors import Unavailable
from holdfast.model.complete import Asked, CompleteSettings
chosen = CompleteSettings(model="m", url=sys.argv[1], timeout_s=20, retries=0)
try:
    print(OpenAI(chosen, "key").complete(Asked(prompt="over tls", purpose="test")).text)
except Unavailable as error:
    print(type(error).__name__, error)
"""


def test_only_openai_itself_is_asked_by_the_newer_name_of_the_most_tokens() -> None:
    own = OpenAI(CompleteSettings(model="m", max_tokens=9), None)._request(HELLO)
    assert (own["max_completion_tokens"], "max_tokens" in own) == (9, False)
    url = "http://127.0.0.1:11434/v1"
    other = OpenAI(CompleteSettings(model="m", url=url, max_tokens=9), None)._request(HELLO)
    assert (other["max_tokens"], "max_completion_tokens" in other) == (9, False)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_is_checked_before_anything_is_said(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", key, "-out", certificate]
    subprocess.run([*made, *named, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = f"https://localhost:{server.server_port}/v1"
        assert _asked(url, {}).startswith("Unavailable the model at localhost")
        assert server.asked == []
        assert _asked(url, {"SSL_CERT_FILE": certificate}) == "over tls\n"
        assert server.headers[0]["authorization"] == "Bearer key"


def _asked(url: str, more: dict[str, str]) -> str:
    """What a process of its own prints, since a context is made once."""
    return subprocess.run(
        [sys.executable, "-c", ASKS, url],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **more},
    ).stdout
