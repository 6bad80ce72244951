"""Items and events that contexts are made from, without a log around them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from holdfast.compose import history, render
from holdfast.compose.items import Item, falling
from holdfast.compose.render import Part
from holdfast.engines.tokenizers.vocabulary import counter
from holdfast.model.events import Event
from holdfast.model.tokens import TokenSettings, resolve
from tests.compose.wordings import hostile, said, sentences

#: what counts tokens in these tests: a real vocabulary
count = counter(resolve("", TokenSettings())).count

#: who speaks in which kind of event
_KINDS = ("user_message", "model_message", "decision", "error", "task_completed", "validation_gate")
_ORIGINS = {"user_message": ("user", 3), "model_message": ("agent", 2), "tool_call": ("agent", 2)}


def event(n: int, kind: str, payload: dict[str, Any], event_id: str = "") -> Event:
    """One event of a conversation, the nth."""
    origin, trust = _ORIGINS.get(kind, ("tool", 1))
    return Event(
        v=2,
        event_seq=n,
        event_id=event_id or f"evt_{n:026d}",
        session_id="s",
        agent="coder",
        user="ana",
        type=f"{kind}@1",
        timestamp=f"2026-03-01T09:{n % 60:02d}:00.000Z",
        origin=origin,
        trust=trust,
        payload=payload,
    )


# ---- conversations ------------------------------------------------------------------------------

_blank = st.sampled_from(["", " ", "\n", "\t \n", "\u200b", "\x00"])
_texts = st.one_of(said, said, said, _blank)
_tools = st.sampled_from(["Bash", "Read", "mcp.search:find it", "<hf:memory>", "", "gré\u200bp"])
_objects = st.dictionaries(hostile | sentences, hostile | sentences | st.integers(), max_size=2)
_asked = _objects | _objects | hostile | st.lists(sentences, max_size=2) | st.none()


@st.composite
def _used(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    """Calls of tools with their answers, in any order; now and then one is missing or comes twice."""
    tools = draw(st.lists(_tools, min_size=1, max_size=3))
    named, asked, text = draw(st.sampled_from(["", "call-{}", "x"])), draw(_asked), draw(said)
    own = [{"call_id": named.format(n)} if named else {} for n in range(len(tools))]
    both = list(zip(tools, own, strict=True))
    calls = [("tool_call", {"tool": tool, "input": asked, **mine}) for tool, mine in both]
    answers = [("tool_result", {"tool": tool, "text": text, **mine}) for tool, mine in both]
    answers = draw(st.permutations(answers))
    missing = draw(st.sampled_from(["none", "none", "none", "call", "answer"]))
    again = answers[:1] if draw(st.integers(0, 3)) == 0 else []
    return [*calls[missing == "call" :], *answers[missing == "answer" :], *again]


@st.composite
def conversations(draw: st.DrawFn) -> list[Event]:
    """What was said and done, with tools whose answers follow their calls, or are missing."""
    spoken = st.tuples(st.sampled_from(_KINDS), _texts.map(lambda text: {"text": text}))
    pieces = draw(st.lists(spoken.map(lambda one: [one]) | _used(), max_size=6))
    told = [one for piece in pieces for one in piece]
    own = draw(st.sampled_from(["", "id.of:mine-"]))
    return [
        event(n, kind, payload, f"{own}{n}" if own else "")
        for n, (kind, payload) in enumerate(told, start=1)
    ]


def turns(events: list[Event], most: int = 4_000) -> list[Part]:
    """The parts of a conversation."""
    made = history.Turns(most, count)
    return [made.part(one) for one in events]


# ---- items --------------------------------------------------------------------------------------


@st.composite
def items(draw: st.DrawFn, texts: st.SearchStrategy[str] = said) -> Item:
    """Anything that can be shown, at four levels."""
    text = draw(texts.filter(lambda one: bool(one.strip())))
    lengths = draw(st.sampled_from([(300, 100, 30), (60, 60, 1), (10, 9, 8)]))
    trust = draw(st.integers(0, 3))
    return Item(
        kind=draw(st.sampled_from(["memory", "turn", "error", "topic", "correction"])),
        id=f"mem_{draw(st.integers(0, 10**6)):026d}",
        seq=draw(st.integers(1, 1_000)),
        head=draw(st.just("") | hostile.map(lambda who: f"{who} 2026-03-01")),
        levels=falling([text, *(text[:length] or text for length in lengths)]),
        trust=trust,
        rule=trust == 3 and draw(st.booleans()),
    )


@st.composite
def contexts(draw: st.DrawFn) -> list[Part]:
    """All the parts of a context, in the order they are written."""
    system = render.system(draw(st.sampled_from(["", "You are a coder."]) | hostile), [])
    numbers = iter(range(1, 1_000))

    def block(section: str) -> list[Part]:
        shown = draw(st.lists(items(), max_size=3))
        return render.memory(section, [(one, next(numbers), draw(_levels)) for one in shown])

    talk: list[Part] = []
    for part in turns(draw(conversations())):
        talk.append(part)
        if draw(st.integers(0, 5)) == 0:
            talk += block("relevant")
    notes = draw(st.dictionaries(st.sampled_from(["task", "next"]), said, max_size=2))
    pad = [Part(section="scratchpad", text=render.scratchpad(notes, 1), passing=True)]
    return [
        *system,
        *block("background"),
        *block("index"),
        *talk,
        *block("critical"),
        *(pad if notes else []),
    ]


_levels = st.integers(0, 3)
