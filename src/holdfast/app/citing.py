"""Seeing whether what was recalled was used: the next thing the model says or does tells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.model.events import Draft
from holdfast.model.recall import Found
from holdfast.recall.citation import Worth, cited

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Watch(msgspec.Struct, kw_only=False):
    """Hits a model was given and has not answered to yet."""

    found: Found
    #: those that showed already, in a tool call before the answer
    cited: set[str] = msgspec.field(default_factory=set)


def look(hf: Holdfast, watch: Watch, said: str, *, user: str) -> None:
    """Note those of the hits that show in what was said."""
    texts = {hit.id: hit.text for hit in watch.found}
    watch.cited |= set(cited(texts, said, watch.found.query, _worth(hf, user)))


def record(hf: Holdfast, watch: Watch, *, user: str, agent: str, session_id: str) -> None:
    """Write down which hits were cited and which ignored: one event in each log they lie in."""
    for log in hf.logs(user):
        mine = [hit.id for hit in watch.found if hit.project == log.project.id]
        if mine:
            said = {
                "cited": [one for one in mine if one in watch.cited],
                "ignored": [one for one in mine if one not in watch.cited],
                "automatic": True,
            }
            log.record(
                [
                    Draft(
                        type="memory_used",
                        payload=said,
                        origin="system",
                        session_id=session_id,
                        agent=agent,
                        user=user,
                    )
                ]
            )


def _worth(hf: Holdfast, user: str) -> Worth:
    def worth(words: Sequence[str]) -> dict[str, float]:
        passages, frequency = hf.library.frequency(user, words)
        return {word: math.log((passages + 1) / (times + 0.5)) for word, times in frequency.items()}

    return worth
