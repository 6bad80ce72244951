"""A chained log: every edit, removal and reorder shows, also by somebody who can compute a checksum."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.capture.chain import Chain
from holdfast.capture.disk import Disk
from holdfast.engines.files import FileLog
from tests.contract.entries import baseline, entry, erasure, events_of, file_log
from tests.corruption.golden import sealed

Edit = Callable[[list[bytes], random.Random], list[bytes]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A chained log of thirty events: two segments, an erased event, anchored to its end."""
    log = file_log(tmp_path / "log", chained=True)
    for n in range(12):
        user = "ana" if n % 2 else None
        log.append([entry(f"text {n} ü", f"own-{n}", user=user, session_id=f"ses_{user}")])
    log.erase(["own-5"], subject=erasure(["own-5"]))
    for n in range(12, 28):
        log.append([entry(f"text {n}", f"own-{n}")])
    log.append([entry(type="session_ended@1")])
    log.anchor()
    log.close()
    return tmp_path


def lines_of(place: Path) -> list[bytes]:
    return b"".join(path.read_bytes() for path in files(place)).splitlines()


def files(place: Path) -> list[Path]:
    return [*sorted((place / "log").glob("events-*.ndjson")), place / "log" / "events.ndjson"]


def put_lines(place: Path, lines: list[bytes]) -> None:
    for path in files(place)[:-1]:
        path.unlink()
    (place / "log" / "events.ndjson").write_bytes(b"".join(each + b"\n" for each in lines))


def checked(place: Path) -> FileLog:
    return file_log(place / "log", chained=True)


def renumbered(lines: list[bytes]) -> list[bytes]:
    """Dense seqs again, and checksums that fit: what a careful forger leaves."""
    made = []
    for seq, each in enumerate(lines, 1):
        body = re.sub(rb'"event_seq":[0-9]+', b'"event_seq":%d' % seq, each, count=1)
        made.append(sealed(body[: body.rindex(b',"crc":')]))
    return made


# ---- what a forger may try ----------------------------------------------------------------------


def flip(lines: list[bytes], dice: random.Random) -> list[bytes]:
    at = dice.randrange(len(lines))
    data = bytearray(lines[at])
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return [*lines[:at], bytes(data), *lines[at + 1 :]]


def drop(lines: list[bytes], dice: random.Random) -> list[bytes]:
    at = dice.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def drop_and_renumber(lines: list[bytes], dice: random.Random) -> list[bytes]:
    return renumbered(drop(lines, dice))


def swap(lines: list[bytes], dice: random.Random) -> list[bytes]:
    a, b = dice.sample(range(len(lines)), 2)
    made = list(lines)
    made[a], made[b] = made[b], made[a]
    return made


def swap_and_renumber(lines: list[bytes], dice: random.Random) -> list[bytes]:
    return renumbered(swap(lines, dice))


def edit(lines: list[bytes], dice: random.Random) -> list[bytes]:
    """Other content with a checksum that fits."""
    at = dice.randrange(len(lines))
    changes = [
        (rb'"text":"', b'"text":"not '),
        (rb'"trust":[0-9]', b'"trust":0'),
        (rb'"origin":"user"', b'"origin":"tool"'),
        (rb'"timestamp":"2', b'"timestamp":"1'),
        (rb'"user":(?:null|"ana")', b'"user":"eve"'),
        (rb'"agent":(?:null|"coder")', b'"agent":"other"'),
        (rb'"type":"[a-z]', b'"type":"x'),
        (rb'"event_id":"', b'"event_id":"x'),
        (rb'"sources":\[', b'"sources":["forged"'),
        (rb'"salt":"..', b'"salt":"00'),
        (rb'"pd":"..', b'"pd":"00'),
        (rb'"h":"..', b'"h":"00'),
    ]
    while True:
        pattern, new = dice.choice(changes)
        changed = re.sub(pattern, new, lines[at], count=1)
        # the user of an erased record is a pseudonym and covered by nothing
        if changed != lines[at] and not (b'"erased":' in changed and b'"user":"eve"' in new):
            break
    return [*lines[:at], sealed(changed[: changed.rindex(b',"crc":')]), *lines[at + 1 :]]


def blank(lines: list[bytes], dice: random.Random) -> list[bytes]:
    """Pretend that a record was erased."""
    at = dice.choice([n for n, each in enumerate(lines) if b'"text":' in each])
    head, _, _ = lines[at].partition(b',"payload":')
    head = re.sub(rb',"salt":"[0-9a-f]*"', b"", head)
    by = json.loads(next(each for each in lines if b"subject_erased" in each))["event_id"]
    mark = dice.choice([b"", b',"erased":true', b',"erased":true'])
    blanked = sealed(b'%b%b,"payload":{"erased":"%b"}' % (head, mark, by.encode()))
    return [*lines[:at], blanked, *lines[at + 1 :]]


def cut_tail(lines: list[bytes], dice: random.Random) -> list[bytes]:
    return lines[: -dice.randrange(1, len(lines))]


def repeat(lines: list[bytes], dice: random.Random) -> list[bytes]:
    return [*lines, dice.choice(lines)]


def forge_one_more(lines: list[bytes], dice: random.Random) -> list[bytes]:
    """A record in the middle, made from another, everything behind it moved up."""
    at = dice.randrange(1, len(lines))
    forged = re.sub(rb'"event_id":"', b'"event_id":"forged-', dice.choice(lines), count=1)
    return renumbered([*lines[:at], forged, *lines[at:]])


