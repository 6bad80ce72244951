"""One store of a size: filled in one process, asked in another, beside plain tools on the same texts."""

from __future__ import annotations

import random
import re
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import holdfast
from bench import zipf
from bench.data import USER, Dataset, find, read
from bench.measures import SEED, mean
from holdfast.engines.vectors.files import FileVectors
from holdfast.errors import HoldfastError
from holdfast.model.search import EVERYBODY, Wanted
from holdfast.recall.gather import Shelf

Asker = Callable[[str], Sequence[int]]

QUESTIONS = 100
_BATCH = 1_000
_HITS = 10
#: where sentences come from, where one ends, and which are a memory: not a word, no more than a passage
DATASETS: tuple[Dataset, ...] = ("locomo", "beam", "qmsum")
_END = re.compile(r"(?<=[.!?])\s+")
_LONGEST, _FEWEST = 400, 4
#: 2026-01-01, the time of everything
_NOW = 1_767_225_600_000
_FILLED = "filled.json"
_PLAIN = "plain.db"
OURS, WORDS, VECTORS = "holdfast", "FTS5", "dot product"


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """A store, what it took to fill it, and what to ask it."""

    size: int
    #: of the texts: how many real ones there were to draw from
    real: int
    seed: int
    record_seconds: float
    index_seconds: float
    plain_seconds: float
    memory: int
    #: bytes of the log, of the index and of the vectors
    disk: dict[str, int]
    #: the place of the memory a question was made from, and the question
    questions: list[tuple[int, str]]


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """One way to find things: milliseconds of each question, those the processor worked, and success."""

    took: list[float]
    worked: list[float]
    #: the share of questions whose own memory is among the first ten
    found: float


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What one store answered."""

    first: float
    memory: int
    passages: int
    ways: dict[str, Timed]
    #: of the exact ten nearest, the share found; None where nothing is approximate
    nearest: float | None = None


# ---- filling -------------------------------------------------------------------------------------


def fill(home: Path, size: int, real: Sequence[str]) -> Filled:
    """Record so many memories, index them, and give the same texts to plain full-text search."""
    places = random.Random(SEED).choices(range(size), k=QUESTIONS)
    texts = enumerate(islice(zipf.texts(real), size))
    seconds: dict[str, float] = {}
    noted: dict[int, str] = {}
    with opened(home) as hf, closing(sqlite3.connect(home / _PLAIN)) as plain, plain:
        plain.execute("create virtual table texts using fts5(text, tokenize='porter unicode61')")
        while batch := list(islice(texts, _BATCH)):
            noted |= {place: text for place, text in batch if place in places}
            with _timed(seconds, "record"):
                hf.record([_draft(place, text) for place, text in batch])
            with _timed(seconds, "plain"):
                plain.executemany("insert into texts(rowid, text) values (?, ?)", batch)
        with _timed(seconds, "index"):
            hf.index()
        peak, folder = memory(), Path(hf.folder)
    return Filled(
        size=size,
        real=len(real),
        seed=SEED,
        record_seconds=seconds["record"],
        index_seconds=seconds["index"],
        plain_seconds=seconds["plain"],
        memory=peak,
        disk=_disk(folder),
        questions=[*zip(places, zipf.questions([noted[place] for place in places]), strict=True)],
    )


@contextmanager
def _timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - begun


def _draft(place: int, text: str) -> holdfast.Draft:
    said = {"memory": f"mem_{place:026d}", "scope": "project", "text": text}
    return holdfast.Draft(type="memory_learned", payload=said, origin="user")


def opened(home: Path) -> holdfast.Holdfast:
    """The one project of a store; its clock stands."""
    return holdfast.open(home, project="bench", user=USER, now=lambda: _NOW)


def memory() -> int:
    """The most bytes of memory this process ever had."""
    try:
        told = Path("/proc/self/status").read_text()
    except OSError:  # there the system counts what a parent held before it started us
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(
        int(line.split()[1]) * 1024 for line in told.splitlines() if line.startswith("VmHWM")
    )


def _disk(folder: Path) -> dict[str, int]:
    parts = {"log": "events*", "index": "index.db*", "vectors": "vectors/**/*"}
    return {
        name: sum(file.stat().st_size for file in folder.glob(form) if file.is_file())
        for name, form in parts.items()
    }


def spoken(data: Path) -> list[str]:
    """The sentences of the conversations of a data folder, each once; single words left out."""
    sentences = (
        sentence
        for dataset in DATASETS
        for conversation in read(find(data, dataset), dataset)
        for turn in conversation.turns
        for sentence in _END.split(turn.text.strip())
    )
    fit = (one for one in sentences if len(one) <= _LONGEST and len(one.split()) >= _FEWEST)
    return list(dict.fromkeys(fit))


# ---- asking --------------------------------------------------------------------------------------


def ask(home: Path, filled: Filled) -> Asked:
    """Every question in every way, the ways in turn."""
    asked = [text for _, text in filled.questions]
    start = time.perf_counter()
    with opened(home) as hf:
        ours = _ours(hf)
        ours(asked[0])
        first = time.perf_counter() - start
        for text in asked[::-1]:
            ours(text)
        peak = memory()
        with hf.library.shelves([EVERYBODY], Wanted(now=_NOW)) as (shelf,):
            vectors = _vectors(hf, asked)
            passages, nearest = shelf.passages, _nearest(hf, shelf, vectors)
        with closing(sqlite3.connect(home / _PLAIN)) as plain:
            ways = {OURS: ours, WORDS: _plain(plain)}
            if vectors:
                ways[VECTORS] = _product(Path(hf.folder), vectors)
            timed = in_turn(ways, filled.questions)
    return Asked(first=first, memory=peak, passages=passages, ways=timed, nearest=nearest)


def _ours(hf: holdfast.Holdfast) -> Asker:
    def ask_one(text: str) -> list[int]:
        return [int(hit.id.removeprefix("mem_")) for hit in hf.recall(text, k=_HITS)]

    return ask_one


def _plain(base: sqlite3.Connection) -> Asker:
    def ask_one(text: str) -> list[int]:
        any_of = " OR ".join(f'"{word}"' for word in dict.fromkeys(text.replace('"', "").split()))
        found = base.execute(
            "select rowid from texts where texts match ? order by rank limit ?", (any_of, _HITS)
        )
        return [place for (place,) in found]

    return ask_one


def _product(folder: Path, vectors: Mapping[str, Any]) -> Asker:
    """The ten rows with the largest product; rows and questions as the product embeds them."""
    (file,) = folder.glob("vectors/*/*.f16")
    wide = len(next(iter(vectors.values())))
    rows = np.fromfile(file, "<f2").reshape(-1, wide).astype(np.float32)

    def ask_one(text: str) -> list[int]:
        scores = rows @ vectors[text]
        best = np.argpartition(-scores, _HITS)[:_HITS] if len(scores) > _HITS else range(len(rows))
        return sorted(map(int, best), key=lambda place: -scores[place])

    return ask_one


def _vectors(hf: holdfast.Holdfast, asked: Sequence[str]) -> dict[str, Any]:
    """Each question as the embedder sees it, no word rarer than another; nothing without one."""
    embedders = hf.library.embedders()
    return {text: embedders[0].query(text, lambda _: 0.0) for text in asked if embedders}


def _nearest(hf: holdfast.Holdfast, shelf: Shelf, vectors: Mapping[str, Any]) -> float | None:
    """The share of the exact ten nearest that the product's own search finds."""
    if shelf.passages <= hf.settings.recall.exact_passages or not vectors:
        return None
    embedder = hf.library.embedders()[0]
    exact = FileVectors(hf.folder, embedder.name, embedder.dims, exact_most=shelf.passages)
    exact.begin(shelf.index.edition())
    shares = []
    for vector in vectors.values():
        both = (
            set(one.nearest(shelf.number, vector, _HITS, shelf.passages)[0].tolist())
            for one in (exact, shelf.vectors[0])
        )
        wanted, found = both
        shares.append(len(wanted & found) / len(wanted))
    exact.close()
    return mean(shares)


