"""A log that lost its end although the index has it: the log counts, and a person is told."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

import holdfast
from holdfast.model.events import Event
from tests.faults.index_children import (
    INDEX_FILES,
    check,
    fill,
    ongoing,
    opened,
    right,
    sound,
    wrong,
)


@pytest.fixture
def home(place: Path) -> Path:
    """The index, and the snapshot, include the last event."""
    home = place / "home"
    with opened(home) as hf:
        fill(hf)
        ongoing(hf, "s1").decision("the last but one")
        ongoing(hf, "s1").gate(7, passed=True)
        hf.sessions()
    return home


def log_of(home: Path) -> Path:
    """The active segment."""
    return home / "contexts-v2" / "p" / "events.ndjson"


def tear(home: Path, lines: int, left: int) -> None:
    """Take whole lines from the end, and leave a part of the one before."""
    path = log_of(home)
    kept = path.read_bytes().splitlines(keepends=True)
    whole, torn = kept[: -lines - 1], kept[-lines - 1]
    os.truncate(path, len(b"".join(whole)) + left % len(torn))


@pytest.mark.parametrize("lines", [0, 1, 2, 5])
@pytest.mark.parametrize("left", [1, 40, -2])
@pytest.mark.parametrize("index", ["ahead", "gone"])
def test_a_torn_end_takes_the_index_back_with_it_and_is_said(
    home: Path, lines: int, left: int, index: str
) -> None:
    tear(home, lines, left)
    for name in INDEX_FILES if index == "gone" else ():
        (log_of(home).parent / name).unlink(missing_ok=True)
    with opened(home) as hf:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", holdfast.DamageWarning)
            said = wrong(hf, "torn")
        assert not said, "\n".join(said)
        with pytest.warns(holdfast.DamageWarning, match="verify"):
            list(hf.events())
        assert hf.notices, "the index was made anew and nobody says so"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", holdfast.DamageWarning)
            ongoing(hf, "s1").user("going on")
        check(hf, "mended")
        kinds = [event.kind for event in hf.events()]
        assert kinds.count("damage_found") == 1
        sound(hf)
    with opened(home) as hf:
        check(hf, "opened again")


@pytest.mark.parametrize("lines", [0, 3])
def test_whoever_has_it_open_notices_that_the_log_lost_its_end(home: Path, lines: int) -> None:
    with opened(home) as hf, opened(home) as other:
        assert not wrong(hf)
        assert not wrong(other)
        tear(home, lines, 40)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", holdfast.DamageWarning)
            assert not wrong(hf, "torn")
            assert hf.notices
            ongoing(other, "s2").decision("going on in the place of what was lost")
            assert not wrong(other, "other")
            assert not wrong(hf, "hf")
        check(hf)
        check(other)


def test_a_lost_newline_at_the_end_changes_no_answer(home: Path) -> None:
    path = log_of(home)
    before = right(str(path.parent))
    os.truncate(path, path.stat().st_size - 1)
    with opened(home) as hf:
        assert right(str(path.parent)) == before
        check(hf)
        sound(hf)


def test_damage_in_the_middle_is_left_out_by_index_and_fold_alike(home: Path) -> None:
    """The index was made when the event was whole: what it holds is still a fold of the log then."""
    path = log_of(home)
    data = path.read_bytes()
    with opened(home) as hf:
        whole = [event for event in hf.log.read() if isinstance(event, Event)]
    path.write_bytes(data.replace(b"decided: s1 turn 1", b"decided: s1 turn X"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", holdfast.DamageWarning)
        with opened(home) as hf:
            hf.rebuild()
            check(hf, "rebuilt")
            there = [event for event in hf.log.read() if isinstance(event, Event)]
    assert len([event for event in whole if event in there]) == len(whole) - 1