EDITS: list[Edit] = [
    flip, drop, drop_and_renumber, swap, swap_and_renumber, edit, blank, cut_tail, repeat,
    forge_one_more,
]  # fmt: skip


def test_the_log_as_it_was_left_is_whole(place: Path) -> None:
    said = checked(place).verify()
    assert (said.sound, said.chain, said.unanchored, said.erased) == (True, "whole", 0, 1)
    put_lines(place, lines_of(place))
    assert checked(place).verify().sound


@pytest.mark.parametrize("forge", EDITS, ids=lambda forge: forge.__name__)
def test_two_hundred_edits_of_each_kind_are_all_detected(place: Path, forge: Edit) -> None:
    lines, dice = lines_of(place), random.Random(forge.__name__)
    missed = []
    for _ in range(200):
        forged = forge(lines, dice)
        if forged == lines:
            continue
        put_lines(place, forged)
        for kept in (place / "log").glob("quarantine/*"):
            kept.unlink()
        log = checked(place)
        said = log.verify()
        log.close()
        if said.sound:
            missed.append([(a, b) for a, b in zip(lines, forged, strict=False) if a != b][:1])
    assert missed == []


def test_an_edit_anywhere_in_the_log_is_placed_where_it_is(place: Path) -> None:
    lines = lines_of(place)
    for at in range(0, len(lines), 4):
        changed = lines[at].replace(b'"trust":3', b'"trust":2')
        body = changed[: changed.rindex(b',"crc":')]
        put_lines(place, [*lines[:at], sealed(body), *lines[at + 1 :]])
        said = checked(place).verify()
        assert (said.chain, said.chain_break) == ("broken", at + 1)


def test_a_tail_that_is_not_anchored_is_said_to_be(place: Path) -> None:
    log = checked(place)
    last = log.head().event_seq
    log.append([entry("one"), entry("two")])
    said = log.verify()
    assert (said.sound, said.anchored_seq, said.unanchored) == (True, last, 2)
    log.seal()
    assert log.verify().unanchored == 0
    log.close()


def test_the_end_of_a_session_is_anchored(place: Path) -> None:
    log = checked(place)
    log.append([entry("one"), entry(type="session_ended@1")])
    assert log.verify().unanchored == 0
    log.close()


def test_the_chain_stays_whole_through_erase_and_retain(place: Path) -> None:
    log = checked(place)
    log.erase(["own-1", "own-27"], subject=erasure(["own-1", "own-27"]))
    assert log.verify().chain == "whole"
    log.append([entry("more")])
    log.seal()
    log.retain(baseline(), through=13)
    said = log.verify()
    assert (said.sound, said.chain) == (True, "whole")
    assert said.first_seq > 1
    log.append([entry("on")])
    log.close()
    assert checked(place).verify().chain == "whole"


def test_erased_text_cannot_be_confirmed_by_guessing(place: Path) -> None:
    erased = next(event for event in events_of(checked(place)) if event.erased)
    assert erased.salt is None
    assert erased.pd is not None


def test_without_its_key_a_chain_is_not_called_whole(place: Path) -> None:
    log = FileLog(str(place / "log"))
    said = log.verify()
    assert (said.chain, said.sound) == ("key missing", False)


def test_another_key_does_not_fit(place: Path) -> None:
    chain = Chain(b"x" * 32, str(place / "log.anchors"), Disk())
    said = FileLog(str(place / "log"), chain=chain).verify()
    assert (said.chain, said.chain_break) == ("broken", 1)


# ---- meta.json lies in the home too -------------------------------------------------------------


def test_switching_the_chain_off_in_meta_json_is_noticed(place: Path) -> None:
    path = place / "log" / "meta.json"
    state = json.loads(path.read_bytes())
    path.write_text(json.dumps({**state, "integrity_mode": "crc"}))
    lines = lines_of(place)
    put_lines(place, renumbered(lines[:3] + lines[4:]))
    assert not checked(place).verify().sound


def test_hiding_the_oldest_events_through_meta_json_is_noticed(place: Path) -> None:
    path = place / "log" / "meta.json"
    state = json.loads(path.read_bytes())
    fourth = json.loads(lines_of(place)[3])
    hidden = {**state, "retained_through": 4, "retained_link": fourth["h"]}
    path.write_text(json.dumps(hidden))
    assert not checked(place).verify().sound


# ---- anchors ------------------------------------------------------------------------------------


def test_an_anchor_behind_a_torn_one_is_kept(tmp_path: Path) -> None:
    chain = Chain(b"k" * 32, str(tmp_path / "anchors"), Disk())
    chain.anchor(1, "a" * 64)
    with open(tmp_path / "anchors", "ab") as file:
        file.write(b'{"event_seq": 2, "h": "bb')
    chain.anchor(3, "c" * 64)
    assert chain.anchors() == {1: "a" * 64, 3: "c" * 64}


def test_keys_and_anchors_lie_outside_the_home_and_are_private(tmp_path: Path) -> None:
    import holdfast
    from holdfast.app.open import init

    root = tmp_path / "project"
    root.mkdir()
    with init(root, chained=True) as hf, hf.session(agent="a") as s:
        s.user("hello")
    assert hf.verify().chain == "whole"
    keys = tmp_path / "config" / "holdfast" / "keys"
    names = sorted(os.listdir(keys))
    assert any(name.endswith(".chain.key") for name in names)
    assert any(name.endswith(".anchors") for name in names)
    assert all((keys / name).stat().st_mode & 0o077 == 0 for name in names)
    assert "holdfast" in holdfast.__name__
