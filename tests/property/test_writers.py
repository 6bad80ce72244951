"""Several writers on one folder, in any interleaving: nothing spliced, lost, doubled or reordered."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.capture import line
from holdfast.capture.chain import Chain
from holdfast.capture.disk import Disk
from holdfast.capture.writer import Writer
from holdfast.engines.files import FileLog
from tests.contract.entries import KEY, WHEN, entry, events_of, file_log, folder_for, texts
from tests.property.effort import examples

sizes = st.sampled_from([1, 40, 700, 9_000])
steps = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["append", "append", "relaxed", "batch", "seal", "retry", "reopen", "raw"]),
        sizes,
    ),
    max_size=30,
)


def put_raw(folder: str, chain: Chain | None, event_id: str, text: str) -> None:
    """What a hook does: a writer of its own, one event, gone."""
    writer = Writer(folder, chain=chain)
    header = (event_id, "ses_1", "coder", "ana", "user_message@1", WHEN, "user", 3, ())
    with writer.hold():
        writer.put([(line.middle(header), line.canonical({"text": text}))])
    writer.close()


@settings(max_examples=examples(40))
@given(steps, st.booleans(), st.sampled_from([1_000, 20_000, 64 << 20]))
def test_writers_take_turns_without_losing_or_doubling_anything(
    plan: list[tuple[int, str, int]], chained: bool, segment_bytes: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        where = Path(place) / "log"
        handles = [file_log(where, chained=chained, segment_bytes=segment_bytes) for _ in range(3)]
        written: list[tuple[str, str]] = []
        for number, (which, what, size) in enumerate(plan):
            log, name, text = handles[which], f"own-{number}", f"{number} " + "x" * size
            if what in ("append", "relaxed"):
                log.append([entry(text, name)], durable=what == "append")
                written.append((name, text))
            elif what == "batch":
                batch = [(f"{name}-{n}", f"{n} {text}") for n in range(3)]
                log.append([entry(words, given_id) for given_id, words in batch])
                written += batch
            elif what == "seal":
                log.seal()
            elif what == "retry" and written:
                given_id, words = written[size % len(written)]
                before = log.head()
                seq = log.append([entry(words, given_id)])[0].event_seq
                assert (seq, log.head()) == (size % len(written) + 1, before)
            elif what == "raw":
                chain = Chain(KEY, str(where) + ".anchors", Disk()) if chained else None
                put_raw(log.folder, chain, name, text)
                written.append((name, text))
            elif what == "reopen":
                log.close()
                handles[which] = file_log(where, chained=chained, segment_bytes=segment_bytes)
        for log in handles:
            check(log, written)
            log.close()


def check(log: FileLog, written: list[tuple[str, str]]) -> None:
    events = events_of(log)
    assert [(event.event_id, event.text) for event in events] == written
    assert [event.event_seq for event in events] == list(range(1, len(written) + 1))
    said = log.verify()
    assert (said.sound, said.events) == (True, len(written))


_WORKER = """
import random, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.contract.entries import entry, file_log
name, count = sys.argv[3], int(sys.argv[4])
dice = random.Random(name)
log = file_log(Path(sys.argv[2]), chained=sys.argv[5] == "chained", segment_bytes=30_000)
n = 0
while n < count:
    sizes = [dice.choice([5, 500, 5_000]) for _ in range(dice.choice([1, 1, 4]))]
    batch = [(f"{name}-{n + i}", "x" * size) for i, size in enumerate(sizes)]
    for _ in range(dice.choice([1, 1, 2])):  # a retry now and then
        log.append([entry(text, own_id) for own_id, text in batch], durable=dice.random() < 0.5)
    if dice.random() < 0.05:
        log.seal()
    n += len(batch)
log.close()
print(n)
"""


def run_workers(place: Path, mode: str, count: int) -> dict[str, int]:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", _WORKER, root, str(place)]
    running = {
        name: subprocess.Popen(
            [*command, name, str(count), mode], stdout=subprocess.PIPE, text=True
        )
        for name in ("a", "b", "c", "d")
    }
    return {name: int(process.communicate()[0]) for name, process in running.items()}


def test_processes_that_write_at_once_never_splice_or_lose(tmp_path: Path) -> None:
    for mode in ("crc", "chained"):
        place = tmp_path / mode
        folder_for(place, mode)
        wrote = run_workers(place, mode, 60)
        log = file_log(place, chained=mode == "chained")
        events = events_of(log)
        assert [event.event_seq for event in events] == list(range(1, sum(wrote.values()) + 1))
        for name, count in wrote.items():
            mine = [e.event_id for e in events if e.event_id.startswith(name + "-")]
            assert mine == [f"{name}-{n}" for n in range(count)]
        assert log.verify().sound
        log.close()


@settings(max_examples=examples(25))
@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=5, unique=True), max_size=15))
def test_random_retries_record_each_id_once_in_the_order_first_tried(
    tries: list[list[int]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        logs = [file_log(Path(place) / "log"), file_log(Path(place) / "log")]
        expected: list[str] = []
        for turn, batch in enumerate(tries):
            recorded = logs[turn % 2].append([entry(f"text {n}", f"own-{n}") for n in batch])
            expected += [f"text {n}" for n in batch if f"text {n}" not in expected]
            assert texts(recorded) == [f"text {n}" for n in batch]
            places: list[Any] = [event.event_seq for event in recorded]
            assert places == [expected.index(f"text {n}") + 1 for n in batch]
        assert texts(events_of(logs[0])) == texts(events_of(logs[1])) == expected
        for log in logs:
            log.close()
