"""Which version of a document holds when: what the row of a path says after any events."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model.documents import MOST_PAST, Said, Tracked, after, holds
from holdfast.model.events import Event
from tests.property.effort import examples
from tests.recall.replays import stamp

#: minutes at which something is said, in the order of the log; clocks may go back
histories = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=12)


def tracked(history: list[tuple[int, bool]]) -> Tracked:
    known = None
    for seq, (minute, gone) in enumerate(history, 1):
        event = Event(v=2, event_seq=seq, event_id=f"evt_{seq}", timestamp=stamp(minute))
        known = after(known, event, Said(path="a.md", gone="missing" if gone else ""))
    assert known is not None
    return known


@settings(max_examples=examples(200))
@given(histories, st.integers(0, 20))
def test_a_version_holds_from_its_time_until_anything_later_was_said(
    history: list[tuple[int, bool]], minute: int
) -> None:
    known = tracked(history)
    for seq, (began, gone) in enumerate(history, 1):
        if gone:
            continue
        later = [at for at, _ in history[seq:]]
        assert holds(known, seq, None) == (not later)
        if began <= minute:
            assert holds(known, seq, stamp(minute)) == all(minute < at for at in later)


def test_of_versions_that_are_too_far_back_the_shelves_know() -> None:
    known = tracked([(n, False) for n in range(MOST_PAST + 3)])
    assert len(known.past) == MOST_PAST
    assert holds(known, 1, stamp(0))
    assert not holds(known, 1, None)
    assert holds(known, 4, stamp(3))
    assert not holds(known, 4, stamp(4))
