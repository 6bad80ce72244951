"""Seeing whether what was recalled was used: the next thing the model says or does tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.model.recall import Found
from holdfast.recall.citation import Worth, cited
from holdfast.recall.question import Rarity
from holdfast.text.stems import stem

from . import recall

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Watch(msgspec.Struct, kw_only=False):
    """Hits a model was given and has not answered to yet."""

    found: Found
    #: those that showed already, in a tool call before the answer
    cited: set[str] = msgspec.field(default_factory=set)


def look(hf: Holdfast, watch: Watch, said: str, *, user: str) -> None:
    """Note those of the hits that show in what was said; it is recorded already."""
    texts = {hit.id: hit.text for hit in watch.found}
    settings, query = hf.settings.recall, watch.found.query
    watch.cited |= set(cited(texts, said, query, _worth(hf, user), settings))


def record(
    hf: Holdfast, watches: Sequence[Watch], *, user: str, agent: str, session_id: str
) -> None:
    """Write down which hits were cited and which ignored: one event in each log they lie in."""
    shown = {one for watch in watches for one in watch.cited}
    for log in hf.logs(user):
        mine = dict.fromkeys(
            hit.id for watch in watches for hit in watch.found if hit.project == log.project.id
        )
        if mine:
            said = {
                "cited": [one for one in mine if one in shown],
                "ignored": [one for one in mine if one not in shown],
                "automatic": True,
            }
            log.record([recall.note(hf, log, "memory_used", said, (user, agent, session_id))])


def _worth(hf: Holdfast, user: str) -> Worth:
    """How much a word tells, by how rare it is in all the user may see, the reply itself apart."""

    def worth(words: Sequence[str]) -> dict[str, float]:
        passages, times = 0, dict.fromkeys(words, 0)
        for log in hf.logs(user):
            count, found = log.library.frequency(user, words)
            passages += count
            for word, n in found.items():
                times[word] += n
        rare = Rarity(
            passages=max(0, passages - 1),
            average=1.0,
            frequency={stem(word): max(0, n - 1) for word, n in times.items()},
            imagined=hf.settings.recall.imagined_passages,
            share=hf.settings.recall.imagined_share,
        )
        return {word: rare.information(stem(word)) for word in words}

    return worth
