"""What becomes of memories: histories in which they are learned, revised, replaced, merged, forgotten,
restored, and run out, told minute by minute through the verbs of a project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from holdfast.app.holdfast import Holdfast
from holdfast.errors import Conflict, Invalid
from holdfast.model.memories import Memory
from holdfast.model.recall import Found
from tests.recall.replays import Ticking, stamp

#: every text of these histories holds it, so a question for it asks for all of them
ALL = "alpha"
_TAGS = ("red", "blue")
_KEYS = ("database", "language", "")

KINDS = (
    *("turn", "learn", "learn", "learn", "slot", "window", "supersede", "say", "retag", "weigh"),
    *("forget", "restore", "merge", "believe", "wait"),
)


class Step(NamedTuple):
    """One thing that happens; `which` picks among what is there."""

    what: str
    which: int
    more: int


steps = st.builds(
    Step,
    st.sampled_from(KINDS),
    st.integers(0, 7),
    st.integers(0, 7),
)
careers = st.lists(steps, min_size=3, max_size=16)


class Career:
    """One project in which these steps are taken, one a minute."""

    def __init__(self, hf: Holdfast, clock: Ticking) -> None:
        self.hf = hf
        self.clock = clock
        self.made: list[str] = []
        self.said = 0

    def take(self, step: Step) -> None:
        """Take one step; what cannot be done is not done."""
        self.clock.minutes += 1
        try:
            done = self._verbs(step)[step.what]()
        except (Conflict, Invalid):
            return
        if isinstance(done, Memory) and done.id not in self.made:
            self.made.append(done.id)

    def text(self, word: str) -> str:
        """A text that nobody said before."""
        self.said += 1
        return f"{ALL} {word} number{self.said}"

    def _one(self, which: int) -> str:
        return self.made[which % len(self.made)]

    def _verbs(self, step: Step) -> Mapping[str, Callable[[], Any]]:
        hf, now = self.hf, self.clock.minutes
        if not self.made and step.what not in ("turn", "slot", "window"):
            return {step.what: lambda: hf.remember(self.text("first"))}
        later = stamp(now + 2 + step.more)
        return {
            "turn": lambda: hf.session(agent="coder", session_id="s").user(self.text("turn")),
            "learn": lambda: hf.remember(self.text("fact"), tags=[_TAGS[step.which % 2]]),
            "slot": lambda: hf.remember(
                self.text("fact"), key=_KEYS[step.which % 3], value=f"v{step.more % 3}"
            ),
            "window": lambda: hf.remember(
                self.text("window"),
                **{("valid_from", "valid_to", "expires_at")[step.which % 3]: later},
            ),
            "supersede": lambda: hf.remember(self.text("new"), supersedes=self._one(step.which)),
            "say": lambda: hf.revise(self._one(step.which), text=self.text("revised")),
            "retag": lambda: hf.revise(self._one(step.which), tags=[_TAGS[step.more % 2]]),
            "weigh": lambda: hf.revise(self._one(step.which), importance=step.more / 7),
            "forget": lambda: hf.forget(self._one(step.which), reason="tidy"),
            "restore": lambda: hf.restore(self._one(step.which)),
            "merge": lambda: hf.merge([self._one(step.which), self._one(step.more)]),
            "believe": lambda: hf.trust(self._one(step.which), step.more % 4, reason="seen"),
            "wait": lambda: setattr(self.clock, "minutes", now + step.more),
        }


def everything(hf: Holdfast, **narrowed: Any) -> Found:
    """All that recall gives about these histories."""
    return hf.recall(ALL, 1_000, min_relevance=0, **narrowed)


def shown(found: Found) -> dict[str, str]:
    """What was found, with its text."""
    return {hit.id: hit.text for hit in found}


def remembered(found: Found) -> dict[str, str]:
    """The memories among it, with the text they have."""
    return {hit.id: hit.memory.text for hit in found if hit.memory is not None}
