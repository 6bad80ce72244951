"""Composition of recall: which engines stand behind its ports, made when somebody first asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from holdfast.recall.cached import Cached
from holdfast.recall.library import Arms, Library
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
    told: list[str] = []
    made = Library(
        project_id,
        log,
        search,
        arms=lambda: _arms(chosen, log.folder, told.append),
        beside=partial(_beside, (1.0, recall.context_weight)),
        views=views,
        settings=recall,
    )
    made.notices = told
    return made


def _arms(chosen: Settings, folder: str, tell: Callable[[str], None]) -> Arms:
    """The embedders that can be used, each with its vectors; those that cannot are named."""
    found: Arms = []
    for embedder in embedders(chosen.embed, chosen.embed_key):
        try:
            name, dims = embedder.name, embedder.dims
            kept = FileVectors(folder, name, dims, exact_most=chosen.recall.exact_passages)
            cached = (
                embedder
                if embedder.at_once == ANY_NUMBER
                else Cached(embedder, VectorCache(folder, name, dims))
            )
            found.append((cached, kept))
        except HoldfastError as exc:
            tell(f"found without an embedder: {exc}")
    return found


def _beside(weights: tuple[float, float], made: Sequence[Embedder]) -> tuple[SearchIndex, Arms]:
    """Shelves in memory, for what index.db cannot take in."""
    return MemorySearch(stems, weights), [
        (embedder, MemoryVectors(embedder.dims)) for embedder in made
    ]
