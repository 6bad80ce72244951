"""The file log against the plain list, step by step, through crashes and torn writes.

Whatever is done to the one is done to the other; after every step both must tell the same story, from
any position, and the files must verify. A crash drops a handle as a killed process would: descriptors
gone, nothing synced, and perhaps the first bytes of a record behind the last one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from holdfast.capture import line
from holdfast.engines.files import FileLog
from holdfast.engines.reference.log import MemoryLog
from holdfast.errors import Conflict, NotFound
from holdfast.model.events import Damage, Entry, Event
from tests.contract.entries import baseline, entry, erasure, file_log, plain
from tests.property.effort import examples

_SHM = "/dev/shm" if os.path.isdir("/dev/shm") else None
_MS_NEVER = 3_600_000

names = st.none() | st.sampled_from(["ana", "bö", "c\u2028d", '"', "\\", "e" * 200])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
payloads = st.fixed_dictionaries({"text": st.text(st.characters(codec="utf-8"))}) | (
    st.dictionaries(st.sampled_from(["a", "crc", "v", "event_seq", "ü"]), values, max_size=3)
)
rarely = st.integers(0, 9).map(lambda n: n == 0)


class LogMachine(RuleBasedStateMachine):
    """FileLog on real files beside MemoryLog."""

    chained = False

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="holdfast-model-", dir=_SHM))
        self.model = MemoryLog()
        self.known: dict[str, Entry] = {}
        self.made = 0
        self.tears = 0
        self.torn = False
        self.logs = [self.opened(), self.opened()]

    def opened(self) -> FileLog:
        # a window that never ends: what is written relaxed stays unsynced until somebody syncs
        return file_log(self.place / "log", chained=self.chained, window_ms=_MS_NEVER)

    def teardown(self) -> None:
        for log in self.logs:
            log.close()
        shutil.rmtree(self.place)

    # ---- both at once ----------------------------------------------------------------------

    def fresh_entry(self, payload: dict[str, Any], user: str | None, own_id: bool) -> Entry:
        self.made += 1
        given = f"own-{self.made}" if own_id else None
        made = entry(event_id=given, payload=payload, user=user, session_id=f"ses_{user!r}")
        self.known[made.event_id] = made
        return made

    def after_taking_the_lock(self, log: FileLog, *, erased: bool = False) -> None:
        """Whoever takes the lock mends a torn tail and says so: the list hears of it too."""
        if not self.torn:
            return
        self.torn = False
        self.tears += 1
        said = next(e for e in log.read(self.model.head().event_seq) if isinstance(e, Event))
        assert said.kind == "damage_found"
        assert said.payload["reason"] == "torn_tail"
        kept = self.place / "log" / "quarantine" / said.payload["quarantine"]
        assert erased or kept.stat().st_size == said.payload["bytes"]
        self.model.append(
            [
                entry(
                    event_id=said.event_id,
                    type=said.type,
                    timestamp=said.timestamp,
                    session_id=None,
                    agent=None,
                    user=None,
                    origin="system",
                    trust=2,
                    payload=said.payload,
                )
            ]
        )

    def append(self, log: FileLog, entries: list[Entry], durable: bool) -> None:
        recorded = log.append(entries, durable=durable)
        self.after_taking_the_lock(log)
        expected = self.model.append(entries)
        assert [plain(e) for e in recorded] == [plain(e) for e in expected]

    # ---- steps -----------------------------------------------------------------------------

    @rule(which=st.integers(0, 1), payload=payloads, user=names, own=st.booleans(), d=st.booleans())
    def one(
        self, which: int, payload: dict[str, Any], user: str | None, own: bool, d: bool
    ) -> None:
        self.append(self.logs[which], [self.fresh_entry(payload, user, own)], d)

    @rule(which=st.integers(0, 1), many=st.lists(payloads, max_size=5), d=st.booleans())
    def batch(self, which: int, many: list[dict[str, Any]], d: bool) -> None:
        entries = [self.fresh_entry(p, "ana", i % 2 == 0) for i, p in enumerate(many)]
        self.append(self.logs[which], entries, d)

    @precondition(lambda self: self.known)
    @rule(which=st.integers(0, 1), pick=st.randoms(use_true_random=False), d=st.booleans())
    def retry(self, which: int, pick: Any, d: bool) -> None:
        ids = pick.sample(sorted(self.known), min(len(self.known), 2))
        again = [msgspec.structs.replace(self.known[name], fresh=False) for name in ids]
        self.append(self.logs[which], [*again, self.fresh_entry({"text": "new"}, "ana", True)], d)

    @precondition(lambda self: self.known)
    @rule(which=st.integers(0, 1), pick=st.randoms(use_true_random=False))
    def same_id_other_content(self, which: int, pick: Any) -> None:
        name = pick.choice(sorted(self.known))
        other = entry("something else", event_id=name, agent="somebody else")
        log, there = self.logs[which], self.model.find(name)
        before = log.head().event_seq
        if there is None or there.erased:
            return
        with pytest.raises(Conflict):
            log.append([self.fresh_entry({"text": "beside"}, "ana", True), other])
        self.after_taking_the_lock(log)
        del self.known[f"own-{self.made}"]
        assert log.head().event_seq - before in (0, 1)  # nothing but perhaps a mended tail

    @rule(which=st.integers(0, 1))
    def seal(self, which: int) -> None:
        self.logs[which].seal()
        self.after_taking_the_lock(self.logs[which])
        self.model.seal()

    @precondition(lambda self: self.known)
    @rule(which=st.integers(0, 1), pick=st.randoms(use_true_random=False), often=rarely)
    def erase(self, which: int, pick: Any, often: bool) -> None:
        ids = pick.sample(sorted(self.known), min(len(self.known), 1 + 2 * often))
        log, subject = self.logs[which], erasure(ids)
        if any(self.model.find(name) is None for name in ids):
            with pytest.raises(NotFound):
                log.erase(ids, subject=subject)
            self.after_taking_the_lock(log)
            with pytest.raises(NotFound):
                self.model.erase(ids, subject=subject)
            return
        done = log.erase(ids, subject=subject)
        self.after_taking_the_lock(log, erased=True)  # unattributable copies go with the erased
        expected = self.model.erase(ids, subject=subject)
        assert (done.events, done.generation) == (expected.events, expected.generation)

    @rule(which=st.integers(0, 1), share=st.floats(0, 1.2))
    def retain(self, which: int, share: float) -> None:
        through = int(self.model.head().event_seq * share)
        log, state = self.logs[which], baseline()
        dropped = log.retain(state, through=through)
        self.after_taking_the_lock(log)
        assert dropped == self.model.retain(state, through=through)

    @precondition(lambda self: not self.torn)
    @rule(which=st.integers(0, 1), payload=payloads, share=st.none() | st.floats(0, 1))
    def crash(self, which: int, payload: dict[str, Any], share: float | None) -> None:
        """A process dies: between two appends, inside one, or just before its newline."""
        log = self.logs[which]
        if share is not None:
            made = self.fresh_entry(payload, "ana", True)
            whole = self.next_line(log, made)
            cut = max(1, int(len(whole) * share))
            with open(self.place / "log" / "events.ndjson", "ab") as file:
                file.write(whole[:cut])
            if cut >= len(whole) - 1:  # every byte of the record is there, so it counts
                self.model.append([made])
            else:
                self.torn = True
                del self.known[made.event_id]
        abandon(log)
        self.logs[which] = self.opened()

    @staticmethod
    def next_line(log: FileLog, made: Entry) -> bytes:
        values = tuple(getattr(made, name) for name in line.FIELDS)
        with log.writer().hold() as writer:
            body = line.head(writer.last_seq + 1, line.middle(values))
            if writer.chain is not None:
                body += writer.chain.fields(writer.last_link, body, made.payload)[0]
        return line.close(b'%b,"payload":%b' % (body, made.payload))

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        self.logs[which].close()
        self.logs[which] = self.opened()
        if self.torn and len(self.told_events(self.logs[which])) > len(self.events()):
            self.after_taking_the_lock(self.logs[which])  # it had something to sync, so it mended

    @rule(which=st.integers(0, 1), share=st.floats(0, 1.1))
    def read_from_anywhere(self, which: int, share: float) -> None:
        after = int(self.model.head().event_seq * share)
        assert self.told(self.logs[which], after) == [plain(e) for e in self.events(after)]

    @precondition(lambda self: self.known)
    @rule(which=st.integers(0, 1), pick=st.randoms(use_true_random=False))
    def find(self, which: int, pick: Any) -> None:
        name = pick.choice(sorted(self.known))
        found, expected = self.logs[which].find(name), self.model.find(name)
        assert (found and plain(found)) == (expected and plain(expected))

    # ---- what must hold after every step ---------------------------------------------------

    def told(self, log: FileLog, after: int = 0) -> list[dict[str, Any]]:
        found = list(log.read(after))
        damage = [piece for piece in found if isinstance(piece, Damage)]
        assert [d.reason for d in damage] == ["torn_tail"] * self.torn
        return [plain(piece) for piece in found if isinstance(piece, Event)]

    @staticmethod
    def told_events(log: FileLog) -> list[Event]:
        return [piece for piece in log.read() if isinstance(piece, Event)]

    def events(self, after: int = 0) -> list[Event]:
        return [piece for piece in self.model.read(after) if isinstance(piece, Event)]

    @invariant()
    def both_tell_the_same(self) -> None:
        expected = self.events()
        for log in self.logs:
            assert self.told(log) == [plain(e) for e in expected]
            head, model = log.head(), self.model.head()
            assert (head.event_seq, head.generation) == (model.event_seq, model.generation)

    @invariant()
    def the_files_verify(self) -> None:
        said, expected = self.logs[0].verify(), self.model.verify()
        assert said.sound is not self.torn, said
        assert (said.events, said.first_seq, said.last_seq, said.segments, said.erased) == (
            expected.events,
            expected.first_seq,
            expected.last_seq,
            max(expected.segments - (not self.has_active()), 0),
            expected.erased,
        )
        assert said.chain == ("whole" if self.chained else "off")

    @invariant()
    def a_pseudonym_is_no_name(self) -> None:
        for event in self.logs[0].read():
            if isinstance(event, Event) and event.erased and event.user is not None:
                assert event.user.startswith("erased_")
                assert event.text == ""

    def has_active(self) -> bool:
        return (self.place / "log" / "events.ndjson").exists()


class ChainedLogMachine(LogMachine):
    """The same with a hash chain."""

    chained = True


def abandon(log: FileLog) -> None:
    """What the kernel does for a killed process: its descriptors and its threads are gone."""
    log._flusher.close()
    writer = log._opened
    if writer is not None:
        writer._forget()
        writer._lock.close()
    log._opened = None


# a failure is printed as it was met: shortening fifty steps on real files takes minutes
_unshortened = [Phase.explicit, Phase.reuse, Phase.generate]
TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=examples(40), stateful_step_count=50, phases=_unshortened)
TestChainedLog = ChainedLogMachine.TestCase
TestChainedLog.settings = settings(
    max_examples=examples(20), stateful_step_count=50, phases=_unshortened
)
