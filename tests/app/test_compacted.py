"""Compactions that were, as a session lists and reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.app import compacted
from holdfast.app.rebuild import rebuild
from holdfast.errors import Damaged, NotFound
from tests.app.conversations import erased
from tests.app.hosts import Host, notes
from tests.app.test_cold import talk
from tests.app.test_cold_damaged import damaged, event
from tests.recall.replays import Ticking


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def made(s: holdfast.Session, to: int) -> str:
    talk(s)
    found = s.compact("the zebra crossing number 7", to=to)
    assert found is not None
    return found.id


def test_compactions_are_listed_the_last_first_and_read_by_id(hf: holdfast.Holdfast) -> None:
    s, other = (hf.session(agent="coder", session_id=name).start() for name in ("one", "two"))
    assert s.compactions() == []
    ids = [made(s, 900), made(s, 700), made(s, 600)]
    theirs = made(other, 600)
    found = s.compactions()
    assert [one.id for one in found] == ids[::-1]
    assert [one.after for one in found] == [ids[1], ids[0], ""]
    assert [s.compaction(one.id) for one in found] == found
    assert [one.id for one in other.compactions()] == [theirs]


def test_going_back_and_the_end_of_a_session_are_listed_too(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    talk(s)
    saved = s.checkpoint()
    first = made(s, 600)
    back = s.resume_from(saved.id)
    assert [one.id for one in s.compactions()] == [back.id, first]
    assert s.compaction(back.id).strategy == "restore"


def test_what_is_no_compaction_of_this_session_is_not_found(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    mine = made(s, 600)
    said = s.user("hello")
    hosts = s.record("compacted", {"trigger": "auto"}, origin="system")
    others = [
        hf.session(agent="coder", session_id="two").start(),
        hf.session(agent="critic", session_id="three").start(),
        hf.session(agent="coder", user="ben", session_id="four").start(),
    ]
    for one in ("evt_never", said.event_id, 7, ""):
        with pytest.raises(NotFound, match="session compactions"):
            s.compaction(one)  # type: ignore[arg-type]
    for other in others:
        with pytest.raises(NotFound, match="session compactions"):
            other.compaction(mine)
        assert other.compactions() == []
    with pytest.raises(NotFound, match="of a host"):
        s.compaction(hosts.event_id)


def test_one_that_cannot_be_read_hides_none_before_it(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    first = made(s, 600)
    said = {"by": "holdfast", "follows": first, "through": 5, "past": "nonsense"}
    damaged = s.record("compacted", said, origin="system")
    assert [one.id for one in s.compactions()] == [first]
    assert [notice for notice in hf.notices if damaged.event_id in notice]
    with pytest.raises(Damaged, match="cannot be read"):
        s.compaction(damaged.event_id)


@pytest.mark.filterwarnings("ignore::holdfast.app.holdfast.DamageWarning")
@pytest.mark.parametrize("anew", [False, True])
def test_one_whose_line_is_damaged_hides_none_before_it(hf: holdfast.Holdfast, anew: bool) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    ids = [made(s, to) for to in (900, 700, 600)]
    with damaged(hf, event(ids[1])) as later:
        if anew:
            rebuild(later)
        found = later.session(agent="coder", session_id="one").compactions()
        assert [one.id for one in found] == [ids[2], ids[0]]
        assert [one for one in later.notices if ids[1] in one and "not listed" in one]


def test_one_that_was_erased_hides_none_before_it(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    ids = [made(s, to) for to in (900, 700, 600)]
    erased(hf, ids[1])
    assert [one.id for one in s.compactions()] == [ids[2], ids[0]]


def test_what_a_host_shortened_hides_none_of_ours(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    first = made(s, 600)
    s.record("compacted", {"by": "host"}, origin="system")
    assert [one.id for one in s.compactions()] == [first]
    second = made(s, 500)
    assert [one.id for one in s.compactions()] == [second, first]


def test_the_last_ones_are_listed(hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted, "_MOST", 2)
    s = hf.session(agent="coder", session_id="one").start()
    ids = [made(s, to) for to in (900, 700, 600)]
    assert [one.id for one in s.compactions()] == [ids[2], ids[1]]


def test_every_decision_has_its_handle_and_begins_as_it_says(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    found = s.compaction(made(s, 600))
    told = compacted.told(hf, found)
    assert [one.id for one in told] == [one.id for one in found.decided]
    for one in told:
        whole = " ".join(s.expand(one.handle).text.split())
        assert one.says
        assert one.says.removesuffix("…") in whole
        assert sum(one.parts.values()) == pytest.approx(one.score, abs=1e-5)


def test_what_a_host_had_compacted_can_be_read(tmp_path: Path) -> None:
    ctx = Host(notes(40)).manager(tmp_path)
    ctx.before_response(8_000)
    ctx.compact()
    (found,) = ctx._session.compactions()
    told = compacted.told(ctx._hf, found)
    assert {one.verdict for one in told} >= {"keep", "drop"}
    assert all(one.says.startswith("Note") for one in told)
    ctx.session_end()


def test_it_is_known_by_its_id_to_its_own_user_and_agent_alone(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="one").start()
    mine = made(s, 600)
    for who in ((None, None), ("ana", "*"), ("ana", "coder")):
        found = compacted.named(hf, mine, *who)
        assert found is not None
        assert found.id == mine
    for other in (("ben", None), ("ana", "critic")):
        assert compacted.named(hf, mine, *other) is None
    assert compacted.named(hf, "evt_never", None, None) is None