def in_turn(ways: Mapping[str, Asker], asked: Sequence[tuple[int, str]]) -> dict[str, Timed]:
    """Ask every question in every way; the first is asked once more before, and not timed."""
    took: dict[str, list[tuple[float, float, bool]]] = {name: [] for name in ways}
    for one in ways.values():
        one(asked[0][1])
    for place, text in asked:
        for name, one in ways.items():
            began, worked = time.perf_counter(), time.process_time()
            found = one(text)
            spent = time.perf_counter() - began, time.process_time() - worked
            took[name].append((spent[0] * 1e3, spent[1] * 1e3, place in found))
    return {
        name: Timed(
            took=[wall for wall, _, _ in kept],
            worked=[work for _, work, _ in kept],
            found=mean([float(there) for _, _, there in kept]),
        )
        for name, kept in took.items()
    }


# ---- a process of its own ------------------------------------------------------------------------


def kept(store: Path) -> Filled | None:
    """What is known of a store that was filled; None when it was not, or not to the end."""
    try:
        return msgspec.json.decode((store / _FILLED).read_bytes(), type=Filled)
    except (FileNotFoundError, msgspec.DecodeError):  # a note cut short is no whole JSON
        return None


def child() -> None:
    """Fill a store, `fill STORE SIZE [DATA]`, or ask one, `ask STORE`; the environment says how."""
    what, where, *rest = sys.argv[1:]
    try:
        _do(what, Path(where), rest)
    except HoldfastError as exc:
        raise SystemExit(f"bench.scale: {exc}") from exc


def _do(what: str, store: Path, rest: Sequence[str]) -> None:
    if what == "fill":
        size, *data = rest
        filled = fill(store, int(size), spoken(Path(data[0])) if data else [])
        (store / _FILLED).write_bytes(msgspec.json.encode(filled))
    elif (there := kept(store)) is not None:
        sys.stdout.buffer.write(msgspec.json.encode(ask(store, there)))
