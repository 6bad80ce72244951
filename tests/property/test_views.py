"""The views over any history: one fold, however it is cut, and nothing in it but that history.

The last part keeps two runners on one folder and does to the folder what may happen to it.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.capture.layout import INDEX, SNAPSHOT, SNAPSHOT_BEFORE
from holdfast.engines.files import FileSnapshots
from holdfast.engines.reference.log import MemoryLog
from holdfast.engines.reference.views import MemorySnapshots, MemoryViews
from holdfast.engines.sqlite import Index, SqliteViews
from holdfast.model.events import Entry, Event, Position
from holdfast.model.sessions import Scratchpad, SessionInfo, Task, Transcript
from holdfast.model.settings import ViewSettings
from holdfast.views import failures, snapshot, state
from holdfast.views.checkpoints import Checkpoints
from holdfast.views.every import VIEWS, shape
from holdfast.views.files import Files
from holdfast.views.fold import state_hash
from holdfast.views.runner import Runner
from holdfast.views.scratchpad import merged
from holdfast.views.tasks import Tasks
from holdfast.views.view import within
from tests.contract.entries import entry, erasure, events_of, file_log
from tests.property.effort import examples
from tests.property.histories import (
    AGENTS,
    REMEMBERED,
    SESSIONS,
    USERS,
    Row,
    folded,
    histories,
    of_sessions,
    payloads,
    recorded,
    story,
    values,
)

_SHM = "/dev/shm" if os.path.isdir("/dev/shm") else None
WHOLE = {view.name: view for view in VIEWS}


def runner_on(log: MemoryLog) -> Runner:
    return Runner(
        log,
        MemoryViews(),
        MemorySnapshots(),
        spare=MemoryViews,
        project_id="p",
        settings=ViewSettings(),
    )


# ---- one fold, however it is cut ----------------------------------------------------------------


@settings(max_examples=examples(60))
@given(histories(), st.lists(st.integers(1, 12), max_size=12))
def test_a_history_folds_to_the_same_rows_however_it_is_cut(
    told: list[Entry], sizes: list[int]
) -> None:
    events = recorded(told)
    rows: list[Row] = []
    left = list(events)
    for size in [*sizes, len(events)]:
        rows = folded(left[:size], rows)
        left = left[size:]
    assert rows == folded(events)
    assert state_hash(rows) == state_hash(folded(events))


@settings(max_examples=examples(20))
@given(histories(max_size=25))
def test_a_snapshot_at_any_place_and_the_rest_is_the_whole(told: list[Entry]) -> None:
    events = recorded(told)
    expected = folded(events)
    for n in range(len(events)):
        before, last = folded(events[: n + 1]), events[n]
        at = Position(generation=1, event_seq=last.event_seq, crc=last.crc)
        data = snapshot.write(holding(before), at, "p", VIEWS, most=1 << 30)
        kept = snapshot.read(data, "p", VIEWS)
        assert isinstance(kept, snapshot.Snapshot), kept
        assert (kept.position, kept.lacking, sorted(kept.each())) == (
            at,
            snapshot.Lacking(),
            before,
        )
        assert folded(events[n + 1 :], list(kept.each())) == expected


def holding(rows: Sequence[Row]) -> MemoryViews:
    """A store with these rows."""
    store = MemoryViews()
    store.commit(None, rows, Position(generation=1, event_seq=1, crc=""))
    return store


@settings(max_examples=examples(40))
@given(histories(), st.randoms(use_true_random=False))
def test_the_hash_minds_what_the_rows_say_and_not_their_order(
    told: list[Entry], dice: random.Random
) -> None:
    rows = folded(recorded(told))
    mixed = dice.sample(rows, len(rows))
    assert state_hash(iter(mixed)) == state_hash(rows)
    for n, (view, key, row) in enumerate(rows[:3]):
        for other in ((view, key, row + b" "), (view + "x", key, row), (view, key + "x", row)):
            assert state_hash([*rows[:n], other, *rows[n + 1 :]]) != state_hash(rows)
        assert state_hash([*rows[:n], *rows[n + 1 :]]) != state_hash(rows)


@settings(max_examples=examples(60))
@given(histories())
def test_a_row_comes_back_from_its_bytes_as_it_was(told: list[Entry]) -> None:
    for view, _, row in folded(recorded(told)):
        again = msgspec.json.decode(row, type=WHOLE[view].row)
        assert msgspec.json.encode(again, order="sorted") == row


# ---- reducers are pure --------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(histories(max_size=20))
def test_no_reducer_changes_what_it_is_given(told: list[Entry]) -> None:
    events = recorded(told)
    for view in VIEWS:
        rows: dict[str, Any] = {}
        for event in events:
            wanted = view.kinds is None or event.kind in view.kinds
            if not wanted or not view.keys(event):
                continue
            for key in view.keys(event):
                rows.setdefault(key, None)
            before = bytes_of(rows), bytes_of(event)
            first = view.apply(rows, event)
            assert (bytes_of(rows), bytes_of(event)) == before
            assert bytes_of(view.apply(rows, event)) == bytes_of(first)
            assert (bytes_of(rows), bytes_of(event)) == before
            assert set(first) <= set(view.keys(event))
            rows.update(first)


def bytes_of(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


@settings(max_examples=examples(150))
@given(st.sampled_from(VIEWS), payloads, payloads)
def test_no_payload_is_too_odd_for_a_reducer(view: Any, first: Any, second: Any) -> None:
    kinds = sorted(view.kinds) if view.kinds else ["session_started", "session_ended", "unknown"]
    told = [entry(type=f"{kind}@1", payload=p) for kind in kinds for p in (first, second, first)]
    rows = folded(recorded(told), views=(view,))
    assert folded([], rows, (view,)) == rows


def test_a_payload_as_deep_as_a_log_takes_them_is_folded() -> None:
    nested: Any = "bottom"
    for n in range(195):
        nested = {"a": nested} if n % 2 else [nested]
    names = ("text", "state", "input", "gate", "reason", "more", "tool")
    said = dict.fromkeys(names, nested)
    patch = {"state": {"a": nested}, "expect": nested}
    for view in VIEWS:
        kinds = sorted(view.kinds) if view.kinds else ["session_started", "session_ended"]
        told = [entry(type=f"{kind}@1", payload=p) for kind in kinds for p in (said, patch)]
        folded(recorded(told), views=(view,))


@settings(max_examples=examples(60))
@given(histories())
def test_whatever_was_folded_can_be_read(told: list[Entry]) -> None:
    log = MemoryLog()
    log.append(told)
    runner = runner_on(log)
    for user in USERS:
        if user is None:
            continue
        found = runner.read(lambda reading, user=user: state.sessions(reading, user))  # type: ignore[misc]
        for of in found:
            got = runner.read(lambda reading, of=of: state.state(reading, of))  # type: ignore[misc]
            assert got.info == of
            assert of.user == user


# ---- whose rows ---------------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(histories())
def test_a_session_depends_on_its_own_events_only(told: list[Entry]) -> None:
    events = recorded(told)
    rows = of_sessions(folded(events))
    scopes = {(event.user, event.agent, event.session_id) for event in events}
    seen = 0
    for scope in scopes:
        if scope[2] is None:
            continue
        own = [event for event in events if (event.user, event.agent, event.session_id) == scope]
        mine = [row for row in rows if tuple(msgspec.json.decode(row[1])[:3]) == scope]
        assert mine == of_sessions(folded(own))
        seen += len(mine)
    assert seen == len(rows)


@settings(max_examples=examples(60))
@given(histories())
def test_what_lies_below_a_prefix_is_whose_it_says(told: list[Entry]) -> None:
    keys = [key for _, key, _ in folded(recorded(told))]
    for user in USERS:
        for agent in AGENTS:
            for session in SESSIONS:
                for parts in ((user,), (user, agent), (user, agent, session)):
                    below = [key for key in keys if key.startswith(within(*parts))]
                    whose = [
                        key
                        for key in keys
                        if tuple(msgspec.json.decode(key)[: len(parts)]) == parts
                        and len(msgspec.json.decode(key)) > len(parts)
                    ]
                    assert below == whose


@settings(max_examples=examples(40))
@given(histories(max_size=25), st.sets(st.integers(0, 24)), values)
def test_what_was_erased_leaves_no_trace(told: list[Entry], which: set[int], more: Any) -> None:
    log = MemoryLog()
    log.append(told)
    ids = []
    for n in sorted(which):
        mark = f"secret-{n}-"
        names = ("text", "tool", "gate", "reason", "workflow", mark)
        said: dict[str, Any] = {name: mark + name for name in names}
        odd = {"input": {"file_path": mark, "todos": [{"content": mark}]}, "state": {mark: more}}
        said |= {name: mark + name for name in ("key", "value", "subject", "summary", "trigger")}
        said |= {"memory": f"mem_{n}", "changes": dict(said), "tags": [mark], "cited": [f"mem_{n}"]}
        said |= {"item": f"itm_{n}", "index": mark, "item_type": "CODE"}
        kinds = [*sorted(WHOLE["errors"].kinds or ()), "state_updated", *REMEMBERED, "item_saved"]
        kind = kinds[n % len(kinds)]
        payload = {**said, **odd, "file_changes": [mark], "passed": True, "is_error": True}
        ids += [e.event_id for e in log.append([entry(type=f"{kind}@1", payload=payload)])]
    if ids:
        log.erase(ids, subject=erasure(ids))
    events = events_of(log)
    rows = folded(events)
    assert all(b"secret-" not in key.encode() + row for _, key, row in rows)
    assert rows == folded([event for event in events if not event.erased])


# ---- the scratchpad -----------------------------------------------------------------------------


def pad_of(events: list[Event]) -> Scratchpad:
    rows = [row for view, _, row in folded(events) if view == "scratchpad"]
    return msgspec.json.decode(rows[0], type=Scratchpad) if rows else Scratchpad()


def update(patch: Any, expect: Any = None, **more: Any) -> Entry:
    said = {"state": patch} | ({} if expect is None else {"expect": expect})
    return entry(type="state_updated@1", payload=said, **more)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.none() | st.integers(0, 8), st.integers(0, 5)), max_size=40))
def test_of_racing_updates_exactly_one_wins_for_each_version(
    tries: list[tuple[int | None, int]],
) -> None:
    told = [update({"who": n, f"k{k}": n}, expect) for n, (expect, k) in enumerate(tries)]
    version = 0
    content: dict[str, int] = {}
    winners: list[str] = []
    for n, (expect, k) in enumerate(tries):
        if expect is None or expect == version:
            version += 1
            content |= {"who": n, f"k{k}": n}
            winners.append(told[n].event_id)
    pad = pad_of(recorded(told))
    assert (pad.version, pad.content) == (version, content)
    assert list(pad.winners) == winners[-32:]


@settings(max_examples=examples(30))
@given(st.integers(0, 5), st.integers(2, 20), st.randoms(use_true_random=False))
def test_of_writers_that_read_the_same_version_the_first_wins(
    version: int, writers: int, dice: random.Random
) -> None:
    before = [update({"n": n}) for n in range(version)]
    racing = [update({"winner": n}, version) for n in range(writers)]
    dice.shuffle(racing)
    pad = pad_of(recorded([*before, *racing]))
    assert pad.version == version + 1
    assert pad.content["winner"] == msgspec.json.decode(racing[0].payload)["state"]["winner"]
    assert [one.event_id in pad.winners for one in racing] == [True] + [False] * (writers - 1)


#: the test cases of RFC 7396, Appendix A: original, patch, result
VECTORS: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    # section 1 and section 3 of the RFC
    (
        {"a": "b", "c": {"d": "e", "f": "g"}},
        {"a": "z", "c": {"f": None}},
        {"a": "z", "c": {"d": "e"}},
    ),
    (
        {
            "title": "Goodbye!",
            "author": {"givenName": "John", "familyName": "Doe"},
            "tags": ["example", "sample"],
            "content": "This will be unchanged",
        },
        {
            "title": "Hello!",
            "phoneNumber": "+01-123-456-7890",
            "author": {"familyName": None},
            "tags": ["example"],
        },
        {
            "title": "Hello!",
            "author": {"givenName": "John"},
            "tags": ["example"],
            "content": "This will be unchanged",
            "phoneNumber": "+01-123-456-7890",
        },
    ),
]


@pytest.mark.parametrize(("old", "patch", "new"), VECTORS)
def test_a_patch_merges_as_rfc_7396_says(old: Any, patch: Any, new: Any) -> None:
    before = bytes_of([old, patch])
    assert merged(old, patch) == new
    assert bytes_of([old, patch]) == before
    if isinstance(old, dict) and None not in old.values():
        assert pad_of(recorded([update(old), update(patch)])).content == new


@pytest.mark.parametrize("patch", [["c"], None, "bar", 1, True, []])
def test_what_is_no_patch_changes_nothing(patch: Any) -> None:
    told = [update({"a": "foo"}), update(patch), update(patch, 1)]
    assert pad_of(recorded(told)).version == 1
    assert pad_of(recorded(told)).content == {"a": "foo"}


def rfc_7396(target: Any, patch: Any) -> Any:
    """MergePatch as the RFC writes it down."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = rfc_7396(result.get(name), value)
    return result


objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)
nested = st.dictionaries(st.sampled_from("abc"), objects | values, max_size=3)


@settings(max_examples=examples(100))
@given(nested, nested)
def test_any_patch_merges_as_the_pseudocode_of_the_rfc(old: Any, patch: Any) -> None:
    assert bytes_of(merged(old, patch)) == bytes_of(rfc_7396(old, patch))
    assert merged(merged(old, patch), patch) == merged(old, patch)


# ---- bounds -------------------------------------------------------------------------------------


def only(view: str, rows: list[Row], kind: type[Any]) -> Any:
    (row,) = [row for name, _, row in rows if name == view]
    return msgspec.json.decode(row, type=kind)


def numbered(kind: str, count: int, say: Callable[[int], Any]) -> list[Event]:
    return recorded([entry(type=f"{kind}@1", payload=say(n)) for n in range(count)])


LONG = "word " * 3_000


def test_a_transcript_reaches_back_two_hundred_events_and_fifty_turns() -> None:
    for count in (199, 200, 201, 450):
        rows = folded(numbered("user_message", count, lambda n: {"text": f"{n} {LONG}"}))
        found = only("transcript", rows, Transcript)
        assert found.seqs == tuple(range(max(1, count - 199), count + 1))
        assert found.turn_starts == found.seqs[-50:]
        assert found.cut is (count > 200)
        assert len(found.unanswered.text) <= 500


