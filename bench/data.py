"""Public conversations with questions about them, as their authors publish them, and into Holdfast.

LoCoMo (`locomo10.json`), BEAM (one conversation a line), LongMemEval (`longmemeval_s_cleaned.json` and
its sisters), QMSum (one meeting a line). A file is taken whole and unchanged; fields that say nothing
about recall are ignored. Every question names its gold by places: positions in the conversation's own
list of turns. `record` writes a conversation down and says which event stands for which place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from holdfast import Draft, Holdfast
from holdfast.errors import Invalid, NotFound

Dataset = Literal["locomo", "beam", "longmemeval", "qmsum"]
Role = Literal["user", "assistant"]
USER, AGENT = "reader", "assistant"

#: questions of these categories have no answer in their conversation
UNANSWERABLE = frozenset({"adversarial", "abstention"})
#: questions of these ask for the latest of several statements
UPDATES = frozenset({"knowledge_update", "knowledge-update"})

#: LoCoMo numbers its categories; the names are those of its paper, whose counts (841 single-hop,
#: 282 multi-hop, 321 temporal, 96 open-domain, 446 adversarial) are those of the numbers 4, 1, 2, 3, 5
LOCOMO = ("", "multi-hop", "temporal", "open-domain", "single-hop", "adversarial")
_FILES = {"locomo": "*.json", "beam": "*.jsonl", "longmemeval": "*.json", "qmsum": "*.jsonl"}
#: turns that share a time upstream are told apart, so that their order is kept
_GAP = timedelta(seconds=5)
#: where upstream gives no time at all
_UNDATED = datetime(2020, 1, 1, tzinfo=UTC)
_BATCH = 1_000
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_Shape = TypeVar("_Shape")
#: a question, its category, the ids of its evidence, and upstream's answer
_Asked = tuple[str, str, Sequence[str], str]


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody said once."""

    #: upstream's name for it
    id: str
    #: the place of its session in the conversation, from 0 on
    session: int
    role: Role
    #: the person's name; empty where upstream knows only roles
    speaker: str = ""
    text: str
    at: datetime


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Something asked about a conversation, and where the answer stands."""

    text: str
    category: str
    #: places of the turns that hold the answer, in order, each once
    gold: tuple[int, ...]
    #: places beside gold in the same session, gold itself left out
    near: tuple[int, ...] = ()
    #: what upstream would answer; empty where it says nothing
    answer: str = ""

    @property
    def answerable(self) -> bool:
        """Does the conversation hold the answer?"""
        return self.category not in UNANSWERABLE


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Turns in the order they were said, and questions about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    #: ids of evidence that stand for no turn
    misplaced: int = 0


# ---- reading -----------------------------------------------------------------------------------


def find(path: Path, dataset: Dataset) -> Path:
    """The one file of a data set: the path itself, or what a data folder holds of it."""
    if path.is_file():
        return path
    for folder in (path / dataset, path):
        found = sorted(folder.glob(_FILES[dataset]))
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(file.name for file in found)
            raise Invalid(f"{folder} holds {names}; name the one to read")
    raise NotFound(f"no {_FILES[dataset]} of {dataset} in {path}")


def read(path: Path, dataset: Dataset) -> list[Conversation]:
    """Every conversation of a file, in its order."""
    text = path.read_text("utf-8")
    try:
        if path.suffix == ".jsonl":
            found = [json.loads(line) for line in text.split("\n") if line.strip()]
        else:
            whole = json.loads(text)
            found = whole if isinstance(whole, list) else [whole]
        return [_READERS[dataset](entry, number) for number, entry in enumerate(found)]
    except (msgspec.ValidationError, ValueError, LookupError) as exc:
        raise Invalid(f"{path.name} is not what {dataset} looks like: {exc}") from exc


def _shaped(entry: object, shape: type[_Shape]) -> _Shape:
    return msgspec.convert(entry, shape, strict=False)


def _conversation(name: str, turns: Sequence[Turn], asked: Sequence[_Asked]) -> Conversation:
    """Turns with their own times, questions with the places of their evidence."""
    if not turns:
        raise ValueError(f"{name} holds no turn")
    timed = _set_apart(turns)
    places = {turn.id: place for place, turn in reversed(list(enumerate(timed)))}
    return Conversation(
        name=name,
        turns=timed,
        questions=tuple(
            replace(
                _question(timed, text, category, {places[one] for one in ids if one in places}),
                answer=answer,
            )
            for text, category, ids, answer in asked
        ),
        misplaced=sum(one not in places for _, _, ids, _ in asked for one in ids),
    )


def _set_apart(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Turns that follow each other with the same time, a little apart."""
    found: list[Turn] = []
    before, run = None, 0
    for turn in turns:
        run = run + 1 if turn.at == before else 0
        before = turn.at
        found.append(replace(turn, at=turn.at + run * _GAP))
    return tuple(found)


