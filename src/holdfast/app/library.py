"""Composition of recall: which engines stand behind its ports, made when somebody first asks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from holdfast.engines.embedders.choose import embedders
from holdfast.engines.files import FileLog
from holdfast.engines.files import meta as project_meta
from holdfast.engines.reference.search import MemorySearch
from holdfast.engines.reference.vectors import MemoryVectors
from holdfast.engines.sqlite import Index
from holdfast.engines.sqlite.search import SqliteSearch
from holdfast.engines.vectors.cache import VectorCache
from holdfast.engines.vectors.files import FileVectors
from holdfast.errors import HoldfastError
from holdfast.model.settings import Settings
from holdfast.ports.embed import ANY_NUMBER, Embedder
from holdfast.ports.search import SearchIndex
from holdfast.ports.vectors import Vectors
from holdfast.recall.absent import Absent
from holdfast.recall.cached import Cached
from holdfast.recall.library import Arm, Engines, Library
from holdfast.recall.pages import SHAPE
from holdfast.text.stems import stems
from holdfast.views.runner import Runner


def library(
    chosen: Settings, project_id: str, log: FileLog, index: Index, views: Runner
) -> Library:
    """What can be found in one log; nothing is loaded before somebody asks."""
    recall = chosen.recall
    search = SqliteSearch(
        index,
        shape=f"{SHAPE} {recall.passage_chars} {recall.context_words} {recall.context_turns}",
        stems=stems,
        weights=(1.0, recall.context_weight),
        generation=lambda: project_meta.generation(log.disk, log.folder),
    )
    return Library(
        project_id,
        log,
        search,
        engines=Engines(
            embedders=partial(embedders, chosen.embed, chosen.embed_key),
            arm=partial(_arm, chosen, log.folder),
            beside=partial(_beside, (1.0, recall.context_weight)),
        ),
        views=views,
        settings=recall,
    )


def _arm(chosen: Settings, folder: str, embedder: Embedder) -> Arm:
    """An embedder with its vectors; Unavailable for one that does not even say how wide they are."""
    name, dims = embedder.name, embedder.dims
    kept = FileVectors(folder, name, dims, exact_most=chosen.recall.exact_passages)
    if embedder.at_once == ANY_NUMBER:
        return embedder, kept
    return Cached(embedder, VectorCache(folder, name, dims)), kept


def _beside(
    weights: tuple[float, float], made: Sequence[Embedder]
) -> tuple[SearchIndex, list[Arm]]:
    """Shelves in memory, for what index.db cannot take in."""
    return MemorySearch(stems, weights), [(embedder, _in_memory(embedder)) for embedder in made]


def _in_memory(embedder: Embedder) -> Vectors:
    try:
        return MemoryVectors(embedder.dims)
    except HoldfastError:  # whoever asked it before has said so
        return Absent()