def test_files_are_the_two_hundred_touched_last() -> None:
    def said(n: int) -> Any:
        return {"tool": "Edit", "input": {"file_path": f"{n % 300}.py"}}

    for count in (200, 201, 299, 700):
        found = only("files", folded(numbered("tool_call", count, said)), Files)
        assert set(found.files) == {f"{n % 300}.py" for n in range(max(0, count - 200), count)}
    rows = folded(
        numbered("system_event", 3, lambda _: {"file_changes": list(map(str, range(500)))})
    )
    assert len(only("files", rows, Files).files) == 200


def test_errors_are_the_last_twenty_with_the_first_steps_after_each() -> None:
    told = [entry(f"{n} {LONG}", type="error@1") for n in range(60)]
    told += [entry(f"{n} {LONG}", type="model_message@1") for n in range(30)]
    found = only("errors", folded(recorded(told)), failures.Failures)
    assert [error.event_seq for error in found.errors] == list(range(41, 61))
    assert {len(error.followed) for error in found.errors} == {failures.STEPS}
    assert all(len(error.text) <= 1_000 for error in found.errors)
    assert all(len(step.text) <= 200 for error in found.errors for step in error.followed)


def test_checkpoints_are_the_last_twenty() -> None:
    found = only("checkpoints", folded(numbered("checkpoint_saved", 70, lambda _: {})), Checkpoints)
    assert [point.event_seq for point in found.points] == list(range(51, 71))


