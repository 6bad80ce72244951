"""Tuning through the public verb: nothing is written but what wins, and then it is in force."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app import rehearing, tuning
from holdfast.compact.choosing import NEEDED
from holdfast.errors import Invalid
from holdfast.model.tuning import Tuned
from holdfast.settings import config_file, load
from tests.property.effort import examples
from tests.recall.replays import Ticking

WINDOW = 3_000
#: so little is left that everything has to be fetched back
BAD = '# mine\n[compact]\nstrategy = "token_truncation" # little\nrecent = 1\nlines = 0.0\n'


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


def configured(text: str) -> Path:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def opened(home: Path, user: str = "ana") -> holdfast.Holdfast:
    return holdfast.open(home, project="p", user=user, now=Ticking())


def worked(hf: holdfast.Holdfast, name: str, turns: int = 9, **who: Any) -> holdfast.Session:
    """A session in which files are looked at, and one of the first again at the end."""
    s = hf.session(agent=who.pop("agent", "coder"), session_id=name, **who).start()
    for n in range(turns):
        path = f"src/{name}/part_{n % max(1, turns - 2)}.py"
        s.user(f"Look at {path}.")
        s.tool_call("Bash", {"command": f"cat {path}"}, call_id=f"c{n}")
        s.tool_result(
            "Bash", f"def run_{n}(cart_{n}): " + f"total_{n} += 1\n" * 24, call_id=f"c{n}"
        )
        back = max(0, n - 2)
        s.assistant(f"{path} counts as total_{back}, run_{back} and cart_{back} do.")
    return s


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Sessions enough for a proposal."""
    place = tmp_path / "home"
    with opened(place) as hf:
        for n in range(NEEDED + 1):
            worked(hf, f"s{n}", 8 + n % 3)
    return place


def tuned(home: Path, **how: Any) -> Tuned:
    with opened(home) as hf:
        found: Tuned = hf.tune(**{"window": WINDOW, "quick": True, **how})
        return found


# ---- looking ---------------------------------------------------------------------------------------


def test_tuning_records_nothing_and_says_the_same_again(home: Path) -> None:
    told: list[int] = []
    with opened(home) as hf:
        before = hf.log.head(), hf.state_hash()
        found = hf.tune(window=WINDOW, quick=True, progress=told.append)
        assert hf.tune(window=WINDOW, quick=True) == found
        assert (hf.log.head(), hf.state_hash()) == before
    assert told == sorted(told)
    assert told[-1] == 100
    assert not config_file().exists()
    assert found.now is not None
    assert found.everything is not None
    assert found.now.fullest <= found.history < WINDOW
    assert found.now.compactions > 0
    assert found.everything.savings == found.everything.regret == 0
    assert sum(map(sum, found.now.scores.values())) > 0
    assert len(found.seen) + len(found.unseen) == NEEDED + 1
    assert found.rows[0].knobs == {}


def test_what_wins_is_written_and_in_force_and_the_rest_of_the_file_stays(home: Path) -> None:
    path = configured(BAD)
    found = tuned(home, apply=True)
    assert found.proposal is not None
    assert found.proposal.wins
    assert found.proposal.after.price < found.proposal.before.price
    assert found.applied == str(path)
    assert found.refused == ""
    now = load().compact
    for name, value in found.proposal.knobs.items():
        assert getattr(now, name) == value
    text = path.read_text()
    assert text.startswith("# mine\n[compact]\nstrategy = ")
    assert " # little\n" in text
    assert Path(f"{path}.before-tune").read_text() == BAD


def test_without_being_asked_to_nothing_is_written(home: Path) -> None:
    path = configured(BAD)
    found = tuned(home)
    assert found.proposal is not None
    assert (found.applied, found.refused) == ("", "")
    assert path.read_text() == BAD
    assert list(path.parent.glob("*before*")) == []


def test_once_it_is_applied_there_is_nothing_more_to_write(home: Path) -> None:
    configured(BAD)
    assert tuned(home, apply=True).applied
    text = config_file().read_text()
    again = tuned(home, apply=True)
    if not again.applied:
        assert again.refused
        assert config_file().read_text() == text


def test_too_few_sessions_are_refused_with_how_many_are_needed(tmp_path: Path) -> None:
    path = configured(BAD)
    with opened(tmp_path / "home") as hf:
        for n in range(NEEDED - 1):
            worked(hf, f"s{n}")
        found = hf.tune(window=WINDOW, quick=True, apply=True)
    assert f"{NEEDED - 1} of the recorded sessions" in found.refused
    assert f"{NEEDED} are needed" in found.refused
    assert path.read_text() == BAD


