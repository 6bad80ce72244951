"""One log's shelves as they are asked: always at the head of the log, whatever became of the index.

Shelves that cannot be brought up to date are read as they are, and what the log holds behind them stands
on shelves in memory beside them. Shelves that turn out to be damaged are made anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.model.events import Position
from holdfast.model.memories import Memory
from holdfast.model.recall import RecallSettings
from holdfast.model.search import EVERYBODY, Wanted
from holdfast.ports.embed import ANY_NUMBER, Embedder
from holdfast.ports.log import EventLog
from holdfast.ports.search import SearchIndex
from holdfast.ports.vectors import Vectors
from holdfast.views import knowledge
from holdfast.views.runner import Runner

from .absent import Absent
from .embedding import Filler
from .follow import Follower, Progress
from .gather import Shelf

Arm = tuple[Embedder, Vectors]


class Engines(NamedTuple):
    """What stands behind the ports, made when somebody first asks."""

    #: the embedders that are chosen, the best last
    embedders: Callable[[], list[Embedder]]
    #: an embedder with its vectors; Unavailable while it does not say how wide they are
    arm: Callable[[Embedder], Arm]
    #: the same in memory, for what the index cannot take in
    beside: Callable[[Sequence[Embedder]], tuple[SearchIndex, list[Arm]]]


class Library:
    """What can be found in one project's log."""

    def __init__(
        self,
        project: str,
        log: EventLog,
        index: SearchIndex,
        *,
        engines: Engines,
        views: Runner,
        settings: RecallSettings,
    ) -> None:
        self.project = project
        self._log = log
        self._index = index
        self._engines = engines
        self._views = views
        self._settings = settings
        self._main: Follower | None = None
        self._tail: Follower | None = None
        self._filler: Filler | None = None
        self._lock = threading.RLock()
        self._pid = os.getpid()
        #: vectors that could have been made at once may be missing: nobody has looked yet
        self._unlooked = True
        self._told: list[str] = []
        self._lacking: list[str] = []
        #: what embedders said that could not be used for the last question
        self.troubles: list[str] = []

    # ---- asking ----------------------------------------------------------------------------

    @contextmanager
    def shelves(
        self,
        owners: Sequence[str],
        wanted: Wanted,
        unfinished: frozenset[int] = frozenset(),
        *,
        by_words: bool = False,
    ) -> Iterator[list[Shelf]]:
        """The shelves of these owners; what is read inside belongs to one position.

        Who asks `by_words` alone needs no vectors: none are made for that.
        """
        with self._one_at_a_time():
            self.up_to_date()
            followers = [f for f in (self._main, self._tail) if f is not None]
            with self._open().index.reading():
                yield [
                    shelf
                    for follower in followers
                    for shelf in _shelves(follower, self.project, owners, wanted, unfinished)
                ]
        if not by_words:
            self._fill_behind()

    def embedders(self) -> list[Embedder]:
        """Those whose vectors are searched, the best last."""
        return [embedder for embedder, _ in self._open().arms]

    def frequency(self, owner: str, words: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many passages an owner may see, and how many hold each of these words."""
        with self.shelves([owner, EVERYBODY], Wanted(now=0)) as shelves:
            found = dict.fromkeys(words, 0)
            for shelf in shelves:
                for word, times in shelf.index.frequency(shelf.number, words).items():
                    found[word] += times
            return sum(shelf.passages for shelf in shelves), found

    def up_to_date(self, progress: Progress | None = None) -> None:
        """Take in every event of the log, here or beside."""
        with self._one_at_a_time():
            main = self._armed()
            try:
                self._taken_in(main, progress)
                self._tail = None
            except Unavailable as exc:
                self.tell(f"what was said last is searched in memory: {exc}")
                self._beside(main).up_to_date(progress)
            if self._unlooked:
                self._unlooked = False
                self._look_for_missing()

    def _look_for_missing(self) -> None:
        """Vectors are a cache: those that can be made at once are, whatever became of them."""
        try:
            self._the_filler().fill(quick=True)
        except HoldfastError as exc:
            self.tell(f"some vectors are missing: {exc}")

    def _one_at_a_time(self) -> threading.RLock:
        if self._pid != os.getpid():  # a parent's thread may hold the locks we were forked with
            self._pid, self._lock, self._filler = os.getpid(), threading.RLock(), None
        return self._lock

    def _taken_in(self, main: Follower, progress: Progress | None) -> None:
        try:
            main.up_to_date(progress)
        except Damaged as exc:
            self.discard(str(exc))
            main.up_to_date(progress)

    def discard(self, why: str) -> None:
        """Throw the shelves away; the next question has them made anew."""
        with self._one_at_a_time():
            self.tell(f"what can be found is indexed anew: {why}")
            self._open().index.discard()
            self._tail, self._unlooked = None, True

    def _beside(self, main: Follower) -> Follower:
        """A second index, in memory, for what the first one cannot take in."""
        at = _position(main.index)
        if self._tail is None or self._tail.after != at:  # somebody else could take more in
            index, arms = self._engines.beside([embedder for embedder, _ in main.arms])
            self._tail = self._follower(index, arms)
            self._tail.after = at
        return self._tail

    def _open(self) -> Follower:
        if self._main is None:
            arms: list[Arm] = [(embedder, Absent()) for embedder in self._engines.embedders()]
            self._main = self._follower(self._index, arms)
        return self._main

    def _armed(self) -> Follower:
        """With the vectors of each embedder, as far as they can be had by now."""
        main = self._open()
        self._lacking = []
        for place, (embedder, vectors) in enumerate(main.arms):
            if isinstance(vectors, Absent):
                try:
                    main.arms[place] = self._engines.arm(embedder)
                except HoldfastError as exc:
                    self._lacking.append(f"found without an embedder: {exc}")
        return main

    def _follower(self, index: SearchIndex, arms: list[Arm]) -> Follower:
        return Follower(
            self._log,
            index,
            arms,
            memories=self._memories,
            settings=self._settings,
            tell=self.tell,
        )

    def _memories(self, ids: Sequence[str]) -> list[Memory]:
        found = self._views.read(
            lambda reading: [knowledge.memory(reading, one) for one in dict.fromkeys(ids)]
        )
        return [memory for memory in found if memory is not None]

    def tell(self, text: str) -> None:
        """Something happened to the shelves that a person should know."""
        if text not in self._told:
            self._told.append(text)

    @property
    def notices(self) -> list[str]:
        """What a person should know."""
        return list(dict.fromkeys([*self._told, *self._lacking, *self.troubles]))

    # ---- vectors that take their time ------------------------------------------------------

    def fill(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make every vector that is missing, now."""
        self.up_to_date()
        self._the_filler().fill(progress)

    def _fill_behind(self) -> None:
        """Make missing vectors in the background; nobody waits for them."""
        if any(embedder.at_once < ANY_NUMBER for embedder, _ in self._open().arms):
            self._the_filler().start()

    @property
    def pending(self) -> int:
        """About how many passages wait for a vector of the best embedder."""
        return self._filler.left if self._filler is not None else 0

    def _the_filler(self) -> Filler:
        if self._filler is None:
            main = self._open()
            self._filler = Filler(main.index, main.arms, self.tell, self._lock)
        return self._filler

    def close(self) -> None:
        """Let go of the vectors; what is under way in the background ends first."""
        if self._filler is not None:
            self._filler.stop()
        if self._main is not None:
            for _, vectors in self._main.arms:
                vectors.close()


def _shelves(
    follower: Follower,
    project: str,
    owners: Sequence[str],
    wanted: Wanted,
    unfinished: frozenset[int],
) -> Iterator[Shelf]:
    edition = follower.index.edition()
    for _, vectors in follower.arms:
        vectors.use(edition)
    for owner in owners:
        number = follower.index.shelf(owner)
        if number is not None:
            yield Shelf(
                project=project,
                index=follower.index,
                number=number,
                vectors=tuple(vectors for _, vectors in follower.arms),
                wanted=wanted,
                passages=follower.index.size(number).passages,
                open=unfinished,
            )


def _position(index: SearchIndex) -> Position | None:
    """How far it goes; None for one that cannot even say that."""
    try:
        return index.position()
    except HoldfastError:
        return None
