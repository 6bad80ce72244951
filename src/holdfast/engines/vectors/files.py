"""The vectors of a project in files: <project>/vectors/<embedder>/<edition>-<shelf>.f16."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from holdfast.capture.disk import Disk
from holdfast.errors import Invalid

from .alone import Alone
from .follow import Flags
from .names import folder_of, safe
from .rows import Floats, Rows, unit
from .scan import Scan

#: bytes of matrices kept in memory beside the one in use
_MEMORY = 1 << 30
_ENDINGS = (".f16", ".changes")


class _Shelf:
    """One shelf's rows and what is worked out of them."""

    def __init__(self, path: str, dims: int, exact_most: int, disk: Disk) -> None:
        self.rows = Rows(path, dims, disk)
        self.flags = Flags(self.rows, dims)
        self.scan = Scan(self.rows, dims, self.flags, exact_most)


class FileVectors(Alone):
    """One embedder's vectors of one project; any number of processes and threads may read them.

    Whoever writes holds the lock of the project's index, so no two do at once.
    """

    def __init__(
        self,
        folder: str,
        name: str,
        dims: int,
        *,
        exact_most: int = 200_000,
        disk: Disk | None = None,
    ) -> None:
        super().__init__()
        self._folder, self._dims, self._exact_most = folder_of(folder, name), dims, exact_most
        self._disk = disk or Disk()
        self._edition: str | None = None

    def begin(self, edition: str) -> None:
        """Use this edition; the files of others are removed."""
        with self._alone("beginning an edition of vectors"):
            self._switch(edition)
            self._remove_others(safe(edition))

    def use(self, edition: str) -> None:
        """Use this edition, and take nothing away."""
        with self._alone("using an edition of vectors"):
            self._switch(edition)

    def _switch(self, edition: str) -> None:
        if self._edition != edition:
            self._edition = edition
            self._forget()

    def put(self, shelf: int, first: int, rows: NDArray[np.float32]) -> None:
        """Keep the vectors of passages `first`, `first` + 1, …"""
        with self._alone("keeping vectors"):
            given = self._checked(rows)
            if first < 1:
                raise Invalid(f"passages are numbered from 1, not {first}")
            if len(given):
                self._shelf(shelf).rows.write([(first - 1, given)])

    def set(self, shelf: int, numbers: Sequence[int], rows: NDArray[np.float32]) -> None:
        """Keep the vectors of these passages."""
        with self._alone("keeping vectors"):
            given = self._checked(rows)
            if len(numbers) != len(given) or min(numbers, default=1) < 1:
                raise Invalid(f"{len(given)} vectors do not fit passages {numbers!r:.80}")
            if len(given):
                self._shelf(shelf).rows.write(_runs(np.asarray(numbers, np.int64) - 1, given))

    def missing(self, shelf: int, through: int, most: int) -> list[int]:
        """Passages that have no vector, newest first."""
        with self._alone("looking for missing vectors"):
            flags = self._shelf(shelf).flags
            flags.follow(through)
            return flags.missing(through, most)

    def nearest(
        self, shelf: int, query: NDArray[np.float32], most: int, through: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The most similar passages, the best first."""
        with self._alone("searching vectors"):
            asked = self._asked(query)
            places, found = self._shelf(shelf).scan.nearest(asked, most, through)
            return places + 1, found

    def similar(
        self,
        shelf: int,
        query: NDArray[np.float32],
        numbers: Sequence[int] | NDArray[np.int64],
        through: int | None = None,
    ) -> NDArray[np.float32]:
        """How similar these passages are; nan where there is no vector."""
        with self._alone("comparing vectors"):
            here, asked = self._shelf(shelf), self._asked(query)
            limit = here.rows.look().length if through is None else through
            return here.scan.similar(asked, np.asarray(numbers, np.int64) - 1, limit)

    @property
    def memory(self) -> int:
        """Bytes of matrices held in memory."""
        with self._alone("measuring vectors"):
            return sum(shelf.scan.size for shelf in self._shelves.values())

    def close(self) -> None:
        """Let go of the memory; no file is open."""
        with self._alone("closing vectors"):
            self._forget()

    def _forget(self) -> None:
        self._shelves: OrderedDict[int, _Shelf] = OrderedDict()

    def _shelf(self, number: int) -> _Shelf:
        if self._edition is None:
            raise Invalid("no edition of vectors was begun")
        if number not in self._shelves:
            path = os.path.join(self._folder, f"{safe(self._edition)}-{number}")
            self._shelves[number] = _Shelf(path, self._dims, self._exact_most, self._disk)
        self._shelves.move_to_end(number)
        while self.memory > _MEMORY and len(self._shelves) > 1:
            self._shelves.popitem(last=False)
        return self._shelves[number]

    def _checked(self, rows: NDArray[np.float32]) -> Floats:
        given = np.asarray(rows)
        if given.ndim != 2 or given.shape[1] != self._dims:
            raise Invalid(f"vectors of shape {given.shape} are not rows of {self._dims} numbers")
        return unit(given)

    def _asked(self, query: NDArray[np.float32]) -> NDArray[np.float64]:
        asked = np.asarray(query)
        if asked.shape != (self._dims,):
            raise Invalid(f"a query of shape {asked.shape} is not {self._dims} numbers")
        return np.asarray(unit(asked[None])[0], np.float64)

    def _remove_others(self, edition: str) -> None:
        try:
            names = self._disk.listdir(self._folder)
        except FileNotFoundError:
            return
        for name in names:
            stem, ending = os.path.splitext(name)
            if ending in _ENDINGS and stem.rpartition("-")[0] != edition:
                with suppress(FileNotFoundError):
                    self._disk.unlink(os.path.join(self._folder, name))


def _runs(places: NDArray[np.int64], rows: Floats) -> Iterator[tuple[int, Floats]]:
    """The rows by place, those beside each other together; of a place named twice the last is last."""
    order = np.argsort(places, kind="stable")
    cuts = np.flatnonzero(np.diff(places[order]) != 1) + 1
    for part in np.split(order, cuts):
        yield int(places[part[0]]), rows[part]