def test_without_a_session_there_is_an_answer_too(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as hf:
        hf.session(agent="coder", session_id="one").user("hello")
        found = hf.tune(apply=True)
    assert (found.seen, found.unseen, found.rows, found.proposal) == ((), (), (), None)
    assert found.refused.startswith("0 of the recorded sessions")


def test_settings_that_changed_meanwhile_are_not_overwritten(home: Path) -> None:
    path = configured(BAD)
    with opened(home) as hf:
        path.write_text(BAD + "keep = 0.8\n")
        found = hf.tune(window=WINDOW, quick=True, apply=True)
    assert "changed since" in found.refused
    assert path.read_text() == BAD + "keep = 0.8\n"


def test_a_file_that_cannot_be_changed_safely_is_left_alone(home: Path) -> None:
    path = configured("compact = {strategy = 'token_truncation', recent = 1, lines = 0.0}\n")
    found = tuned(home, apply=True)
    assert found.proposal is not None
    assert "yourself:\n[compact]\n" in found.refused
    assert (
        path.read_text() == "compact = {strategy = 'token_truncation', recent = 1, lines = 0.0}\n"
    )


# ---- whose sessions, and which window --------------------------------------------------------------


def test_only_sessions_of_the_asking_user_are_replayed(home: Path) -> None:
    with opened(home) as hf:
        worked(hf, "of ben", user="ben")
        worked(hf, "of critic", agent="critic")
        mine = hf.tune(window=WINDOW, quick=True)
        theirs = hf.tune(window=WINDOW, quick=True, user="ben")
        critic = hf.tune(window=WINDOW, quick=True, agent="critic")
    assert "coder:of ben" not in (*mine.seen, *mine.unseen)
    assert "critic:of critic" in (*mine.seen, *mine.unseen)
    assert (*theirs.seen, *theirs.unseen) == ("coder:of ben",)
    assert (*critic.seen, *critic.unseen) == ("critic:of critic",)


def test_the_newest_sessions_that_fill_the_window_are_replayed(home: Path) -> None:
    with opened(home) as hf:
        worked(hf, "short", 3)
        found = hf.tune(window=WINDOW, quick=True, most=4)
    assert sorted((*found.seen, *found.unseen)) == [f"coder:s{n}" for n in range(5, 9)]
    assert found.short == 1


def test_where_nothing_fills_the_window_a_smaller_one_is_replayed_and_not_applied(
    home: Path,
) -> None:
    path = configured(BAD)
    found = tuned(home, window=None, apply=True)
    assert found.window < load().compose.history_tokens
    assert found.smaller
    assert "too few of 9 sessions fill the window of 100,000 tokens" in found.notes[0]
    assert "name a window" in found.refused
    assert path.read_text() == BAD


def test_a_long_session_is_replayed_up_to_a_bound(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearing, "MOST_EVENTS", 30)
    monkeypatch.setattr(tuning, "MOST_EVENTS", 30)
    assert "the first 30 events" in tuned(home).notes[0]


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_number_of_sessions_that_is_none_is_refused(tmp_path: Path, most: Any) -> None:
    with opened(tmp_path / "home") as hf, pytest.raises(Invalid, match="number of sessions"):
        hf.tune(most=most)


def test_what_was_recovered_counts_as_needed(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as hf:
        s = worked(hf, "one")
        before = hf.tune(window=WINDOW, quick=True).now
        made = s.compact(to=300, window=WINDOW)
        assert made is not None
        chunk = next(one.id for one in made.decided if one.verdict == "drop")
        s.recover(chunk, prompt="needed")
        s.assistant("now I know")
        after = hf.tune(window=WINDOW, quick=True).now
    assert before is not None
    assert after is not None
    assert after.needed == before.needed + 1


def test_what_a_model_expanded_counts_as_needed(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as hf:
        s = worked(hf, "one")
        before = hf.tune(window=WINDOW, quick=True).now
        s.user("and how was that?")
        s.tool_call("mcp__holdfast__memory_expand", {"ref": "events 2-5"}, call_id="e")
        after = hf.tune(window=WINDOW, quick=True).now
    assert before is not None
    assert after is not None
    assert after.needed == before.needed + 1


def test_an_async_caller_tunes_too(home: Path) -> None:
    async def asked() -> Tuned:
        async with holdfast.aio.open(home, project="p", user="ana") as hf:
            found: Tuned = await hf.tune(window=WINDOW, quick=True)
            return found

    assert asyncio.run(asked()) == tuned(home)


# ---- whatever the sessions -------------------------------------------------------------------------


@settings(max_examples=examples(5))
@given(
    st.lists(st.integers(2, 11), min_size=NEEDED, max_size=NEEDED + 2),
    st.sampled_from([(0.2, 0.19), (0.5, 0.25), (0.8, 0.1)]),
)
def test_what_is_proposed_never_loses_where_it_was_not_chosen(
    turns: list[int], how: tuple[float, float]
) -> None:
    configured(f"[compact]\ncompact_at = {how[0]}\ncompact_to = {how[1]}\n")
    with tempfile.TemporaryDirectory() as place, opened(Path(place)) as hf:
        for n, many in enumerate(turns):
            worked(hf, f"s{n}", many)
        position = hf.log.head()
        found = hf.tune(window=WINDOW, quick=True)
        assert hf.log.head() == position
    if found.proposal is not None and found.proposal.wins:
        before, after = found.proposal.before, found.proposal.after
        assert after.price < before.price
        assert after.regret <= before.regret + 0.0101
        assert not set(found.seen) & set(found.unseen)
