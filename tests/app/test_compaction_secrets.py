"""Texts that look like secrets, or like half of one: what is recorded of a window can be read again."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app import compactions, nested
from holdfast.app.telling import redacted
from holdfast.errors import Damaged
from tests.app.test_compacting import compacted, worked
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking
from tests.record import canaries

SECRETS = (canaries.github(), canaries.anthropic(), canaries.private_key())
RAIL = "-" * 5
#: what secrets are known by, secrets themselves, and what surrounds them
PIECES = (
    *SECRETS,
    f"{RAIL}BEGIN RSA PRIVATE KEY{RAIL}",
    f"{RAIL}BEGIN PRIVATE KEY{RAIL} as PEM says.",
    f"{RAIL}END RSA PRIVATE KEY{RAIL}",
    f"grep -c -- '{RAIL}END PRIVATE KEY{RAIL}' k.pem",
    f"ValueError: expected '{RAIL}BEGIN PRIVATE KEY{RAIL}'",
    "MIIEpAIBAAKCAQEA",
    "tests/loader/authentication/test_headers.py:12: KeyError: 'token'",
    "src/loader/authentication/private_keys.py",
    "password:",
    "--password",
    "api_key =",
    "Authorization: Bearer",
    "export TOKEN=",
    "postgres://ana:",
    "@localhost/db",
    "[redacted:private-key:0123456789ab]",
    '"',
    "\\",
    "{",
    "\n",
    "the loader refuses my file; go on with the next fixture, please",
)
#: between two halves of a key that never was, a line of a whole one stays where it was said
HEARD = ("user_message", "model_message", "tool_call", "tool_result", "error", "decision")
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map(" ".join)
values = st.recursive(
    texts | st.integers(0, 1 << 70) | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@pytest.fixture(scope="module")
def anywhere() -> Iterator[holdfast.Holdfast]:
    with tempfile.TemporaryDirectory() as home, holdfast.open(home, project="p", user="ana") as hf:
        yield hf


@settings(max_examples=examples(300))
@given(value=values)
def test_json_inside_an_event_is_recorded_as_it_was_written(
    anywhere: holdfast.Holdfast, value: Any
) -> None:
    made = nested.text(anywhere, value)
    clean = nested.cleaned(anywhere, value)
    assert redacted(anywhere, made) == made
    assert json.loads(made) == clean == nested.cleaned(anywhere, clean)
    assert not any(secret in json.dumps(clean) for secret in SECRETS[:2])
    assert nested.safe(anywhere, made) == made


def test_a_key_that_seems_to_lie_across_two_texts_is_escaped_and_stays_legible_elsewhere(
    anywhere: holdfast.Holdfast,
) -> None:
    value = [
        f"{RAIL}BEGIN PRIVATE KEY{RAIL}",
        *[canaries.token(64)] * 3,
        f"{RAIL}END PRIVATE KEY{RAIL}",
    ]
    plain = json.dumps(value)
    assert redacted(anywhere, plain) != plain
    made = nested.text(anywhere, value)
    assert json.loads(made) == value
    assert "BEGIN PRIVATE KEY" in made


def scratch() -> str:
    return tempfile.mkdtemp(dir=os.environ["HOLDFAST_HOME"].rpartition("/")[0])


@settings(max_examples=examples(10), phases=AS_FOUND)
@given(
    told=st.lists(st.tuples(st.sampled_from("uatdei"), texts), min_size=12, max_size=30),
    ends=st.lists(
        st.sampled_from(("compact", "flash", "context", "tools")), min_size=2, max_size=4
    ),
)
def test_whatever_was_said_a_session_is_read_again_and_holds_no_secret(
    told: list[tuple[str, str]], ends: list[str]
) -> None:
    home = scratch()
    with holdfast.open(home, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s")
        for part, end in enumerate(ends):
            for n, (what, text) in enumerate(told[part :: len(ends)]):
                if what == "u":
                    s.user(text)
                elif what == "d":
                    s.decision(text)
                elif what == "e":
                    s.error(text)
                elif what == "i":
                    s.items.save(f"note: {text}", "CODE")
                elif what == "t":
                    call = f"c{part}-{n}"
                    s.tool_call("Bash", {"command": text}, call_id=call)
                    s.tool_result("Bash", text * 4, call_id=call, is_error=n % 2 == 0)
                else:
                    s.assistant(text * 3)
            if end == "compact":
                s.compact(told[0][1], to=300, window=2_000)
            elif end == "flash":
                saved = s.flash_save(window=2_000)
                assert s.saved_context(saved.checkpoint_id).tokens == saved.tokens_before
            tools = [{"name": "Bash", "about": told[0][1]}] if end == "tools" else None
            pack = s.context("go on", window=3_000, budget=300, tools=tools)
            assert hf.replay(pack.id).text == pack.text
        s.pressure(window=2_000)
        for event in hf.events():
            if event.kind == "compacted":
                compactions.read(hf, event)
        assert not [notice for notice in hf.notices if "cannot be read" in notice]
        assert all(hf.cold.get(one.id).parts for one in hf.cold.list("s"))
        heard = "".join(str(event.payload) for event in hf.events() if event.kind in HEARD)
    lines = [line for secret in SECRETS for line in secret.splitlines() if not line.startswith("-")]
    taken = [line for line in lines if line not in heard]
    assert SECRETS[0] in taken
    assert canaries.leaks(home, *taken) == []


# ---- what cannot be read all the same -------------------------------------------------------------


def test_a_compaction_that_cannot_be_read_gives_way_to_the_one_before(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s")
        worked(s, 8)
        first = compacted(s, "item 3", to=600, window=4_000)
        worked(s, 4)
        last = s.user("the last words")
        said = {"by": "holdfast", "follows": first.id, "through": last.event_seq, "past": "x"}
        damaged = s.record("compacted", said, origin="system")
        assert s.status().past == damaged.event_id
        pack = s.context("item 3", window=8_000)
        assert "the last words" in pack.text
        assert f"events {first.past.lines[0].first}-" in pack.text
        assert hf.replay(pack.id).text == pack.text
        assert [notice for notice in hf.notices if "cannot be read" in notice]
        assert s.pressure(window=8_000).tokens < 8_000
        again = compacted(s, "item 3", to=600, window=4_000)
        assert again.after == damaged.event_id
        assert s.context("item 3", window=8_000).tokens <= 8_000
        assert compactions.read(hf, hf.log.find(again.id)).past == again.past  # type: ignore[arg-type]


def test_without_one_that_can_be_read_the_plain_log_stands(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s")
        worked(s, 3)
        said = {"by": "holdfast", "follows": "", "through": 5, "past": "nonsense"}
        event = s.record("compacted", said, origin="system")
        pack = s.context("item 1", window=8_000, budget=0)
        assert "Please look at item 0 of the cart." in pack.text
        assert s.flash_save(window=8_000).tokens_before > 0
        with pytest.raises(Damaged, match="cannot be read"):
            compactions.read(hf, event)


def test_records_with_plain_json_in_them_are_still_read(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s")
        worked(s, 8)
        made = compacted(s, "item 3", to=600, window=4_000)
        event = hf.log.find(made.id)
        assert event is not None
        past = json.loads(event.payload["past"])
        old = {**event.payload, "follows": made.id, "past": json.dumps(past)}
        again = s.record("compacted", old, origin="system")
        assert compactions.read(hf, again).past == made.past
