"""Every bit of fifty records flipped, every length they can be cut to: always noticed, never served.

One mutation at a time, on a real file, through the reader that everybody uses.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.capture import line
from holdfast.model.events import Damage
from tests.contract.entries import entry, split
from tests.corruption.golden import fifty, folder_with, joined, met

RECORDS = fifty()
DATA = joined(RECORDS)
STARTS = [0]
for _record in RECORDS:
    STARTS.append(STARTS[-1] + len(_record) + 1)
SHARDS = 20


def _shard(number: int, size: int) -> range:
    return range(size * number // SHARDS, size * (number + 1) // SHARDS)


def _record_at(offset: int) -> int:
    return next(n for n in range(len(RECORDS)) if offset < STARTS[n + 1])


def test_the_corpus_is_what_it_says() -> None:
    assert len(RECORDS) == 50
    assert all(line.whole(record) for record in RECORDS)
    assert len(DATA) * 8 > 100_000
    with folder_with(DATA) as (log, _):
        assert met(log) == (RECORDS, [])
        events, _damage = split(log)
        assert [event.event_seq for event in events] == list(range(1, 51))
        assert log.verify().sound


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_flipped_bit_costs_at_most_its_record_and_is_always_noticed(shard: int) -> None:
    """One bit of every byte, alone in its file."""
    with folder_with(DATA) as (log, path):
        fd = os.open(path, os.O_RDWR)
        for offset in _shard(shard, len(DATA)):
            hit = _record_at(offset)
            newline = offset == STARTS[hit + 1] - 1
            others = RECORDS if newline else RECORDS[:hit] + RECORDS[hit + 1 :]
            for bit in range(8) if newline else [offset * 5 % 8]:
                os.pwrite(fd, bytes([DATA[offset] ^ (1 << bit)]), offset)
                records, damage = met(log)
                if records != others or not _explains(damage, offset):
                    pytest.fail(f"byte {offset} bit {bit} (record {hit + 1}): {damage}")
            if offset % 97 == 0:
                assert not log.verify().sound
                os.pwrite(fd, DATA, 0)
                os.ftruncate(fd, len(DATA))  # without what verify noted
            os.pwrite(fd, DATA[offset : offset + 1], offset)
        os.close(fd)


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("half", [0, 1])
def test_every_bit_of_every_record_flipped_is_noticed(half: int, bit: int) -> None:
    """All bits: the same byte of every second record at once, with whole ones between them."""
    hit = [n for n in range(50) if n % 2 == half]
    between = [record for n, record in enumerate(RECORDS) if n % 2 != half]
    with folder_with(DATA) as (log, path):
        for at in range(max(len(RECORDS[n]) for n in hit)):
            data = bytearray(DATA)
            flipped = [STARTS[n] + at for n in hit if at < len(RECORDS[n])]
            for offset in flipped:
                data[offset] ^= 1 << bit
            path.write_bytes(data)
            records, damage = met(log)
            spared = [RECORDS[n] for n in hit if at >= len(RECORDS[n])]
            if set(records) != {*between, *spared}:
                pytest.fail(f"byte {at} of every second record, bit {bit}: not exactly the others")
            silent = [offset for offset in flipped if not _explains(damage, offset)]
            assert not silent, (at, bit)


def _explains(damage: list[Damage], offset: int) -> bool:
    """Is the flipped byte inside what is reported?"""
    return any(each.offset <= offset < each.offset + each.length for each in damage)


@pytest.mark.parametrize(
    "name", ["events-000000000001.ndjson", "events-000000000001-failed-{}.ndjson"]
)
def test_a_flipped_bit_at_the_end_of_a_sealed_segment_is_noticed(name: str) -> None:
    with folder_with(DATA, name.format(len(DATA))) as (log, path):
        fd = os.open(path, os.O_RDWR)
        for offset in range(STARTS[49], len(DATA)):
            for bit in range(8):
                os.pwrite(fd, bytes([DATA[offset] ^ (1 << bit)]), offset)
                records, damage = met(log)
                assert records == (RECORDS if offset == len(DATA) - 1 else RECORDS[:49])
                assert _explains(damage, offset)
            os.pwrite(fd, DATA[offset : offset + 1], offset)
        os.close(fd)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_file_cut_anywhere_gives_every_whole_record_and_says_what_is_torn(shard: int) -> None:
    with folder_with(DATA) as (log, path):
        for length in reversed(_shard(shard, len(DATA) + 1)):
            os.truncate(path, length)
            whole = sum(STARTS[n + 1] - 1 <= length for n in range(50))
            torn = length - max(start for start in STARTS if start <= length)
            records, damage = met(log)
            assert records == RECORDS[:whole]
            if whole < 50 and torn and length != STARTS[whole] - 1:
                (said,) = damage
                assert (said.reason, said.offset, said.length) == ("torn_tail", length - torn, torn)
            else:  # cut between two records, or before a newline: nothing is damaged
                assert damage == []


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_file_cut_anywhere_is_mended_by_the_next_append_with_a_copy_kept(shard: int) -> None:
    for length in _shard(shard, len(DATA) + 1):
        if length % 9 and not any(length + near in STARTS for near in (-1, 0, 1, 2)):
            continue
        with folder_with(DATA[:length]) as (log, path):
            whole = sum(STARTS[n + 1] - 1 <= length for n in range(50))
            torn = DATA[:length][STARTS[whole] :]
            added = log.append([entry("after the crash")])[0]
            assert added.event_seq == whole + 1 + bool(torn)
            records, damage = met(log)
            assert (records[:whole], damage) == (RECORDS[:whole], [])
            assert len(records) == added.event_seq
            assert path.read_bytes().startswith(joined(RECORDS[:whole]))
            assert _quarantined(Path(log.folder)) == ([torn] if torn else [])
            assert log.verify().sound


def _quarantined(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / "quarantine").glob("*"))]