def test_finished_tasks_are_fifty_and_open_ones_two_hundred() -> None:
    def todos(n: int) -> Any:
        listed = [{"content": f"{n}-{m} {LONG}", "status": "pending"} for m in range(50)]
        return {"tool": "TodoWrite", "input": {"todos": listed}}

    told = [*recorded([entry(type="tool_call@1", payload=todos(n)) for n in range(9)])]
    told += numbered("task_completed", 120, lambda n: {"text": f"done {n}"})
    tasks: tuple[Task, ...] = only("tasks", folded(told), Tasks).tasks
    done = [task for task in tasks if task.done_at is not None]
    still = [task for task in tasks if task.done_at is None]
    assert [task.text for task in done] == [f"done {n}" for n in range(70, 120)]
    assert len(still) == 200
    assert still[-1].text.startswith("8-49 ")
    assert all(len(task.text) <= 500 for task in tasks)


def test_a_scratchpad_names_the_last_thirty_two_winners() -> None:
    told = [update({"n": n}) for n in range(90)]
    assert pad_of(recorded(told)).winners == tuple(one.event_id for one in told[-32:])


def test_every_decision_is_kept_and_each_is_cut() -> None:
    rows = folded(numbered("decision", 300, lambda n: {"text": f"{n} {LONG}"}))
    decisions = [msgspec.json.decode(row) for view, _, row in rows if view == "decisions"]
    assert [said["event_seq"] for said in decisions] == list(range(1, 301))
    assert all(len(said["text"]) <= 4_000 for said in decisions)