def _question(turns: Sequence[Turn], text: str, category: str, gold: set[int]) -> Question:
    beside = {
        side
        for place in gold
        for side in (place - 1, place + 1)
        if 0 <= side < len(turns) and turns[side].session == turns[place].session
    }
    places, near = tuple(sorted(gold)), tuple(sorted(beside - gold))
    return Question(text=text, category=category, gold=places, near=near)


# ---- LoCoMo ------------------------------------------------------------------------------------


class _LocomoTurn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str = ""
    blip_caption: str | None = None


class _LocomoQuestion(msgspec.Struct):
    question: str
    category: Annotated[int, msgspec.Meta(ge=1, le=5)]
    evidence: list[str] = []
    answer: Any = ""


class _LocomoSample(msgspec.Struct):
    sample_id: str
    conversation: dict[str, Any]
    qa: list[_LocomoQuestion]


def _locomo(entry: object, _number: int) -> Conversation:
    sample = _shaped(entry, _LocomoSample)
    held = sample.conversation
    turns: list[Turn] = []
    for session, key in enumerate(_locomo_sessions(held)):
        begun = _utc(str(held[f"{key}_date_time"]), "%I:%M %p on %d %B, %Y")
        for said in _shaped(held[key], list[_LocomoTurn]):
            caption = f" [{said.blip_caption}]" if said.blip_caption else ""
            turns.append(
                Turn(
                    id=said.dia_id,
                    session=session,
                    role="user",
                    speaker=said.speaker,
                    text=said.text + caption,
                    at=begun,
                )
            )
    asked = [
        (
            one.question,
            LOCOMO[one.category],
            _locomo_ids(" ".join(one.evidence)),
            str(one.answer),
        )
        for one in sample.qa
    ]
    return _conversation(sample.sample_id, turns, asked)


def _locomo_sessions(held: dict[str, Any]) -> list[str]:
    """The sessions that were held; upstream also dates some that were not."""
    keys = [key for key in held if re.fullmatch(r"session_\d+", key)]
    return sorted(keys, key=lambda key: int(key.removeprefix("session_")))


