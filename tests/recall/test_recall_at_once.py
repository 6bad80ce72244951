"""Written now, found now: by whoever asks, from wherever, with or without a writable index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.faults.conftest import need
from tests.faults.start import PRIVATE_MOUNTS
from tests.recall.replays import Ticking, ids

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


def python(code: str, *args: str, before: tuple[str, ...] = ()) -> str:
    """What a process of its own prints."""
    done = subprocess.run(
        [*before, sys.executable, "-c", code, *args],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_was_recorded_in_this_millisecond_is_found(tmp_path: Path) -> None:
    with (
        holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf,
        holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as other,
    ):
        s = hf.session(agent="coder")
        for n in range(30):
            said = s.user(f"the badger has name{n}").event_id
            learned = hf.remember(f"the otter has name{n}").id
            for reader in (hf, other):
                assert ids(reader.recall(f"badger name{n}", min_relevance=0))[0] == said
                assert ids(reader.recall(f"otter name{n}", min_relevance=0))[0] == learned
            hf.forget(learned, reason="enough")
            assert learned not in ids(other.recall(f"otter name{n}", min_relevance=0))


def test_what_another_process_recorded_is_found_and_the_other_way_round(tmp_path: Path) -> None:
    write = (
        "import sys, holdfast\n"
        "with holdfast.open(sys.argv[1], project='p', user='ana') as hf:\n"
        "    print(hf.session(agent='coder').user('the badger digs').event_id)\n"
        "    print(hf.remember('the badger sleeps', scope='user').id)\n"
    )
    read = (
        "import sys, holdfast\n"
        "with holdfast.open(sys.argv[1], project='p', user='ana') as hf:\n"
        "    print(*sorted(h.id for h in hf.recall('badger', min_relevance=0)))\n"
    )
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        mine = hf.session(agent="coder").user("a badger").event_id
        assert ids(hf.recall("badger", min_relevance=0)) == [mine]
        theirs = python(write, str(tmp_path)).split()
        assert sorted(ids(hf.recall("badger", min_relevance=0))) == sorted([mine, *theirs])
        last = hf.session(agent="coder").user("another badger").event_id
        assert python(read, str(tmp_path)).split() == sorted([mine, *theirs, last])


_READ_ONLY = """
import os, subprocess, sys, holdfast
home, seen, indexed = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
with holdfast.open(home, project="p", user="ana") as hf:
    s = hf.session(agent="coder", session_id="s")
    first = s.user("the badger digs a hole")
    one = hf.remember("the badger likes worms")
    if indexed:
        hf.recall("badger")
    last = s.user("the badger found a worm")
    two = hf.remember("the badger hates rain")
    hf.revise(one.id, text="the badger likes beetles")
os.makedirs(seen)
subprocess.run(["mount", "--bind", home, seen], check=True)
subprocess.run(["mount", "-o", "remount,bind,ro", seen], check=True)
with holdfast.open(seen, project="p", user="ana") as hf:
    found = hf.recall("badger", min_relevance=0)
    texts = {hit.id: hit.text for hit in found}
    wanted = {
        first.event_id: "the badger digs a hole",
        last.event_id: "the badger found a worm",
        one.id: "the badger likes beetles",
        two.id: "the badger hates rain",
    }
    assert texts == wanted, (texts, wanted)
    assert hf.recall("rain", min_relevance=0)[0].id == two.id
    assert not hf.recall("worms likes", kind="fact", min_relevance=0, k=1)[0].text.endswith("worms")
    with holdfast.open(home, project="p", user="ana") as writer:
        new = writer.session(agent="coder", session_id="s").user("a zebra came by")
        assert hf.recall("zebra", min_relevance=0)[0].id == new.event_id
        writer.forget(two.id, reason="no")
        assert two.id not in [hit.id for hit in hf.recall("badger rain", min_relevance=0)]
    assert hf.retrieve_recent(24)
print("fine")
"""


@pytest.mark.tools
@pytest.mark.parametrize("indexed", [True, False])
def test_in_a_home_that_may_only_be_read_the_tail_is_found_too(
    tmp_path: Path, indexed: bool
) -> None:
    need("mount", "unshare", root=True)
    home, seen = str(tmp_path / "one"), str(tmp_path / "seen")
    assert python(_READ_ONLY, home, seen, str(indexed), before=PRIVATE_MOUNTS) == "fine"