# ---- two runners on one folder ------------------------------------------------------------------

INDEX_FILES = (INDEX, f"{INDEX}-wal", f"{INDEX}-shm")
steps = histories(min_size=1, max_size=5)


class Runners(RuleBasedStateMachine):
    """A log in files, two runners with an index each, and a folder things happen to."""

    #: look at everything after every step; else only where a step looks
    always = True

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="holdfast-views-", dir=_SHM))
        self.log = file_log(self.place / "log")
        self.made = 0
        self.alive: list[str] = []
        self.stores: list[SqliteViews] = []
        self.settings = ViewSettings(snapshot_every_events=4)
        self.runners: list[Runner] = []

    @initialize(room=st.sampled_from([2_000, 6_000, 20_000, 1 << 22]))
    def open_both(self, room: int) -> None:
        self.settings = msgspec.structs.replace(self.settings, snapshot_most_bytes=room)
        self.runners = [self.opened(), self.opened()]

    def opened(self) -> Runner:
        store = SqliteViews(Index(self.log.folder, project_id="p"), shape=shape())
        self.stores.append(store)
        return Runner(
            self.log,
            store,
            FileSnapshots(self.log.folder),
            spare=MemoryViews,
            project_id="p",
            settings=self.settings,
        )

    def teardown(self) -> None:
        self.both_are_the_fold()
        for store in self.stores:
            store.close()
        self.log.close()
        shutil.rmtree(self.place)

    def expected(self) -> list[Row]:
        return folded([event for event in self.log.read() if isinstance(event, Event)])

    def files(self, *names: str) -> Iterator[Path]:
        for name in names:
            path = self.place / "log" / name
            if path.exists():
                yield path

    # ---- steps -----------------------------------------------------------------------------

    @rule(told=steps)
    def append(self, told: list[Entry]) -> None:
        for one in told:
            self.made += 1
            made = msgspec.structs.replace(one, event_id=f"own-{self.made}")
            self.log.append([made])
            if not made.type.startswith("baseline@"):  # which nobody may erase
                self.alive.append(made.event_id)

    @rule(seed=st.integers(0, 9))
    def append_a_story(self, seed: int) -> None:
        self.append(story(seed, 6))

    @rule(which=st.integers(0, 1))
    def read_all(self, which: int) -> None:
        assert self.runners[which].state_hash() == state_hash(self.expected())

    @rule(which=st.integers(0, 1), pick=st.randoms(use_true_random=False))
    def read_a_session(self, which: int, pick: random.Random) -> None:
        rows = self.expected()
        names = [row for view, _, row in rows if view == "sessions"]
        if not names:
            return
        of = msgspec.json.decode(pick.choice(names), type=SessionInfo)
        other = runner_on_rows(rows)
        found = self.runners[which].read(
            lambda r: (state.info(r, of.user or "", of.agent or "", of.id), state.state(r, of))
        )
        assert found == (
            state.info(other, of.user or "", of.agent or "", of.id),
            state.state(other, of),
        )

    @rule(which=st.integers(0, 1))
    def catch_up(self, which: int) -> None:
        self.runners[which].catch_up()

    @rule(which=st.integers(0, 1))
    def export(self, which: int) -> None:
        self.runners[which].export()

    @rule(names=st.sampled_from([INDEX_FILES, INDEX_FILES[:1]]))
    def remove_the_index(self, names: tuple[str, ...]) -> None:
        for path in self.files(*names):
            path.unlink()

    @rule(share=st.floats(0, 1))
    def cut_the_index(self, share: float) -> None:
        for path in self.files(INDEX):
            os.truncate(path, int(path.stat().st_size * share))

    @rule(share=st.floats(0, 1), bit=st.integers(0, 7))
    def replace_the_index_by_a_broken_one(self, share: float, bit: int) -> None:
        """As a restored backup would: the file, with one of its bits flipped, and no journal."""
        for path in self.files(INDEX):
            data = bytearray(path.read_bytes())
            if data:
                data[min(int(len(data) * share), len(data) - 1)] ^= 1 << bit
            self.remove_the_index(INDEX_FILES)
            path.write_bytes(data)

    @rule()
    def replace_the_index_by_garbage(self) -> None:
        self.remove_the_index(INDEX_FILES)
        (self.place / "log" / INDEX).write_bytes(b"garbage" * 999)

    @rule(names=st.sampled_from([(SNAPSHOT,), (SNAPSHOT_BEFORE,), (SNAPSHOT, SNAPSHOT_BEFORE)]))
    def remove_snapshots(self, names: tuple[str, ...]) -> None:
        for path in self.files(*names):
            path.unlink()

    @rule(share=st.floats(0, 1))
    def damage_the_snapshot(self, share: float) -> None:
        for path in self.files(SNAPSHOT):
            data = bytearray(path.read_bytes())
            data[min(int(len(data) * share), len(data) - 1)] ^= 1
            path.write_bytes(data)

    @precondition(lambda self: self.alive)
    @rule(pick=st.randoms(use_true_random=False))
    def erase(self, pick: random.Random) -> None:
        gone = pick.choice(self.alive)
        self.log.erase([gone], subject=erasure([gone]))

    @rule(which=st.integers(0, 1))
    def rebuild(self, which: int) -> None:
        assert self.runners[which].rebuild() == state_hash(self.expected())

    @rule(which=st.integers(0, 1), close=st.booleans())
    def reopen(self, which: int, close: bool) -> None:
        if close:
            self.runners[which].close()
        self.runners[which] = self.opened()

    # ---- what must hold --------------------------------------------------------------------

    @invariant()
    def both_are_the_fold_at_once(self) -> None:
        if self.always:
            self.both_are_the_fold()

    def both_are_the_fold(self) -> None:
        expected = state_hash(self.expected())
        assert {runner.state_hash() for runner in self.runners} <= {expected}


class LazyRunners(Runners):
    """The same, and nobody looks unless a step does: rows lag, snapshots are what is left."""

    always = False


def runner_on_rows(rows: list[Row]) -> Any:
    """A reading of exactly these rows."""
    return _Rows(rows)


class _Rows:
    """What a Reading answers, from a list."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def row(self, view: Any, key: str) -> Any:
        found = [row for name, at, row in self._rows if (name, at) == (view.name, key)]
        return msgspec.json.decode(found[0], type=view.row) if found else None

    def rows(self, view: Any, prefix: str = "") -> list[Any]:
        found = [(k, row) for v, k, row in self._rows if v == view.name and k.startswith(prefix)]
        found.sort(key=lambda pair: pair[0].encode())
        return [msgspec.json.decode(row, type=view.row) for _, row in found]


# a failure is printed as it was met: shortening many steps on real files takes minutes
_unshortened = [Phase.explicit, Phase.reuse, Phase.generate]
TestRunners = Runners.TestCase
TestRunners.settings = settings(
    max_examples=examples(12), stateful_step_count=20, phases=_unshortened
)
TestLazyRunners = LazyRunners.TestCase
TestLazyRunners.settings = settings(
    max_examples=examples(25), stateful_step_count=30, phases=_unshortened
)
