"""A session of a workflow is compacted and told as the workflow's prompt file says."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.app.open import init
from holdfast.errors import Invalid
from tests.app.test_compacting import chatted, worked

HEAD = "---\nsession:\n  compaction:\n    strategy: {}\n    checkpoint_on: validation_gate\n"
FILES = (
    ".holdfast/workflows/{}.md",
    ".claude/workflows/{}.prompt.md",
    ".github/prompts/{}.prompt.md",
)


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


def written(root: Path, place: str, name: str, text: str) -> None:
    path = root / place.format(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("place", FILES)
def test_the_strategy_of_a_workflow_is_the_one_its_file_names(tmp_path: Path, place: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    written(root, place, "create-service", HEAD.format("sliding_window") + "---\nDo it.\n")
    with init(root, tmp_path / "home") as hf:
        for name, strategy in (("create-service", "sliding_window"), ("other", "adaptive")):
            with hf.session(agent="coder", workflow=name) as s:
                worked(s)
                made = s.compact(to=300, window=4_000)
                assert made is not None
                assert made.strategy == strategy
                session = s.id
            again = hf.session(agent="coder", session_id=session)  # known from the log as well
            worked(again)
            more = again.compact(to=300, window=4_000)
            assert more is not None
            assert more.strategy == strategy


def test_what_the_file_names_begins_a_compaction_and_nothing_else_does(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    on = "---\nsession:\n  compaction:\n    checkpoint_on: {}\n---\n"
    written(root, FILES[0], "gates", on.format("validation_gate"))
    written(root, FILES[0], "tokens", on.format("[token_count]"))
    written(root, FILES[0], "none", on.format("[]"))
    found = {}
    with init(root, tmp_path / "home") as hf:
        for name in ("gates", "tokens", "none", ""):
            for passed in (True, False):
                s = hf.session(agent="coder", workflow=name, session_id=f"{name}-{passed}").start()
                chatted(s, 12, 400)
                if passed:
                    s.gate(1, passed=True)
                s.context("go on", window=24_000, budget=300)
                found[name, passed] = [
                    one.payload["trigger"]
                    for one in hf.events(session_id=s.id)
                    if one.kind == "compacted"
                ]
    assert found["gates", True] == found["", True] == ["gate"]
    assert not any(found[name, False] for name in ("gates", "tokens", "none", ""))
    assert found["tokens", True] == found["none", True] == []


def test_recall_adds_what_the_workflow_wants(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    part = "---\nmemory:\n  retrieval:\n    "
    written(root, FILES[0], "quiet", part + "proactive: false\n---\n")
    written(root, FILES[0], "mine", part + "scopes: [user]\n---\n")
    with init(root, tmp_path / "home") as hf:
        hf.remember("The otter keeps the archive of the project.", scope="project")
        hf.remember("I call the otter my archive keeper.", scope="user")
        told = {}
        for name in ("quiet", "mine", "none"):
            s = hf.session(agent="coder", workflow=name).start()
            told[name] = s.context("who keeps the archive?").sections["relevant"]
    assert told["quiet"] == ""
    assert "archive keeper" in told["mine"]
    assert "of the project" not in told["mine"]
    assert "of the project" in told["none"]
    assert "archive keeper" in told["none"]


def test_a_file_that_cannot_be_read_is_named_before_the_session_begins(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    written(root, FILES[1], "broken", HEAD.format("shrink") + "---\n")
    with init(root, tmp_path / "home") as hf:
        before = hf.log.head()
        with pytest.raises(
            Invalid, match=r"workflows/broken.prompt.md:4: session.compaction.strategy"
        ):
            hf.session(agent="coder", workflow="broken").start()
        assert hf.log.head() == before
        for name in ("../../etc/passwd", "a/b", "..", "x" * 300):
            s = hf.session(agent="coder", workflow=name[:200])
            chatted(s, 1)
            assert s.context("hello").text
    assert holdfast.__version__


def test_everything_is_saved_at_a_number_of_tokens_whatever_a_workflow_names(
    tmp_path: Path,
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    written(root, FILES[0], "gates", HEAD.format("adaptive") + "---\n")
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[compact]\nflash_tokens = 3000\n")
    with init(root, tmp_path / "home") as hf:
        s = hf.session(agent="coder", workflow="gates", session_id="s").start()
        assert s.pressure(window=100_000).next_at == 3_000
        chatted(s, 12, 400)
        s.context("go on", window=100_000, budget=300)
        assert len(s.checkpoints()) == 1
        again = hf.session(agent="coder", session_id="s")
        written(root, FILES[0], "gates", "---\nsession: [\n---\n")
        assert again.pressure(window=100_000).next_at == 3_000
        assert any("gates.md" in notice for notice in hf.notices)