def _locomo_ids(evidence: str) -> list[str]:
    """The turns that are named: `D8:6; D9:17` is two, `D30:05` is D30:5, a bare `D` is none."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(evidence)]


def _utc(said: str, form: str) -> datetime:
    return datetime.strptime(said, form).replace(tzinfo=UTC)


# ---- BEAM --------------------------------------------------------------------------------------


class _BeamMessage(msgspec.Struct):
    id: int
    role: Role
    text: str
    batch: int | str = 0
    time: str | None = None


class _BeamQuestion(msgspec.Struct):
    question: str
    category: str
    gold_ids: list[int] = []
    answer: str = ""
    ideal_answer: str = ""


class _BeamLine(msgspec.Struct):
    conversation_id: str
    messages: list[_BeamMessage]
    questions: list[_BeamQuestion]


def _beam(entry: object, _number: int) -> Conversation:
    line = _shaped(entry, _BeamLine)
    turns: list[Turn] = []
    sessions: dict[int | str, int] = {}
    now = _UNDATED
    for said in line.messages:
        if said.time:  # only the first message of a batch has one
            now = _utc(said.time, "%B-%d-%Y")
        session = sessions.setdefault(said.batch, len(sessions))
        turns.append(Turn(id=str(said.id), session=session, role=said.role, text=said.text, at=now))
    asked = [
        (one.question, one.category, [*map(str, one.gold_ids)], one.answer or one.ideal_answer)
        for one in line.questions
    ]
    return _conversation(line.conversation_id, turns, asked)


# ---- LongMemEval -------------------------------------------------------------------------------


class _LongTurn(msgspec.Struct):
    role: Role
    content: str
    has_answer: bool | None = None


class _LongEntry(msgspec.Struct):
    question_id: str
    question_type: str
    question: str
    haystack_dates: list[str]
    haystack_sessions: list[list[_LongTurn]]


def _longmemeval(entry: object, _number: int) -> Conversation:
    """One question with a haystack of its own; its sessions in the order they were held."""
    held = _shaped(entry, _LongEntry)
    days = [_long_date(date) for date in held.haystack_dates]
    dated = sorted(zip(days, held.haystack_sessions, strict=True), key=lambda one: one[0])
    turns: list[Turn] = []
    gold: list[str] = []
    for session, (begun, spoken) in enumerate(dated):
        for said in spoken:
            place = str(len(turns))
            gold.extend([place] if said.has_answer else [])
            turns.append(
                Turn(id=place, session=session, role=said.role, text=said.content, at=begun)
            )
    abstains = held.question_id.endswith("_abs")
    category = "abstention" if abstains else held.question_type
    return _conversation(held.question_id, turns, [(held.question, category, gold, "")])


def _long_date(said: str) -> datetime:
    """`2023/05/20 (Sat) 02:21`; the day of the week says nothing new."""
    return _utc(re.sub(r"\(\w+\) *", "", said), "%Y/%m/%d %H:%M")


# ---- QMSum -------------------------------------------------------------------------------------


class _MeetingTurn(msgspec.Struct):
    speaker: str
    content: str


class _MeetingQuery(msgspec.Struct):
    query: str
    relevant_text_span: list[tuple[int, int]]


class _Meeting(msgspec.Struct):
    meeting_transcripts: list[_MeetingTurn]
    specific_query_list: list[_MeetingQuery]


def _qmsum(entry: object, number: int) -> Conversation:
    """One meeting is one session; upstream tells neither its name nor its day."""
    meeting = _shaped(entry, _Meeting)
    turns = [
        Turn(id=str(n), session=0, role="user", speaker=m.speaker, text=m.content, at=_UNDATED)
        for n, m in enumerate(meeting.meeting_transcripts)
    ]
    asked = [(one.query, "specific", _spanned(one), "") for one in meeting.specific_query_list]
    return _conversation(f"meeting-{number + 1}", turns, asked)


def _spanned(asked: _MeetingQuery) -> list[str]:
    """Both ends of a span belong to it; spans may overlap."""
    spans = asked.relevant_text_span
    return sorted({str(place) for first, last in spans for place in range(first, last + 1)})


_READERS: dict[str, Callable[[object, int], Conversation]] = {
    "locomo": _locomo,
    "beam": _beam,
    "longmemeval": _longmemeval,
    "qmsum": _qmsum,
}


# ---- recording ---------------------------------------------------------------------------------


def last_moment(conversation: Conversation) -> int:
    """When its last turn was said, in milliseconds since 1970: the `now` of every question."""
    return int(max(turn.at for turn in conversation.turns).timestamp() * 1000)


def record(conversation: Conversation, hf: Holdfast, *, user: str = USER) -> dict[str, int]:
    """Write a conversation down, one session for each of upstream's; each event's id and its place.

    The events are those of `Session.user`, `Session.assistant` and of entering and leaving a session.
    """
    sessions: dict[int, list[int]] = {}
    for place, turn in enumerate(conversation.turns):
        sessions.setdefault(turn.session, []).append(place)
    drafts: list[tuple[int | None, Draft]] = []
    for number, held in sessions.items():
        said = [(place, _said(conversation.turns[place])) for place in held]
        start = Draft(type="session_started", payload={}, origin="system", at=said[0][1].at)
        end = Draft(
            type="session_ended", payload={"reason": "done"}, origin="system", at=said[-1][1].at
        )
        name = f"{conversation.name}-{number + 1}"
        drafts += [
            (place, replace(draft, session_id=name, agent=AGENT, user=user))
            for place, draft in [(None, start), *said, (None, end)]
        ]
    found: dict[str, int] = {}
    for first in range(0, len(drafts), _BATCH):
        batch = drafts[first : first + _BATCH]
        recorded = hf.record([draft for _, draft in batch])
        for event, (spot, _) in zip(recorded, batch, strict=True):
            if spot is not None:
                found[event.event_id] = spot
    return found


def _said(turn: Turn) -> Draft:
    payload = {"text": turn.text} | ({"speaker": turn.speaker} if turn.speaker else {})
    if turn.role == "user":
        return Draft(type="user_message", payload=payload, origin="user", at=turn.at)
    return Draft(type="model_message", payload=payload, origin="agent", at=turn.at)
