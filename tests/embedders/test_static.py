"""The static embedder: the sums it should be, from files that are checked, without their package."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer

from holdfast.engines.embedders import table, weights
from holdfast.engines.embedders.static import Static
from holdfast.errors import Unavailable
from tests.property.effort import examples

STATIC = Static()
SPEC = find_spec("wordllama")
assert SPEC is not None
assert SPEC.submodule_search_locations is not None
PACKAGE = Path(SPEC.submodule_search_locations[0])
WEIGHTS = PACKAGE / "weights/l2_supercat_256.safetensors"
TOKENS = PACKAGE / "tokenizers/l2_supercat_tokenizer_config.json"

WHOLE = Tokenizer.from_file(str(TOKENS))
WHOLE.encode_special_tokens = True
VECTORS = np.frombuffer(WEIGHTS.read_bytes()[-32_000 * 256 * 2 :], "<f2").reshape(32_000, 256)

TEXTS = st.lists(
    st.sampled_from(
        (" ", "  ", "\n", "▁", "</s>", "1234", "Ana's", "don't", "漢字", "\t", "def f():")
    )
    | st.text(max_size=10)
    | st.text("ab .\n", max_size=20),
    max_size=20,
).map("".join)


def _tokens(text: str) -> list[int]:
    found: list[int] = WHOLE.encode(text, add_special_tokens=False).ids
    return found


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def _sum(text: str) -> NDArray[np.float64]:
    total: NDArray[np.float64] = VECTORS[_tokens(text)].sum(axis=0, dtype=np.float64)
    return total


@given(text=TEXTS)
@example(text="a ")
@example(text=" ")
@example(text="  a  b   ")
@example(text="a▁ b ▁")
@example(text="▁ ")
@settings(max_examples=examples(300))
def test_pieces_have_the_tokens_of_the_whole(text: str) -> None:
    assert STATIC._table()._pieces.tokens(text) == _tokens(text)


@given(said=st.lists(st.tuples(st.sampled_from(("", "Ana")), TEXTS), max_size=5))
@settings(max_examples=examples(100))
def test_a_passage_is_the_direction_of_the_mean_of_its_tokens(said: list[tuple[str, str]]) -> None:
    rows = STATIC.passages(said)
    for (speaker, text), row in zip(said, rows, strict=True):
        whole = f"{speaker}: {text}" if speaker else text
        wanted = _unit(_sum(whole)) if text.strip() else np.zeros(256)
        assert np.abs(row - wanted).max() < 1e-5


@given(
    words=st.lists(
        st.sampled_from(("who", "is", "the", "Kubernetes", "Łódź", "x1", "Who")), max_size=8
    ),
    shares=st.dictionaries(st.sampled_from(("who", "is", "the", "x1")), st.floats(0, 1)),
)
@settings(max_examples=examples(100))
def test_a_question_mixes_rare_words_with_all_words(
    words: list[str], shares: dict[str, float]
) -> None:
    text = "_, ".join(words)
    rare = alike = np.zeros(256)
    for word in re.findall(r"[^\W_]+", text):
        rare = rare + 0.15 / (0.15 + shares.get(word, 0.0)) * _sum(word)
        alike = alike + _sum(word)
    wanted = _unit(0.6 * _unit(rare) + 0.4 * _unit(alike))
    found = STATIC.query(text, lambda word: shares.get(word, 0.0))
    assert np.abs(found - wanted).max() < 1e-5


def test_words_are_asked_about_as_they_are_written_and_once() -> None:
    asked: list[str] = []

    def common(word: str) -> float:
        asked.append(word)
        return 0.0

    STATIC.query("Who is who_is? WHO is", common)
    assert asked == ["Who", "is", "who", "WHO"]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    rare, common = STATIC.passages([("", "zebra"), ("", "people")])
    question = STATIC.query("zebra people", lambda word: 0.5 if word == "people" else 0.0)
    plain = STATIC.query("zebra people", lambda word: 0.0)
    assert question @ rare > plain @ rare
    assert question @ common < plain @ common


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_REMEMBERED", 10)
    pieces = Static()._table()._pieces
    text = " ".join(f"w{number}" for number in range(100)) + " " + "long" * 50
    assert pieces.tokens(text) == _tokens(text)
    assert len(pieces) <= 10
    assert all(len(piece) <= 40 for piece in pieces)


def _a_package(folder: Path, *, without: str = "", flip: str = "") -> None:
    """A copy of the files of wordllama; one left out, or one bit of one flipped."""
    for path in (WEIGHTS, TOKENS):
        copy = folder / "wordllama" / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.name == without:
            continue
        shutil.copyfile(path, copy)
        if path.name == flip:
            found = bytearray(copy.read_bytes())
            found[len(found) // 2] ^= 1
            copy.write_bytes(found)
    (folder / "wordllama" / "__init__.py").write_text("raise AssertionError('imported')\n")


def test_only_the_files_of_the_package_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _a_package(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert np.array_equal(Static().passages([("", "x")]), STATIC.passages([("", "x")]))


@pytest.mark.parametrize("name", [WEIGHTS.name, TOKENS.name])
def test_a_damaged_or_missing_file_is_unavailable_until_it_is_mended(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    static = Static()
    _a_package(tmp_path, without=name)
    with pytest.raises(Unavailable, match=f"{name} cannot be read.*pip install --force-reinstall"):
        static.passages([("", "x")])
    _a_package(tmp_path, flip=name)
    with pytest.raises(Unavailable, match=f"{name} is damaged.*pip install --force-reinstall"):
        static.query("x", lambda word: 0.0)
    _a_package(tmp_path)
    assert static.passages([("", "x")]).any()


def test_a_package_that_is_not_installed_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [place for place in sys.path if "site-packages" not in place])
    importlib.invalidate_caches()
    with pytest.raises(Unavailable, match="wordllama is not installed; run: pip install"):
        Static().passages([("", "x")])


def test_a_module_that_is_something_else_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        __spec__ = None

    monkeypatch.setitem(sys.modules, "wordllama", Odd())
    assert not weights.installed("wordllama")
    assert not weights.installed("no_such_module_anywhere")


def test_many_threads_load_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    real = weights.read

    def counted(package: weights.Package, name: str, checksum: int) -> bytes:
        loads.append(name)
        return real(package, name, checksum)

    monkeypatch.setattr(weights, "read", counted)
    static = Static()
    with ThreadPoolExecutor(8) as threads:
        rows = list(threads.map(lambda _: static.passages([("", "x")]), range(16)))
    assert len(loads) == 2
    assert all(np.array_equal(row, rows[0]) for row in rows)


FORKS = """
import os, sys, threading
from holdfast.engines.embedders.once import Once

def make():
    loading.set()
    release.wait()
    return "made"

for inherits in (True, False):
    loading, release = threading.Event(), threading.Event()
    once = Once(make, inherits=inherits)
    thread = threading.Thread(target=once)
    thread.start()
    loading.wait()
    child = os.fork()
    if child == 0:  # the thread that holds the lock is not here
        release.set()
        os._exit(0 if once() == "made" else 1)
    status = os.waitpid(child, 0)[1]
    release.set()
    thread.join()
    assert status == 0, status
"""


def test_a_fork_while_another_thread_loads_does_not_wait_for_it() -> None:
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=120)
