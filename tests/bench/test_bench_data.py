"""Loaders: what upstream publishes, oddities included, becomes turns, questions and places."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from bench.data import Conversation, Dataset, Turn, find, last_moment, read, record
from bench.data import _set_apart as set_apart
from holdfast.errors import Invalid, NotFound

LOCOMO: dict[str, Any] = {
    "sample_id": "conv-1",
    "event_summary": {"ignored": True},
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_10_date_time": "12:05 am on 1 February, 2023",
        "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "Back again."}],
        "session_2_date_time": "1:56 pm on 8 May, 2022",
        "session_2": [
            {"speaker": "Ana", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a red kite"},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "Nice.", "img_url": ["x"]},
            {"speaker": "Ana", "dia_id": "D2:3", "text": "It flies."},
        ],
        "session_11_date_time": "9:00 am on 2 February, 2023",
    },
    "qa": [
        {"question": "What flies, Ben?", "answer": 1, "evidence": ["D2:1; D10:01"], "category": 1},
        {"question": "When was it nice?", "answer": "x", "evidence": ["D2:2 D2:3"], "category": 2},
        {"question": "why?", "answer": "x", "evidence": ["D:2:3", "D"], "category": 3},
        {"question": "what?", "answer": "x", "evidence": ["D9:9", "D2:2"], "category": 4},
        {"question": "never?", "adversarial_answer": "x", "evidence": [], "category": 5},
    ],
}
BEAM: dict[str, Any] = {
    "conversation_id": "100K/7",
    "source_file": "chats/7.json",
    "messages": [
        {"id": 4, "role": "user", "time": "March-15-2024", "batch": 1, "text": "one"},
        {"id": 5, "role": "assistant", "time": None, "batch": 1, "text": "two"},
        {"id": 6, "role": "user", "time": "April-05-2024", "batch": 2, "text": "three"},
        {"id": 7, "role": "assistant", "time": None, "batch": 2, "text": "four"},
    ],
    "questions": [
        {"question": "now?", "category": "knowledge_update", "gold_ids": [6, 4], "rubric": []},
        {"question": "lost?", "category": "abstention", "gold_ids": []},
        {"question": "gone?", "category": "event_ordering", "gold_ids": [99, 5]},
    ],
}
LONG: dict[str, Any] = {
    "question_id": "abc_1",
    "question_type": "multi-session",
    "question": "how many?",
    "answer": 3,
    "question_date": "2023/06/01 (Thu) 10:00",
    "haystack_dates": ["2023/05/30 (Tue) 23:40", "2023/05/20 (Sat) 02:21"],
    "haystack_session_ids": ["later", "earlier"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "c", "has_answer": True},
            {"role": "assistant", "content": "d"},
        ],
        [
            {"role": "user", "content": "a", "has_answer": False},
            {"role": "assistant", "content": "b \ud83d", "has_answer": True},
        ],
    ],
    "answer_session_ids": ["later", "earlier"],
}
QMSUM: dict[str, Any] = {
    "topic_list": [],
    "general_query_list": [{"query": "Summarize.", "answer": "x"}],
    "specific_query_list": [
        {"query": "What?", "answer": "x", "relevant_text_span": [["1", "2"], ["2", "3"]]},
        {"query": "End?", "answer": "x", "relevant_text_span": [["3", "5"]]},
    ],
    "meeting_transcripts": [{"speaker": "Chair", "content": f"item {n}"} for n in range(4)],
}


def written(folder: Path, name: str, entries: list[Any]) -> Path:
    path = folder / name
    lines = "\n".join(json.dumps(entry) for entry in entries) + "\n"
    path.write_text(lines if name.endswith("l") else json.dumps(entries))
    return path


def loaded(folder: Path, dataset: Dataset, entry: Any) -> Conversation:
    name = "x.jsonl" if dataset in ("beam", "qmsum") else "x.json"
    (found,) = read(written(folder, name, [entry]), dataset)
    return found


def test_locomo_sessions_come_in_the_order_of_their_numbers_with_their_times(
    tmp_path: Path,
) -> None:
    found = loaded(tmp_path, "locomo", LOCOMO)
    assert found.name == "conv-1"
    assert [turn.id for turn in found.turns] == ["D2:1", "D2:2", "D2:3", "D10:1"]
    assert [turn.session for turn in found.turns] == [0, 0, 0, 1]
    assert [turn.speaker for turn in found.turns] == ["Ana", "Ben", "Ana", "Ben"]
    assert found.turns[0].text == "Look! [a red kite]"
    assert found.turns[1].text == "Nice."
    assert found.turns[0].at == datetime(2022, 5, 8, 13, 56, tzinfo=UTC)
    assert found.turns[3].at == datetime(2023, 2, 1, 0, 5, tzinfo=UTC)


def test_locomo_evidence_is_read_however_it_is_written(tmp_path: Path) -> None:
    found = loaded(tmp_path, "locomo", LOCOMO)
    assert [question.gold for question in found.questions] == [(0, 3), (1, 2), (2,), (1,), ()]
    assert found.misplaced == 1
    named = [question.category for question in found.questions]
    assert named == ["multi-hop", "temporal", "open-domain", "single-hop", "adversarial"]
    assert [question.answerable for question in found.questions] == [True] * 4 + [False]


def test_a_neighbour_is_beside_gold_in_the_same_session(tmp_path: Path) -> None:
    both, when, why, *_ = loaded(tmp_path, "locomo", LOCOMO).questions
    assert both.near == (1,)  # the turns 2 and 3 stand together, in different sessions
    assert when.near == (0,)
    assert why.near == (1,)


def test_beam_carries_the_time_of_a_batch_forward(tmp_path: Path) -> None:
    found = loaded(tmp_path, "beam", BEAM)
    days = [turn.at.date().isoformat() for turn in found.turns]
    assert days == ["2024-03-15", "2024-03-15", "2024-04-05", "2024-04-05"]
    assert [turn.session for turn in found.turns] == [0, 0, 1, 1]
    assert [turn.role for turn in found.turns] == ["user", "assistant"] * 2
    assert [turn.text for turn in found.turns] == ["one", "two", "three", "four"]
    assert [question.gold for question in found.questions] == [(0, 2), (), (1,)]
    assert [question.answerable for question in found.questions] == [True, False, True]
    assert found.misplaced == 1


def test_longmemeval_puts_sessions_in_order_and_takes_marked_turns_as_gold(tmp_path: Path) -> None:
    found = loaded(tmp_path, "longmemeval", LONG)
    assert [turn.text for turn in found.turns] == ["a", "b \ud83d", "c", "d"]
    assert found.turns[0].at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    (question,) = found.questions
    assert (question.category, question.gold, question.near) == ("multi-session", (1, 2), (0, 3))


def test_longmemeval_abstains_by_the_name_of_its_question(tmp_path: Path) -> None:
    (question,) = loaded(tmp_path, "longmemeval", LONG | {"question_id": "abc_abs"}).questions
    assert question.category == "abstention"
    assert not question.answerable


def test_qmsum_spans_include_both_ends(tmp_path: Path) -> None:
    found = loaded(tmp_path, "qmsum", QMSUM)
    assert [question.gold for question in found.questions] == [(1, 2, 3), (3,)]
    assert found.misplaced == 2
    assert {turn.session for turn in found.turns} == {0}
    assert (found.turns[0].speaker, found.turns[0].text) == ("Chair", "item 0")


@pytest.mark.parametrize(
    ("dataset", "entry"),
    [
        ("locomo", BEAM),
        ("beam", QMSUM),
        ("longmemeval", LOCOMO),
        ("qmsum", LONG),
        ("locomo", LOCOMO | {"conversation": {}}),
        ("locomo", LOCOMO | {"qa": [{"question": "?", "category": 6, "evidence": []}]}),
        ("locomo", LOCOMO | {"conversation": {"session_1": []}}),
        ("longmemeval", LONG | {"haystack_dates": ["2023/05/20 (Sat) 02:21"]}),
    ],
)
def test_a_file_of_something_else_is_refused_by_its_name(
    tmp_path: Path, dataset: Dataset, entry: Any
) -> None:
    with pytest.raises(Invalid, match=r"x\.json.*" + dataset):
        loaded(tmp_path, dataset, entry)


def test_a_folder_stands_for_the_one_file_in_it(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        find(tmp_path, "locomo")
    (tmp_path / "locomo").mkdir()
    one = written(tmp_path / "locomo", "one.json", [LOCOMO])
    assert find(tmp_path, "locomo") == one == find(one, "locomo")
    assert find(tmp_path / "locomo", "locomo") == one
    written(tmp_path / "locomo", "two.json", [LOCOMO])
    with pytest.raises(Invalid, match=r"one\.json, two\.json"):
        find(tmp_path, "locomo")


@given(st.lists(st.integers(0, 3)))
def test_turns_of_one_time_stay_in_order_and_near_it(hours: list[int]) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    turns = [
        Turn(id="", session=0, role="user", text="", at=start + timedelta(hours=hour))
        for hour in hours
    ]
    spread = set_apart(turns)
    for place, (before, after) in enumerate(zip(turns, spread, strict=True)):
        assert before.at <= after.at < before.at + timedelta(minutes=len(turns))
        if place and turns[place - 1].at == before.at:
            assert spread[place - 1].at < after.at


def spoken(conversation: Conversation, hf: holdfast.Holdfast) -> None:
    """The same through the verbs of a session, one by one."""
    for number in {turn.session for turn in conversation.turns}:
        turns = [turn for turn in conversation.turns if turn.session == number]
        name = f"{conversation.name}-{number + 1}"
        s = hf.session(agent="assistant", user="ana", session_id=name).start(at=turns[0].at)
        for turn in turns:
            who = {"speaker": turn.speaker} if turn.speaker else {}
            (s.user if turn.role == "user" else s.assistant)(turn.text, at=turn.at, **who)
        s.end(at=turns[-1].at)


@pytest.mark.parametrize(
    ("dataset", "entry"), [("locomo", LOCOMO), ("beam", BEAM), ("longmemeval", LONG)]
)
def test_a_recorded_conversation_is_what_the_verbs_of_a_session_record(
    tmp_path: Path, dataset: Dataset, entry: Any
) -> None:
    conversation = loaded(tmp_path, dataset, entry)
    with holdfast.open(tmp_path, project="batch", user="ana") as hf:
        places = record(conversation, hf, user="ana")
        batch = list(hf.events())
    with holdfast.open(tmp_path, project="verbs", user="ana") as hf:
        spoken(conversation, hf)
        single = list(hf.events())
    told = [
        [(e.session_id, e.agent, e.user, e.type, e.timestamp, e.origin, e.payload) for e in log]
        for log in (batch, single)
    ]
    assert told[0] == told[1]
    said = [event for event in batch if event.kind.endswith("_message")]
    assert [places[event.event_id] for event in said] == list(range(len(conversation.turns)))
    assert len(places) == len(said)


def test_now_is_the_last_turn(tmp_path: Path) -> None:
    conversation = loaded(tmp_path, "longmemeval", LONG)
    latest = datetime(2023, 5, 30, 23, 40, 5, tzinfo=UTC)
    assert last_moment(conversation) == int(latest.timestamp() * 1000)


def test_more_turns_than_one_batch_keep_their_places(tmp_path: Path) -> None:
    many = QMSUM | {
        "meeting_transcripts": [{"speaker": "A", "content": str(n)} for n in range(2_345)]
    }
    conversation = loaded(tmp_path, "qmsum", many)
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        places = record(conversation, hf)
        said = [event for event in hf.events() if event.kind == "user_message"]
    assert [(places[event.event_id], event.text) for event in said] == [
        (n, str(n)) for n in range(2_345)
    ]
