"""Which completer the settings give, whose key it gets, and that choosing one costs nothing."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from holdfast.engines.completers.choose import completer
from holdfast.errors import Invalid
from holdfast.model.complete import CompleteSettings, Provider
from holdfast.settings import load, models_off


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOLDFAST_LLM", "HOLDFAST_LLM_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def user_file(text: str) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_a_provider_there_is_none() -> None:
    assert completer(CompleteSettings()) is None
    assert completer(load().complete, load().llm_key) is None


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_is_not_installed_is_named_with_how_to_install_it(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == provider]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if "site-packages" not in place])
    importlib.invalidate_caches()
    with pytest.raises(Invalid, match=rf"pip install 'holdfast\[{provider}\]'"):
        completer(CompleteSettings(provider=provider, model="m"))


def test_the_environment_names_provider_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    user_file(
        "[complete]\nprovider = 'openai'\nmodel = 'a'\nurl = 'http://127.0.0.1:1/v1'\nretries = 5\n"
    )
    for said, provider, model, url in (
        ("", "openai", "a", "http://127.0.0.1:1/v1"),
        ("openai", "openai", "a", "http://127.0.0.1:1/v1"),
        ("openai:qwen:3b", "openai", "qwen:3b", "http://127.0.0.1:1/v1"),
        ("anthropic:claude", "anthropic", "claude", ""),
        ("anthropic", "anthropic", "", ""),
        ("none", "none", "", ""),
    ):
        monkeypatch.setenv("HOLDFAST_LLM", said)
        chosen = load().complete
        assert (chosen.provider, chosen.model, chosen.url) == (provider, model, url)
        assert (chosen.retries, chosen.off) == (5, False)


def test_off_in_the_environment_or_the_file_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not models_off()
    user_file("[complete]\nprovider = 'openai'\nmodel = 'a'\n")
    assert not models_off()
    monkeypatch.setenv("HOLDFAST_LLM", "OFF")
    assert models_off()
    assert (load().complete.off, load().complete.provider) == (True, "openai")
    monkeypatch.delenv("HOLDFAST_LLM")
    user_file("[complete]\noff = true\n")
    assert models_off()
    assert load().complete.off


def test_a_provider_nobody_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_LLM", "gpt-5")
    with pytest.raises(Invalid, match="HOLDFAST_LLM must be off, openai:MODEL"):
        load()


def test_ours_is_the_key_else_the_providers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-anthropic")
    assert load().llm_key is None
    for said, key in (("openai:a", "of-openai"), ("anthropic:b", "of-anthropic"), ("none", None)):
        monkeypatch.setenv("HOLDFAST_LLM", said)
        assert load().llm_key == key
    monkeypatch.setenv("HOLDFAST_LLM_KEY", "ours")
    monkeypatch.setenv("HOLDFAST_LLM", "openai:a")
    assert load().llm_key == "ours"


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://api.openai.com/v1", True),
        ("http://127.0.0.1:11434/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evil.example/api.openai.com", False),
        ("https://api.openai.com@evil.example/v1", False),
        ("http://[", False),
    ],
)
def test_a_providers_key_goes_to_nobody_else(
    url: str, sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    user_file(f"[complete]\nprovider = 'openai'\nmodel = 'm'\nurl = '{url}'\n")
    assert load().llm_key == ("of-openai" if sent else None)


@pytest.mark.parametrize(
    "said", ["provider = 'openai'", "url = 'http://x'", "off = true", "tokens_per_day = 1"]
)
def test_a_repository_says_nothing_about_models(said: str, tmp_path: Path) -> None:
    (tmp_path / ".holdfast.toml").write_text(f"[complete]\n{said}\n")
    with pytest.raises(Invalid, match=r"holdfast\.toml: complete\."):
        load(root=tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        *({"provider": "other"}, {"timeout_s": 0}, {"retries": 11}, {"max_tokens": 0}),
        *({"tokens_per_day": -1}, {"price_in": -0.5}, {"calls_per_minute": -1}, {"off": "yes"}),
    ],
)
def test_settings_that_cannot_be_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(given, CompleteSettings)


CHEAP = """
import sys
import holdfast
from holdfast.engines.completers.choose import completer
from holdfast.model.complete import CompleteSettings
for provider in ("none", "openai", "anthropic"):
    completer(CompleteSettings(provider=provider, model="m"), "key")
print(*sorted({"openai", "anthropic", "httpx2", "httpcore2", "pydantic", "anyio"} & set(sys.modules)))
"""


def test_choosing_imports_nothing_heavy() -> None:
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    printed = subprocess.run(
        [sys.executable, "-c", CHEAP], capture_output=True, text=True, check=True, timeout=120
    )
    assert (printed.stdout, printed.stderr) == ("\n", "")
